"""What was seen of a finite environment: counts, sums and squares of all utilities for each (s, a, s').

States are numbered in the order in which they were first seen. Data may be kept in two halves, so that what was found in
one half can be compared with the other.
"""

from __future__ import annotations

import copy
from typing import Self

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array

HALVES = 2
SUCCESSOR_BITS = 32  # of a key; 0 stands for the end of an episode, s' + 1 for a successor

Indices = NDArray[np.int64]


class Memory:
    """Sufficient statistics of all steps so far.

    Arguments:
        actions: A.
        utilities: J, the reward first, in the internal sense.
        halves: in which the data are kept.

    >>> memory = Memory(actions=2, utilities=1)
    >>> memory.add(0, np.array([0, 1]), np.array([1, 0]), np.array([1, -1]), np.array([[0.0], [3.0]]), np.array([0]))
    >>> memory.states, memory.steps, memory.visits.tolist()
    (2, 2, [[0.0, 1.0], [1.0, 0.0]])
    """

    def __init__(self, actions: int, utilities: int, halves: int = HALVES) -> None:
        self.actions, self.utilities = actions, utilities
        self.keys: Indices = np.empty(0, dtype=np.int64)  # (M,) sorted
        self.counts: Array = np.zeros((halves, 0))  # (2, M)
        self.sums: Array = np.zeros((halves, 0, utilities))  # (2, M, J)
        self.squares: Array = np.zeros((halves, 0, utilities))  # (2, M, J)
        self.starts: Array = np.zeros((halves, 0))  # (2, S) episodes that began in each state
        self.low: Array = np.full(utilities, np.inf)  # (J,) the least utility of a step
        self.high: Array = np.full(utilities, -np.inf)  # (J,)

    def add(
        self,
        half: int,
        states: Indices,
        actions: Indices,
        successors: Indices,
        utilities: Array,
        starts: Indices,
    ) -> None:
        """Add n steps of one half; a successor of −1 is the end. `utilities` are (n, J), `starts` the first states."""
        if not len(states):
            if self.steps:  # episodes that were left at once
                self._add_starts(half, starts)
            return
        new = ((states * self.actions + actions) << SUCCESSOR_BITS) | (successors + 1)
        keys, entry = np.unique(new, return_inverse=True)
        place = self._make_room(keys)
        self.counts[half, place] += np.bincount(entry)
        for j, column in enumerate(utilities.T):
            self.sums[half, place, j] += np.bincount(entry, column)
            self.squares[half, place, j] += np.bincount(entry, column**2)
        self._add_starts(half, starts, states, successors)
        self.low = np.minimum(self.low, utilities.min(0))
        self.high = np.maximum(self.high, utilities.max(0))

    def _add_starts(self, half: int, starts: Indices, *others: Indices) -> None:
        """Count first states, and make room for all others."""
        count = 1 + max(self.states - 1, *(int(part.max(initial=-1)) for part in (starts, *others)))
        self.starts, first = np.zeros((len(self.starts), count)), self.starts
        self.starts[:, : first.shape[1]] = first
        self.starts[half] += np.bincount(starts, minlength=count)

    def _make_room(self, keys: Indices) -> Indices:
        """Copy all tables, with entries for sorted keys that were not seen before; return the places of these keys."""
        place = np.searchsorted(self.keys, keys)
        new = place == len(self.keys)
        new[~new] = self.keys[place[~new]] != keys[~new]
        at = place[new]
        self.keys = np.insert(self.keys, at, keys[new])
        for name in ("counts", "sums", "squares"):
            setattr(self, name, np.insert(getattr(self, name), at, 0.0, axis=1))
        return place + np.cumsum(new) - new

    @property
    def states(self) -> int:
        """S, the number of states seen."""
        return int(self.starts.shape[1])

    @property
    def steps(self) -> int:
        """The number of steps."""
        return int(self.counts.sum())

    @property
    def pairs(self) -> Indices:
        """The pair s·A + a of each entry, (M,)."""
        return self.keys >> SUCCESSOR_BITS

    @property
    def successors(self) -> Indices:
        """The successor of each entry, (M,); S for the end of an episode."""
        found = (self.keys & ((1 << SUCCESSOR_BITS) - 1)) - 1
        return np.where(found < 0, self.states, found)

    @property
    def visits(self) -> Array:
        """How often each pair was tried, (S, A)."""
        size = self.states * self.actions
        return np.bincount(self.pairs, self.counts.sum(0), size).reshape(-1, self.actions).astype(float)

    def copy(self) -> Self:
        """Return a memory that does not change when this one goes on; `add` replaces arrays, and changes none in place."""
        return copy.copy(self)

    def half(self, index: int) -> Self:
        """Return one half of the data alone, over the same states."""
        part = type(self)(self.actions, self.utilities)
        seen = self.counts[index] > 0
        part.keys, part.low, part.high = self.keys[seen], self.low, self.high
        for name in ("counts", "sums", "squares"):
            setattr(part, name, getattr(self, name)[[index]][:, seen])
        part.starts = self.starts[[index]]
        return part
