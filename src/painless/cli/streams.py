"""Standard streams: any encoding works, and closed, full or unread streams are handled."""

from __future__ import annotations

import codecs
import os
import sys
from contextlib import suppress
from typing import Any

UNREAD = 141  # exit code of a process whose output pipe was closed, 128 + SIGPIPE
HANDLER = "painless"  # codec error handler for characters that an encoding lacks
SPELLED = {
    "≥": ">=",
    "≤": "<=",
    "∞": "inf",
    "–": "-",
    "−": "-",
    "…": "...",
    "×": "x",
    "±": "+/-",
    "·": "*",
    "’": "'",
}


def _spelled(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that cannot be encoded: signs by ASCII, all others by escapes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(SPELLED.get(one) or _escape(one) for one in missing), error.end


def _escape(character: str) -> str:
    return character.encode("ascii", "backslashreplace").decode("ascii")


codecs.register_error(HANDLER, _spelled)


def encodable(text: str) -> str:
    """Return text as standard output can show it, so that the columns of a table stay aligned."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, HANDLER).decode(encoding)


def prepare_streams() -> None:
    """Reopen closed streams, and replace characters that the encoding lacks."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
        with suppress(AttributeError, ValueError):  # a replaced stream
            getattr(sys, name).reconfigure(errors=HANDLER)


def flush_output() -> None:
    """Flush standard output while an error can still be reported."""
    sys.stdout.flush()


def drop_output() -> None:
    """Discard buffered output, which the interpreter would otherwise try to write at exit."""
    with suppress(OSError, ValueError, AttributeError):
        nothing: Any = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
