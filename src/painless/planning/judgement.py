"""The definitions of "solved" and "feasible", which every planner and algorithm uses.

    solved:     gap ≤ tolerance · max(|upper bound|, 1e-6·span_r/(1−γ)),    a finite gap, of a feasible policy
    feasible:   V_c + ε·(V_|c| + |b| + 1e-6·span_c/(1−γ)) ≥ b,              ε = max(1e-9, 16·2⁻⁵³/(1−γ))

V_|c| is the value of |c| under the policy, since rounding is relative to the sums involved. For a reward with span 0, span_r is the
size of its constant, or 1. The relaxation is linear in the occupancy, so that the problem with relaxed constraints,

    c + ε|c|  with threshold  b − ε·(|b| + 1e-6·span_c/(1−γ)),

is a CMDP too: "infeasible" means that some weights of its constraints prove that it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from painless.common.arrays import Array, Mask
from painless.engines.engine import engine_of
from painless.problem import CMDP
from painless.problem.units import Units, rounded

PRECISION = 1e-9  # the relative error that a constraint may have
ROUNDINGS = 16  # or this many roundings per step, if larger
LEAST = 1e-6  # of span/(1−γ): smaller values and limits count as this large
UNIT_ROUNDOFF = 2.0**-53


def allowance(unit: float) -> float:
    """ε = max(1e-9, 16·2⁻⁵³·unit), where the unit is 1/(1−γ)."""
    return max(PRECISION, ROUNDINGS * UNIT_ROUNDOFF * unit)


def gap_target(problem: CMDP, tolerance: float) -> Callable[[float], float]:
    """Return the gap to prove, given the bound, both in the user's units."""
    low, high = (float(side[0]) for side in problem.utility_range)
    size = (high - low) or abs(high) or 1.0
    least = LEAST * size * problem.unit
    return lambda bound: tolerance * (max(abs(bound), least) if np.isfinite(bound) else least)


def normal_target(problem: CMDP, units: Units, tolerance: float) -> Callable[[float], float]:
    """Return the gap to prove, given the bound, both in normalised units."""
    target = gap_target(problem, tolerance)
    span, offset = float(units.span[0]), float(units.offset[0])
    return lambda bound: target(bound * span + offset) / span


def is_solved(gap: float, bound: float, feasible: bool, target: Callable[[float], float]) -> bool:
    """Whether the proved gap is at most the target; all in the same units."""
    return bool(feasible and np.isfinite(bound) and np.isfinite(gap) and gap <= target(bound))


@dataclass(frozen=True)
class Relaxation:
    """The normalised problem, with constraints relaxed as the definition of "feasible" allows."""

    problem: CMDP  # the user's
    normal: CMDP
    units: Units

    @classmethod
    def of(cls, normal: CMDP) -> Relaxation:
        """Return the relaxation of a problem in the user's units."""
        return cls(normal, normal, Units.of(normal))

    @cached_property
    def relaxed(self) -> CMDP:
        """The relaxed problem, built on first use since it is as large as the model."""
        share = self._epsilon / self._span
        return self.normal.loosened(self.problem, self.units.kept, share, self._threshold)

    @cached_property
    def spare(self) -> Array:
        """The most that relaxation can add to the slack of each constraint, (K',), for any policy."""
        return self._gain * self.problem.unit + (self.normal.threshold - self._threshold)

    @property
    def sure(self) -> Array:
        """The violation that is allowed for every policy, (K',): ε·(|b| + 1e-6·span/(1−γ)) in normalised units."""
        return self.normal.threshold - self._threshold

    def allows(self, policy: Any, low: Array) -> bool:
        """Whether a policy with at least the normalised values `low` (J',) is feasible by definition."""
        if (self.normal.threshold - low[1:] > self.spare).any():
            return False
        return bool(self.met(policy, low).all())

    def met(self, policy: Any, low: Array) -> Mask:
        """Return which limits a policy with at least the normalised values `low` (J',) meets by definition, (K',)."""
        short = self.normal.threshold - low[1:]
        if not ((short > 0) & (short <= self.spare)).any():
            return short <= 0
        proved = engine_of(self.relaxed).values(policy).low
        return (short <= 0) | (proved[1:] >= self.relaxed.threshold)

    @property
    def _epsilon(self) -> float:
        return allowance(self.problem.unit)

    @property
    def _span(self) -> Array:
        return self.units.span[1 + self.units.kept]

    @cached_property
    def _gain(self) -> Array:
        """ε·max|c|/span, (K',)."""
        low, high = (side[1 + self.units.kept] for side in self.problem.utility_range)
        return self._epsilon * np.maximum(np.abs(low), np.abs(high)) / self._span

    @cached_property
    def _threshold(self) -> Array:
        """(b − ε·(|b| + 1e-6·span/(1−γ)) − origin/(1−γ))/span, (K',)."""
        least = Fraction(LEAST) * self.problem.exact_unit
        found = []
        for index, gain in zip(self.units.kept, self._gain, strict=True):
            limit = float(self.problem.threshold[index])
            size = abs(Fraction(limit)) if np.isfinite(limit) else Fraction(0)
            allowed = Fraction(self._epsilon) * (size + least * Fraction(float(self.units.span[1 + index])))
            found.append(self.units.threshold(self.problem, int(index), allowed, Fraction(float(gain))))
        return np.array(found)


def constant_shortfall(problem: CMDP, units: Units) -> Array:
    """Return the shortfall of each constant constraint, (K,), the same for every policy; 0 for the others."""
    short: Array = np.zeros(problem.shape[2])
    for index in units.removed:
        limit = float(problem.threshold[index])
        exact = -units.exact(1 + int(index), 0.0)
        short[index] = max(rounded(Fraction(limit) + exact, up=True), 0.0) if np.isfinite(limit) else 0.0
    return short


def misses_constant(problem: CMDP, units: Units) -> Mask:
    """Return which constant constraints are missed by more than is allowed, (K,)."""
    limit = np.where(np.isfinite(problem.threshold), np.abs(problem.threshold), 0.0)
    allowed = allowance(problem.unit) * (np.abs(units.offset[1:]) + limit)
    return constant_shortfall(problem, units) > allowed
