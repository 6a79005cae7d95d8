"""What results are compared with: the exact optimum where a model exists, and the thresholds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from painless.arrays import Array
from painless.experiments.unit import make_problem
from painless.planners import LinearProgram
from painless.problems import SIMULATORS
from painless.solve import solve


@dataclass(frozen=True, eq=False)
class Target:
    """The optimum, not a number where there is no model, and the thresholds."""

    optimum: float
    threshold: Array  # (K,)


def target(problem: Mapping[str, Any]) -> Target:
    """Return what a unit's problem is measured against."""
    return _target(json.dumps(dict(problem), sort_keys=True))


@cache
def _target(text: str) -> Target:
    settings = json.loads(text)
    if settings["name"] in SIMULATORS:
        simulator = SIMULATORS[settings["name"]]()
        return Target(float("nan"), np.asarray(simulator.specification.limit))
    table = make_problem(settings)
    return Target(solve(table, LinearProgram()).reward_value, table.threshold)
