"""Optimistic projected gradient ascent on the simplex (Ding et al. 2023, OPG-PD, for policies).

p̂_{t+1} = Π(p̂_t + η g_t),     p_{t+1} = Π(p̂_{t+1} + η g_t),     Π the Euclidean projection onto the simplex
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array, Mask, Setting, per_run


class OptimisticProjectionState(NamedTuple):
    """What is played, the point behind it, and the first decision."""

    decision: Array
    base: Array  # p̂
    prior: Array


@dataclass(frozen=True)
class OptimisticProjection:
    """Optimistic projected gradient ascent over the last axis; coordinates with prior 0 stay at 0.

    Arguments:
        rate: η, the step size.

    >>> learner = OptimisticProjection(rate=0.5)
    >>> learner.update(np.array([0.4, 0.0]), learner.init(np.array([0.5, 0.5])))[:2]
    (array([0.7, 0.3]), array([0.6, 0.4]))

    References:
        Ding, Wei, Zhang & Ribeiro, "Last-iterate convergent policy gradient primal-dual methods for constrained MDPs", NeurIPS
        2023.
    """

    rate: Setting = 0.1

    def init(self, prior: Array) -> OptimisticProjectionState:
        """Start at the prior."""
        return OptimisticProjectionState(prior, prior, prior)

    def update(self, gain: Array, state: OptimisticProjectionState) -> OptimisticProjectionState:
        """Step along `gain`, and once more for the prediction."""
        step, allowed = per_run(self.rate, gain.ndim) * gain, state.prior > 0
        base = project(state.base + step, allowed)
        return OptimisticProjectionState(project(base + step, allowed), base, state.prior)


def project(point: Array, allowed: Mask) -> Array:
    """Return the nearest point of the simplex over the last axis, among those that are 0 where it is not allowed.

    >>> project(np.array([0.9, 0.5, 5.0]), np.array([True, True, False]))
    array([0.7, 0.3, 0. ])
    """
    masked = np.where(allowed, point, -np.inf)
    falling = -np.sort(-masked, -1)
    count = np.arange(1, point.shape[-1] + 1)
    finite = np.where(np.isfinite(falling), falling, 0.0)
    excess = (finite.cumsum(-1) - 1) / count
    kept = (falling > excess).sum(-1, keepdims=True)
    shift = np.take_along_axis(excess, kept - 1, -1)
    result = np.maximum(masked - shift, 0.0)
    return np.asarray(result / result.sum(-1, keepdims=True))
