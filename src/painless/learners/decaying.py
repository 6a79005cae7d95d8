"""Steps that decay: any learner, whose n-th gain is divided by √n.

For a learner whose step is η·g, such as exponentiated or projected gradient, this is the step size η/√n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from painless.common.arrays import Array
from painless.learners.base import Learner


class DecayingState(NamedTuple):
    """The decision, which a dual may clip, the state of the learner inside, and the gains seen."""

    decision: Array
    inner: Any
    rounds: int


@dataclass(frozen=True)
class Decaying:
    """A learner that hears less and less of its gains: g_n/√n.

    Arguments:
        learner: the learner inside.

    >>> from painless.learners import ProjectedGradient
    >>> learner = Decaying(ProjectedGradient(rate=1.0))
    >>> state = learner.init(np.array([0.0]))
    >>> for _ in range(4):
    ...     state = learner.update(np.array([1.0]), state)
    >>> state.decision.round(6)  # 1 + 1/√2 + 1/√3 + 1/2
    array([2.784457])
    """

    learner: Learner[Any]

    def init(self, prior: Array) -> DecayingState:
        """Start the learner inside."""
        inner = self.learner.init(prior)
        return DecayingState(inner.decision, inner, 0)

    def update(self, gain: Array, state: DecayingState) -> DecayingState:
        """Pass on the gain, divided by the root of how many there were."""
        rounds = state.rounds + 1
        inner: Any = self.learner.update(
            gain / np.sqrt(rounds), state.inner._replace(decision=state.decision)
        )
        return DecayingState(inner.decision, inner, rounds)
