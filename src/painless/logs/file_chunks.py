"""Logs in files, read in chunks: CSV with Python alone, Parquet with pyarrow or Polars."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from painless.common.errors import InputError
from painless.logs.chunks import Chunk
from painless.storage import files

ENDINGS = (".csv", ".parquet")


def file_chunks(path: str | os.PathLike[str], size: int) -> Iterator[Chunk]:
    """Yield the rows of a file in chunks."""
    place = files.as_path(path)
    if place.suffix.lower() not in ENDINGS:
        raise InputError(f"{place}: a log is a .csv or a .parquet file; convert it")
    if not place.is_file():
        raise InputError(f"{place} does not exist, or is no file; give the path of a log")
    read = _csv if place.suffix.lower() == ".csv" else _parquet
    try:
        yield from read(place, size)
    except OSError as error:
        raise InputError(f"{place} cannot be read: {error.strerror or error}") from error


class _Counted:
    """The lines of a text file; counts their bytes, about."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.bytes = stream, 0

    def __iter__(self) -> Iterator[str]:
        for line in self.stream:
            self.bytes += len(line)
            yield line


def _csv(path: Path, size: int) -> Iterator[Chunk]:
    total = max(path.stat().st_size, 1)
    with path.open(encoding="utf-8-sig", newline="") as stream:
        lines = _Counted(stream)
        reader = csv.reader(lines)
        try:
            header = _header(next((row for row in reader if row), []))
            first, share, before = 0, 0.0, reader.line_num
            while rows := [row for row in islice(reader, size) if row]:
                # No line is empty, and none goes on in the next
                one_line = reader.line_num - before == len(rows)
                _require_widths(rows, header, first)
                now = min(max(lines.bytes / total, share), 1.0)
                names = (
                    (lambda k, b=before: f"line {b + k + 1}")
                    if one_line
                    else (lambda k, f=first: f"row {f + k + 1}")
                )
                columns = dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))
                yield Chunk(columns, len(rows), first, (share, now), True, names)
                first, share, before = first + len(rows), now, reader.line_num
        except csv.Error as error:
            raise InputError(f"line {reader.line_num}: it is not CSV ({error})") from error
        except UnicodeDecodeError as error:
            raise InputError("it is not UTF-8 text; save it as CSV (UTF-8)") from error
    if not first:
        raise InputError(
            "the log has no rows; give a line with the names of the columns, and one for each step"
        )


def _header(titles: list[str]) -> list[str]:
    header = [title.strip() for title in titles]
    twice = next((title for title in header if header.count(title) > 1), None)
    if twice is not None:
        raise InputError(f"two columns are called '{twice}'; rename one")
    return header


def _require_widths(rows: list[list[str]], header: list[str], first: int) -> None:
    wrong = next((k for k, row in enumerate(rows) if len(row) != len(header)), None)
    if wrong is not None:
        raise InputError(
            f"row {first + wrong + 1} has {len(rows[wrong])} entries for {len(header)} columns; put names with commas in quotes"
        )


def _parquet(path: Path, size: int) -> Iterator[Chunk]:
    try:
        from pyarrow import parquet
    except ImportError:
        yield from _polars(path, size)
        return
    file = parquet.ParquetFile(path)
    total, first = file.metadata.num_rows, 0
    for batch in file.iter_batches(batch_size=size):
        columns = {
            name: batch.column(k).to_numpy(zero_copy_only=False) for k, name in enumerate(batch.schema.names)
        }
        yield _numbered(columns, len(batch), first, total)
        first += len(batch)


def _polars(path: Path, size: int) -> Iterator[Chunk]:
    try:
        import polars
    except ImportError as error:
        raise InputError(
            f"{path}: a .parquet file needs pyarrow or Polars; install one with: pip install 'painless-cmdp[frames]', or save the log as .csv"
        ) from error
    lazy = polars.scan_parquet(path)
    total = int(lazy.select(polars.len()).collect().item())
    for first in range(0, total, size):
        part = lazy.slice(first, size).collect()
        yield _numbered(part, len(part), first, total)


def _numbered(columns: Any, rows: int, first: int, total: int) -> Chunk:
    share = (first / total, (first + rows) / total)
    return Chunk(columns, rows, first, share, line=lambda k: f"row {first + k}")
