"""The alternating dual: the multipliers answer the latest shortfall before the policy moves.

weights (1, λ_{t+1}),     the learner gains b − V_c,     λ_0 = 0 unless `start` is given

With the paper's simultaneous updates, policy and multipliers each react to an outdated iterate of the other, and cycle.
No multiplier bound U is needed: a learner on [0, ∞) adapts by itself, and no Slater policy needs to be known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

import numpy as np

from painless.common.arrays import Array, Setting
from painless.duals.base import with_reward
from painless.learners.base import Learner, State


@dataclass(frozen=True)
class Alternating(Generic[State]):
    """A learner's decision after the latest shortfall as the multipliers, never below 0.

    Arguments:
        learner: any learner on the line, such as `ScaleFreeGradient`.
        start: λ_0, in place of that of the loop; at 0, a constraint that is never missed keeps the multiplier 0.

    >>> from painless.learners import ProjectedGradient
    >>> dual = Alternating(ProjectedGradient(rate=1.0))
    >>> weight, state = dual.play(np.array([[5.0, -1.0]]), dual.init(np.ones((1, 2))))
    >>> weight
    array([[1., 5., 0.]])
    """

    learner: Learner[State]
    start: Setting = 0.0

    def init(self, multiplier: Array) -> State:
        """Start at `start`."""
        return self.learner.init(np.zeros_like(multiplier) + self.start)

    def play(self, shortfall: Array, state: State) -> tuple[Array, State]:
        """Let the learner gain the shortfall; return (1, λ) with the multipliers that this leads to."""
        state = self.learner.update(shortfall, state)
        state = state._replace(decision=np.maximum(state.decision, 0.0))
        return with_reward(state.decision), state
