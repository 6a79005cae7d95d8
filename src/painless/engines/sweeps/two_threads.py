"""Two threads for sweeps over many states: kernels that hold no lock, each on its own range."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from painless.common.threads import Threads

LARGE = 200_000  # states from which a second thread pays
PIECES = 16  # where it does not matter how many there are

Result = TypeVar("Result")


class TwoThreads(Threads):
    """Does a sweep in one part, or in two at the same time; which is decided by the number of states alone."""

    def __init__(self, large: int = LARGE) -> None:
        super().__init__(2, large)

    def both(self, states: int) -> bool:
        """Whether so many states are worth two parts."""
        return states >= self.large

    def share(self, part: Callable[[int, int], Result], states: int, pieces: int = 2) -> list[Result]:
        """Return the results of `part(start, stop)` over ranges that cover all states, in their order."""
        return super().share(part, states, pieces) if self.both(states) else [part(0, states)]
