"""COCOB, coin betting on the line with a scale learned from the gains (Orabona & Tommasi 2017, Alg. 2).

    L_t = max(L_{t−1}, |g_t|);   θ = Σ g;   G = Σ |g|;   R_t = max(R_{t−1} + (x_t − x_0)·g_t, 0)
    x_{t+1} = x_0 + θ / (L·max(G + L, α L)) · (L + R),     and x stays where L = 0

Since G ≥ L, every α ≤ 2 is the same algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array, Setting, per_run


class Winnings(Enum):
    """How past winnings R are counted. Only RUNNING is COCOB; the others are there for study."""

    RUNNING = "the running total, clipped at 0"
    PRINTED = "the sum of the positive parts, as printed in the paper's Alg. 2"
    RELEASED = "none at all, as in the paper's released code: x cannot leave [x_0 − 1, x_0 + 1]"


class CocobState(NamedTuple):
    """The bettor's memory; every array has the shape of the prior."""

    decision: Array
    origin: Array
    scale: Array
    gain_sum: Array
    magnitude_sum: Array
    winnings: Array


@dataclass(frozen=True)
class Cocob:
    """COCOB in every coordinate, with no step size.

    Arguments:
        alpha: α, how slowly the first bets grow. Values up to 2 are all the same.
        winnings: how R is counted; see `Winnings`.

    >>> state = Cocob(alpha=8.0).init(np.array([1.0]))
    >>> Cocob(alpha=8.0).update(np.array([0.5]), state).decision
    array([1.125])

    References:
        Orabona & Tommasi, "Training deep networks without learning rates through coin betting",
        NeurIPS 2017, Algorithm 2.
    """

    alpha: Setting = 8.0
    winnings: Winnings = Winnings.RUNNING

    def init(self, prior: Array) -> CocobState:
        """Start at the prior with nothing seen."""
        zero = np.zeros_like(prior)
        return CocobState(prior, prior, zero, zero, zero, zero)

    def update(self, gain: Array, state: CocobState) -> CocobState:
        """Pay out the bets on `gain` and place the next ones."""
        magnitude = np.abs(gain)
        scale = np.maximum(state.scale, magnitude)
        gain_sum = state.gain_sum + gain
        magnitude_sum = state.magnitude_sum + magnitude
        winnings = self._count(state.winnings, (state.decision - state.origin) * gain)
        alpha = per_run(self.alpha, gain.ndim)
        stake = scale * np.maximum(magnitude_sum + scale, alpha * scale)
        bet = gain_sum * (scale + winnings) / np.where(stake > 0, stake, 1.0)
        decision = np.where(scale > 0, state.origin + bet, state.decision)
        return CocobState(decision, state.origin, scale, gain_sum, magnitude_sum, winnings)

    def _count(self, winnings: Array, won: Array) -> Array:
        if self.winnings is Winnings.RUNNING:
            return np.maximum(winnings + won, 0.0)
        if self.winnings is Winnings.PRINTED:
            return winnings + np.maximum(won, 0.0)
        return winnings
