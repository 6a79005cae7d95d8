"""Value iteration only where something has changed (asynchronous; Bertsekas 1982, Moore & Atkeson 1993).

Where one region of a large model becomes better than another, the border between them moves, and everything else
stays. A sweep over all states moves it by a step; here a state is looked at again only when a successor's value has changed, and
sweeps alternate between ascending and descending states, which carries a change across the model in one go.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from painless.common.arrays import Array
from painless.engines.sweeps import _improve_kernels as kernels
from painless.engines.sweeps.sparse_rows import Indices, SparseRows
from painless.engines.sweeps.state_threads import StateThreads


class ActiveStates:
    """Improves a policy and its value, state by state; two threads work on a half of the states each."""

    def __init__(
        self, rows: SparseRows, discount: float, threads: StateThreads, like: ActiveStates | None = None
    ) -> None:
        self.rows, self.discount, self.threads = rows, discount, threads
        # Of the same graph they are the same.
        self._sources: tuple[Indices, Indices] = _sources(rows) if like is None else like._sources

    def improve(
        self,
        utility: Array,
        value: Array,
        choice: Indices,
        least: float,
        limit: float,
        tick: Callable[[], None] = lambda: None,
    ) -> float:
        """Go on until no value changes by more than `least`, or for the work of `limit` sweeps; return that work.

        `value` (S,) and `choice` (S,) are changed in place. `tick` is called between rounds; it may raise.
        """
        states, work, rounds = len(value), 0, 0
        active, crossing = np.ones(states, dtype=bool), np.zeros(states, dtype=bool)
        before = np.empty_like(value) if self.threads.several(states) else value

        def part(begin: int, end: int) -> int:
            return kernels.improve_active(
                *(*self.rows[:4], utility, self.discount, least, choice, value, before),
                *(*self._sources, active, crossing, rounds % 2 == 0, begin, end),
            )

        while active.any() and work < limit * states:
            np.copyto(before, value)
            work += sum(self.threads.share(part, states))
            np.logical_or(active, crossing, out=active)
            crossing[:] = False
            rounds += 1
            tick()
        return work / states


def _sources(rows: SparseRows) -> tuple[Indices, Indices]:
    """Return the states from which some pair may lead to s, each once: source[origin[s]..origin[s + 1] − 1]."""
    states = len(rows.first) - 1
    last, count = np.full(states, states, np.uint32), np.zeros(states, np.uint32)
    kernels.sources(*rows[:3], last, count, np.empty(0, np.uint32))
    origin = np.zeros(states + 1, np.uint32)
    np.cumsum(count, out=origin[1:])
    last.fill(states)
    source, room = np.empty(origin[-1], np.uint32), origin[:-1].copy()
    kernels.sources(*rows[:3], last, room, source)
    return origin, source
