"""How much the settings matter with LSTDQ over tile coding of three sizes."""

from __future__ import annotations

from collections.abc import Sequence

from painless.study.paper.claims import robustness
from painless.study.paper.experiment import Analysis, Experiment
from painless.study.paper.grids import GRIDWORLD, LINEAR, LINEAR_ITERATIONS, LINEAR_SAMPLES, TABLE_2, TILES
from painless.study.paper.pictures import Picture
from painless.study.paper.scale import Scale
from painless.study.paper.selection import by_algorithm
from painless.study.paper.shared import all_settings, gap_and_violation
from painless.study.setting_results import SettingResults, select
from painless.study.sweep import Sweep


def sweep(scale: Scale) -> Sweep:
    """Return every setting of the three algorithms for each d."""
    evaluator = {"name": "lstdq", "tiles": list(TILES.values()), "samples": LINEAR_SAMPLES}
    return scale.sweep(GRIDWORLD, LINEAR, LINEAR_ITERATIONS, evaluator, start="uniform")


def analyse(settings: Sequence[SettingResults]) -> Analysis:
    """Draw all settings for each d, and compare the spread of their last OG."""
    cases = by_dimension(settings)
    picture = Picture(
        "lfa-sensitivity",
        "OG and CV of every setting with LSTDQ over tile coding; the best of each algorithm dark with its 95 % band, the paper's dotted where it is another, the others light.",
        tuple(gap_and_violation(all_settings(group, TABLE_2[d]), f"d = {d}") for d, group in cases.items()),
    )
    claims = tuple(
        robustness(
            f"lfa-robust-{d}",
            "lfa-sensitivity",
            f"CBP is robust to its hyperparameter, GDA and CRPO are sensitive to theirs (LSTDQ, d = {d}).",
            by_algorithm(group),
        )
        for d, group in cases.items()
    )
    return Analysis((picture,), (), claims)


def by_dimension(settings: Sequence[SettingResults]) -> dict[int, list[SettingResults]]:
    """Return the settings for each number of features."""
    groups = {d: select(settings, tiles=tiles, start="uniform") for d, tiles in TILES.items()}
    return {d: group for d, group in groups.items() if group}


EXPERIMENT = Experiment(
    "lfa-sensitivity",
    "Sensitivity to the settings, LSTDQ",
    "Gridworld, γ = 0.9, LSTDQ with 300 samples for each pair and tile coding of d ∈ {40, 56, 80} features, T = 400, uniform starts. Pairs and next actions are drawn.",
    sweep,
    analyse,
)
