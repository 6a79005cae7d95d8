"""Files that are written whole or not at all, and read without ever running what they contain."""

from __future__ import annotations

import glob
import json
import os
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from painless.errors import InputError

NPY_MAGIC = b"\x93NUMPY"


def as_path(path: object) -> Path:
    """Return a path, or refuse what is none."""
    if isinstance(path, str | os.PathLike) and isinstance(os.fspath(path), str):
        return Path(path)
    raise InputError(f"{path!r:.60} is no path; give the name of a file or folder as text")


def write_atomically(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object]) -> Path:
    """Call `write` on a temporary file beside `path`, then rename it: readers see the old file or the new."""
    path = as_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise _unwritable(path, error) from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)
    return path


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove what a process that was killed while it wrote `path` has left beside it."""
    path = Path(path)
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*"):
        leftover.unlink(missing_ok=True)


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"cannot write {path}: {error.strerror or error}; choose another place")


def write_npz(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> Path:
    """Write arrays as a compressed `.npz`, atomically."""
    return write_atomically(path, lambda stream: np.savez_compressed(stream, **arrays))


def write_json(path: str | os.PathLike[str], content: Mapping[str, Any] | Sequence[Any]) -> Path:
    """Write a mapping or a list as `.json`, atomically; arrays become nested lists."""
    text = json.dumps(content, default=_plain, indent=1) + "\n"
    return write_atomically(path, lambda stream: stream.write(text.encode()))


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a TOML file into a dictionary."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; check the path") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error


def read(
    path: str | os.PathLike[str], open_array: Callable[[zipfile.ZipInfo], Any] = lambda _: None
) -> dict[str, Any]:
    """Read a `.npz` (never unpickling) or a `.json` file into a dictionary.

    An array of an archive is what `open_array` makes of its entry; where that is None, it is read into memory.
    """
    path = as_path(path)
    if path.suffix not in (".npz", ".json"):
        raise InputError(f"{path} is neither .npz nor .json; see docs/problem-files.md for the formats")
    try:
        if not path.is_file():
            raise InputError(f"{path} does not exist or is not a file; check the path")
        with path.open("rb") as stream:
            start = stream.read(len(NPY_MAGIC))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}; check the path") from error
    if not start:
        raise InputError(f"{path} is empty; write it anew with problem.save(path)")
    return _read_json(path) if path.suffix == ".json" else _read_npz(path, start, open_array)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text; is it a .npz with the wrong ending?") from error
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path} is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}; "
            "it may be truncated"
        ) from error
    except (RecursionError, ValueError) as error:  # nested too deeply, or a number of thousands of digits
        raise InputError(f"{path} is not JSON that can be read: {error}; write it anew") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} holds a {type(content).__name__}; give an object with named entries")
    return content


def _read_npz(path: Path, start: bytes, open_array: Callable[[zipfile.ZipInfo], Any]) -> dict[str, Any]:
    if start == NPY_MAGIC:
        raise InputError(f"{path} holds a single array, not an .npz archive; write it with np.savez")
    if not zipfile.is_zipfile(path):
        raise InputError(f"{path} is not an .npz archive; it may be truncated, or another kind of file")
    key = None
    content = {}
    try:
        with np.load(path, allow_pickle=False) as archive:
            for entry in archive.zip.infolist():
                key = entry.filename.removesuffix(".npy")
                array = open_array(entry)
                content[key] = archive[key] if array is None else array
    except Exception as error:  # zipfile, zlib and NumPy raise a dozen types on a damaged file
        where = f"'{key}' in {path}" if key else f"{path}"
        if "pickle" in str(error):
            raise InputError(
                f"{where} needs pickle, which can run code and is never loaded; save plain numeric arrays"
            ) from error
        raise InputError(f"{where} cannot be read; the archive may be damaged: {error}") from error
    return content


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} does not fit into JSON")
