"""Optimistic gradient ascent on an interval (Popov 1980; Ding et al. 2023, OPG-PD, for multipliers).

    x̂_{t+1} = clip(x̂_t + η g_t),     x_{t+1} = clip(x̂_{t+1} + η g_t)

The decision x predicts that the latest gain repeats. Against a learner that does the same, last iterates converge where those of plain gradients circle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array, Setting, per_run


class OptimisticState(NamedTuple):
    """What is played, and the point behind it."""

    decision: Array
    base: Array  # x̂


@dataclass(frozen=True)
class OptimisticGradient:
    """Optimistic gradient ascent in every coordinate, on [lower, upper].

    Arguments:
        rate: η, the step size.
        lower, upper: the interval.

    >>> learner = OptimisticGradient(rate=0.5, lower=0.0)
    >>> state = learner.update(np.array([1.0]), learner.init(np.array([0.0])))
    >>> state
    OptimisticState(decision=array([1.]), base=array([0.5]))

    References:
        Popov, "A modification of the Arrow–Hurwicz method for search of saddle points", Mathematical Notes 28, 1980.
    """

    rate: Setting = 0.1
    lower: Setting = -np.inf
    upper: Setting = np.inf

    def init(self, prior: Array) -> OptimisticState:
        """Start at the prior, or at the nearest point of the interval."""
        start = np.clip(prior, self.lower, self.upper)
        return OptimisticState(start, start)

    def update(self, gain: Array, state: OptimisticState) -> OptimisticState:
        """Step along `gain`, and once more for the prediction."""
        step = per_run(self.rate, gain.ndim) * gain
        base = np.clip(state.base + step, self.lower, self.upper)
        return OptimisticState(np.clip(base + step, self.lower, self.upper), base)
