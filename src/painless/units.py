"""Units: the loop runs on utilities within [0, 1], as the paper assumes, whatever the user's are.

    u' = (u − min u) / span,     V' = (V − min u/(1−γ)) / span,     span = max u − min u over available pairs

So λ_0 = 1 inside is span_r/span_i outside, and neither the scale nor the origin of a utility changes the
run. Where all utilities range over [0, 1], as in the gridworld, this is the paper's algorithm. A constraint
with span 0 is presolved away: it is met or infeasible whatever the policy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from painless.arrays import Array
from painless.problem import CMDP

TOLERANCE = 1e-9  # a constraint may be missed by this, relative to max(|b|, span/(1−γ))


@dataclass(frozen=True)
class Units:
    """The spans and origins of the user's utilities, in the internal sense."""

    span: Array  # (J,) with 1 in place of 0
    offset: Array  # (J,) min u/(1−γ)
    kept: NDArray[np.intp]  # the constraints that are left, of K

    def multiplier(self, multiplier: Array) -> Array:
        """Return multipliers (..., K') of the kept constraints as (..., K) in the user's units."""
        result = np.zeros((*multiplier.shape[:-1], len(self.span) - 1))
        result[..., self.kept] = multiplier * self.span[0] / self.span[1 + self.kept]
        return result


def normalise(problem: CMDP) -> tuple[CMDP, Units]:
    """Return the problem in normalised units, without its constant constraints, and the way back."""
    utility = problem.utility
    low = utility.min((1, 2), where=problem.actions, initial=np.inf)
    high = utility.max((1, 2), where=problem.actions, initial=-np.inf)
    varies = high > low
    span = np.where(varies, high - low, 1.0)
    scaled = np.where(problem.actions, (utility - low[:, None, None]) / span[:, None, None], 0.0)
    kept = np.flatnonzero(varies[1:])
    offset = low / (1 - problem.discount)
    threshold = (problem.threshold - offset[1:]) / span[1:]
    normal = problem.with_constraints(scaled[0], scaled[1:][kept], threshold[kept])
    return normal, Units(span, offset, kept)


def tolerances(problem: CMDP) -> Array:
    """By how much each constraint may be missed, (K,): 1e-9·max(|b|, span_c/(1−γ))."""
    utility = problem.constraint_reward
    low = utility.min((1, 2), where=problem.actions, initial=np.inf)
    high = utility.max((1, 2), where=problem.actions, initial=-np.inf)
    scale = np.maximum(np.abs(problem.threshold), (high - low) / (1 - problem.discount))
    return TOLERANCE * scale
