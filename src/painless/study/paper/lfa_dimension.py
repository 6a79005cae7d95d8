"""Who is faster with LSTDQ, by the number of features; all settings are needed to know which are the best."""

from __future__ import annotations

from collections.abc import Sequence

from painless.study.paper import lfa_sensitivity
from painless.study.paper.claims import Claim, faster
from painless.study.paper.experiment import Analysis, Experiment
from painless.study.paper.grids import GRIDWORLD, LINEAR_ITERATIONS, LINEAR_SAMPLES, TABLE_2, TILES
from painless.study.paper.lfa_sensitivity import by_dimension
from painless.study.paper.pictures import Picture
from painless.study.paper.scale import Scale, joined
from painless.study.paper.selection import Cases, best_of_each, one_of_each, paper_settings
from painless.study.paper.shared import case_rows, last_values
from painless.study.setting_results import SettingResults
from painless.study.sweep import Sweep

DIRICHLET = "dirichlet"


def sweep(scale: Scale) -> Sweep:
    """Return every setting from uniform starts, and those of the paper from Dirichlet starts."""
    evaluator = {"name": "lstdq", "samples": LINEAR_SAMPLES}
    parts = [
        scale.sweep(GRIDWORLD, TABLE_2[d], LINEAR_ITERATIONS, {**evaluator, "tiles": tiles}, start=DIRICHLET)
        for d, tiles in TILES.items()
    ]
    return joined([lfa_sensitivity.sweep(scale), *parts])


def analyse(settings: Sequence[SettingResults]) -> Analysis:
    """Draw the best of each algorithm for each d beside the paper's, and judge who is faster from both starts."""
    groups = by_dimension(settings)
    cases = {f"d = {d}": best_of_each(group) for d, group in groups.items()}
    papers = {f"d = {d}": paper_settings(group, TABLE_2[d]) for d, group in groups.items()}
    starts = {
        f"d = {d}": one_of_each(settings, tiles=tiles, start=DIRICHLET)
        for d, tiles in TILES.items()
        if d in groups
    }
    pictures = (
        Picture(
            "lfa-dimension",
            "OG and CV at the best settings, with LSTDQ over tile coding of d features; the paper's dotted where it is another; 95 % bands over the seeds.",
            case_rows(cases, papers),
        ),
        Picture(
            "lfa-dirichlet",
            "The same at the paper's settings, from policies that are drawn from Dirichlet(1, …, 1) in every state.",
            case_rows(starts),
        ),
    )
    complete = {
        f"{case} at the paper's settings": chosen for case, chosen in papers.items() if len(chosen) == 3
    }
    tables = (
        last_values("Last values by dimension.", cases),
        last_values("Last values at the paper's settings, from Dirichlet starts.", starts),
    )
    return Analysis(pictures, tables, (_faster({**cases, **complete}), _from_dirichlet(starts)))


def _faster(cases: Cases) -> Claim:
    return faster(
        "lfa-faster",
        "lfa-dimension",
        "With linear function approximation OG of CBP converges faster for every dimension.",
        cases,
        "CBP is ahead early; at the end all three are held up by the same error of the features, and what is left between them is mostly noise of the samples.",
    )


def _from_dirichlet(cases: Cases) -> Claim:
    return faster(
        "lfa-faster-dirichlet",
        "lfa-dimension",
        "The same from Dirichlet starts, at the paper's settings.",
        cases,
        "The paper does not say from which policy these runs start. From random ones CBP keeps to what the start prefers for longer, since its policy "
        "is the prior times the bets.",
    )


EXPERIMENT = Experiment(
    "lfa-dimension",
    "Best settings, LSTDQ",
    "Gridworld, γ = 0.9, LSTDQ with 300 samples for each pair, T = 400, uniform starts; the best setting of each algorithm for d = 40, 56 and 80. The paper's settings also from Dirichlet starts.",
    sweep,
    analyse,
)
