"""What results are compared with: the exact optimum where a model exists, and the limits, in the user's terms."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from painless.arrays import Array
from painless.experiments.evaluators import call
from painless.experiments.unit import make_problem
from painless.planning import LinearProgram
from painless.problems import SIMULATORS
from painless.solve import solve

EXACT_PAIRS = 2000  # up to this many pairs (s, a) the exact optimum is looked up


@dataclass(frozen=True, eq=False)
class Target:
    """The optimum, not a number where it is not known, and the limits, with the signs of the user's terms."""

    optimum: float
    limit: Array  # (K,)
    sign: Array  # (J,) −1 for what is minimised or has a budget

    def gap(self, value: Array) -> Array:
        """How far values of the objective, of any shape, are from the optimum."""
        return self.sign[0] * (self.optimum - value)

    def violation(self, value: Array) -> Array:
        """The shortfall b − V_c, positive where violated, for values (..., K)."""
        return self.sign[1:] * (self.limit - value)


def target(problem: Mapping[str, Any]) -> Target:
    """Return what a unit's problem is measured against."""
    return _target(json.dumps(dict(problem), sort_keys=True))


@cache
def _target(text: str) -> Target:
    settings = json.loads(text)
    if settings["name"] in SIMULATORS:
        specification = call(SIMULATORS[settings["name"]], settings, "problem").specification
        return Target(float("nan"), specification.limit, specification.sign)
    table = make_problem(settings)
    known = table.actions.sum() <= EXACT_PAIRS
    optimum = solve(table, LinearProgram()).reward_value if known else float("nan")
    return Target(optimum, table.limit, table.sign)
