"""Regret matching⁺ on the simplex, predictive, with weights that grow (Tammelin 2014; Farina et al. 2021).

For the gains g_t, the decision p_t, and gain n counted with weight n^k:

    A = g − ⟨g, p_t⟩,     |A| ≤ 1e-12·max |g| counts as 0
    R ← [((n − 1)/n)^k·R + A]₊
    p_{t+1} ∝ [R + A]₊,     and the prior where that is zero everywhere

R + A predicts that the next advantages are those just seen; without the prediction, p ∝ R. There is no step size and no
range to know: gains times any positive number give the same decisions.

A coin bettor on the simplex is nearly this. While its wealth stays near 1, which a loose normaliser ensures, its bets are
proportional to the sums of kept advantages, and p ∝ p_0·[ΣÃ]₊: that is why its settings hardly matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array, Setting, per_run

FLOOR = 1e-12  # an advantage of a smaller part of the largest |gain| is a tie


class RegretMatchingState(NamedTuple):
    """What is remembered; every array has the shape of the prior, (..., A)."""

    decision: Array
    prior: Array
    regret: Array  # in units of the latest weight
    rounds: int


@dataclass(frozen=True)
class RegretMatching:
    """Regret matching⁺ over the last axis; coordinates with prior 0 stay at 0.

    Arguments:
        growth: k; the n-th gain has the weight n^k. 1 is linear; 0 is plain regret matching⁺, with uniform weights.
        predictive: whether to predict that the latest advantages repeat.

    >>> learner = RegretMatching(growth=0.0, predictive=False)
    >>> state = learner.update(np.array([1.0, 0.0, 0.5]), learner.init(np.array([0.25, 0.75, 0.0])))
    >>> learner.update(np.array([0.0, 4.0, 0.5]), state).decision
    array([0.15789474, 0.84210526, 0.        ])

    References:
        Tammelin, "Solving large imperfect information games using CFR+", 2014. Farina, Kroer & Sandholm, "Faster game
        solving via predictive Blackwell approachability: connecting regret matching and mirror descent", AAAI 2021.
    """

    growth: Setting = 1.0
    predictive: bool = True

    def init(self, prior: Array) -> RegretMatchingState:
        """Start without regrets: the first decision is the prior."""
        return RegretMatchingState(prior, prior, np.zeros_like(prior), 0)

    def update(self, gain: Array, state: RegretMatchingState) -> RegretMatchingState:
        """Add the regrets for `gain`, and match them."""
        rounds = state.rounds + 1
        known = per_run(fading_factor(rounds, self.growth), gain.ndim)
        seen = advantage(gain, state.decision, state.prior)
        regret = np.maximum(known * state.regret + seen, 0.0)
        expected = np.maximum(regret + seen, 0.0) if self.predictive else regret
        return RegretMatchingState(match(expected, state.prior), state.prior, regret, rounds)


def fading_factor(rounds: int, growth: Setting) -> Setting:
    """((n − 1)/n)^k, what is left of the regrets before gain n; each run has the same bits as if it were run alone."""
    base = (rounds - 1) / rounds
    if isinstance(growth, np.ndarray):
        return np.array([base ** float(one) for one in growth.reshape(-1)]).reshape(growth.shape)
    return base ** float(growth)


def advantage(gain: Array, decision: Array, prior: Array) -> Array:
    """A = g − ⟨g, p⟩ where the prior is positive, with rounding taken as 0."""
    kept = gain * (prior > 0)
    result = (gain - (kept * decision).sum(-1, keepdims=True)) * (prior > 0)
    floor = FLOOR * np.abs(kept).max(-1, keepdims=True)
    return np.where(np.abs(result) > floor, result, 0.0)


def match(regret: Array, prior: Array) -> Array:
    """The distribution p ∝ R for R ≥ 0, and the prior where R is zero everywhere."""
    total = regret.sum(-1, keepdims=True)
    return np.where(total > 0, regret / np.where(total > 0, total, 1.0), prior)


def regret_matching_regret(deviations: Array) -> float:
    """Bound the weighted regret Σ_n w_n·A_n of every coordinate by √(2 Σ_n ‖w_n·A_n − m_n‖²).

    `deviations` (T, A) are those of the weighted advantages from their predictions m_n; without predictions m_n = 0, and
    the bound holds without the 2.

    >>> regret_matching_regret(np.array([[1.0, -1.0]]))
    2.0
    """
    return float(np.sqrt(2 * (deviations**2).sum()))
