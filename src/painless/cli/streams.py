"""Standard streams that cannot fail by their encoding, and what happens when one is closed, full, or no longer read."""

from __future__ import annotations

import codecs
import os
import sys
from contextlib import suppress
from typing import Any

UNREAD = 141  # the exit code of a process that nobody reads from any more, 128 + SIGPIPE
HANDLER = "painless"  # of what an encoding has no room for
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
    """Spell what cannot be encoded: signs in ASCII, all else as escapes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(SPELLED.get(one) or _escape(one) for one in missing), error.end


def _escape(character: str) -> str:
    return character.encode("ascii", "backslashreplace").decode("ascii")


codecs.register_error(HANDLER, _spelled)


def encodable(text: str) -> str:
    """Return text as standard output can show it, so that a table keeps its columns."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, HANDLER).decode(encoding)


def prepare_streams() -> None:
    """Open what was closed, and let no encoding stop a line."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
        with suppress(AttributeError, ValueError):  # a stream of somebody else's
            getattr(sys, name).reconfigure(errors=HANDLER)


def flush_output() -> None:
    """Write what is still held back, while there is someone to tell if that fails."""
    sys.stdout.flush()


def drop_output() -> None:
    """Forget what is still held back: the interpreter would try to write it at its end, and complain."""
    with suppress(OSError, ValueError, AttributeError):
        nothing: Any = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
