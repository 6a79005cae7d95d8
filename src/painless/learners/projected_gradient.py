"""Projected gradient ascent on a box (paper, eq. gda-dual).

x_{t+1} = clip(x_t + η g_t, lower, upper)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array, Setting, per_run


class ProjectedGradientState(NamedTuple):
    """The decision is all that is kept."""

    decision: Array


@dataclass(frozen=True)
class ProjectedGradient:
    """Gradient ascent in every coordinate, projected onto [lower, upper].

    Arguments:
        rate: η, the step size.
        lower, upper: the box; unbounded unless given.

    >>> state = ProjectedGradient(rate=0.1, lower=0.0).init(np.array([1.0]))
    >>> ProjectedGradient(rate=0.1, lower=0.0).update(np.array([-20.0]), state).decision
    array([0.])

    References:
        Zinkevich, "Online convex programming and generalized infinitesimal gradient ascent", ICML 2003.
    """

    rate: Setting
    lower: Setting = -np.inf
    upper: Setting = np.inf

    def init(self, prior: Array) -> ProjectedGradientState:
        """Start at the prior."""
        return ProjectedGradientState(prior)

    def update(self, gain: Array, state: ProjectedGradientState) -> ProjectedGradientState:
        """Step along `gain` and project."""
        step = state.decision + per_run(self.rate, gain.ndim) * gain
        return ProjectedGradientState(np.clip(step, self.lower, self.upper))
