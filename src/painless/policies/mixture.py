"""The mixture that the theory speaks of: draw an iterate, and play it for the whole episode."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.policies.base import StoredPolicy
from painless.storage.checked_entries import SUM_TOLERANCE


@dataclass(frozen=True, eq=False)
class MixturePolicy:
    """Several iterates of a run and their weights."""

    policies: tuple[StoredPolicy, ...]
    weights: Array

    def __post_init__(self) -> None:
        count, weights = len(self.policies), np.asarray(self.weights)
        if weights.shape != (count,) or not count:
            raise InputError(f"{count} policies need {count} weights, not {weights.shape}; give at least one")
        if not (weights >= 0).all() or not abs(weights.sum() - 1) <= SUM_TOLERANCE:
            raise InputError("the weights of a mixture are not a distribution; divide them by their sum")

    @classmethod
    def uniform(cls, policies: tuple[StoredPolicy, ...]) -> MixturePolicy:
        """Mix policies with equal weights."""
        return cls(policies, np.full(len(policies), 1 / len(policies)))

    def draw(self, rng: np.random.Generator) -> StoredPolicy:
        """Draw the policy to play in one episode."""
        return self.policies[int(rng.choice(len(self.policies), p=self.weights))]
