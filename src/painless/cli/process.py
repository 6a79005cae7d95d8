"""The process around a command: orderly exit on signals, and no warnings of libraries."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from painless.cli.common import say_aside
from painless.common import compiling

SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
COMPILING = "Compiling for this machine, once; this takes a few seconds …"


class Terminated(SystemExit):
    """A signal asked the process to end: files are closed, checkpoints written and workers stopped."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.sentence = f"ended by {signal.Signals(number).name}"

    code: int


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Raise `Terminated` on the first such signal; the second one ends the process at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    ended: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        ended.append(number)
        for one in SIGNALS:
            signal.signal(one, signal.SIG_DFL)
        # Threads of a pool that is torn down may fail, which is of no interest to anybody now.
        threading.excepthook = lambda failure: None
        raise Terminated(number)

    try:
        for number in SIGNALS:
            if before[number] == signal.SIG_DFL:  # not ignored, as with nohup, nor handled elsewhere
                signal.signal(number, end)
        yield
    except BaseException as error:
        if ended and not isinstance(error, Terminated):  # what failed while a pool was torn down
            raise Terminated(ended[0]) from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if ended:  # a pool that the signal met half-made does not end its workers
            from multiprocessing import active_children

            for child in active_children():
                with suppress(AttributeError, OSError):  # it has ended by itself, or was never started
                    child.terminate()


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Hide warnings of libraries, also in their processes, unless Python was started with -W; announce compilation."""
    shown: Any = warnings.showwarning
    quiet = not sys.warnoptions and "PYTHONWARNINGS" not in os.environ
    if quiet:
        warnings.showwarning = lambda *ignored, **named: None
        os.environ["PYTHONWARNINGS"] = "ignore::UserWarning"
    try:
        compiling.LISTENERS.append(_announce)
        yield
    finally:
        compiling.LISTENERS.clear()
        warnings.showwarning = shown
        if quiet:
            del os.environ["PYTHONWARNINGS"]


def _announce() -> None:
    if "--json" not in sys.argv:
        say_aside(COMPILING)
