"""What results are compared with: the exact optimum where it is cheap, and the limits, in the user's terms."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.problems import SIMULATORS
from painless.solving.optimum import Optimum, exact_optimum
from painless.study.unit import make_from_settings, make_problem


@dataclass(frozen=True, eq=False)
class Target:
    """The optimum, NaN where it is not known, and the limits, with the signs of the user's terms."""

    optimum: float
    multiplier: Array  # (K,) λ*
    limit: Array  # (K,)
    sign: Array  # (J,) −1 for what is minimised or has a budget
    names: tuple[str, ...]  # of the constraints

    @property
    def known(self) -> bool:
        """Whether the optimum is known."""
        return bool(np.isfinite(self.optimum))

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
    known = None
    if settings["name"] in SIMULATORS:
        given = make_from_settings(SIMULATORS[settings["name"]], settings, "problem").specification
        names = given.constraint_names
    else:
        given = make_problem(settings)
        names = [given.name("constraints", i) for i in range(given.shape[2])]
        known = exact_optimum(given)
    value, multiplier = known or Optimum(np.nan, np.full(len(names), np.nan))
    return Target(value, multiplier, given.limit, given.sign, tuple(names))
