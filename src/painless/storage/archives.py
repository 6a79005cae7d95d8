"""`.npz` archives, read one array at a time, with every header checked before memory is taken.

An `.npz` file is a zip archive with an `.npy` file for each array. How large an array is stands in three places: in its
own header, in the archive's directory, and in the bytes that are there. They must agree: a header that claims more is rejected.
"""

from __future__ import annotations

import math
import os
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from painless.common.errors import InputError
from painless.storage.memory import require_room

NPY_MAGIC = b"\x93NUMPY"
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # what NumPy writes
DENSEST = 1032  # bytes that one byte of a deflated entry can stand for, at most
SPARE = 64  # bytes by which a short entry may be denser


class ArrayHeader(NamedTuple):
    """What an array says of itself."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    length: int  # bytes that the header takes

    @property
    def size(self) -> int:
        """The bytes that the array takes."""
        return math.prod(self.shape) * self.dtype.itemsize


class Archive:
    """An open `.npz` file: the headers of its arrays, by key, and the arrays as they are asked for."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self.stream, self.path = stream, path
        start = stream.read(len(NPY_MAGIC))
        if start == NPY_MAGIC:
            raise InputError(f"{path} holds a single array, not an .npz archive; write it with np.savez")
        if not zipfile.is_zipfile(stream):
            raise InputError(f"{path} is not an .npz archive; it may be truncated, or another kind of file")
        with self._reading(None):
            self._zip = zipfile.ZipFile(stream)
        self.entries: dict[str, zipfile.ZipInfo] = {}
        self.headers: dict[str, ArrayHeader] = {}
        for entry in self._zip.infolist():
            key = entry.filename.removesuffix(".npy")
            with self._reading(key):
                self.headers[key] = self._header(entry, key)
                self.entries[key] = entry
        with self._reading(None):
            self._require_honest_sizes()

    def __getitem__(self, key: str) -> NDArray[Any]:
        """Read an array into memory; pickled ones are never loaded."""
        with self._reading(key), self._zip.open(self.entries[key]) as member:
            array = npy.read_array(member, allow_pickle=False)
            if member.read(1):  # also makes the archive compare its checksum
                raise ValueError("more follows after the array")
            return np.asarray(array)

    def _header(self, entry: zipfile.ZipInfo, key: str) -> ArrayHeader:
        if key in self.headers:
            raise ValueError("it is there twice")
        if entry.compress_type not in METHODS:
            raise ValueError("it is compressed in a way that NumPy does not know")
        with self._zip.open(entry) as member:
            version = npy.read_magic(member)
            read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
            if read is None:
                raise ValueError(f"its version {version} is not known")
            header = ArrayHeader(*read(member), member.tell())
        if header.dtype.hasobject:
            raise ValueError("pickle")
        whole = all(type(length) is int and length >= 0 for length in header.shape)
        if not whole or not header.dtype.itemsize or header.length + header.size != entry.file_size:
            raise ValueError(f"{entry.file_size} bytes are not an array of shape {header.shape}")
        return header

    def _require_honest_sizes(self) -> None:
        """Reject a directory that claims more than the bytes there can hold."""
        there = os.fstat(self.stream.fileno()).st_size
        if sum(entry.compress_size for entry in self.entries.values()) > there:
            raise ValueError("its arrays overlap, or go on beyond its end")
        for key, entry in self.entries.items():
            stored = entry.compress_type == zipfile.ZIP_STORED
            most = entry.compress_size if stored else SPARE + DENSEST * entry.compress_size
            if entry.file_size > most:
                raise ValueError(f"'{key}' claims to be larger than it can be")

    def require_room(self, keys: Iterable[str]) -> None:
        """Reject arrays that take more memory than there is, all together."""
        require_room(str(self.path), float(sum(self.headers[key].size for key in keys)))

    @contextmanager
    def _reading(self, key: str | None) -> Iterator[None]:
        """Turn whatever a damaged archive makes others raise, or warn of, into one sentence."""
        where = f"{self.path}" if key is None else f"'{key}' in {self.path}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                yield
        except Exception as error:  # zipfile, zlib and NumPy raise a dozen types
            if "pickle" in str(error):
                raise InputError(
                    f"{where} needs pickle, which can run code and is never loaded; save plain numeric arrays"
                ) from error
            raise InputError(f"{where} cannot be read; the archive may be damaged: {error}") from error
