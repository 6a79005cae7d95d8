"""The bettors of the cells that a run has seen, found by the cell's id."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.features.base import BinaryFeatures, Indices
from painless.features.tile_coding import TileGrid
from painless.learners.coin_betting import CoinBetting
from painless.simulation.simulator import States


class Bettors(NamedTuple):
    """The state of coin betting in many cells, (M, A) each."""

    decision: Array
    bet: Array
    gain_sum: Array
    wealth: Array

    @classmethod
    def zeros(cls, shape: tuple[int, ...]) -> Bettors:
        """Return room for the bettors of a number of cells and actions."""
        return cls(*(np.zeros(shape) for _ in range(4)))

    def rows(self, start: int, end: int) -> Bettors:
        """Return a view of some cells."""
        return Bettors(*(part[start:end] for part in self))


class Compiled(NamedTuple):
    """A policy over tile coding as a kernel reads it: the decisions of the cells seen, or the weights of the logits."""

    grid: TileGrid
    keys: Indices  # a hash table from cells to slots
    slots: Indices
    decision: Array  # (M, A) by slot
    weight: Array  # (d,) of the logits; empty where the cells decide


class Cells:
    """Bettors after the same number of updates: a growing table of rows, one for each cell.

    It has room for `first` cells, and grows up to `most`; beyond that it restarts, which costs time and changes nothing.
    """

    def __init__(
        self, learner: CoinBetting, features: BinaryFeatures, most: int = 1 << 17, first: int = 1 << 10
    ) -> None:
        self.learner, self.features = learner, features
        self.most, self.first = most, first
        self._clear()

    def _clear(self) -> None:
        actions, active = self.features.actions, self.features.active_count
        self.count = 0
        self.active: Indices = np.zeros((self.first, actions, active), np.int64)
        self.bettors = Bettors.zeros((self.first, actions))
        self._index(np.empty(0, np.int64), 4 * self.first)

    def _index(self, cells: Indices, room: int) -> None:
        """Make a hash table with room for `room` keys, holding `cells` at the first slots."""
        self.keys: Indices = np.full(room, -1, np.int64)
        self.slots: Indices = np.zeros(room, np.int64)
        self.cells: Indices = cells
        self._find(cells, 0)

    def _find(self, cells: Indices, first: int = -1) -> Indices:
        """Return the slots of cells, −1 where they have none; with `first`, new cells get the slots from there on."""
        from painless.policies import replay_kernels as _replay_kernels

        result = np.empty(len(cells), np.int64)
        _replay_kernels.find(self.keys, self.slots, cells, first, result)
        return result

    def decisions(self, states: States, history: Array, updates: int) -> Array:
        """Return the decisions at some states after `updates` weights of the history, (n, A)."""
        cells = self.features.cells(states)
        if cells.size and cells.min() < 0:
            raise InputError(f"the features number a cell {cells.min()}; cells have numbers from 0 on")
        slots = self._find(cells)
        missing = slots < 0
        if missing.any():
            new, first = np.unique(cells[missing], return_index=True)
            if self.count + len(new) > self.most:
                self._clear()
                new, first = np.unique(cells, return_index=True)
                missing = np.ones(len(cells), dtype=bool)
            self._add(new, self.features.active(states[missing][first]), history, updates)
            slots = self._find(cells)
        return self.bettors.decision[slots]

    def _add(self, cells: Indices, active: Indices, history: Array, updates: int) -> None:
        end = self.count + len(cells)
        while end > len(self.active):
            self.active = np.concatenate([self.active, np.zeros_like(self.active)])
            self.bettors = Bettors(*(np.concatenate([part, np.zeros_like(part)]) for part in self.bettors))
        known = np.append(self.cells, cells)
        if 2 * end > len(self.keys):
            self._index(known, 2 * len(self.keys) * max(1, end // len(self.keys)))
        else:
            self._find(cells, self.count)
            self.cells = known
        self.active[self.count : end] = active
        self._replayed(active, history, updates, self.count, end)
        self.count = end

    def _replayed(self, active: Indices, history: Array, updates: int, start: int, end: int) -> None:
        """Fold the history over new cells, into the rows from `start` to `end`."""
        replay(self.learner, active, history, updates, self.bettors.rows(start, end))

    def advance(self, weight: Array, rounds: int) -> None:
        """Update every cell by the weight of round number `rounds`."""
        rows = self.bettors.rows(0, self.count)
        if len(weight) != self.features.dimension:
            raise InputError(f"a weight has {len(weight)} entries, not {self.features.dimension}")
        _fold(self.learner, self.active[: self.count], weight[:, None], 1, rows, rounds)


def settings(learner: CoinBetting) -> tuple[float, float]:
    """Return the normaliser and the entropy of one run as plain numbers."""
    return float(np.asarray(learner.normaliser).item()), float(np.asarray(learner.entropy).item())


def require_features(active: Indices, dimension: int) -> None:
    """Reject indices of features that there are not: kernels read where they lead."""
    if active.size and not (active.min() >= 0 and active.max() < dimension):
        raise InputError(f"the features of a state are not among the {dimension} that there are")


def replay(learner: CoinBetting, active: Indices, history: Array, updates: int, bettors: Bettors) -> None:
    """Fold the first `updates` weights over new cells with these active features, into `bettors`."""
    if not 0 <= updates <= history.shape[1]:
        raise InputError(f"a policy after {updates} updates needs as many, and there are {history.shape[1]}")
    require_features(active, len(history))
    bettors.decision.fill(1 / active.shape[1])
    bettors.bet.fill(0.0)
    bettors.gain_sum.fill(0.0)
    bettors.wealth.fill(1.0)
    _fold(learner, active, history, updates, bettors, 1)


def _fold(
    learner: CoinBetting, active: Indices, history: Array, updates: int, bettors: Bettors, rounds: int
) -> None:
    """Update bettors by the first `updates` weights (d, ·) of a history, the first of them in round number `rounds`."""
    from painless.policies.replay_kernels import replay as fold

    room, first = np.empty(active.shape[1]), learner.denominator(rounds)
    fold(active, history, updates, *bettors, *settings(learner), first, room)
