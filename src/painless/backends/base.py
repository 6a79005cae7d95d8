"""The backend interface: call a function on many pieces of work, even if workers die."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from painless.common.errors import InputError

LIVES = 3  # attempts at a piece that fails or whose worker is lost

Piece = TypeVar("Piece")


@dataclass(frozen=True)
class Error:
    """Why a piece of work has no result."""

    message: str
    details: str = ""  # the traceback, where there is one
    final: bool = False  # whether another attempt is useless

    @classmethod
    def of(cls, error: BaseException) -> Error:
        """Return the error for an exception; bad input is final."""
        refused = isinstance(error, InputError)
        message = str(error) if refused else f"{type(error).__name__}: {error}"
        return cls(message, "".join(traceback.format_exception(error)), refused)


class Backend(Protocol):
    """A group of workers. `with backend:` starts them, and stops those it has started."""

    @property
    def workers(self) -> int:
        """The number of pieces done at once."""

    @property
    def remote(self) -> bool:
        """Whether workers may run on machines that do not see the files of this one."""

    def __enter__(self) -> Backend: ...

    def __exit__(self, *ignored: object) -> None: ...

    def map(self, function: Callable[[Piece], Any], pieces: Iterable[Piece]) -> Iterator[tuple[Piece, Any]]:
        """Call `function` on every piece; yield each with its result or `Error`, in any order.

        Pieces are taken as workers become free. Those of a lost worker are repeated elsewhere.
        """


def attempt(function: Callable[[Piece], Any], piece: Piece) -> Any:
    """Return the result of a piece, or an `Error`: an exception must not end the others."""
    try:
        with single_threads():
            return function(piece)
    except Exception as error:  # whatever it is, it is reported with the piece's settings
        return Error.of(error)


@contextmanager
def single_threads() -> Iterator[None]:
    """Limit BLAS, Numba and sweeps to one thread each: workers share a machine, and threads of BLAS would change results."""
    from painless.common.arrays import one_thread
    from painless.common.threads import one_core

    numba = sys.modules.get("numba")  # where it is not loaded yet, the worker's environment says the same
    before = numba.get_num_threads() if numba else 1
    with one_thread(), one_core():
        try:
            if numba:
                numba.set_num_threads(1)
            yield
        finally:
            if numba:
                numba.set_num_threads(before)


def lost() -> Error:
    """Return the error for a piece whose workers all died."""
    return Error(
        f"the worker was lost {LIVES} times while it did this alone; it may need more memory or time",
        final=True,
    )
