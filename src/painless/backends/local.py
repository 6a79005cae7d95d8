"""Processes on this machine, through joblib."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any

from painless.backends.base import LIVES, Piece, attempt, lost
from painless.common.arguments import whole

STOPPED = "A worker stopped while some jobs were given"  # idle for minutes, or grown; joblib starts another


@dataclass(frozen=True)
class Local:
    """Processes on this machine; with one worker, this process itself.

    >>> with Local() as backend:
    ...     list(backend.map(abs, [-1, 2]))
    [(-1, 1), (2, 2)]
    """

    workers: int = 1
    remote: bool = False

    def __post_init__(self) -> None:
        whole("workers", self.workers)

    def __enter__(self) -> Local:
        return self

    def __exit__(self, *ignored: object) -> None:
        pass

    def map(self, function: Callable[[Piece], Any], pieces: Iterable[Piece]) -> Iterator[tuple[Piece, Any]]:
        """Call `function` on every piece; yield each with its result or `Error`."""
        if self.workers == 1:
            for piece in pieces:
                yield piece, attempt(function, piece)
        else:
            yield from self._map(function, iter(pieces))

    def _map(self, function: Callable[[Piece], Any], waiting: Iterator[Piece]) -> Iterator[tuple[Piece, Any]]:
        """Map; since a dead process breaks joblib's whole pool, its pieces are repeated one at a time."""
        from joblib import delayed
        from joblib.externals.loky.process_executor import BrokenProcessPool

        flying: dict[int, Piece] = {}
        lock, numbers = Lock(), iter(range(2**62))

        def calls() -> Iterator[Any]:
            while True:
                with lock:  # joblib asks from threads of its own, and those of a broken pool may still do
                    piece = next(waiting, flying)
                    if piece is flying:
                        return
                    number = next(numbers)
                    flying[number] = piece  # type: ignore[assignment]
                yield delayed(_numbered)(number, function, piece)

        more = True
        while more:
            try:
                for number, result in self._run(calls()):
                    yield flying.pop(number), result
                more = False
            except BrokenProcessPool:
                pass
            for number in list(flying):
                piece = flying.pop(number)
                yield piece, self._alone(function, piece)

    def _run(self, calls: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        from joblib import Parallel, parallel_config

        # Said in the thread that hands out work: it would die where warnings are errors, and we would wait for ever.
        warnings.filterwarnings("ignore", STOPPED, UserWarning)
        with parallel_config(backend="loky", inner_max_num_threads=1):
            parallel = Parallel(self.workers, return_as="generator_unordered", batch_size=1, max_nbytes=None)
        results = parallel(calls)
        try:
            for result in results:  # noqa: UP028  `yield from` would close it with the warning of joblib
                yield result
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # Ctrl-C: it tells what was not done
                results.close()

    def _alone(self, function: Callable[[Piece], Any], piece: Piece) -> Any:
        """Do one piece in its own process, so that a death is certainly due to this piece."""
        from joblib import delayed
        from joblib.externals.loky.process_executor import BrokenProcessPool

        for _ in range(LIVES):
            try:
                ((_, result),) = self._run([delayed(_numbered)(0, function, piece)])
            except BrokenProcessPool:
                continue
            return result
        return lost()


def _numbered(number: int, function: Callable[[Piece], Any], piece: Piece) -> tuple[int, Any]:
    return number, attempt(function, piece)
