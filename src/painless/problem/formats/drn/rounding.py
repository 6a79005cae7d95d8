"""What is lost where p is written as γp, and how it comes back.

p = γp/γ, but for rounding: their difference, counted in steps between neighbouring numbers, is mostly 0 or ±1
"""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array

TYPES: dict[str, np.dtype[Any]] = {"1": np.dtype("<i1"), "8": np.dtype("<i8")}  # by the bytes of a difference


def lost(probability: Array, discount: float) -> str | None:
    """Return the differences as text, or None if there are none."""
    steps = probability.view(np.int64) - _divided(probability * discount, discount).view(np.int64)
    if not steps.any():
        return None
    size = "1" if np.abs(steps).max() < 128 else "8"
    packed = zlib.compress(steps.astype(TYPES[size]).tobytes(), 1)
    return f"{size} {base64.b64encode(packed).decode()}"


def restored(product: Array, discount: float, text: str | None) -> Array:
    """Return the probabilities whose products with γ were written; a ValueError where they cannot be."""
    quotient = _divided(product, discount)
    if text is not None:
        quotient = (quotient.view(np.int64) + _steps(text, len(product))).view(np.float64)
    if not np.array_equal(quotient * discount, product):
        raise ValueError("other probabilities")
    return quotient


def _divided(product: Array, discount: float) -> Array:
    return product / discount if discount else np.zeros_like(product)


def _steps(text: str, count: int) -> NDArray[np.int64]:
    size, _, packed = text.partition(" ")
    if size not in TYPES:
        raise ValueError("a damaged comment")
    wanted = count * TYPES[size].itemsize
    try:
        content = zlib.decompressobj().decompress(base64.b64decode(packed), wanted + 1)
    except zlib.error as error:
        raise ValueError("a damaged comment") from error
    if len(content) != wanted:
        raise ValueError("other transitions")
    return np.frombuffer(content, TYPES[size]).astype(np.int64)
