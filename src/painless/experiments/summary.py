"""What a sweep shows: the last averages of every setting, over its seeds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from painless.arrays import Array
from painless.experiments.store import Store
from painless.experiments.sweep import Sweep
from painless.experiments.targets import target
from painless.experiments.unit import Unit


@dataclass(frozen=True, eq=False)
class Row:
    """One setting, averaged over its seeds: reward, optimality gap and violations of the average iterate."""

    problem: str
    evaluator: str
    algorithm: str
    seeds: int
    reward_value: float
    optimality_gap: float  # not a number where the optimum is not known
    gap_error: float  # its standard error over the seeds
    violation: Array  # (K,) b − average V_c, positive where violated


def summarise(sweep: Sweep, store: Store) -> list[Row]:
    """Read the stored results of a sweep; return a row for each setting, in order."""
    groups: dict[tuple[str, str, str], list[Unit]] = {}
    for unit in sweep.units:
        names = (label(unit.problem), label(unit.evaluator), label(unit.algorithm))
        groups.setdefault(names, []).append(unit)
    rows = []
    for (problem, evaluator, algorithm), units in groups.items():
        aim = target(units[0].problem)
        results = [store.read(unit.settings) for unit in units]
        values = np.array([one["reward_value"].mean() for one in results])
        constraint = np.mean([one["constraint_value"].mean(0) for one in results], 0)
        gaps = aim.gap(values)
        error = float(gaps.std(ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else float("nan")
        violation = aim.violation(constraint)
        rows.append(
            Row(
                problem,
                evaluator,
                algorithm,
                len(units),
                float(values.mean()),
                float(gaps.mean()),
                error,
                violation,
            )
        )
    return rows


def label(settings: Any) -> str:
    """Return settings as short text.

    >>> label({"name": "cbp", "alpha": 8})
    'cbp alpha=8'
    """
    rest = {key: value for key, value in settings.items() if key not in ("name", "digest")}
    return " ".join([str(settings["name"]), *(f"{key}={json.dumps(value)}" for key, value in rest.items())])
