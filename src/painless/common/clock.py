"""The time limit of a solve, checked in every phase."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import numpy as np

# Seconds after the time limit, or a twentieth of it, in which an answer may still be put together.
GRACE = 0.25
AFTER_INTERRUPT = 1.0  # seconds for the same after Ctrl-C


class Clock:
    """A clock that starts when created; `tick`, called after about every pass over the model, raises TimeoutError after the limit, and KeyboardInterrupt after Ctrl-C."""

    def __init__(self, limit: float | None = None) -> None:
        self.start, self.limit = time.perf_counter(), limit
        self.deadline = np.inf if limit is None else self.start + limit
        self.ticks, self._most = 0, np.inf  # so far, and at which it is enough
        self._interrupted = False

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Delay Ctrl-C to the next tick, where the state is consistent; a second Ctrl-C is not delayed."""
        own = threading.current_thread() is threading.main_thread()
        if not own or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return

        def wait(number: int, frame: FrameType | None) -> None:
            if self._interrupted:
                signal.default_int_handler(number, frame)
            self._interrupted = True

        signal.signal(signal.SIGINT, wait)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    @property
    def seconds(self) -> float:
        """The time since the start."""
        return time.perf_counter() - self.start

    @property
    def left(self) -> float:
        """The time until the deadline, infinite without one."""
        return float(self.deadline - time.perf_counter())

    def tick(self) -> None:
        """Raise TimeoutError after the deadline, and KeyboardInterrupt once after Ctrl-C."""
        if self._interrupted:
            self._interrupted = False
            raise KeyboardInterrupt
        self.ticks += 1
        if self.ticks > self._most or time.perf_counter() > self.deadline:
            raise TimeoutError

    def extend(self) -> None:
        """Allow a moment more to assemble an answer; after a time limit, repeated calls allow no more."""
        if self.limit is None:
            self.deadline = time.perf_counter() + AFTER_INTERRUPT
        else:
            self.deadline = self.start + self.limit + max(GRACE, 0.05 * self.limit)

    @contextmanager
    def allowing(self, ticks: float) -> Iterator[None]:
        """Allow so many ticks more, which depend neither on the machine nor on what else it does.

        What comes after is short, and part of the answer: no such limit holds for it.
        """
        self._most = self.ticks + ticks
        yield
        self._most = np.inf
        if self.limit is not None:
            self.extend()
