"""Columns of a table: names become numbers, and texts numbers where numbers are needed; errors say the row.

A table is anything whose columns are found by their names: a DataFrame of pandas or Polars, or a dictionary of lists or arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from datetime import date, datetime
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.errors import InputError, shown, unknown
from painless.problem.names import as_objects

ABSENT = ("NAType", "NaTType")  # missing entries of pandas

Codes = NDArray[np.intp]
Row = Callable[[int], str]  # how a row is called: "row 3", or "line 5" of a file
ColumnNames = Hashable | list[Hashable]  # one column, or several whose entries make tuples


class Labels(NamedTuple):
    """A column of names as numbers."""

    codes: Codes  # (N,)
    names: list[Any]  # distinct, by their numbers


def titles(frame: Any) -> list[Any]:
    """Return the names of the columns."""
    if isinstance(frame, np.ndarray):
        return list(frame.dtype.names or ())
    try:
        found = getattr(frame, "column_names", None)  # of Arrow, whose `columns` are the columns themselves
        return list(getattr(frame, "columns", frame) if found is None else found)
    except TypeError as error:
        raise InputError(
            f"frame is {shown(frame)}; give a DataFrame of pandas or Polars, or a dictionary of columns"
        ) from error


def column(frame: Any, what: str, name: Any) -> Any:
    """Return one column, whose role is `what`."""
    known = titles(frame)
    if not isinstance(name, Hashable) or name not in known:
        raise InputError(f"{what} is no column of the table: {unknown('column', str(name), map(str, known))}")
    found = frame[name]
    if not isinstance(found, list | tuple) and np.ndim(found) != 1:
        raise InputError(f"{what}: the table has more than one column {shown(name)}; rename one")
    return found


def column_slice(frame: Any, name: Any, first: int, stop: int) -> Any:
    """Return the rows first..stop − 1 of one column."""
    values = frame[name]
    return getattr(values, "iloc", values)[first:stop]


def numbers(what: str, values: Any, row: Row) -> Array:
    """Return a column of numbers, (N,)."""
    if not isinstance(values, list):
        array = np.asarray(values)
        if array.dtype.kind in "biuf":
            return np.asarray(array, dtype=np.float64)
        values = array.tolist()
    try:
        return np.fromiter(map(float, values), dtype=np.float64, count=len(values))
    except (TypeError, ValueError):
        wrong = next(k for k, value in enumerate(values) if not _is_number(value))
        raise InputError(
            f"{row(wrong)} has {shown(values[wrong])} in column {shown(what)}; give a number"
        ) from None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def labels(columns: Sequence[tuple[str, Any]], row: Row) -> Labels:
    """Return columns of names, one below the other, as numbers: numbers and dates ascend, others are as they first appear.

    >>> labels([("state", ["in", "out"]), ("next_state", ["out", "in"])], str)
    Labels(codes=array([0, 1, 1, 0]), names=['in', 'out'])
    """
    arrays = [_array(values) for _, values in columns]
    same = len({array.dtype.kind for array in arrays}) == 1
    found = coded(np.concatenate(arrays if same else [array.astype(object) for array in arrays]))
    missing = np.array([is_missing(name) for name in found.names], dtype=bool)
    if missing.any():
        place = int(np.argmax(missing[found.codes]))
        for what, array in zip((what for what, _ in columns), arrays, strict=True):
            if place < len(array):
                raise InputError(f"{row(place)} has no {what}; fill it in")
            place -= len(array)
    return found


def coded(values: Any) -> Labels:
    """Return one column of names as numbers, missing ones too: numbers and dates ascend, others are as they first appear."""
    array = _array(values)
    return _by_value(array) if array.dtype.kind in "biufM" else _by_appearance(array.tolist())


def combined(parts: Sequence[Labels]) -> Labels:
    """Return several columns of names as one of tuples.

    >>> combined([Labels(np.array([0, 1]), ["a", "b"]), Labels(np.array([0, 0]), [5])])
    Labels(codes=array([0, 1]), names=[('a', 5), ('b', 5)])
    """
    codes = parts[0].codes
    names: list[tuple[Any, ...]] = [(name,) for name in parts[0].names]
    for part in parts[1:]:
        used, codes = np.unique(codes * len(part.names) + part.codes, return_inverse=True)
        pairs = (divmod(int(code), len(part.names)) for code in used)
        names = [(*names[i], part.names[j]) for i, j in pairs]
    return Labels(codes, names)


def _array(values: Any) -> NDArray[Any]:
    """Return a column of names as an array with one axis."""
    if isinstance(values, list | tuple):  # of any objects, tuples too
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    return np.asarray(values)


def _by_value(array: NDArray[Any]) -> Labels:
    used, codes = np.unique(array, return_inverse=True)
    return Labels(codes, as_objects(used))


def _by_appearance(values: list[Any]) -> Labels:
    """Number the entries as they first appear; ascending if they are numbers or dates."""
    place: dict[Any, int] = {}
    try:
        codes = np.fromiter(
            (place.setdefault(value, len(place)) for value in values), dtype=np.intp, count=len(values)
        )
    except TypeError as error:
        raise InputError(
            f"a name cannot be looked up ({error}); give texts, numbers, tuples or dates"
        ) from error
    names = list(place)
    kinds = {Real if isinstance(name, Real) and name == name else type(name) for name in names}
    if len(kinds) > 1 or not kinds <= {Real, date, datetime}:
        return Labels(codes, names)
    order = sorted(range(len(names)), key=names.__getitem__)
    return Labels(np.argsort(order)[codes], [names[i] for i in order])


def is_missing(name: Any) -> bool:
    """Whether a name is a missing entry."""
    return name is None or type(name).__name__ in ABSENT or (isinstance(name, float) and name != name)
