"""The best settings on CartPole for each ν, beside the paper's (its Table 3)."""

from __future__ import annotations

from collections.abc import Sequence

from painless.study.paper.cartpole_entropy import sweep
from painless.study.paper.experiment import Analysis, Experiment
from painless.study.paper.grids import TABLE_3
from painless.study.paper.shared import best_settings
from painless.study.setting_results import SettingResults, select


def analyse(settings: Sequence[SettingResults]) -> Analysis:
    """Choose by the paper's rule."""
    cases = {f"ν = {nu:g}": (select(settings, entropy=nu), papers) for nu, papers in TABLE_3.items()}
    return best_settings("Best settings on CartPole, by the paper's rule.", "entropy", cases)


EXPERIMENT = Experiment(
    "table-3",
    "Table 3: best settings, CartPole",
    "The setting with the largest last return among those with both last CVs in [−6, 0], ours beside the paper's.",
    sweep,
    analyse,
)
