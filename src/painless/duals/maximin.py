"""The dual of the feasibility phase: weights over the constraints that look for the one missed most.

    weights (0, w),     w on the simplex gains the shortfalls b − V_c

Against a policy that maximises Σ_i w_i·V_{c_i}, the pair solves max_π min_i (V_{c_i} − b_i).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from painless.common.arrays import Array
from painless.learners.coin_betting import CoinBetting, CoinBettingState


@dataclass(frozen=True)
class Maximin:
    """No weight on the reward; coin betting on the simplex of the constraints.

    >>> dual = Maximin(CoinBetting(normaliser=1.0))
    >>> weight, state = dual.play(np.array([[0.5, -0.5]]), dual.init(np.ones((1, 2))))
    >>> weight, state.decision
    (array([[0. , 0.5, 0.5]]), array([[1., 0.]]))
    """

    learner: CoinBetting

    def init(self, multiplier: Array) -> CoinBettingState:
        """Start with equal weights on all constraints."""
        return self.learner.init(np.full_like(multiplier, 1 / multiplier.shape[1]))

    def play(self, shortfall: Array, state: CoinBettingState) -> tuple[Array, CoinBettingState]:
        """Return (0, w); then let the weights gain the shortfalls."""
        weight = np.concatenate([np.zeros((len(state.decision), 1)), state.decision], axis=1)
        return weight, self.learner.update(shortfall, state)
