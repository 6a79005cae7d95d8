"""The best settings on the table with exact values and with TD(0), beside the paper's (its Table 1)."""

from __future__ import annotations

from collections.abc import Sequence

from painless.study.paper import mb_sensitivity, mf_sensitivity
from painless.study.paper.experiment import Analysis, Experiment
from painless.study.paper.grids import TABLE_1
from painless.study.paper.scale import Scale, joined
from painless.study.paper.shared import best_settings
from painless.study.setting_results import SettingResults, select
from painless.study.sweep import Sweep


def sweep(scale: Scale) -> Sweep:
    """Return the units of both experiments whose best settings the table holds."""
    return joined([mb_sensitivity.sweep(scale), mf_sensitivity.sweep(scale)])


def analyse(settings: Sequence[SettingResults]) -> Analysis:
    """Choose by the paper's rule."""
    kinds = {"model-based": "exact", "model-free": "td"}
    cases = {case: (select(settings, estimator=kind), TABLE_1) for case, kind in kinds.items()}
    return best_settings(
        "Best settings in the tabular experiments, by the paper's rule.", "experiment", cases
    )


EXPERIMENT = Experiment(
    "table-1",
    "Table 1: best settings, tabular",
    "The setting with the least last OG among those with last CV in [−0.25, 0], ours beside the paper's.",
    sweep,
    analyse,
)
