"""The mixture that the theory speaks of: draw an iterate, and play it for the whole episode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from painless.arrays import Array

if TYPE_CHECKING:
    from painless.feature_policies import FeaturePolicy


@dataclass(frozen=True, eq=False)
class MixturePolicy:
    """Several iterates of a run and their weights."""

    policies: tuple[FeaturePolicy, ...]
    weights: Array

    @classmethod
    def uniform(cls, policies: tuple[FeaturePolicy, ...]) -> MixturePolicy:
        """Mix policies with equal weights."""
        return cls(policies, np.full(len(policies), 1 / len(policies)))

    def draw(self, rng: np.random.Generator) -> FeaturePolicy:
        """Draw the policy to play in one episode."""
        return self.policies[int(rng.choice(len(self.policies), p=self.weights))]
