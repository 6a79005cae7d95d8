"""An error message if the system ends a process because a mapped file has become shorter.

Reading beyond the end of such a file raises SIGBUS at the instruction that reads, where no Python code can run. A handler
in machine code writes one line on the error stream, and ends the process with the exit code for bad input.
"""

from __future__ import annotations

import ctypes
import signal
from typing import Any

BAD_INPUT = 2  # the exit code
MESSAGE = (
    b"Error: a problem file was shortened by another program while it was in use (bus error); load it again, and replace "
    b"files by renaming a new one instead of writing over the old\n"
)
_kept: list[Any] = []  # what the handler needs must never be freed


def announce_bus_errors() -> None:
    """Install the handler, once; leave one that somebody else has installed."""
    number = getattr(signal, "SIGBUS", None)
    if _kept or number is None or signal.getsignal(number) is not signal.SIG_DFL:
        return
    from numba import cfunc, types

    library = ctypes.CDLL(None)
    write, leave = library.write, library._exit
    write.argtypes, write.restype = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t], ctypes.c_ssize_t
    leave.argtypes, leave.restype = [ctypes.c_int], None
    text = ctypes.create_string_buffer(MESSAGE)
    place, length = ctypes.addressof(text), len(MESSAGE)

    def last_word(_: int) -> None:
        write(2, place, length)
        leave(BAD_INPUT)

    handler = cfunc(types.void(types.intc))(last_word)
    library.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
    library.signal(int(number), handler.address)
    _kept.extend([text, handler, library])
