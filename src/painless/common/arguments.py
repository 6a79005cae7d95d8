"""Validation of arguments. Every error says what is wrong, where, and what to do next."""

from __future__ import annotations

from numbers import Real
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask
from painless.common.errors import InputError, shown

SUM_TOLERANCE = 1e-8  # for probabilities given in double precision
SINGLE_TOLERANCE = 1e-5  # for lower precision
MOST = 2**63 - 1  # the largest count
LISTED = 2**31 - 1  # the largest number of things with entries of their own, such as states


def as_numbers(name: str, values: object) -> NDArray[Any]:
    """Return `values` as an array of real numbers or booleans of any precision."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"its entries are {array.dtype}")
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not a numeric array ({error}); give nested lists or an array") from error
    return array


def as_floats(name: str, values: object) -> Array:
    """Return `values` as a C-ordered array of doubles, without a copy if possible."""
    array = as_numbers(name, values)
    return np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)


def is_single(values: Any) -> bool:
    """Whether `values` come in less than double precision."""
    dtype = getattr(values, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind == "f" and dtype.itemsize < 8


def first(wrong: NDArray[np.bool_]) -> str:
    """Return the index of the first true entry as text: "[3, 1]"."""
    return f"[{', '.join(str(int(i)) for i in np.argwhere(wrong)[0])}]"


def require_finite(name: str, array: Array, where: NDArray[np.bool_] | bool = True) -> None:
    """Reject entries that are infinite or NaN."""
    wrong = ~np.isfinite(array) & where
    if wrong.any():
        raise InputError(f"{name}{first(wrong)} is {array[wrong][0]}; every entry must be finite").at(
            np.argwhere(wrong)[0]
        )


def require_not_negative(name: str, array: Array, where: NDArray[np.bool_] | bool = True) -> None:
    """Reject probabilities below 0."""
    wrong = (array < 0) & where
    if wrong.any():
        raise InputError(f"{name}{first(wrong)} is {array[wrong][0]:g}, below 0; give probabilities").at(
            np.argwhere(wrong)[0]
        )


def require_sums(name: str, sums: Array, where: Mask | bool, single: bool, advice: str) -> None:
    """Reject distributions that do not sum to 1."""
    wrong = (np.abs(sums - 1) > (SINGLE_TOLERANCE if single else SUM_TOLERANCE)) & where
    if wrong.any():
        total = sums[wrong][0]
        shown = f"{total:.6f}" if abs(total - 1) > 1e-6 else f"{total:.10f}"
        place = first(wrong) if sums.ndim else ""
        raise InputError(f"{name}{place} sums to {shown}, not 1; {advice}").at(np.argwhere(wrong)[0])


def number(name: str, value: Any, advice: str) -> float:
    """Return a real number as a float; infinite if too large for one."""
    given = value.item() if isinstance(value, np.ndarray | np.generic) and not value.ndim else value
    if isinstance(given, bool) or not isinstance(given, Real):
        raise InputError(f"{name} must be a number, not {shown(value)}; {advice}")
    try:
        return float(cast(float, given))
    except OverflowError:
        return float("inf") if cast(float, given) > 0 else float("-inf")


def share(name: str, value: Any) -> float:
    """Check that something is a number strictly between 0 and 1."""
    found = number(name, value, "give one such as 0.95")
    if not 0 < found < 1:
        raise InputError(f"{name} is {value}; it must lie between 0 and 1, such as 0.95")
    return found


def probability(name: str, value: Any) -> float:
    """Check that something is a number within [0, 1]."""
    found = number(name, value, "give a probability, within [0, 1]")
    if not 0 <= found <= 1:
        raise InputError(f"{name} is {found:g}; give a probability, within [0, 1]")
    return found


def function(name: str, value: Any) -> None:
    """Reject objects that are not callable, except None."""
    if value is not None and not callable(value):
        raise InputError(f"{name} is {shown(value)}; give a function")


def whole(name: str, value: Any, least: int = 1, most: float = MOST) -> int:
    """Check that a count is a whole number."""
    counted = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not counted or value < least:
        shown = repr(value) if isinstance(value, str) else value
        raise InputError(f"{name} is {shown}; it must be a whole number of at least {least}")
    if value > most:
        raise InputError(f"{name} is too large; it must be a whole number of at most {most}")
    return int(value)


def seconds(time_limit: Any) -> float | None:
    """Check a time limit in seconds; None is no limit."""
    if time_limit is None:
        return None
    limit = number("time_limit", time_limit, "give seconds")
    if not limit > 0:
        raise InputError(f"time_limit is {time_limit}; it must be a positive number of seconds")
    return limit


def seed(value: Any) -> int:
    """Check a random seed: a whole number, however large."""
    return whole("seed", value, least=0, most=float("inf"))
