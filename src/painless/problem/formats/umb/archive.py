"""The arrays of a UMB file, which is a tar archive, each checked for its length before it is read."""

from __future__ import annotations

import tarfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.common.errors import InputError
from painless.storage import files
from painless.storage.memory import require_room


class Archive:
    """The arrays of a tar archive, each checked for its length before it is read."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self.tar = tar
        self.members = {member.name.removeprefix("./"): member for member in tar if member.isfile()}

    def bytes(self, name: str, most: float) -> bytes:
        """Return a file of the archive, if it is not longer than it may be."""
        if name not in self.members:
            raise InputError(f"'{name}' is missing; export the model again")
        size = self.members[name].size
        if size > most:
            raise InputError(f"'{name}' has {size} bytes, not at most {most:.0f}; export the model again")
        require_room(f"'{name}'", size)
        content = self.tar.extractfile(self.members[name])
        assert content is not None
        return content.read()

    def array(self, name: str, kind: str, count: int) -> NDArray[Any]:
        """Return an array of so many numbers."""
        dtype = np.dtype(kind)
        content = self.bytes(name, count * dtype.itemsize)
        if len(content) != count * dtype.itemsize:
            raise InputError(
                f"'{name}' has {len(content)} bytes for {count} numbers of {dtype.itemsize}; export it again"
            )
        return np.frombuffer(content, dtype)

    def bits(self, name: str, count: int) -> NDArray[np.bool_]:
        """Return a bit for each of so many things; the rest of the last bytes is padding."""
        content = np.frombuffer(self.bytes(name, count // 8 + 8), np.uint8)
        if 8 * len(content) < count:
            raise InputError(f"'{name}' has {len(content)} bytes for {count} bits; export it again")
        return np.unpackbits(content, count=count, bitorder="little").astype(bool)

    def texts(self, folder: str, count: int) -> list[str]:
        """Return so many texts."""
        ends = self.pointer(f"{folder}/string-mapping.bin", count, None)
        content = self.bytes(f"{folder}/strings.bin", files.TEXTS)
        if ends[-1] != len(content):
            raise InputError(
                f"'{folder}/strings.bin' has {len(content)} bytes, not {ends[-1]}; export it again"
            )
        return [content[i:j].decode() for i, j in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]

    def pointer(self, name: str, count: int, total: int | None) -> NDArray[np.int64]:
        """Return where each of `count` rows begins; without the file, each has one entry."""
        if name not in self.members:
            return np.arange(count + 1)
        found = self.array(name, "<u8", count + 1).view("<i8")
        last = found[-1] if total is None else total
        if found[0] != 0 or found[-1] != last or (np.diff(found) < 0).any():
            raise InputError(f"'{name}' does not ascend from 0 to {last}; export the model again")
        return found
