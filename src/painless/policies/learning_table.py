"""What the loop of learning asks of a policy and of action values, and the table that learns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.learners.base import Learner, State


class QFunction(Protocol):
    """Action values of all J utilities, for every run of a batch."""

    def at(self, states: NDArray[Any]) -> Array:
        """Return the action values of some states, (B, J, n, A)."""

    def combine(self, weight: Array) -> Array:
        """Return Σ_j weight_j·Q_j for weights (B, J): the Lagrangian action value."""


class Policy(Protocol):
    """A policy for every run of a batch."""

    def at(self, states: NDArray[Any]) -> Array:
        """Return the probabilities of all actions in some states, (B, n, A)."""

    def advance(self, weight: Array, q: Any) -> Self:
        """Return the next iterate, after gains Σ_j weight_j·Q_j; `q` is of the kind its evaluators give."""


@dataclass(frozen=True)
class TabularQ:
    """Action values at every state, (B, J, S, A)."""

    values: Array

    def at(self, states: NDArray[np.intp]) -> Array:
        """Return the action values of some states, (B, J, n, A)."""
        return self.values[:, :, states]

    def combine(self, weight: Array) -> Array:
        """Return Σ_j weight_j·Q_j at every state, (B, S, A)."""
        runs, _, states, actions = self.values.shape
        flat = self.values.reshape(runs, -1, states * actions)
        return np.matmul(weight[:, None, :], flat).reshape(runs, states, actions)


@dataclass(frozen=True)
class LearningTable(Generic[State]):
    """A learner's decision at every state: the policy in the making."""

    learner: Learner[State]
    state: State

    @classmethod
    def start(cls, learner: Learner[State], prior: Array) -> LearningTable[State]:
        """Start every run at its prior, (B, S, A)."""
        return cls(learner, learner.init(prior))

    @property
    def probabilities(self) -> Array:
        """The probabilities of all actions in all states, (B, S, A)."""
        return self.state.decision

    def at(self, states: NDArray[np.intp]) -> Array:
        """Return the probabilities of all actions in some states, (B, n, A)."""
        return self.state.decision[:, states]

    def advance(self, weight: Array, q: QFunction) -> LearningTable[State]:
        """Let the learner gain Σ_j weight_j·Q_j at every state."""
        return LearningTable(self.learner, self.learner.update(q.combine(weight), self.state))
