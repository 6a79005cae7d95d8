"""Gradient ascent on an interval with a quadratic regulariser (Ding et al. 2023, RPG-PD, for multipliers).

x_{t+1} = clip((1 − ητ) x_t + η g_t)

It maximises Σ g·x − τ x²/2, whose solution is unique: that is why its last iterates converge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from painless.common.arrays import Array, Setting, per_run
from painless.learners.projected_gradient import ProjectedGradientState


@dataclass(frozen=True)
class RegularisedGradient:
    """Regularised gradient ascent in every coordinate, on [lower, upper].

    Arguments:
        rate: η, the step size.
        strength: τ ≥ 0 of the regulariser; ητ must stay below 1.
        lower, upper: the interval.

    >>> learner = RegularisedGradient(rate=0.5, strength=0.2, lower=0.0)
    >>> learner.update(np.array([1.0]), learner.init(np.array([1.0]))).decision
    array([1.4])

    References:
        Ding, Wei, Zhang & Ribeiro, "Last-iterate convergent policy gradient primal-dual methods for constrained MDPs", NeurIPS
        2023.
    """

    rate: Setting = 0.1
    strength: Setting = 0.08
    lower: Setting = -np.inf
    upper: Setting = np.inf

    def init(self, prior: Array) -> ProjectedGradientState:
        """Start at the prior."""
        return ProjectedGradientState(prior)

    def update(self, gain: Array, state: ProjectedGradientState) -> ProjectedGradientState:
        """Shrink, step along `gain`, and clip."""
        rate, strength = per_run(self.rate, gain.ndim), per_run(self.strength, gain.ndim)
        step = (1 - rate * strength) * state.decision + rate * gain
        return ProjectedGradientState(np.clip(step, self.lower, self.upper))
