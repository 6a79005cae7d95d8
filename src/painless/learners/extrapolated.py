"""Any learner on the half-line, played a few steps ahead of itself.

    played_{t+1} = [x_{t+1} + k·(x_{t+1} − x_t)]₊

Policy and multipliers chase each other. The difference of two decisions says where the chase goes, and dampens it, as the
derivative in a controller does or the extra step of optimistic gradients (Popov 1980; Stooke et al. 2020 for multipliers).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from painless.common.arrays import Array, Setting, per_run
from painless.learners.base import Learner, LearnerState


class ExtrapolatedState(NamedTuple):
    """What is played, and the state of the learner behind it."""

    decision: Array
    inner: Any  # a LearnerState; its decision is x


@dataclass(frozen=True)
class Extrapolated:
    """Plays a learner's decision plus a multiple of its latest change, never below 0.

    Arguments:
        learner: a learner on [0, ∞), such as `HalfLine(Cocob())`.
        steps: k, how far ahead; 2, 5 and 15 work alike with networks, 0 is the learner itself.

    >>> from painless.learners import ProjectedGradient
    >>> learner = Extrapolated(ProjectedGradient(rate=1.0, lower=0.0), steps=5.0)
    >>> learner.update(np.array([0.5]), learner.init(np.ones(1))).decision
    array([4.])

    References:
        Popov, "A modification of the Arrow–Hurwicz method for search of saddle points", Mathematical Notes 28, 1980. Stooke,
        Achiam & Abbeel, "Responsive safety in reinforcement learning by PID Lagrangian methods", ICML 2020.
    """

    learner: Learner[Any]
    steps: Setting = 5.0

    def init(self, prior: Array) -> ExtrapolatedState:
        """Start where the learner does."""
        inner: LearnerState = self.learner.init(prior)
        return ExtrapolatedState(inner.decision, inner)

    def update(self, gain: Array, state: ExtrapolatedState) -> ExtrapolatedState:
        """Let the learner gain, and play ahead."""
        inner: LearnerState = self.learner.update(gain, state.inner)
        ahead = per_run(self.steps, gain.ndim) * (inner.decision - state.inner.decision)
        return ExtrapolatedState(np.maximum(inner.decision + ahead, 0.0), inner)
