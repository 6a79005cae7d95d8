"""The best settings for each number of features, beside the paper's (its Table 2)."""

from __future__ import annotations

from collections.abc import Sequence

from painless.study.paper.experiment import Analysis, Experiment
from painless.study.paper.grids import TABLE_2
from painless.study.paper.lfa_sensitivity import by_dimension, sweep
from painless.study.paper.shared import best_settings
from painless.study.setting_results import SettingResults


def analyse(settings: Sequence[SettingResults]) -> Analysis:
    """Choose by the paper's rule."""
    cases = {f"d = {d}": (group, TABLE_2[d]) for d, group in by_dimension(settings).items()}
    return best_settings(
        "Best settings with linear function approximation, by the paper's rule.", "dimension", cases
    )


EXPERIMENT = Experiment(
    "table-2",
    "Table 2: best settings, LSTDQ",
    "The setting with the least last OG among those with last CV in [−0.25, 0], ours beside the paper's.",
    sweep,
    analyse,
)
