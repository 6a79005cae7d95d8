"""The Lagrangian dual: any learner plays the multipliers, clipped to [0, U].

weights (1, λ),     the learner gains b − V_c
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

import numpy as np

from painless.arrays import Array, Setting
from painless.duals.base import with_reward
from painless.learners.base import Learner, State


@dataclass(frozen=True)
class Lagrangian(Generic[State]):
    """A learner's decision as the multipliers, clipped to [0, upper] and written back into its state.

    Written back, so that the learner's wealth counts what was played.

    Arguments:
        learner: any learner on the line, such as `Cocob` or `ProjectedGradient`.
        upper: U, one number or one for each constraint.

    >>> from painless.learners import ProjectedGradient
    >>> dual = Lagrangian(ProjectedGradient(rate=1.0), upper=2.0)
    >>> state = dual.update(np.array([[5.0]]), dual.init(np.array([[1.0]])))
    >>> dual.weigh(np.array([[0.0]]), state)
    array([[1., 2.]])
    """

    learner: Learner[State]
    upper: Setting

    def init(self, multiplier: Array) -> State:
        """Start at `multiplier`, clipped."""
        return self.learner.init(np.clip(multiplier, 0.0, self.upper))

    def weigh(self, shortfall: Array, state: State) -> Array:
        """Return (1, λ) for every run, (B, J)."""
        del shortfall
        return with_reward(state.decision)

    def update(self, shortfall: Array, state: State) -> State:
        """Let the learner gain the shortfall, then clip its decision."""
        state = self.learner.update(shortfall, state)
        return state._replace(decision=np.minimum(np.maximum(state.decision, 0.0), self.upper))
