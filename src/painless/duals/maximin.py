"""The dual of the feasibility phase: weights over the constraints that look for the one missed most.

    weights (0, w),     w on the simplex gains the shortfalls b − V_c

Against a policy that maximises Σ_i w_i·V_{c_i}, the pair solves max_π min_i (V_{c_i} − b_i).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from painless.arrays import Array
from painless.learners.coin_betting import CoinBetting, CoinBettingState


@dataclass(frozen=True)
class Maximin:
    """No weight on the reward; coin betting on the simplex of the constraints.

    >>> dual = Maximin(CoinBetting(normaliser=1.0))
    >>> state = dual.update(np.array([[0.5, -0.5]]), dual.init(np.ones((1, 2))))
    >>> dual.weigh(np.zeros((1, 2)), state)
    array([[0., 1., 0.]])
    """

    learner: CoinBetting

    def init(self, multiplier: Array) -> CoinBettingState:
        """Start with equal weights on all constraints."""
        return self.learner.init(np.full_like(multiplier, 1 / multiplier.shape[1]))

    def weigh(self, shortfall: Array, state: CoinBettingState) -> Array:
        """Return (0, w) for every run, (B, J)."""
        del shortfall
        return np.concatenate([np.zeros((len(state.decision), 1)), state.decision], axis=1)

    def update(self, shortfall: Array, state: CoinBettingState) -> CoinBettingState:
        """Let the weights gain the shortfalls."""
        return self.learner.update(shortfall, state)
