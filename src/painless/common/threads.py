"""Threads for kernels that hold no lock, each on its own range; results do not depend on how many threads there are."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Lock
from typing import TypeVar

Result = TypeVar("Result")


class Threads:
    """Does work on a range of numbers in pieces, on several threads if the range is large.

    Arguments:
        workers: threads, this one included.
        large: the size from which more than this one pays.
    """

    def __init__(self, workers: int, large: int = 0) -> None:
        self.workers, self.large = workers, large
        self._pool: ThreadPoolExecutor | None = None

    def share(self, part: Callable[[int, int], Result], size: int, pieces: int) -> list[Result]:
        """Return the results of `part(start, stop)` over ranges that cover 0..size − 1, in their order.

        There are so many pieces, and a thread that is done takes the next: more of them level out cores of unequal speed.
        """
        return self.over(part, [(k * size // pieces, (k + 1) * size // pieces) for k in range(pieces)])

    def over(self, part: Callable[[int, int], Result], ranges: Sequence[tuple[int, int]]) -> list[Result]:
        """Return the results of `part(start, stop)` over ranges one after the other, in their order."""
        turn = itertools.count()
        found: dict[int, Result] = {}

        def work() -> None:
            while (k := next(turn)) < len(ranges):
                found[k] = part(*ranges[k])

        size = ranges[-1][1] - ranges[0][0] if ranges else 0
        helpers = min(self.workers, len(ranges)) - 1 if size >= self.large else 0
        others = [self._executor.submit(work) for _ in range(helpers)]
        try:
            work()
        finally:
            wait(others)  # never leave one at work on arrays that are used again
        for other in others:
            other.result()
        return [found[k] for k in range(len(ranges))]

    @property
    def _executor(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.workers - 1)
        return self._pool


class _Alone:
    lock, depth = Lock(), 0  # blocks at work that share the machine with other processes


@contextmanager
def one_core() -> Iterator[None]:
    """Use no more threads within this block: processes beside this one have the other cores."""
    with _Alone.lock:
        _Alone.depth += 1
    try:
        yield
    finally:
        with _Alone.lock:
            _Alone.depth -= 1


def cores() -> int:
    """Return how many cores this process may use; at most what `NUMBA_NUM_THREADS` says."""
    if _Alone.depth:
        return 1
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    given = os.environ.get("NUMBA_NUM_THREADS", "")
    return min(found, int(given)) if given.isdecimal() and int(given) else found
