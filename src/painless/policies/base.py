"""The interface of policies over features: act, advance, and store themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import Field, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from painless.common.arrays import Array
from painless.features.base import FeatureMap
from painless.learners.base import Learner
from painless.policies.description import FEATURES, LEARNERS, describe
from painless.policies.linear_q import LinearQ
from painless.simulation.simulator import States


class StoredPolicy(Protocol):
    """What a mixture asks of its policies, of whatever kind: to act, and to store themselves."""

    @property
    def updates(self) -> int:
        """How many updates led here."""

    def at(self, states: States) -> Array:
        """Return the probabilities of all actions in some states, (1, n, A)."""

    def description(self) -> dict[str, Any]:
        """Return the settings as plain numbers and text; `kind` names its reader in `storage.READERS`."""

    @classmethod
    def parts(cls, iterates: Sequence[Any]) -> dict[str, Any]:
        """Return the arrays that hold these iterates of one run."""


class FeaturePolicy(ABC):
    """An iterate of a learner over features, from the uniform policy, for one run; every kind is a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    learner: Learner[Any]
    features: FeatureMap
    updates: int
    last: LinearQ | None  # what led here: the action values of the previous iterate

    @classmethod
    @abstractmethod
    def serves(cls, learner: Learner[Any], features: FeatureMap) -> bool:
        """Whether this kind of policy is for such a learner over such features."""

    @classmethod
    @abstractmethod
    def start(cls, learner: Any, features: Any) -> Self:
        """Start at the uniform policy."""

    @abstractmethod
    def at(self, states: States) -> Array:
        """Return the probabilities of all actions in some states, (1, n, A)."""

    @abstractmethod
    def advance(self, weight: Array, q: LinearQ) -> Self:
        """Return the next iterate, after the Lagrangian weight Σ_j weight_j·θ_j."""

    @classmethod
    @abstractmethod
    def parts(cls, iterates: Sequence[Self]) -> dict[str, Any]:
        """Return the arrays that hold these iterates of one run."""

    @classmethod
    @abstractmethod
    def from_parts(
        cls, learner: Any, features: Any, content: Mapping[str, Any], updates: Sequence[int]
    ) -> list[Self]:
        """Return the iterates after these numbers of updates, which `parts` took apart."""

    def description(self) -> dict[str, Any]:
        """Return the settings of features and learner as plain numbers."""
        return {
            "features": describe(self.features, FEATURES),
            "learner": describe(self.learner, LEARNERS),
        }

    def remembering(self) -> Self:
        """Return this policy with what it computes kept, where its kind can."""
        return self

    def resumed(self, last: LinearQ) -> Self:
        """Return this policy as the newest of its run, to which these action values led."""
        return replace(self, last=last).remembering()

    def act(self, state: Any, rng: np.random.Generator | None = None) -> int:
        """Draw an action in one state, an index or an array (D,); without a generator, from one seeded by the system."""
        rng = np.random.default_rng() if rng is None else rng
        probabilities = self.at(np.asarray(state)[None])[0, 0]
        return int(rng.choice(len(probabilities), p=probabilities))
