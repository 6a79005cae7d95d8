"""The process around a command: signals end it in order, and libraries say nothing that users cannot act on."""

from __future__ import annotations

import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from painless.cli.common import say_aside
from painless.compiling import before_compiling

SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
COMPILING = "Compiling for this machine, once; this takes a few seconds …"


class Terminated(SystemExit):
    """A signal that asks to end: what is open is closed, checkpoints are written, and workers are ended."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.sentence = f"ended by {signal.Signals(number).name}"

    code: int


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Turn the first signal that asks to end into `Terminated`; the next one ends the process at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def end(number: int, frame: FrameType | None) -> None:
        for one in SIGNALS:
            signal.signal(one, signal.SIG_DFL)
        raise Terminated(number)

    try:
        for number in SIGNALS:
            if before[number] == signal.SIG_DFL:  # else it is ignored, as with nohup, or somebody else's
                signal.signal(number, end)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Show no warnings of libraries, unless Python was asked for them; announce that kernels are compiled."""
    shown: Any = warnings.showwarning
    if not sys.warnoptions:
        warnings.showwarning = lambda *ignored, **named: None
    try:
        with before_compiling(_announce):
            yield
    finally:
        warnings.showwarning = shown


def _announce() -> None:
    if "--json" not in sys.argv:
        say_aside(COMPILING)
