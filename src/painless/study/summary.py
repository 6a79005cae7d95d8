"""The summary of a sweep: the final averages of every setting over its seeds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from painless.common.arrays import Array
from painless.loop.averages import standard_error
from painless.study.setting_results import SettingResults, read
from painless.study.store import Store
from painless.study.sweep import Sweep


@dataclass(frozen=True, eq=False)
class Row:
    """One setting, averaged over its seeds: reward, optimality gap and violations of the average iterate."""

    problem: str
    evaluator: str
    algorithm: str
    seeds: int
    reward_value: float
    optimality_gap: float  # NaN where the optimum is not known
    gap_error: float  # its standard error over the seeds
    violation: Array  # (K,) b − average V_c, positive where violated


def summarise(sweep: Sweep, store: Store) -> list[Row]:
    """Read the stored results of a sweep; return a row for each setting, in order."""
    return [_row(setting) for setting in read(sweep, store)]


def _row(setting: SettingResults) -> Row:
    return Row(
        problem=label(setting.problem),
        evaluator=label(setting.evaluator),
        algorithm=label(setting.algorithm),
        seeds=len(setting.reward),
        reward_value=setting.last_return,
        optimality_gap=setting.last_gap,
        gap_error=standard_error(setting.gap[:, -1]),
        violation=setting.last_violation,
    )


def label(settings: Mapping[str, Any]) -> str:
    """Return settings as short text.

    >>> label({"name": "cbp", "alpha": 8})
    'cbp alpha=8'
    """
    rest = {key: value for key, value in settings.items() if key not in ("name", "digest")}
    return " ".join([str(settings["name"]), *(f"{key}={json.dumps(value)}" for key, value in rest.items())])
