"""What a sweep shows: the last averages of every setting, over its seeds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from painless.arrays import Array
from painless.experiments.store import Store
from painless.experiments.sweep import Sweep
from painless.experiments.unit import Unit, make_problem
from painless.planners import LinearProgram
from painless.problems import SIMULATORS
from painless.solve import solve

EXACT_PAIRS = 2000  # up to this many pairs (s, a) the exact optimum is looked up


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
    optima: dict[str, tuple[float, Array, Array]] = {}
    rows = []
    for (problem, evaluator, algorithm), units in groups.items():
        if problem not in optima:
            optima[problem] = _target(units[0].problem)
        optimum, limit, sign = optima[problem]
        results = [store.read(unit.settings) for unit in units]
        values = np.array([one["reward_value"].mean() for one in results])
        constraint = np.mean([one["constraint_value"].mean(0) for one in results], 0)
        gaps = sign[0] * (optimum - values)
        error = float(gaps.std(ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else float("nan")
        violation = sign[1:] * (limit - constraint)
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
    rest = {key: value for key, value in settings.items() if key != "name"}
    return " ".join([str(settings["name"]), *(f"{key}={json.dumps(value)}" for key, value in rest.items())])


def _target(settings: Any) -> tuple[float, Array, Array]:
    """Return the optimum of a problem where it is known, its limits, and the signs of the user's terms."""
    name = str(settings["name"])
    if name in SIMULATORS:
        arguments = {key: value for key, value in settings.items() if key != "name"}
        specification = SIMULATORS[name](**arguments).specification
        return float("nan"), specification.limit, specification.sign
    problem = make_problem(settings)
    known = problem.actions.sum() <= EXACT_PAIRS
    optimum = solve(problem, LinearProgram()).reward_value if known else float("nan")
    return optimum, problem.limit, problem.sign
