"""νPI, a proportional-integral controller of the multipliers (Sohrabi et al. 2024).

    ξ_t = ν ξ_{t−1} + (1−ν) g_t,     ξ_{−1} = g_0
    x_{t+1} = x_t + κ_i g_t + κ_p (ξ_t − ξ_{t−1})

κ_p = 0 is gradient ascent, and ν = 0 with κ_p = κ_i the optimistic gradient x + η(2 g_t − g_{t−1}); momentum is another special case.
The proportional part answers a change of the gain at once, and so dampens what the integral overshoots. The first step is κ_i g_0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array, Setting, per_run


class NuPIState(NamedTuple):
    """The decision, ξ, and how many gains were seen."""

    decision: Array
    average: Array
    rounds: int


@dataclass(frozen=True)
class NuPI:
    """The νPI controller in every coordinate, on [lower, upper].

    Arguments:
        integral: κ_i, which is the step size of the gradient.
        proportional: κ_p; the larger, the more a change of the gain counts.
        smoothing: ν in (−1, 1), of the average ξ; 0 takes each gain as it is.
        lower, upper: the interval.

    >>> learner = NuPI(integral=0.1, proportional=1.0, lower=0.0)
    >>> state = learner.update(np.array([1.0]), learner.init(np.array([0.0])))
    >>> state.decision, learner.update(np.array([0.5]), state).decision
    (array([0.1]), array([0.]))

    References:
        Sohrabi, Ramirez, Zhang, Lacoste-Julien & Gallego-Posada, "On PI controllers for updating Lagrange multipliers in
        constrained optimization", ICML 2024.
    """

    integral: Setting = 0.1
    proportional: Setting = 1.0
    smoothing: Setting = 0.0
    lower: Setting = -np.inf
    upper: Setting = np.inf

    def init(self, prior: Array) -> NuPIState:
        """Start at the prior, with no gain seen."""
        return NuPIState(prior, np.zeros_like(prior), 0)

    def update(self, gain: Array, state: NuPIState) -> NuPIState:
        """Take a step of the controller, and clip it."""
        before = state.average if state.rounds else gain
        kept = per_run(self.smoothing, gain.ndim)
        average = kept * before + (1 - kept) * gain
        change = per_run(self.integral, gain.ndim) * gain
        change = change + per_run(self.proportional, gain.ndim) * (average - before)
        decision = np.clip(state.decision + change, self.lower, self.upper)
        return NuPIState(decision, average, state.rounds + 1)
