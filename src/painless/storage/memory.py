"""Available memory, with which the claims of a file are compared before any is allocated."""

from __future__ import annotations

import os
from pathlib import Path

from painless.common.errors import InputError

GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of Linux containers


def limit() -> float:
    """Return the number of bytes that this process can have: the machine's, or less if a limit is set."""
    return min(_machine(), _process(), *(_group(Path(name)) for name in GROUPS))


def require_room(what: str, size: float) -> None:
    """Raise an error if more memory is needed than there is.

    >>> require_room("model.npz", 2**62)
    Traceback (most recent call last):
        ...
    painless.common.errors.InputError: model.npz asks for 4.6e+09 GB of memory, more than there is; check the file, or use a larger machine
    """
    if size > limit():
        raise InputError(
            f"{what} asks for {size / 1e9:.2g} GB of memory, more than there is; check the file, or use a larger machine"
        )


def _machine() -> float:
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not available on this system
        return float("inf")


def _process() -> float:
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return float("inf")
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return float("inf") if soft == resource.RLIM_INFINITY else float(soft)


def _group(path: Path) -> float:
    try:
        return float(path.read_text(encoding="ascii"))
    except (OSError, ValueError):  # there is none, or it says "max"
        return float("inf")
