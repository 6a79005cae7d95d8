"""Who is faster with LSTDQ, by the number of features; all settings are needed to know which are the best."""

from __future__ import annotations

from collections.abc import Sequence

from painless.study.paper import lfa_sensitivity
from painless.study.paper.claims import faster
from painless.study.paper.experiment import Analysis, Experiment
from painless.study.paper.grids import GRIDWORLD, LINEAR_ITERATIONS, LINEAR_SAMPLES, TABLE_2, TILES
from painless.study.paper.lfa_sensitivity import by_dimension
from painless.study.paper.pictures import Picture
from painless.study.paper.scale import Scale, joined
from painless.study.paper.selection import best_of_each
from painless.study.paper.shared import case_rows, last_values
from painless.study.setting_results import SettingResults, distinct, key
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
    """Draw the best of each algorithm for each d, and judge who is faster."""
    groups = by_dimension(settings)
    cases = {f"d = {d}": best_of_each(group) for d, group in groups.items()}
    picture = Picture(
        "lfa-dimension",
        "OG and CV at the best settings, with LSTDQ over tile coding of d features; 95 % bands over the seeds.",
        case_rows(cases),
    )
    papers = {f"d = {d} at the paper's settings": _papers(group, d) for d, group in groups.items()}
    claim = faster(
        "lfa-faster",
        "lfa-dimension",
        "With linear function approximation OG of CBP converges faster for every dimension.",
        {**cases, **{case: chosen for case, chosen in papers.items() if len(chosen) == len(TABLE_2[40])}},
    )
    return Analysis((picture,), (last_values("Last values by dimension.", cases),), (claim,))


def _papers(settings: Sequence[SettingResults], dimension: int) -> dict[str, SettingResults]:
    """Return the settings of the paper's Table 2, as far as they were run."""
    wanted = {key(paper): str(paper["name"]) for paper in TABLE_2[dimension]}
    return {wanted[one.key]: one for one in distinct(settings) if one.key in wanted}


EXPERIMENT = Experiment(
    "lfa-dimension",
    "Best settings, LSTDQ",
    "Gridworld, γ = 0.9, LSTDQ with 300 samples for each pair, T = 400, uniform starts; the best setting of each algorithm for d = 40, 56 and 80.",
    sweep,
    analyse,
)
