"""Any learner on the half-line [0, ∞), without wind-up.

    g̃_t = 0 where x_t = 0 and g_t < 0, else g_t
    x_{t+1} = [learner(g̃_t)]₊

A learner of the whole line, clipped at 0, goes on betting on negative values while it is stuck there, and needs as long to return as it
was away: it winds up. At 0 a negative gain tells nothing, since the decision cannot go lower. So it does not count, as in the kept
advantages of coin betting on the simplex, or in reductions of constrained to unconstrained learning (Cutkosky & Orabona 2018).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

import numpy as np

from painless.common.arrays import Array
from painless.learners.base import Learner, State


@dataclass(frozen=True)
class HalfLine(Generic[State]):
    """A learner whose decisions stay at 0 or above, and which forgets the gains that could only push it below.

    Arguments:
        learner: any learner on the line, such as `Cocob`.

    >>> from painless.learners import Cocob
    >>> learner = HalfLine(Cocob(alpha=8.0))
    >>> state = learner.init(np.zeros(1))
    >>> for _ in range(100):
    ...     state = learner.update(np.array([-1.0]), state)
    >>> learner.update(np.array([1.0]), state).decision
    array([0.125])

    References:
        Cutkosky & Orabona, "Black-box reductions for parameter-free online learning in Banach spaces", COLT 2018.
    """

    learner: Learner[State]

    def init(self, prior: Array) -> State:
        """Start at the prior, or at 0 where it is below."""
        return self.learner.init(np.maximum(prior, 0.0))

    def update(self, gain: Array, state: State) -> State:
        """Let the learner gain what counts, and keep its decision at 0 or above."""
        following = self.learner.update(np.where((state.decision <= 0) & (gain < 0), 0.0, gain), state)
        return following._replace(decision=np.maximum(following.decision, 0.0))
