"""Any learner over any features: the fold itself, O(t) for each query. The reference for the faster ones.

Over binary features the newest iterate keeps the states of the cells that it has seen, and updates them all at once when it advances.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.features.base import FeatureMap, is_binary, linear_action_value
from painless.features.tile_coding import TileGrid
from painless.learners.base import Learner
from painless.policies.base import FeaturePolicy
from painless.policies.cell_bettors import Compiled
from painless.policies.cell_states import CellStates, fold
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
    _cells: list[CellStates] = field(default_factory=list)  # of the newest iterate over binary features

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
        return cls(learner, features, History(features.dimension), _cells=_cells_for(learner, features))

    def at(self, states: States) -> Array:
        """Return the probabilities of all actions in some states, (1, n, A)."""
        if self._cells:
            return self._cells[0].decisions(states, self.history.weights, self.updates)[None]
        if is_binary(self.features):
            active = self.features.active(states)
            return np.asarray(fold(self.learner, active, self.history.weights, self.updates).decision)[None]
        stored = np.ascontiguousarray(self.history.weights[:, : self.updates].T)
        prior = np.full((len(states), self.features.actions), 1 / self.features.actions)
        state = self.learner.init(prior)
        for gain in linear_action_value(self.features, stored, states):
            state = self.learner.update(gain, state)
        return np.asarray(state.decision)[None]

    def advance(self, weight: Array, q: LinearQ) -> FoldedPolicy:
        """Store the Lagrangian weight, and update the cells that were seen."""
        stored = q.combine(weight)[0]
        self.history.append(self.updates, stored)
        cells = [self._cells.pop()] if self._cells else _cells_for(self.learner, self.features)
        for one in cells:
            one.advance(stored, self.updates + 1)
        return FoldedPolicy(self.learner, self.features, self.history, self.updates + 1, q, cells)

    def remembering(self) -> FoldedPolicy:
        """Return this policy with the states of the cells that it sees kept, over binary features."""
        return self if self._cells else replace(self, _cells=_cells_for(self.learner, self.features))

    def compiled(self, grid: TileGrid) -> Compiled:
        """Return what a kernel needs to know; the grid is that of the features."""
        (cells,) = self._cells
        return Compiled(grid, cells.keys, cells.slots, cells.bettors.decision, np.empty(0))

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


def _cells_for(learner: Learner[Any], features: FeatureMap) -> list[CellStates]:
    return [CellStates(learner, features)] if is_binary(features) else []
