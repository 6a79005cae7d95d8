"""Units: the loop runs on utilities with span 1, as the paper assumes, in any user's units.

    u' = (u − origin) / span,     V' = (V − origin/(1−γ)) / span,     span = max u − min u over available pairs

So λ_0 = 1 inside is span_r/span_i outside, and neither the scale nor the origin of a utility changes the
run. If all utilities range over [0, 1], as in the gridworld, this is the paper's algorithm. The origin is 0, or else the value of
the utility nearest to 0: so rounding stays relative to what a policy collects, and −1 ≤ u' ≤ 1. A constraint
with span 0 is presolved away: every policy meets it or none does.

Thresholds are converted in rational arithmetic: if a utility varies little relative to its size, the difference of doubles
would be all rounding. Thresholds that every policy meets or none can reach are moved to within 1/(1−γ) of the attainable
values, so that any number may stand for "no limit".
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.problem import CMDP, Criterion

FREE = 1e15  # a normalised total below −FREE counts as −∞: the threshold of what has no limit
# In normalised units, relative to 1/(1−γ): a smaller slack is too small for learners to work with.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Units:
    """The spans and origins of the user's utilities, in the internal sense."""

    span: Array  # (J,) with 1 in place of 0
    offset: Array  # (J,) origin/(1−γ)
    kept: NDArray[np.intp]  # the remaining constraints, of K
    removed: NDArray[np.intp]  # the others, which are constant
    origin: Array  # (J,) for a removed constraint, its constant value
    unit: Fraction  # the value of a utility of 1 in every step: 1/(1−γ), or Σ_t γ^t with a horizon

    @classmethod
    def of(cls, problem: CMDP) -> Units:
        """Return the units of a normalised problem."""
        count = 1 + problem.shape[2]
        kept, removed = np.arange(count - 1), np.empty(0, dtype=np.intp)
        return cls(np.ones(count), np.zeros(count), kept, removed, np.zeros(count), problem.exact_unit)

    def exact(self, utility: int, value: float) -> Fraction:
        """Return a normalised value in the user's units, V'·span + origin/(1−γ), without rounding."""
        offset = Fraction(float(self.origin[utility])) * self.unit
        return Fraction(value) * Fraction(float(self.span[utility])) + offset

    def threshold(
        self, problem: CMDP, index: int, spare: Fraction = Fraction(0), gain: Fraction = Fraction(0)
    ) -> float:
        """(b − spare − origin/(1−γ))/span, exact but for the last rounding, and within 1/(1−γ) of what the constraint can reach.

        `gain` is the most that relaxation adds to the normalised constraint.
        """
        unit = self.unit
        if problem.criterion is Criterion.TOTAL:  # no value is out of reach
            limit = float(problem.threshold[index])
            span = Fraction(float(self.span[1 + index]))
            return -FREE if np.isinf(limit) else float(max((Fraction(limit) - spare) / span, Fraction(-FREE)))
        origin, span = Fraction(float(self.origin[1 + index])), Fraction(float(self.span[1 + index]))
        low, high = (Fraction(float(side[1 + index])) for side in problem.utility_range)
        least, most = ((low - origin) / span - 1) * unit, ((high - origin) / span + 1 + gain) * unit
        limit = float(problem.threshold[index])
        if np.isinf(limit):
            return float(least if limit < 0 else most)
        return float(min(max((Fraction(limit) - spare - origin * unit) / span, least), most))

    def multiplier(self, multiplier: Array) -> Array:
        """Return multipliers (..., K') of the kept constraints as (..., K) in the user's units."""
        result = np.zeros((*multiplier.shape[:-1], len(self.span) - 1))
        with np.errstate(over="ignore", under="ignore"):
            ratio = np.minimum(self.span[0] / self.span[1 + self.kept], np.finfo(float).max)
            result[..., self.kept] = multiplier * ratio
        return result


def normalise(problem: CMDP, met: NDArray[np.intp] | None = None) -> tuple[CMDP, Units]:
    """Return the problem in normalised units without its constant constraints, and the units to convert back.

    `met` lists constraints that every policy meets at their largest value, 1 in every pair (see `presolve`).
    """
    low, high = problem.utility_range
    origin = np.where(low > 0, low, np.where(high < 0, high, 0.0))
    varies, size = high > low, high - low
    if problem.criterion is Criterion.TOTAL:  # a constant is the length of the way; only 0 is constant
        origin, size = np.zeros_like(low), np.maximum(np.abs(low), np.abs(high))
        varies = size > 0
    if met is not None:
        varies[1 + met], origin[1 + met] = False, high[1 + met]
    span = np.where(varies, size, 1.0)
    kept, removed = np.flatnonzero(varies[1:]), np.flatnonzero(~varies[1:])
    offset = np.array([float(Fraction(float(one)) * problem.exact_unit) for one in origin])
    units = Units(span, offset, kept, removed, origin, problem.exact_unit)
    threshold = np.array([units.threshold(problem, int(i)) for i in kept])
    return problem.rescaled(origin, span, kept, threshold), units


def rounded(value: Fraction, up: bool) -> float:
    """Return the nearest double above or below.

    >>> rounded(Fraction(1, 3), up=True) > Fraction(1, 3) > rounded(Fraction(1, 3), up=False)
    True
    """
    near = float(value)
    if Fraction(near) < value if up else Fraction(near) > value:
        near = float(np.nextafter(near, np.inf if up else -np.inf))
    return near
