"""Coin betting on the simplex: one bettor for each coordinate, normalised (Orabona & Pál 2016).

For the gains g_t and the decision p_t, a point of the simplex (paper, eq. cb-primal):

    Â = clip((g − ⟨g, p_t⟩) / N, −1, 1),     |Â| ≤ 1e-12 counts as 0
    Ã = Â where w_t > 0, else [Â]₊
    w_{t+1} = ΣÃ / (n + 1 + T/2) · (1 + Σ Ã·w)          n gains seen; without T: n + 1
    p_{t+1} ∝ p_0·[w_{t+1}]₊, and p_0 where that is zero everywhere

With entropy ν the gains are g − ν·max(log p_t, −25) on coordinates of positive prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array, Setting, per_run

FLOOR = 1e-12  # a smaller advantage is a tie; otherwise rounding would decide the run
LOG_FLOOR = -25.0  # of log p in the entropy; a bettor's decision can be exactly 0


class CoinBettingState(NamedTuple):
    """The bettors' memory; every array has the shape of the prior, (..., A)."""

    decision: Array
    prior: Array
    bet: Array
    gain_sum: Array
    wealth: Array
    rounds: int


@dataclass(frozen=True)
class CoinBetting:
    """Coin betting on the simplex over the last axis; coordinates with prior 0 stay at 0.

    Arguments:
        normaliser: N, the largest |g − ⟨g, p⟩| that can occur. Larger values are clipped.
        horizon: T if it is known. None is the KT bettor, which needs no T.
        entropy: ν, the strength of entropy regularisation, in the units of the gains.
        printed: the paper's denominator, n in place of n + 1. For study: without T it can go bankrupt.

    >>> learner = CoinBetting(horizon=10)
    >>> state = learner.init(np.array([0.5, 0.5]))
    >>> learner.update(np.array([1.0, 0.0]), state).decision
    array([1., 0.])

    References:
        Orabona & Pál, "Coin betting and parameter-free online learning", NeurIPS 2016.
    """

    normaliser: Setting = 1.0
    horizon: int | None = None
    entropy: Setting = 0.0
    printed: bool = False

    def init(self, prior: Array) -> CoinBettingState:
        """Start with no bets: the first decision is the prior."""
        zero = np.zeros_like(prior)
        return CoinBettingState(prior, prior, zero, zero, np.ones_like(prior), 0)

    def update(self, gain: Array, state: CoinBettingState) -> CoinBettingState:
        """Pay out the bets on `gain` and place the next ones."""
        kept = kept_advantage(self._advantage(gain, state), state.bet)
        gain_sum = state.gain_sum + kept
        wealth = state.wealth + kept * state.bet
        rounds = state.rounds + 1
        bet = gain_sum / self.denominator(rounds) * wealth
        return CoinBettingState(normalise(bet, state.prior), state.prior, bet, gain_sum, wealth, rounds)

    def _advantage(self, gain: Array, state: CoinBettingState) -> Array:
        if isinstance(self.entropy, np.ndarray) or self.entropy:
            gain = gain - per_run(self.entropy, gain.ndim) * floored_log(state.decision)
        inner = (gain * state.decision).sum(-1, keepdims=True)
        advantage = (gain - inner) / per_run(self.normaliser, gain.ndim)
        advantage *= (np.abs(advantage) > FLOOR) & (state.prior > 0)
        return np.minimum(np.maximum(advantage, -1.0, out=advantage), 1.0, out=advantage)

    def denominator(self, rounds: int) -> float:
        """The denominator n + 1 + T/2 after n gains; n + 1 without T."""
        return rounds + (0 if self.printed else 1) + (self.horizon or 0) / 2


def floored_log(decision: Array) -> Array:
    """max(log p, −25)."""
    return np.log(np.maximum(decision, np.exp(LOG_FLOOR)))


def kept_advantage(advantage: Array, bet: Array) -> Array:
    """Ã = Â where the bet is positive, else [Â]₊ (paper, eq. cb-primal)."""
    return np.where(bet > 0, advantage, np.maximum(advantage, 0.0))


def normalise(bet: Array, prior: Array) -> Array:
    """The distribution p ∝ p_0·[w]₊, and p_0 where that is zero everywhere (paper, eq. cb-primal)."""
    positive = prior * np.maximum(bet, 0.0)
    total = positive.sum(-1, keepdims=True)
    if total.all():
        return positive / total
    return np.where(total > 0, positive / np.where(total > 0, total, 1.0), prior)


def coin_betting_regret(divergence: float, rounds: int, *, horizon_known: bool) -> float:
    """Bound the regret in units of N: √(3T(3 + KL)); anytime √(2T(KL + ½ ln T + ln(e√π))).

    `divergence` is KL(u‖p_0) of the comparator u from the prior.
    """
    if horizon_known:
        return float(np.sqrt(3 * rounds * (3 + divergence)))
    extra = 0.5 * np.log(rounds) + 1 + 0.5 * np.log(np.pi)
    return float(np.sqrt(2 * rounds * (divergence + extra)))
