"""Large `.npz` files: written so that their arrays can be mapped into memory, and mapped as they are read.

An `.npz` file is a zip archive with an `.npy` file for each array. An array of at least `LARGE` bytes is stored as
it is, at a multiple of `ALIGNMENT` bytes from the start of the archive: the padding is spaces in the array's own
header, which every reader skips. Smaller arrays are compressed, as NumPy does it. Any NumPy reads such a file.

A file is read into memory unless its arrays take more than `MAPPED` bytes together. Then aligned arrays are mapped: pages are
loaded from the file when touched, and can be dropped again or shared with other processes. The checksum is still compared. A
mapped file can be replaced by another of its name, but must not be overwritten: `unchanged` then raises an error.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
import weakref
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import IO, Any, Literal, ParamSpec, TypeVar

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from painless.common.errors import InputError, unknown
from painless.storage import files
from painless.storage.archives import Archive
from painless.storage.bus_errors import announce_bus_errors

P = ParamSpec("P")
R = TypeVar("R")

LARGE = 2**23  # bytes from which an array is stored as it is, and may be mapped
MAPPED = 2**30  # bytes of all arrays from which a file is mapped
NEEDED = (
    "a problem file needs transition (or transition_data, transition_indices and transition_indptr), reward or cost, initial "
    "and discount"
)
BY_STATE = ("transition", "reward", "cost", "constraint_reward", "constraint_cost", "actions", "state_names")
ALIGNMENT = 64
PIECE = 2**24  # bytes that are written or summed at a time
LOCAL_HEADER = struct.Struct("<4s22xHH")  # its signature, then the lengths of the name and of the extra field
ENCRYPTED = 0x1


def write_npz(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> Path:
    """Write arrays as an `.npz` file whose large arrays can be mapped, atomically."""
    return files.write_atomically(path, lambda stream: _write(stream, arrays))


def _write(stream: IO[bytes], arrays: Mapping[str, Any]) -> None:
    with zipfile.ZipFile(stream, "w") as archive:
        for key, values in arrays.items():
            array = np.asanyarray(values)
            entry = zipfile.ZipInfo(f"{key}.npy")
            entry.external_attr = 0o600 << 16
            large = array.nbytes >= LARGE
            entry.compress_type = zipfile.ZIP_STORED if large else zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as member:
                if large:
                    _write_aligned(member, np.ascontiguousarray(array), stream.tell())
                else:
                    npy.write_array(member, array, allow_pickle=False)


def _write_aligned(member: IO[bytes], array: NDArray[Any], position: int) -> None:
    """Write an array whose file starts at `position`, so that its entries start at a multiple of `ALIGNMENT`."""
    text = repr(npy.header_data_from_array_1_0(array)).encode()
    start = npy.magic(1, 0)
    padding = -(position + len(start) + 2 + len(text) + 1) % ALIGNMENT
    member.write(start + struct.pack("<H", len(text) + padding + 1) + text + b" " * padding + b"\n")
    for piece in _pieces(array):
        member.write(piece)


def _pieces(array: NDArray[Any]) -> Iterator[memoryview]:
    content = array.reshape(-1).view(np.uint8).data
    return (content[k : k + PIECE] for k in range(0, len(content), PIECE))


def read(path: str | os.PathLike[str], known: Collection[str] = ()) -> dict[str, Any]:
    """Read a problem file as `files.read` does, with the arrays of a very large archive mapped, read-only.

    Entries whose names are not `known` are rejected before anything is read.
    """
    sources: list[Source] = []
    content = files.read(
        path,
        lambda archive, key: _map(archive, key, sources),
        lambda archive: _require_plausible(archive, known) if known else None,
    )
    for source in sources:
        source.require_unchanged()
    return content


class Source(mmap.mmap):
    """A mapped file that remembers which, and how it was when it was mapped."""

    path: Path
    stat: os.stat_result
    descriptor: int

    @classmethod
    def of(cls, archive: Archive) -> Source:
        """Map an open archive as a whole, read-only."""
        announce_bus_errors()
        source = cls(archive.stream.fileno(), 0, access=mmap.ACCESS_READ)
        source.path, source.descriptor = archive.path, os.dup(archive.stream.fileno())
        source.stat = os.fstat(source.descriptor)
        weakref.finalize(source, os.close, source.descriptor)
        return source

    def require_unchanged(self) -> None:
        """Raise an error if the file was overwritten; a file that was replaced still exists."""
        now = os.fstat(self.descriptor)
        if (now.st_size, now.st_mtime_ns) != (self.stat.st_size, self.stat.st_mtime_ns):
            raise InputError(
                f"{self.path} was changed by another program while it was in use; load it again, and replace files by "
                "renaming a new one instead of writing over the old"
            )


def sources_of(held: Mapping[str, Any]) -> tuple[Source, ...]:
    """Return the mapped files that hold arrays of a problem, given its attributes; what is made on first use is no part of a file."""
    kernel = held.get("transition")
    parts = [getattr(kernel, name, None) for name in ("data", "indices", "indptr")]
    arrays = [held.get(name) for name in ("reward", "constraint_reward", "initial", "actions")]
    found: dict[int, Source] = {}
    for array in (kernel, *parts, *arrays):
        owner = array
        while isinstance(owner, np.ndarray):
            owner = owner.base
        if isinstance(owner, Source):
            found[id(owner)] = owner
    return tuple(found.values())


def require_unchanged(problem: Any) -> None:
    """Reject a problem whose mapped file was written over since it was loaded."""
    for source in getattr(problem, "sources", ()):
        source.require_unchanged()


def unchanged(verb: Callable[P, R]) -> Callable[P, R]:
    """Make a function, whose first argument is a problem, check before and after that its file is unchanged."""

    @wraps(verb)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        problem = args[0] if args else kwargs.get("problem")
        require_unchanged(problem)
        result = verb(*args, **kwargs)
        require_unchanged(problem)
        return result

    return checked


def _require_plausible(archive: Archive, known: Collection[str]) -> None:
    """Reject entries that no problem has, and large arrays that do not fit its states, before they are read."""
    headers = archive.headers
    for key in headers:
        if key not in known:
            raise InputError(f"{archive.path}: {unknown('entry', key, known)}")
    if sum(header.size for header in headers.values()) < LARGE:
        return  # it is small, and checked when read
    if "initial" not in headers:
        raise InputError(f"{archive.path}: 'initial' is missing; {NEEDED}")
    states = math.prod(headers["initial"].shape)
    for key, header in headers.items():
        if key in BY_STATE and states not in header.shape:
            raise InputError(
                f"{archive.path}: {key} has shape {header.shape}, which does not fit the {states} state(s) of initial"
            )


def _map(archive: Archive, key: str, sources: list[Source]) -> NDArray[Any] | None:
    """Return an array as a view of the file, or None if it must be read into memory."""
    entry, header = archive.entries[key], archive.headers[key]
    total = sum(one.size for one in archive.headers.values())
    stored = entry.compress_type == zipfile.ZIP_STORED and not entry.flag_bits & ENCRYPTED
    if not stored or header.size < LARGE or total < MAPPED:
        return None
    stream = archive.stream
    stream.seek(entry.header_offset)
    _, name, extra = LOCAL_HEADER.unpack(stream.read(LOCAL_HEADER.size))
    begin = stream.seek(name + extra, os.SEEK_CUR)
    start, text = begin + header.length, stream.read(header.length)
    if start % ALIGNMENT:
        return None  # it is read as any other
    if not sources:
        sources.append(Source.of(archive))
    order: Literal["F", "C"] = "F" if header.fortran else "C"
    array: NDArray[Any] = np.ndarray(header.shape, header.dtype, sources[0], start, order=order)
    if _checksum(text, array) != entry.CRC:
        raise InputError(f"'{key}' in {archive.path} cannot be read; the archive may be damaged: Bad CRC-32")
    return array


def _checksum(header: bytes, array: NDArray[Any]) -> int:
    result = zlib.crc32(header)
    for piece in _pieces(array.T if array.flags.f_contiguous else array):
        result = zlib.crc32(piece, result)
    return result
