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
    """A clock that starts when created; `tick` raises TimeoutError after the limit, and KeyboardInterrupt after Ctrl-C."""

    def __init__(self, limit: float | None = None) -> None:
        self.start, self.limit = time.perf_counter(), limit
        self.deadline = np.inf if limit is None else self.start + limit
        self._work, self._allowed = time.thread_time(), np.inf  # CPU seconds of this thread
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
        late = time.perf_counter() > self.deadline
        if late or (self._allowed < np.inf and time.thread_time() > self._allowed):
            raise TimeoutError

    def extend(self) -> None:
        """Allow a moment more to assemble an answer; after a time limit, repeated calls allow no more."""
        if self.limit is None:
            self.deadline = time.perf_counter() + AFTER_INTERRUPT
        else:
            self.deadline = self.start + self.limit + max(GRACE, 0.05 * self.limit)

    @property
    def work(self) -> float:
        """The CPU time of this thread since the start, in seconds."""
        return time.thread_time() - self._work

    @contextmanager
    def allowing(self, least: float, share: float = 1.0) -> Iterator[None]:
        """Allow a share of the CPU time that was used since the start, or `least` seconds, however busy the machine.

        What comes after is short, and part of the answer: no such limit holds for it.
        """
        now = time.thread_time()
        self._allowed = now + max(share * (now - self._work), least)
        yield
        self._allowed = np.inf
        if self.limit is not None:
            self.extend()
