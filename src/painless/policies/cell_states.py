"""The states of any learner in the cells that a run has seen, found by the cell's id: the same fold for all of them at once.

A learner treats the rows of its state alike, so that states of single cells can be put together and taken apart. New cells are folded over
the whole history, together; known ones take one update when the policy advances.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.features.base import BinaryFeatures, Indices
from painless.learners.base import Learner
from painless.policies.cell_bettors import Cells, require_features

GATHERED = 1 << 21  # numbers of the history that are gathered at once


def fold(learner: Learner[Any], active: Indices, history: Array, updates: int) -> Any:
    """Return the learner's state after the first `updates` weights (d, ·) in cells with these active features (M, A, m)."""
    require_features(active, len(history))
    state = learner.init(np.full(active.shape[:2], 1 / active.shape[1]))
    block = max(1, GATHERED // max(active.size, 1))
    for start in range(0, updates, block):
        for gain in _gains(active, history[:, start : min(start + block, updates)]):
            state = learner.update(gain, state)
    return state


def _gains(active: Indices, history: Array) -> Array:
    """Return the gains of all cells for some weights (d, t), (t, M, A); features are added up as in `linear_action_value`, to the bit."""
    rows = np.ascontiguousarray(history[active.reshape(-1)].T)
    return np.asarray(rows.reshape(-1, *active.shape).sum(-1))


def joined(one: Any, other: Any, rows: int) -> Any:
    """Return two states of cells as one; what does not go by cells, such as a count of rounds, is that of the second."""
    if isinstance(one, tuple):
        parts = [joined(a, b, rows) for a, b in zip(one, other, strict=True)]
        return type(one)(*parts) if hasattr(one, "_fields") else tuple(parts)
    if isinstance(one, np.ndarray) and one.ndim and len(one) == rows:
        return np.concatenate([one, other])
    return other


class CellStates(Cells):
    """The states of any learner after the same number of updates, in a growing number of cells."""

    def __init__(
        self, learner: Learner[Any], features: BinaryFeatures, most: int = 1 << 17, first: int = 1 << 10
    ) -> None:
        self.general = learner
        self.state: Any = None
        super().__init__(learner, features, most, first)  # type: ignore[arg-type]

    def _clear(self) -> None:
        super()._clear()
        self.state = None

    def _replayed(self, active: Indices, history: Array, updates: int, start: int, end: int) -> None:
        found = fold(self.general, active, history, updates)
        self.state = found if self.state is None else joined(self.state, found, start)
        self.bettors.decision[start:end] = found.decision

    def advance(self, weight: Array, rounds: int) -> None:
        """Update every cell by the weight of round number `rounds`."""
        del rounds
        if self.count:
            self.state = self.general.update(weight[self.active[: self.count]].sum(-1), self.state)
            self.bettors.decision[: self.count] = self.state.decision
