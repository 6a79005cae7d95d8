"""Coin betting over binary features: the learner folded over the stored weights of all iterations.

The policy at a state is the bettor after t updates with the gains ⟨φ(s, ·), θ_i⟩, i < t: O(t) for each query.
States with equal features share everything, so the newest iterate keeps the bettors of the cells that it has
seen and updates them all by one weight when it advances. Older iterates replay the shared history up to
their t. A cached bettor and a replayed one go through the same arithmetic and agree to the bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.features.base import BinaryFeatures, FeatureMap, is_binary
from painless.features.tile_coding import TileGrid
from painless.learners.base import Learner
from painless.learners.coin_betting import CoinBetting
from painless.policies.base import FeaturePolicy
from painless.policies.cell_bettors import Bettors, Cells, Compiled, replay
from painless.policies.history import History
from painless.policies.linear_q import LinearQ
from painless.simulation.simulator import States


@dataclass(frozen=True, eq=False)
class ReplayedPolicy(FeaturePolicy):
    """Coin betting over binary features, from the uniform policy, for one run."""

    learner: CoinBetting
    features: BinaryFeatures
    history: History
    updates: int = 0
    last: LinearQ | None = None
    _cells: list[Cells] = field(default_factory=list)  # of the newest iterate; empty for the others

    def __post_init__(self) -> None:
        self.history.require(self.features.dimension, self.updates)

    @classmethod
    def serves(cls, learner: Learner[Any], features: FeatureMap) -> bool:
        """Coin betting over binary features."""
        return isinstance(learner, CoinBetting) and is_binary(features)

    @classmethod
    def start(
        cls, learner: CoinBetting, features: BinaryFeatures, cells: Cells | None = None
    ) -> ReplayedPolicy:
        """Start at the uniform policy; `cells` keeps the bettors of the newest iterate."""
        return cls(learner, features, History(features.dimension), _cells=[cells or Cells(learner, features)])

    def at(self, states: States) -> Array:
        """Return the probabilities of all actions in some states, (1, n, A)."""
        if self._cells:
            return self._cells[0].decisions(states, self.history.weights, self.updates)[None]
        active = self.features.active(states)
        bettors = Bettors.zeros(active.shape[:2])
        replay(self.learner, active, self.history.weights, self.updates, bettors)
        return bettors.decision[None]

    def remembering(self) -> ReplayedPolicy:
        """Return this policy with the bettors of the cells that it sees kept."""
        return self if self._cells else replace(self, _cells=[Cells(self.learner, self.features)])

    def compiled(self, grid: TileGrid) -> Compiled:
        """Return what a kernel needs to know; the grid is that of the features."""
        (cells,) = self._cells
        return Compiled(grid, cells.keys, cells.slots, cells.bettors.decision, np.empty(0))

    def advance(self, weight: Array, q: LinearQ) -> ReplayedPolicy:
        """Store the Lagrangian weight, and update the cells that were seen."""
        stored = q.combine(weight)[0]
        self.history.append(self.updates, stored)
        cells = [self._cells.pop()] if self._cells else [Cells(self.learner, self.features)]
        cells[0].advance(stored, self.updates + 1)
        return ReplayedPolicy(self.learner, self.features, self.history, self.updates + 1, q, cells)

    @classmethod
    def parts(cls, iterates: Sequence[ReplayedPolicy]) -> dict[str, Any]:
        """Return the history that these iterates share."""
        return iterates[0].history.parts([one.updates for one in iterates])

    @classmethod
    def from_parts(
        cls,
        learner: CoinBetting,
        features: BinaryFeatures,
        content: Mapping[str, Any],
        updates: Sequence[int],
    ) -> list[ReplayedPolicy]:
        """Return the iterates after these numbers of updates."""
        history = History.from_parts(content, features.dimension, updates)
        return [cls(learner, features, history, count) for count in updates]
