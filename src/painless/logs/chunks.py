"""A log in chunks of rows: from frames, dictionaries of columns, tuples, episodes, and files that are too long for memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from painless.common.errors import InputError, shown
from painless.logs.episodes import are_episodes, episode_columns
from painless.problem.columns import column_slice, titles

CHUNK = 50_000  # rows that are looked at together


class Chunk(NamedTuple):
    """Some rows of a log, one after the other."""

    columns: Any  # columns by their names
    rows: int
    first: int  # the number of rows before it
    share: tuple[float, float]  # the part of the log that it is, from 0 to 1
    texts: bool = False  # whether all entries are texts, of which an empty one is missing
    line: Callable[[int], str] = "row {}".format  # how a row of the chunk is called
    recorded: bool = False  # whether the columns are those of recorded episodes


def chunks(source: Any, size: int = CHUNK) -> Iterator[Chunk]:
    """Yield a log in chunks of at most `size` rows, or about as many."""
    if isinstance(source, str | os.PathLike):
        from painless.logs.file_chunks import file_chunks

        yield from file_chunks(source, size)
        return
    recorded, table = _table(source)
    total = _length(table)
    for first in range(0, total, size):
        stop = min(first + size, total)
        part = {name: column_slice(table, name, first, stop) for name in titles(table)}
        share = (first / total, stop / total)
        name_row = lambda k, first=first: f"row {first + k}"  # noqa: E731
        yield Chunk(part, stop - first, first, share, line=name_row, recorded=recorded)


def _table(source: Any) -> tuple[bool, Any]:
    """Return whether these are recorded episodes, and what has columns by names: tuples have numbers for names."""
    if isinstance(source, Mapping) or hasattr(source, "columns") or hasattr(source, "column_names"):
        return False, source
    if isinstance(source, np.ndarray):
        return False, source if source.dtype.names else _numbered(source)
    if not isinstance(source, Sequence):
        try:
            source = list(source)  # such as a generator of episodes
        except TypeError as error:
            raise InputError(
                f"the log is {shown(source)}; give a DataFrame of pandas or Polars, a dictionary of columns, rows as tuples, "
                "episodes, or the path of a .csv or .parquet file"
            ) from error
    if not len(source):
        return False, {}
    return (True, episode_columns(source)) if are_episodes(source) else (False, _of_rows(source))


def _numbered(array: Any) -> dict[int, Any]:
    if array.ndim != 2:
        raise InputError(f"the log has shape {array.shape}; give a row for each step, (N, columns)")
    return dict(enumerate(array.T))


def _of_rows(rows: Sequence[Any]) -> dict[Any, list[Any]]:
    """Return rows as columns: by the keys of dictionaries, by the fields of named tuples, else by their numbers."""
    first = rows[0]
    if isinstance(first, Mapping):
        names: list[Any] = list(first)
        wrong = next(
            (k for k, row in enumerate(rows) if not isinstance(row, Mapping) or {*row} != {*first}), None
        )
        if wrong is None:
            return {name: [row[name] for row in rows] for name in names}
        raise InputError(f"row {wrong} has other columns than row 0; give all rows the same")
    if isinstance(first, str) or not hasattr(first, "__len__"):
        raise InputError(
            f"row 0 is {shown(first)}; give each step as a tuple: state, action, next_state, reward, …"
        )
    wrong = next(
        (k for k, row in enumerate(rows) if not hasattr(row, "__len__") or len(row) != len(first)), None
    )
    if wrong is not None:
        raise InputError(
            f"row {wrong} is {shown(rows[wrong])}, but row 0 has {len(first)} entries; give all rows as many"
        )
    names = list(getattr(first, "_fields", range(len(first))))
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


def _length(table: Any) -> int:
    """Return the number of rows; reject columns of different lengths."""
    names = titles(table)
    lengths = {name: len(table[name]) for name in names}
    if len({*lengths.values()}) > 1:
        name, other = names[0], next(one for one in names if lengths[one] != lengths[names[0]])
        raise InputError(
            f"column {shown(other)} has {lengths[other]} entries, column {shown(name)} {lengths[name]}; give as many"
        )
    if not names or not lengths[names[0]]:
        raise InputError("the log has no rows; give one for each step")
    return lengths[names[0]]
