"""Units: the loop runs on utilities with span 1, as the paper assumes, in any user's units.

    u' = (u − origin) / span,     V' = (V − origin/(1−γ)) / span,     span = max u − min u over available pairs

So λ_0 = 1 inside is span_r/span_i outside, and neither the scale nor the origin of a utility changes the
run. If all utilities range over [0, 1], as in the gridworld, this is the paper's algorithm. The origin is 0, or else the value of
the utility nearest to 0: so rounding stays relative to what a policy collects, and −1 ≤ u' ≤ 1. A constraint
with span 0 is presolved away: every policy meets it or none does.

Thresholds are converted in rational arithmetic: if a utility varies little relative to its size, the difference of doubles
would be all rounding. Thresholds that every policy meets or none can reach are moved to within 1/(1−γ) of the attainable
values, so that any number may stand for "no limit".

Presolve of extreme limits, such as a budget of 0 on a cost that is never negative.

If a threshold is the largest value that a constraint can have, max c/(1−γ), only pairs with c = max c may be taken. The others are
removed, as are states without any pair left, the pairs that may lead there, and so on, unless γ = 0, when only the first step counts. Every policy of the rest meets the limit
exactly, and the constraint is removed. Without this, such a problem would be dominated by rounding: it has no Slater point.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask
from painless.problem import CMDP, Criterion
from painless.problem.function_model import FunctionModel

FREE = 1e15  # a normalised total below −FREE counts as −∞: the threshold of what has no limit
# Of 1/(1−γ): a normalised threshold closer to 0 is within 1/(1−γ) of what its constraint can reach, since its utility, or its nearest to 0, is 0 somewhere.
NEAR = 0.99
# In normalised units, relative to 1/(1−γ): a smaller slack is too small for learners to work with.
TOLERANCE = 1e-9


def presolve(problem: CMDP) -> tuple[CMDP, NDArray[np.intp]]:
    """Return the problem without pairs that no feasible policy takes, and the constraints that it then meets.

    If nothing would be left, the problem is returned unchanged.

    >>> import painless
    >>> problem = painless.CMDP(np.ones((1, 3, 1)), [[1.0, 2.0, 3.0]], initial=[1.0], discount=0.5,
    ...     constraint_cost=[[0.0, 0.0, 5.0]], budget=0.0)
    >>> smaller, met = presolve(problem)
    >>> smaller.actions, met
    (array([[ True,  True, False]]), array([0]))
    """
    # On average, what is done on the way does not count; the pairs of functions are not stored.
    if problem.criterion is Criterion.AVERAGE or isinstance(problem, FunctionModel):
        return problem, np.empty(0, dtype=np.intp)
    low, high = problem.utility_range
    extreme = []  # b = max c/(1−γ) exactly; of totals, 0 is the largest only if no pair has more
    for i in np.flatnonzero(low[1:] < high[1:]).tolist():
        limit, most = float(problem.threshold[i]), float(high[1 + i])
        if problem.criterion is Criterion.TOTAL:
            is_extreme = limit == 0 == most
        else:
            is_extreme = np.isfinite(limit) and Fraction(limit) == Fraction(most) * problem.exact_unit
        if is_extreme:
            extreme.append(i)
    met = np.array(extreme, dtype=np.intp)
    if not len(met):
        return problem, met
    allowed = problem.actions & (problem.constraint_reward[met] == high[1 + met][:, None, None]).all(0)
    safe = _closed(problem, allowed)
    if safe is None:
        return problem, met[:0]
    return problem._replace(actions=safe), met


def _closed(problem: CMDP, allowed: Mask) -> Mask | None:
    """Return the allowed pairs that never lead out of them; None if the initial states have none.

    States that are left without a pair cannot be reached any more, and get their own back.
    """
    states, actions = allowed.shape
    kernel: Any = problem.transition
    if problem.stages is not None:
        kernel = problem.stages.matrix()
    flat = kernel.reshape(-1, states) if isinstance(kernel, np.ndarray) else kernel
    reached = scipy.sparse.csr_array((flat > 0).astype(np.float64))
    allowed = allowed.copy()
    while problem.discount:  # a discount of 0 has no future
        lost: NDArray[np.float64] = np.where(allowed.any(1), 0.0, 1.0)
        leads_there = (reached @ lost).reshape(states, actions) > 0
        if not (allowed & leads_there).any():
            break
        allowed &= ~leads_there
    dead = ~allowed.any(1)
    if (problem.initial[dead] > 0).any():
        return None
    allowed[dead] = problem.actions[dead]
    return allowed


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
        limit = float(problem.threshold[index])
        if np.isfinite(limit):
            wanted = Fraction(limit) - spare
            wanted = (wanted - origin * unit if origin else wanted) / span
            if abs(found := float(wanted)) < NEAR * problem.unit:
                return found
        low, high = (Fraction(float(side[1 + index])) for side in problem.utility_range)
        least, most = ((low - origin) / span - 1) * unit, ((high - origin) / span + 1 + gain) * unit
        if np.isinf(limit):
            return float(least if limit < 0 else most)
        return float(min(max(wanted, least), most))

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
