"""The one merit by which answers are compared. It is never negative.

    E = {(V_r* − V_r) + Σ_i (2 λ*_i + δ_i)·[b_i − V_{c_i}]₊} / range(V_r),     floored at 1e-9

with δ_i = 0.01·range(V_r)/range(V_{c_i}), where the range of a value is the difference of its largest and its least over all
policies. Since V_r* − V_r ≥ −Σ λ*_i [b_i − V_{c_i}]₊ for every policy, E is at least (λ* + δ)·violation, and 0 for an
optimal policy only. It does not depend on units. Below 1e-6 two answers are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from painless.bellman import occupancy_value
from painless.common.arrays import Array
from painless.engines.factorised import policy_iteration
from painless.planning.linear_program import LinearProgram
from painless.planning.master import best_mixture, largest_slack
from painless.problem import CMDP

DELTA = 0.01
FLOOR, EQUAL = 1e-9, 1e-6


@dataclass(frozen=True)
class Judge:
    """Knows the optimum of a problem in normalised units, from the linear program, and judges values by it."""

    value: float  # V_r*
    multiplier: Array  # (K,) λ*
    threshold: Array  # (K,)
    reward_range: float
    constraint_range: Array  # (K,)

    @classmethod
    def of(cls, normal: CMDP) -> Judge:
        """Solve the linear program, and find the ranges of all values."""
        optimum = LinearProgram().plan(normal)
        if optimum is None:
            raise RuntimeError("the linear program found no feasible policy")
        value = occupancy_value(normal, optimum.occupancy)
        ranges = [
            policy_iteration(normal, utility).value + policy_iteration(normal, -utility).value
            for utility in normal.utility
        ]
        return cls(float(value[0]), optimum.multiplier, normal.threshold, ranges[0], np.array(ranges[1:]))

    @cached_property
    def price(self) -> Array:
        """2 λ* + δ, (K,)."""
        return 2 * self.multiplier + DELTA * self.reward_range / self.constraint_range

    def gap(self, value: Array) -> Array:
        """(V_r* − V_r)/range(V_r) of values (..., J)."""
        return np.asarray((self.value - value[..., 0]) / self.reward_range)

    def violation(self, value: Array) -> Array:
        """[b − V_c]₊/range(V_c) of values (..., J), (..., K)."""
        return np.maximum(self.threshold - value[..., 1:], 0.0) / self.constraint_range

    def merit(self, value: Array) -> Array:
        """E of values (..., J)."""
        penalty = (self.price * self.constraint_range * self.violation(value)).sum(-1) / self.reward_range
        return np.maximum(self.gap(value) + penalty, FLOOR)

    def deployed(self, values: Array) -> Array:
        """Return the value of the polished answer, (J,): the best feasible mixture of the iterates.

        If no mixture is feasible, it is the one with the largest joint slack. Only the iterates take part: neither the
        Slater policy nor best responses, which would cost planner calls.
        """
        mixture = best_mixture(values, self.threshold) or largest_slack(values[:, 1:], self.threshold)
        return np.asarray(mixture.weights @ values)


def ratio(merit: float, baseline: float) -> float:
    """How many times worse than a baseline an answer is; at most 1 is a win.

    >>> ratio(1e-9, 1e-7), ratio(2e-3, 1e-3)
    (1.0, 2.0)
    """
    return max(merit, EQUAL) / max(baseline, EQUAL)
