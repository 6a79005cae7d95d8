"""Optimistic exponentiated gradient on the simplex (Moskovitz et al. 2023, ReLOAD, for policies).

p_{t+1} ∝ p_t·exp(η (2 g_t − g_{t−1})),     g_{−1} = g_0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array, Setting
from painless.learners.exponentiated_gradient import ExponentiatedGradient


class OptimisticHedgeState(NamedTuple):
    """The decision and its logarithm up to a constant, −∞ where the prior is 0, and the latest gain."""

    decision: Array
    logits: Array
    last: Array
    rounds: int


@dataclass(frozen=True)
class OptimisticHedge:
    """Exponentiated gradient over the last axis that predicts that the latest gain repeats.

    Arguments:
        rate: η, the step size.

    >>> learner = OptimisticHedge(rate=np.log(3.0))
    >>> state = learner.update(np.array([1.0, 0.0]), learner.init(np.array([0.5, 0.5])))
    >>> state.decision, learner.update(np.array([0.0, 0.0]), state).decision
    (array([0.75, 0.25]), array([0.5, 0.5]))

    References:
        Moskovitz, O'Donoghue, Veeriah, Flennerhag, Singh & Zahavy, "ReLOAD: reinforcement learning with optimistic
        ascent-descent for last-iterate convergence in constrained MDPs", ICML 2023.
    """

    rate: Setting = 1.0

    def init(self, prior: Array) -> OptimisticHedgeState:
        """Start at the prior."""
        start = ExponentiatedGradient(self.rate).init(prior)
        return OptimisticHedgeState(start.decision, start.logits, np.zeros_like(prior), 0)

    def update(self, gain: Array, state: OptimisticHedgeState) -> OptimisticHedgeState:
        """Step along the gain and its change."""
        before = state.last if state.rounds else gain
        plain = ExponentiatedGradient(self.rate)
        following = plain.update(2 * gain - before, plain.init(state.decision)._replace(logits=state.logits))
        return OptimisticHedgeState(following.decision, following.logits, gain, state.rounds + 1)
