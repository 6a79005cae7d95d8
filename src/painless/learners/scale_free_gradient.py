"""Gradient ascent on the half-line that needs neither the scale of the gains nor the distance to the optimum.

In every coordinate, from x_0 ≥ 0:

    S_t = Σ g²;     D_t = max(D_{t−1}, c·x_t) where g_t > 0, else D_{t−1}
    η_t = 2^(⌊m_t/16⌋ − h_t)·D_t/√S_t,     m_t gains of the sign of g_t came before it without a break
    h_t goes up by 1 after every 3 changes of sign in a row, and down by 1, not below 0, after every 3 gains of one sign in a row
    x_{t+1} = [x_t + η_t·g_t]₊,     and x stays where S = 0

The steps are those of AdaGrad (Duchi et al. 2011; scale-free: Orabona & Pál 2018) with a radius D that grows as the
decision does: while gains stay positive x grows like exp(2c√t), so that a far optimum is found, and once it is found the
steps shrink like 1/√t. If gains have become tiny relative to the first ones but all have the same sign, the steps double
after a while; if every gain reverses the one before, they halve until that ends (both as in Rprop, Riedmiller & Braun
1993). Scaling the gains by a positive number does not change the decisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array, Setting, per_run

LARGEST = 1e9  # the largest decision, so that gains that stay positive forever do not overflow
DOUBLINGS = 40.0  # at most, in a row; as many halvings


class ScaleFreeGradientState(NamedTuple):
    """The memory of every coordinate; all arrays have the shape of the prior."""

    decision: Array
    square_sum: Array
    radius: Array
    streak: Array  # how many gains of one sign came last; below 0 for negative ones
    turns: Array  # how many changes of sign came last without a break
    halvings: Array  # h
    rate: Array  # η, the latest step size


@dataclass(frozen=True)
class ScaleFreeGradient:
    """Scale-free gradient ascent in every coordinate, on [0, 1e9].

    Arguments:
        radius: D_0, how far the first step goes.
        growth: c, how fast the radius follows the decision.
        patience: the number of gains of one sign in a row after which the steps double.
        calm: the number of changes of sign in a row after which the steps halve; after as many gains of one sign they recover.

    >>> learner = ScaleFreeGradient()
    >>> state = learner.update(np.array([1e-6, -5.0]), learner.init(np.array([0.0, 0.0])))
    >>> state.decision
    array([1., 0.])
    >>> learner.update(np.array([1e-6, 0.0]), state).decision.round(6)
    array([2.414214, 0.      ])

    References:
        Duchi, Hazan & Singer, "Adaptive subgradient methods for online learning and stochastic optimization", JMLR 12,
        2011. Orabona & Pál, "Scale-free online learning", Theoretical Computer Science 716, 2018. Riedmiller & Braun, "A
        direct adaptive method for faster backpropagation learning: the RPROP algorithm", ICNN 1993.
    """

    radius: Setting = 1.0
    growth: Setting = 2.0
    patience: Setting = 16.0
    calm: Setting = 3.0

    def init(self, prior: Array) -> ScaleFreeGradientState:
        """Start at the prior with nothing seen."""
        zero = np.zeros_like(prior)
        radius = zero + per_run(self.radius, prior.ndim)
        return ScaleFreeGradientState(prior, zero, radius, zero, zero, zero, zero)

    def update(self, gain: Array, state: ScaleFreeGradientState) -> ScaleFreeGradientState:
        """Step along `gain`, and stay at 0 or above."""
        square_sum = state.square_sum + gain * gain
        further = per_run(self.growth, gain.ndim) * state.decision
        radius = np.where(gain > 0, np.maximum(state.radius, further), state.radius)
        root = np.sqrt(square_sum)
        before = np.where(state.streak * gain > 0, np.abs(state.streak), 0.0)
        turns = np.where(state.streak * gain < 0, state.turns + 1, 0.0)
        halvings = self._halvings(before, turns, state)
        doublings = np.minimum(before // per_run(self.patience, gain.ndim), DOUBLINGS)
        rate = np.exp2(doublings - halvings) * radius / np.where(root > 0, root, 1.0)
        decision = np.clip(state.decision + rate * gain, 0.0, LARGEST)
        stuck = (decision == 0) & (gain <= 0)  # at the border larger steps would not help
        streak = np.where(stuck, 0.0, np.sign(gain) * (before + 1))
        return ScaleFreeGradientState(decision, square_sum, radius, streak, turns, halvings, rate)

    def _halvings(self, before: Array, turns: Array, state: ScaleFreeGradientState) -> Array:
        """Return h: one more after enough changes of sign, one less after enough gains of one sign."""
        calm = per_run(self.calm, turns.ndim)
        restless = (turns > 0) & (turns % calm == 0)
        settled = (before > 0) & ((before + 1) % calm == 0)
        return np.clip(state.halvings + restless - settled, 0.0, DOUBLINGS)


def gradient_regret(rate: Array, gain: Array, distance: float) -> float:
    """Bound the regret of projected gradient ascent with any steps: B²/2·(1/η_1 + Σ [1/η_t − 1/η_{t−1}]₊) + Σ η_t g_t²/2.

    `rate` and `gain` are (T,), and B = `distance` is the largest |x_t − u|.

    >>> gradient_regret(np.array([0.5, 0.5]), np.array([1.0, -1.0]), 1.0)
    1.5
    """
    inverse = 1 / rate
    rises = inverse[0] + np.maximum(np.diff(inverse), 0.0).sum()
    return float(distance**2 / 2 * rises + (rate * gain**2).sum() / 2)
