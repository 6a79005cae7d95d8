"""A case, which is a problem in normalised units, and the definitions of "solved" and "feasible", which every planner and algorithm uses.

    solved:     gap ≤ tolerance · max(|upper bound|, 1e-6·span_r/(1−γ)),    where the gap of a policy that is not feasible is infinite
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
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from painless.common.arrays import Array, Mask
from painless.engines.engine import Engine, engine_of
from painless.problem import CMDP
from painless.problem.units import Units, normalise, presolve, rounded

if TYPE_CHECKING:
    from painless.planning.feasibility import Feasibility, SlaterPolicy

PRECISION = 1e-9  # the relative error that a constraint may have
ROUNDINGS = 16  # or this many roundings per step, if larger
LEAST = 1e-6  # of span/(1−γ): smaller values and limits count as this large
UNIT_ROUNDOFF = 2.0**-53


def allowance(unit: float) -> float:
    """ε = max(1e-9, 16·2⁻⁵³·unit), where the unit is 1/(1−γ)."""
    return max(PRECISION, ROUNDINGS * UNIT_ROUNDOFF * unit)


def gap_target(problem: CMDP, tolerance: float, units: Units | None = None) -> Callable[[float], float]:
    """Return the gap to prove, given the bound, both in the user's units, or in normalised `units`: finite, so that no infinite gap is at most this."""
    low, high = (float(side[0]) for side in problem.utility_range)
    size = (high - low) or abs(high) or 1.0
    least = LEAST * size * problem.unit
    span, offset = (1.0, 0.0) if units is None else (float(units.span[0]), float(units.offset[0]))
    most = np.finfo(float).max
    return lambda bound: min(
        tolerance * max(abs(own) if np.isfinite(own := bound * span + offset) else 0.0, least) / span, most
    )


class Relaxation:
    """The normalised problem, with constraints relaxed as the definition of "feasible" allows."""

    def __init__(self, problem: CMDP, normal: CMDP, units: Units) -> None:
        self.problem, self.normal, self.units = problem, normal, units
        self._epsilon = allowance(problem.unit)

    @cached_property
    def _gain(self) -> Array:
        """ε·max|c|/span, (K',)."""
        low, high = (side[1 + self.units.kept] for side in self.problem.utility_range)
        span = self.units.span[1 + self.units.kept]
        return np.asarray(self._epsilon * np.maximum(np.abs(low), np.abs(high)) / span)

    @cached_property
    def _threshold(self) -> Array:
        """(b − ε·(|b| + 1e-6·span/(1−γ)) − origin/(1−γ))/span, (K',); few answers are so close to a limit that it is asked for."""
        problem, units, epsilon = self.problem, self.units, self._epsilon
        least = Fraction(LEAST) * problem.exact_unit
        relaxed = []
        for index, most in zip(units.kept, self._gain, strict=True):
            limit = float(problem.threshold[index])
            size = abs(Fraction(limit)) if np.isfinite(limit) else Fraction(0)
            allowed = Fraction(epsilon) * (size + least * Fraction(float(units.span[1 + index])))
            relaxed.append(units.threshold(problem, int(index), allowed, Fraction(float(most))))
        return np.array(relaxed)

    @cached_property
    def sure(self) -> Array:
        """The violation that is allowed for every policy, (K',): ε·(|b| + 1e-6·span/(1−γ)) in normalised units."""
        return np.asarray(self.normal.threshold - self._threshold)

    @cached_property
    def spare(self) -> Array:
        """The most that relaxation can add to the slack of each constraint, (K',), for any policy."""
        return self._gain * self.problem.unit + self.sure

    @classmethod
    def of(cls, normal: CMDP) -> Relaxation:
        """Return the relaxation of a problem in the user's units."""
        return cls(normal, normal, Units.of(normal))

    @cached_property
    def relaxed(self) -> CMDP:
        """The relaxed problem, built on first use since it is as large as the model."""
        return self.normal.loosened(
            self.problem,
            self.units.kept,
            self._epsilon / self.units.span[1 + self.units.kept],
            self._threshold,
        )

    def met(self, policy: Any, low: Array) -> Mask:
        """Return which limits a policy with at least the normalised values `low` (J',) meets by definition, (K',)."""
        short = self.normal.threshold - low[1:]
        met: Mask = short <= 0
        if met.all():
            return met
        close = short <= self.spare
        if not (close & ~met).any():
            return met
        proved = engine_of(self.relaxed).values(policy).low
        return met | (close & (proved[1:] >= self.relaxed.threshold))


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


@dataclass
class Case:
    """A problem in normalised units; its engine and its Slater policy are those of a search that found them, or found on first use."""

    problem: CMDP
    normal: CMDP  # without pairs that no feasible policy takes
    units: Units
    relaxation: Relaxation
    tick: Callable[[], None]  # raises when it is time to stop
    misses_constant: bool = False  # whether a constant constraint is violated

    @classmethod
    def of(cls, problem: CMDP, tick: Callable[[], None] = lambda: None) -> Self:
        """Presolve, normalise the units, and remove constant constraints."""
        smaller, met = presolve(problem)
        normal, units = normalise(smaller, met)
        missed = len(units.removed) > 0 and bool(misses_constant(problem, units).any())
        return cls(problem, normal, units, Relaxation(smaller, normal, units), tick, missed)

    @cached_property
    def engine(self) -> Engine:
        """The engine for the normalised problem: factorised systems or sweeps."""
        engine = engine_of(self.normal)
        engine.call_between_steps(self.tick)
        return engine

    @cached_property
    def slater(self) -> SlaterPolicy:
        """The policy with the largest joint slack."""
        from painless.planning.feasibility import slater_policy  # which asks what counts as feasible

        return slater_policy(self.normal, self.engine, self.relaxation)

    @property
    def feasibility(self) -> Feasibility:
        """Whether the constraints can be met together."""
        from painless.planning.feasibility import Feasibility

        return Feasibility.NONE if self.misses_constant else self.slater.feasibility

    def value(self, value: Array) -> Array:
        """Return normalised values (..., J') as (..., J) in the user's terms, with constant constraints."""
        index = np.append(0, 1 + self.units.kept)
        result = np.broadcast_to(self.units.offset, (*value.shape[:-1], len(self.units.offset))).copy()
        result[..., index] += value * self.units.span[index]
        return result * self.problem.sign + 0.0  # no −0
