"""The columns of the master program: policies with their values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array
from painless.engines.engine import Actions


class Column(NamedTuple):
    """A policy in the master."""

    policy: Array | Actions  # (S, A), or (S,) if deterministic
    value: Array  # (J,) estimates
    low: Array  # (J,) proved lower bounds
    weight: Array | None = None  # (J,) of the utilities, to which it is a best response
    visits: Array | None = None  # (S,) if known
    is_loop: bool = (
        False  # whether the values are those of a round in a loop, of which a mixture may have any number
    )

    @property
    def multiplier(self) -> Array | None:
        """The multipliers (K,) that it is a best response to; None if the reward had weight 0."""
        return self.weight[1:] / self.weight[0] if self.weight is not None and self.weight[0] > 0 else None


class Columns:
    """The policies found so far, in bounded memory.

    Arguments:
        memory: maximum number of bytes of the policies.
        most: maximum number of policies.
    """

    def __init__(self, columns: Iterable[Column] = (), memory: float = np.inf, most: float = np.inf) -> None:
        self.memory, self.most = memory, most
        self.known: list[Column] = []
        self.taken = 0  # bytes of the policies
        self.values = self.lows = np.empty((0, 0))  # (n, J) estimates, and what is proved
        self.loops = np.empty(0, dtype=bool)  # (n,) which are loops
        self._place: dict[int, int] = {}  # of deterministic policies, by their hash
        for column in columns:
            self.add(column)

    def __len__(self) -> int:
        return len(self.known)

    def __getitem__(self, index: int) -> Column:
        return self.known[index]

    def padded(self, weights: Array) -> Array:
        """Return weights (n,) of all policies from those of the first ones, with 0 for the others."""
        padded = np.zeros(len(self.known))
        padded[: len(weights)] = weights
        return padded

    def add(self, column: Column) -> int:
        """Add a policy and return its index; a known policy keeps its index and the more precise values."""
        place = len(self.known)
        if column.policy.ndim == 1:
            place = self._place.setdefault(hash(column.policy.tobytes()), place)
        value, low = column.value[None], column.low[None]
        if place == len(self.known):
            self.known.append(column)
            self.taken += column.policy.nbytes
            self.values = np.concatenate([self.values, value]) if place else value
            self.lows = np.concatenate([self.lows, low]) if place else low
            self.loops = np.append(self.loops, column.is_loop)
        elif (value - low).max() < (self.values[place] - self.lows[place]).max():
            self.known[place] = column
            self.values = np.concatenate([self.values[:place], value, self.values[place + 1 :]])
            self.lows = np.concatenate([self.lows[:place], low, self.lows[place + 1 :]])
            self.loops[place] = column.is_loop
        return place

    def drop(self, score: Array) -> None:
        """Keep about half: the first, loops, and those with the largest scores (n,), the newest first."""
        score[0] = np.inf
        score[self.loops] = np.inf
        newest_first = np.arange(len(score))[::-1]
        best_first = newest_first[np.argsort(-score[newest_first], kind="stable")]
        taken = np.cumsum([self.known[k].policy.nbytes for k in best_first])
        kept = np.sort(best_first[taken <= self.memory / 2][: int(min(self.most // 2, len(score)))])
        self.known = [self.known[k] for k in kept]
        self.values, self.lows, self.loops = self.values[kept], self.lows[kept], self.loops[kept]
        self.taken = sum(column.policy.nbytes for column in self.known)
        places = ((hash(c.policy.tobytes()), k) for k, c in enumerate(self.known) if c.policy.ndim == 1)
        self._place = dict(places)
