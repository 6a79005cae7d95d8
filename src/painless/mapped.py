"""Large `.npz` files: written so that their arrays can be mapped into memory, and mapped as they are read.

An `.npz` file is a zip archive with an `.npy` file for each array. An array of at least `LARGE` bytes is stored as
it is, at a multiple of `ALIGNMENT` bytes from the start of the archive: the padding is spaces in the array's own
header, which every reader skips. Smaller arrays are compressed, as NumPy does it. Any NumPy reads such a file.

Reading maps what lies so: pages come from the file as they are touched, and can be dropped again or shared with
other processes. The checksum is compared all the same. What lies otherwise is read into memory.
"""

from __future__ import annotations

import math
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from painless import files

LARGE = 2**23  # bytes from which an array is stored as it is, and mapped
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


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a file as `files.read` does, with the large arrays of an archive mapped, read-only, where they can be."""
    path = Path(path)
    return files.read(path, lambda entry: _map(path, entry))


def _map(path: Path, entry: zipfile.ZipInfo) -> NDArray[Any] | None:
    """Return an array as a view of the file, or None where it must be read into memory."""
    stored = entry.compress_type == zipfile.ZIP_STORED and not entry.flag_bits & ENCRYPTED
    if not stored or entry.file_size < LARGE:
        return None
    with path.open("rb") as stream:
        stream.seek(entry.header_offset)
        _, name, extra = LOCAL_HEADER.unpack(stream.read(LOCAL_HEADER.size))
        begin = stream.seek(name + extra, os.SEEK_CUR)
        if npy.read_magic(stream) != (1, 0):
            return None
        shape, fortran, dtype = npy.read_array_header_1_0(stream)
        start = stream.tell()
        stream.seek(begin)
        header = stream.read(start - begin)
    size = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or start % ALIGNMENT or len(header) + size != entry.file_size:
        return None  # it is read, or refused, as any other
    array = np.memmap(path, dtype, "r", start, shape, "F" if fortran else "C")
    if _checksum(header, array) != entry.CRC:
        raise zipfile.BadZipFile(f"Bad CRC-32 for file '{entry.filename}'")
    return np.asarray(array)


def _checksum(header: bytes, array: NDArray[Any]) -> int:
    result = zlib.crc32(header)
    for piece in _pieces(array.T if array.flags.f_contiguous else array):
        result = zlib.crc32(piece, result)
    return result
