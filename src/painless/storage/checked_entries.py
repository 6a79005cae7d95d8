"""Validation of the entries of a stored result: a checksum shows that they are intact, not that they make sense."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.errors import InputError

SUM_TOLERANCE = 1e-8  # of a distribution

Shape = tuple[int | None, ...]  # None stands for any length


def floats(
    content: Mapping[str, Any],
    name: str,
    shape: Shape,
    *,
    least: float = -np.inf,
    most: float = np.inf,
    infinite: bool = False,
) -> Array:
    """Return an array of doubles of this shape, finite unless `infinite`, at least `least` and at most `most`, or infinite.

    >>> floats({"gap": np.zeros(3)}, "gap", (2,))
    Traceback (most recent call last):
        ...
    painless.common.errors.InputError: 'gap' has shape (3,), not (2,)
    """
    array = _array(content, name, shape, "f")
    wrong = np.isnan(array) if infinite else ~np.isfinite(array)
    wrong |= (array < least) | (np.isfinite(array) & (array > most))
    if wrong.any():
        raise InputError(f"'{name}' holds {array[wrong][0]:g}, which is invalid")
    return array.astype(np.float64, copy=False)


def wholes(
    content: Mapping[str, Any], name: str, shape: Shape, *, least: int = 0, below: int | None = None
) -> NDArray[np.int64]:
    """Return an array of whole numbers of this shape, at least `least` and below `below`."""
    array = _array(content, name, shape, "iu")
    end = np.iinfo(np.int64).max if below is None else below
    if ((array < least) | (array >= end)).any():
        raise InputError(f"'{name}' holds {array[(array < least) | (array >= end)][0]}, which is invalid")
    return array.astype(np.int64, copy=False)


def number(content: Mapping[str, Any], name: str, *, least: float = -np.inf) -> float:
    """Return one finite number."""
    return float(floats(content, name, (), least=least))


def whole(content: Mapping[str, Any], name: str, *, least: int = 0, below: int | None = None) -> int:
    """Return one whole number."""
    return int(wholes(content, name, (), least=least, below=below))


def distributions(content: Mapping[str, Any], name: str, shape: Shape) -> Array:
    """Return an array whose last axis holds probabilities that sum to 1."""
    array = floats(content, name, shape, least=0.0)
    if not array.size or (np.abs(array.sum(-1) - 1) > SUM_TOLERANCE).any():
        raise InputError(f"'{name}' does not sum to 1")
    return array


def names(content: Mapping[str, Any], name: str, count: int) -> list[str | int]:
    """Return a list of texts or of whole numbers."""
    return _array(content, name, (count,), "Uiu").tolist()


def parsed(content: Mapping[str, Any], name: str) -> Any:
    """Return an entry that is JSON text, parsed."""
    return json.loads(str(_array(content, name, (), "U")))


def _array(content: Mapping[str, Any], name: str, shape: Shape, kinds: str) -> NDArray[Any]:
    if name not in content:
        raise InputError(f"'{name}' is missing")
    array = np.asarray(content[name])
    if array.dtype.kind not in kinds:
        raise InputError(f"'{name}' is of type {array.dtype}")
    fits = len(shape) == array.ndim and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
    if not fits:
        wanted = tuple("any" if n is None else n for n in shape)
        raise InputError(f"'{name}' has shape {array.shape}, not {wanted}")
    return array
