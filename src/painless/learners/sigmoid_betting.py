"""Coin betting on the line for gains of a known range (Orabona & Tommasi 2017, Alg. 1; paper, eq. cb-dual).

With |g| ≤ H, and 2σ(2z) − 1 = tanh(z):

    x_{t+1} = x_0 + tanh( Σg / (2H + Σ|g|) ) / H · ( H + Σ (x_i − x_0)·g_i )

COCOB starts its Σ|g| at H, hence 2H where the paper prints H.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array, Setting


class SigmoidBettingState(NamedTuple):
    """The bettor's memory; every array has the shape of the prior."""

    decision: Array
    origin: Array
    gain_sum: Array
    magnitude_sum: Array
    winnings: Array


@dataclass(frozen=True)
class SigmoidBetting:
    """Coin betting in every coordinate, for gains within [−bound, bound].

    Arguments:
        bound: H, the largest |g| that can occur: one number, or one for each coordinate of the last axis.
        printed: eq. cb-dual as printed, with the −1 inside the sigmoid and H for 2H. For study: it can
            hardly rise above the prior.

    >>> state = SigmoidBetting(bound=1.0).init(np.array([1.0]))
    >>> SigmoidBetting(bound=1.0).update(np.array([1.0]), state).decision.round(6)
    array([1.321513])

    References:
        Orabona & Tommasi, "Training deep networks without learning rates through coin betting",
        NeurIPS 2017, Algorithm 1 and Theorem 1.
    """

    bound: Setting = 1.0
    printed: bool = False

    def init(self, prior: Array) -> SigmoidBettingState:
        """Start at the prior with nothing seen."""
        zero = np.zeros_like(prior)
        return SigmoidBettingState(prior, prior, zero, zero, zero)

    def update(self, gain: Array, state: SigmoidBettingState) -> SigmoidBettingState:
        """Pay out the bets on `gain` and place the next ones."""
        gain_sum = state.gain_sum + gain
        magnitude_sum = state.magnitude_sum + np.abs(gain)
        winnings = state.winnings + (state.decision - state.origin) * gain
        fraction = self._fraction(gain_sum, magnitude_sum)
        decision = state.origin + fraction / self.bound * (self.bound + winnings)
        return SigmoidBettingState(decision, state.origin, gain_sum, magnitude_sum, winnings)

    def _fraction(self, gain_sum: Array, magnitude_sum: Array) -> Array:
        if self.printed:
            exponent = 2 * gain_sum / (self.bound + magnitude_sum) + 1
            return -2 / (1 + np.exp(exponent))
        return np.tanh(gain_sum / (2 * self.bound + magnitude_sum))


def sigmoid_betting_regret(distance: Setting, magnitude_sum: Setting, bound: Setting) -> Array:
    """Bound the regret of the unclipped bettor at distance |u − x_0| from its origin.

    H + |u − x_0|·√(H(G + 2H) ln(1 + (G + 2H)²(u − x_0)²/H²)), with G = Σ|g| and H the range.
    """
    total = np.asarray(magnitude_sum) + 2 * np.asarray(bound)
    inside = np.log1p((total * distance / bound) ** 2)
    return np.asarray(bound + distance * np.sqrt(bound * total * inside))
