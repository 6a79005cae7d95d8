"""Two threads for sweeps over many states: kernels that hold no lock, each on its own range."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

LARGE = 200_000  # states from which a second thread pays
PIECES = 16  # where it does not matter how many there are

Result = TypeVar("Result")


class TwoThreads:
    """Does a sweep in one part, or in two at the same time; which is decided by the number of states alone."""

    def __init__(self, large: int = LARGE) -> None:
        self.large = large
        self._pool: ThreadPoolExecutor | None = None

    def both(self, states: int) -> bool:
        """Whether so many states are worth two parts."""
        return states >= self.large

    def share(self, part: Callable[[int, int], Result], states: int, pieces: int = 2) -> list[Result]:
        """Return the results of `part(start, stop)` over ranges that cover all states, in their order.

        There are so many pieces, and a thread that is done takes the next: more of them level out cores of unequal speed.
        """
        if not self.both(states):
            return [part(0, states)]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1)
        turn = itertools.count()
        found: dict[int, Result] = {}

        def work() -> None:
            while (k := next(turn)) < pieces:
                found[k] = part(k * states // pieces, (k + 1) * states // pieces)

        other = self._pool.submit(work)
        try:
            work()
        finally:
            other.result()  # never leave it at work on arrays that are used again
        return [found[k] for k in range(pieces)]
