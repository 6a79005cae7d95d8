"""Threads for sweeps over many states: kernels that hold no lock, each on its own range."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from painless.common.threads import Threads, cores

LARGE = 200_000  # states from which a second thread pays
PIECES = 16  # where it does not matter how many there are

Result = TypeVar("Result")


class StateThreads(Threads):
    """Does a sweep in one part, or in several on as many cores as there are; in how many is decided by the number of states alone.

    Where each part sees only what the others were before the sweep there are two, since more of them slow down what a sweep carries along.
    """

    def __init__(self, large: int = LARGE) -> None:
        super().__init__(min(cores(), PIECES), large)

    def several(self, states: int) -> bool:
        """Whether so many states are worth several parts."""
        return states >= self.large

    def share(self, part: Callable[[int, int], Result], states: int, pieces: int = 2) -> list[Result]:
        """Return the results of `part(start, stop)` over ranges that cover all states, in their order."""
        return super().share(part, states, pieces) if self.several(states) else [part(0, states)]
