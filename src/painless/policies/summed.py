"""Exponentiated gradient over features: only the discounted sum of the weights is kept.

logits = η·⟨φ(s, ·), Σ_i (1 − ην)^(t−1−i) θ_i⟩,     from the uniform policy
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.features.base import FeatureMap, linear_action_value
from painless.features.tile_coding import TileGrid
from painless.learners.base import Learner
from painless.learners.exponentiated_gradient import ExponentiatedGradient
from painless.policies.base import FeaturePolicy
from painless.policies.cell_bettors import Compiled
from painless.policies.linear_q import LinearQ
from painless.policies.packing import pack, unpack
from painless.simulation.simulator import States


@dataclass(frozen=True, eq=False)
class SummedPolicy(FeaturePolicy):
    """Exponentiated gradient over features, from the uniform policy, for one run."""

    learner: ExponentiatedGradient
    features: FeatureMap
    weight_sum: Array  # (d,)
    updates: int = 0
    last: LinearQ | None = None

    def __post_init__(self) -> None:
        if self.weight_sum.shape != (self.features.dimension,):
            raise InputError(
                f"the sum of the weights has shape {self.weight_sum.shape}, not ({self.features.dimension},)"
            )

    @classmethod
    def serves(cls, learner: Learner[Any], features: FeatureMap) -> bool:
        """Exponentiated gradient over any features."""
        del features
        return isinstance(learner, ExponentiatedGradient)

    @classmethod
    def start(cls, learner: ExponentiatedGradient, features: FeatureMap) -> SummedPolicy:
        """Start at the uniform policy."""
        return cls(learner, features, np.zeros(features.dimension))

    def at(self, states: States) -> Array:
        """Return the probabilities of all actions in some states, (1, n, A)."""
        logits = self.learner.rate * linear_action_value(self.features, self.weight_sum, states)
        odds = np.exp(logits - logits.max(-1, keepdims=True))
        return (odds / odds.sum(-1, keepdims=True))[None]

    def compiled(self, grid: TileGrid) -> Compiled:
        """Return what a kernel needs to know; the grid is that of the features."""
        nothing, rate = np.empty(0, np.int64), np.asarray(self.learner.rate).item()
        return Compiled(grid, nothing, nothing, np.empty((0, 0)), rate * self.weight_sum)

    def advance(self, weight: Array, q: LinearQ) -> SummedPolicy:
        """Add the Lagrangian weight."""
        kept = (1 - self.learner.rate * self.learner.entropy) * self.weight_sum
        total = kept + q.combine(weight)[0]
        return SummedPolicy(self.learner, self.features, np.asarray(total), self.updates + 1, q)

    @classmethod
    def parts(cls, iterates: Sequence[SummedPolicy]) -> dict[str, Any]:
        """Return the sums of all iterates."""
        return pack(np.array([one.weight_sum for one in iterates]).T, "sums")

    @classmethod
    def from_parts(
        cls,
        learner: ExponentiatedGradient,
        features: FeatureMap,
        content: Mapping[str, Any],
        updates: Sequence[int],
    ) -> list[SummedPolicy]:
        """Return the iterates after these numbers of updates."""
        sums = unpack(content, "sums", features.dimension).T
        pairs = zip(sums, updates, strict=True)
        return [cls(learner, features, one, count) for one, count in pairs]
