"""How much the settings matter with exact values (the paper's first figure)."""

from __future__ import annotations

from collections.abc import Sequence

from painless.study.paper.claims import robustness
from painless.study.paper.experiment import Analysis, Experiment
from painless.study.paper.grids import GRIDWORLD, ITERATIONS, TABLE_1, TABULAR
from painless.study.paper.pictures import Picture
from painless.study.paper.scale import Scale
from painless.study.paper.selection import by_algorithm
from painless.study.paper.shared import all_settings, gap_and_violation
from painless.study.setting_results import SettingResults
from painless.study.sweep import Sweep


def sweep(scale: Scale) -> Sweep:
    """Return every setting of the three algorithms."""
    return scale.sweep(GRIDWORLD, TABULAR, ITERATIONS)


def analyse(settings: Sequence[SettingResults]) -> Analysis:
    """Draw all settings, and compare the spread of their last OG."""
    caption = (
        "OG and CV of every setting with exact values; the best of each algorithm dark with its 95 % band over the seeds, "
        "the paper's dotted where it is another, the others light."
    )
    return sensitivity(settings, "mb", "exact values", caption)


def sensitivity(settings: Sequence[SettingResults], kind: str, how: str, caption: str) -> Analysis:
    """Draw all settings, and compare the spread of their last OG, for one `kind` of evaluation."""
    name = f"{kind}-sensitivity"
    claim = robustness(
        f"{kind}-robust",
        name,
        f"CBP is robust to its hyperparameter, GDA and CRPO are sensitive to theirs ({how}).",
        by_algorithm(settings),
    )
    picture = Picture(name, caption, (gap_and_violation(all_settings(settings, TABLE_1)),))
    return Analysis((picture,), (), (claim,))


EXPERIMENT = Experiment(
    "mb-sensitivity",
    "Sensitivity to the settings, exact values",
    "Gridworld, γ = 0.9, exact evaluation, T = 1500, Dirichlet starts.",
    sweep,
    analyse,
)
