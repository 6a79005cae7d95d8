"""Files that are written atomically, and read without ever running what they contain."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from painless.common.errors import InputError
from painless.storage.archives import Archive
from painless.storage.memory import require_room

PREFIX = 40  # characters of its name that a temporary file shows
SUFFIX = ".painless"  # of temporary files
DRAWN = re.compile(r"[a-z0-9_]{8}")  # what `tempfile` puts between the two
JSON_OBJECTS = 8  # bytes that a byte of JSON may become, about
TEXTS = 2**28  # bytes that a list of texts may take as an array

OpenArray = Callable[[Archive, str], NDArray[Any] | None]
Check = Callable[[Archive], None]


def as_path(path: object) -> Path:
    """Return a path, or raise an error."""
    if isinstance(path, str | os.PathLike) and isinstance(os.fspath(path), str):
        return Path(path)
    raise InputError(f"{path!r:.60} is not a path; give the name of a file or folder as text")


def write_atomically(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object]) -> Path:
    """Call `write` on a temporary file beside `path`, then rename it: readers see the old file or the new."""
    path = as_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            raise OSError("it is a folder, a device or a pipe")
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:PREFIX]}.", suffix=SUFFIX)
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from error
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
        raise unwritable(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)
    return path


def require_folder(folder: str | os.PathLike[str]) -> Path:
    """Raise an error if a place to save into is not a folder."""
    path = as_path(folder)
    try:
        taken = path.exists() and not path.is_dir()
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from error
    if taken:
        raise InputError(f"{folder} is a file; give a folder to save into")
    return path


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove the temporary files that killed processes left beside `path`, and nothing else."""
    path = Path(path)
    prefix = f".{path.name[:PREFIX]}."
    for name in _names(path.parent):
        drawn = name.removeprefix(prefix).removesuffix(SUFFIX)
        ours = name == f"{prefix}{drawn}{SUFFIX}" and DRAWN.fullmatch(drawn)
        if ours and stat.S_ISREG(os.lstat(path.parent / name).st_mode):
            with suppress(OSError):
                (path.parent / name).unlink(missing_ok=True)


def remove_all_leftovers(folder: str | os.PathLike[str], name: re.Pattern[str]) -> None:
    """Remove the temporary files that killed processes left of files whose names match `name`, and nothing else."""
    for found in _names(Path(folder)):
        end = len(SUFFIX) + len(".xxxxxxxx")
        if found.startswith(".") and found.endswith(SUFFIX) and name.fullmatch(found[1:-end]):
            remove_leftovers(Path(folder) / found[1:-end])


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []


def unwritable(path: str | os.PathLike[str], error: Exception) -> InputError:
    """Return the error for a place that cannot be written to."""
    return InputError(f"cannot write {path}: {_reason(error)}; choose another place")


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def write_npz(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> Path:
    """Write arrays as a compressed `.npz`, atomically."""
    return write_atomically(path, lambda stream: np.savez_compressed(stream, **arrays))


def write_json(path: str | os.PathLike[str], content: Mapping[str, Any] | Sequence[Any]) -> Path:
    """Write a mapping or a list as `.json`, atomically; arrays become nested lists."""
    return write_text(path, json.dumps(content, default=plain, indent=1) + "\n")


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write text, atomically."""
    return write_atomically(path, lambda stream: stream.write(text.encode(errors="backslashreplace")))


def open_file(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a regular file to read; anything else, such as a named pipe, is rejected without waiting for it."""
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):
            raise InputError(f"{path} does not exist or is not a file; check the path")
        stream = open(path, "rb", opener=_without_waiting)  # noqa: SIM115  whoever asked for it closes it
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(f"{path} does not exist or is not a file; check the path") from error
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot read {path}: {_reason(error)}; check the path") from error
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise InputError(f"{path} does not exist or is not a file; check the path")
    return stream


def _without_waiting(name: str, flags: int) -> int:
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))


def read_bytes(path: str | os.PathLike[str], growth: float = 1.0) -> bytes:
    """Return all of a regular file, if there is memory for `growth` times its size."""
    with open_file(path) as stream:
        try:
            require_room(str(path), growth * os.fstat(stream.fileno()).st_size)
            return stream.read()
        except (OSError, MemoryError) as error:
            raise InputError(f"cannot read {path}: {_reason(error)}; check the path") from error


def digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file's bytes."""
    with open_file(path) as stream:
        try:
            return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]
        except OSError as error:
            raise InputError(f"cannot read {path}: {_reason(error)}; check the path") from error


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a TOML file into a dictionary."""
    try:
        return tomllib.loads(read_bytes(path, JSON_OBJECTS).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error


def read(
    path: str | os.PathLike[str],
    open_array: OpenArray = lambda *_: None,
    check: Check = lambda _: None,
) -> dict[str, Any]:
    """Read a `.npz` (never unpickling) or a `.json` file into a dictionary.

    `check` sees an archive before its arrays are read. An array is what `open_array` makes of it; where that is None, it is
    read into memory.
    """
    path = as_path(path)
    if path.suffix not in (".npz", ".json"):
        raise InputError(f"{path} is neither .npz nor .json; check the name")
    with open_file(path) as stream:
        if not os.fstat(stream.fileno()).st_size:
            raise InputError(f"{path} is empty; write it again with problem.save(path)")
        if path.suffix == ".json":
            return _read_json(path)
        try:
            archive = Archive(stream, path)
            check(archive)
            return _arrays(archive, open_array)
        except OSError as error:
            raise InputError(f"cannot read {path}: {_reason(error)}; check the path") from error


def _arrays(archive: Archive, open_array: OpenArray) -> dict[str, Any]:
    found = {key: open_array(archive, key) for key in archive.headers}
    archive.require_room([key for key, array in found.items() if array is None])
    return {key: archive[key] if array is None else array for key, array in found.items()}


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(read_bytes(path, JSON_OBJECTS).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text; is it a .npz with the wrong ending?") from error
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path} is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}; "
            "it may be truncated"
        ) from error
    except InputError:
        raise
    except (RecursionError, ValueError, MemoryError) as error:  # nested too deeply, or thousands of digits
        raise InputError(f"{path} is not JSON that can be read: {error}; write it again") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} holds a {type(content).__name__}; give an object with named entries")
    for key, value in content.items():
        require_short_texts(f"'{key}' in {path}", value)
    return content


def require_short_texts(where: str, value: Any) -> None:
    """Reject texts that would take much memory as an array, where each takes as much as the longest."""
    lengths = [len(text) for text in _texts(value)] if isinstance(value, list) else []
    if lengths and 4 * len(lengths) * max(lengths) > TEXTS:
        raise InputError(f"{where} has a text of {max(lengths)} characters; shorten it")


def _texts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            waiting += [part for part in one if isinstance(part, str | list)]


def plain(value: object) -> object:
    """Return an array as nested lists, for `json.dumps`."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} does not fit into JSON")
