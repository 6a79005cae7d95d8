"""The Lagrangian dual by the reduction of Cutkosky and Orabona: the learner roams, and its projection is played.

    λ = clip(z, 0, U),     the learner that plays z gains b − V_c, and 0 where that would lead it further away from [0, U]

Against any u in [0, U] the regret of λ is at most that of z, so that an unconstrained learner keeps its guarantee. With
`Lagrangian`, which writes the clipped decision back into the learner's state, a bettor's wealth counts what was played, but no
theorem covers it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

import numpy as np

from painless.arrays import Array, Setting
from painless.duals.base import with_reward
from painless.learners.base import Learner, State


@dataclass(frozen=True)
class Reduced(Generic[State]):
    """A learner's decision, projected to [0, upper], as the multipliers; gains that lead further away are withheld.

    Arguments:
        learner: any learner on the line, such as `Cocob`.
        upper: U, one number or one for each constraint.

    >>> from painless.learners import ProjectedGradient
    >>> dual = Reduced(ProjectedGradient(rate=1.0), upper=2.0)
    >>> state = dual.update(np.array([[5.0]]), dual.init(np.array([[1.0]])))
    >>> dual.weigh(np.array([[0.0]]), state), dual.update(np.array([[5.0]]), state).decision
    (array([[1., 2.]]), array([[6.]]))

    References:
        Cutkosky & Orabona, "Black-box reductions for parameter-free online learning in Banach spaces", COLT 2018.
    """

    learner: Learner[State]
    upper: Setting

    def init(self, multiplier: Array) -> State:
        """Start at `multiplier`, clipped."""
        return self.learner.init(np.clip(multiplier, 0.0, self.upper))

    def weigh(self, shortfall: Array, state: State) -> Array:
        """Return (1, λ) for every run, (B, J)."""
        del shortfall
        return with_reward(np.clip(state.decision, 0.0, self.upper))

    def update(self, shortfall: Array, state: State) -> State:
        """Let the learner gain the shortfall, where it does not lead further away."""
        away = ((state.decision > self.upper) & (shortfall > 0)) | ((state.decision < 0) & (shortfall < 0))
        return self.learner.update(np.where(away, 0.0, shortfall), state)
