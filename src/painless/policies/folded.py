"""Any learner over any features: the fold itself, O(t) for each query. The reference for the faster ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.features.base import FeatureMap, linear_action_value
from painless.learners.base import Learner
from painless.policies.base import FeaturePolicy
from painless.policies.history import History
from painless.policies.linear_q import LinearQ
from painless.simulation.simulator import States


@dataclass(frozen=True, eq=False)
class FoldedPolicy(FeaturePolicy):
    """A learner folded over the stored weights, from the uniform policy, for one run."""

    learner: Learner[Any]
    features: FeatureMap
    history: History
    updates: int = 0
    last: LinearQ | None = None

    def __post_init__(self) -> None:
        self.history.require(self.features.dimension, self.updates)

    @classmethod
    def serves(cls, learner: Learner[Any], features: FeatureMap) -> bool:
        """Any learner over any features."""
        del learner, features
        return True

    @classmethod
    def start(cls, learner: Learner[Any], features: FeatureMap) -> FoldedPolicy:
        """Start at the uniform policy."""
        return cls(learner, features, History(features.dimension))

    def at(self, states: States) -> Array:
        """Return the probabilities of all actions in some states, (1, n, A)."""
        stored = np.ascontiguousarray(self.history.weights[:, : self.updates].T)
        prior = np.full((len(states), self.features.actions), 1 / self.features.actions)
        state = self.learner.init(prior)
        for gain in linear_action_value(self.features, stored, states):
            state = self.learner.update(gain, state)
        return np.asarray(state.decision)[None]

    def advance(self, weight: Array, q: LinearQ) -> FoldedPolicy:
        """Store the Lagrangian weight."""
        self.history.append(self.updates, q.combine(weight)[0])
        return FoldedPolicy(self.learner, self.features, self.history, self.updates + 1, q)

    @classmethod
    def parts(cls, iterates: Sequence[FoldedPolicy]) -> dict[str, Any]:
        """Return the history that these iterates share."""
        return iterates[0].history.parts([one.updates for one in iterates])

    @classmethod
    def from_parts(
        cls, learner: Learner[Any], features: FeatureMap, content: Mapping[str, Any], updates: Sequence[int]
    ) -> list[FoldedPolicy]:
        """Return the iterates after these numbers of updates."""
        history = History.from_parts(content, features.dimension, updates)
        return [cls(learner, features, history, count) for count in updates]
