"""Exponentiated gradient on the simplex, kept as logits (paper, eq. gda-primal).

p_{t+1} ∝ p_t·exp(η g_t)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array, Setting, per_run


class ExponentiatedGradientState(NamedTuple):
    """The decision and its logarithm up to a constant, −∞ where the prior is 0."""

    decision: Array
    logits: Array


@dataclass(frozen=True)
class ExponentiatedGradient:
    """Exponentiated gradient (mirror ascent with entropy) over the last axis.

    Arguments:
        rate: η, the step size.
        entropy: ν, the strength of entropy regularisation, in the units of the gains.

    >>> state = ExponentiatedGradient(rate=np.log(3.0)).init(np.array([0.5, 0.5]))
    >>> ExponentiatedGradient(rate=np.log(3.0)).update(np.array([1.0, 0.0]), state).decision
    array([0.75, 0.25])

    References:
        Kivinen & Warmuth, "Exponentiated gradient versus gradient descent for linear predictors", 1997.
    """

    rate: Setting
    entropy: Setting = 0.0

    def init(self, prior: Array) -> ExponentiatedGradientState:
        """Start at the prior."""
        logits = np.full(prior.shape, -np.inf)
        np.log(prior, out=logits, where=prior > 0)
        return ExponentiatedGradientState(prior, logits)

    def update(self, gain: Array, state: ExponentiatedGradientState) -> ExponentiatedGradientState:
        """Step along `gain` in the logits; they are kept with maximum 0."""
        rate, entropy = per_run(self.rate, gain.ndim), per_run(self.entropy, gain.ndim)
        regular = isinstance(entropy, np.ndarray) or entropy
        kept = (1 - rate * entropy) * state.logits if regular else state.logits
        logits = kept + rate * gain
        logits = logits - logits.max(-1, keepdims=True)
        decision = np.exp(logits)
        return ExponentiatedGradientState(decision / decision.sum(-1, keepdims=True), logits)
