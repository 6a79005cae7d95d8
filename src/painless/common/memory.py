"""Memory that is not used any more goes back to the system."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache


def give_back() -> None:
    """Return free memory that the allocator keeps to the system, where the C library can: between two phases of a large solve it lies in pieces too small to use."""
    _trim()(0)


@cache
def _trim() -> Callable[[int], object]:
    try:
        found: Callable[[int], object] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another C library than GNU's
        return lambda _: None
    return found
