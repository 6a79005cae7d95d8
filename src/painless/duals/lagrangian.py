"""The Lagrangian dual: any learner plays the multipliers, clipped to [0, U].

weights (1, λ),     the learner gains b − V_c
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

import numpy as np

from painless.common.arrays import Array, Setting
from painless.duals.base import with_reward
from painless.learners.base import Learner, State


@dataclass(frozen=True)
class Lagrangian(Generic[State]):
    """A learner's decision as the multipliers, clipped to [0, upper] and written back into its state.

    Written back, so that the learner's wealth counts what was played.

    Arguments:
        learner: any learner on the line, such as `Cocob` or `ProjectedGradient`.
        upper: U, one number or one for each constraint.
        start: λ_0, in place of that of the loop.

    >>> from painless.learners import ProjectedGradient
    >>> dual = Lagrangian(ProjectedGradient(rate=1.0), upper=2.0)
    >>> weight, state = dual.play(np.array([[5.0]]), dual.init(np.array([[1.0]])))
    >>> weight, state.decision
    (array([[1., 1.]]), array([[2.]]))
    """

    learner: Learner[State]
    upper: Setting
    start: float | None = None

    def init(self, multiplier: Array) -> State:
        """Start at `multiplier`, or at `start`, clipped."""
        first = multiplier if self.start is None else np.full_like(multiplier, self.start)
        return self.learner.init(np.clip(first, 0.0, self.upper))

    def play(self, shortfall: Array, state: State) -> tuple[Array, State]:
        """Return (1, λ); then let the learner gain the shortfall, and clip its decision."""
        following = self.learner.update(shortfall, state)
        clipped = np.minimum(np.maximum(following.decision, 0.0), self.upper)
        return with_reward(state.decision), following._replace(decision=clipped)
