"""Result files, each with its format, a version and a checksum of its content.

The three stand beside the content under their names, in an `.npz` archive as in a `.json` file. The file that is the head of
a folder also lists the SHA-256 of the files beside it, so that one that was put in another's place is noticed.

    checksum = SHA-256 of every entry in order: its name, its type, its shape and its bytes

Files that do not match are rejected. Problem files may be written by hand, and carry none of this.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from painless.common.errors import InputError
from painless.storage import files
from painless.storage.archives import Archive

VERSIONS = {"solution": 1, "frontier": 1, "policy": 1, "training": 1, "checkpoint": 1, "unit": 1, "log": 1}
ADVICE = {"checkpoint": "start the run again", "unit": "remove it, and run the sweep again"}
SEAL = ("format", "version", "checksum", "files")
SHORT = 2**12  # bytes that an entry of the seal takes at most
MISFIT = (  # what damaged content makes others raise
    *(LookupError, TypeError, ValueError, AttributeError),
    *(ArithmeticError, MemoryError, RecursionError, Warning),
)


def sealed(kind: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return content with its format, version and checksum.

    >>> sorted(sealed("policy", {"weights": np.ones(2)}))
    ['checksum', 'format', 'version', 'weights']
    """
    whole = {**content, "format": f"painless-{kind}", "version": VERSIONS[kind]}
    return {**whole, "checksum": checksum(whole)}


def checksum(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of all entries, whatever their order; the checksum itself does not count."""
    total = hashlib.sha256(f"{content['format']}\0{content['version']}\0".encode(errors="surrogatepass"))
    for key in sorted(content.keys() - {"format", "version", "checksum"}):
        value = content[key]
        total.update(f"{key}\0".encode(errors="surrogatepass"))
        if isinstance(value, np.ndarray):
            total.update(f"{value.dtype.str}\0{value.shape}\0".encode())
            total.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
        else:
            total.update(json.dumps(value, default=files.plain, sort_keys=True).encode())
    return total.hexdigest()


def write(
    path: str | os.PathLike[str], kind: str, content: Mapping[str, Any], beside: Iterable[str] = ()
) -> Path:
    """Write content as `.npz` or `.json`, sealed, atomically; `beside` are the files of its folder that belong to it."""
    path = Path(path)
    digests = {name: files.digest(path.parent / name) for name in beside}
    if path.suffix == ".json":
        return files.write_json(path, sealed(kind, {**content, "files": digests}))
    arrays = {**content, "files": json.dumps(digests)}
    return files.write_npz(path, sealed(kind, {key: np.asarray(value) for key, value in arrays.items()}))


def advice(kind: str) -> str:
    """Return the advice for a result of some kind that cannot be read."""
    return ADVICE.get(kind, "save it again")


@contextmanager
def understood(path: str | os.PathLike[str], kind: str) -> Iterator[None]:
    """Turn whatever invalid content makes others raise, or NumPy warn of, into an `InputError`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            yield
    except MISFIT as error:
        reason = str(error) if isinstance(error, InputError) else repr(error)
        raise InputError(f"{path} does not hold a {kind}: {reason}; {advice(kind)}") from error


def read(path: str | os.PathLike[str], kind: str) -> dict[str, Any]:
    """Read what `write` wrote; reject whatever is missing, changed, of another kind or of an unknown version."""
    path = files.as_path(path)
    content = files.read(path, check=lambda archive: _require_format(path, kind, _seal(archive)))
    _require_format(path, kind, content)
    with understood(path, kind):
        found = checksum(content)
    if str(content["checksum"]) != found:
        raise InputError(f"{path} was changed or damaged after it was saved; {advice(kind)}")
    with understood(path, kind):
        listed = content.get("files", {})
        listed = json.loads(str(listed)) if isinstance(listed, np.ndarray) else listed
        named = [(str(name), str(known)) for name, known in listed.items()]
    for name, known in named:
        _require_file(path, name, known)
    return {key: value for key, value in content.items() if key not in SEAL}


def _seal(archive: Archive) -> dict[str, Any]:
    """Return the format, version and checksum of an archive, without reading anything large."""
    headers = archive.headers
    return {key: archive[key] for key in SEAL if key in headers and headers[key].size <= SHORT}


def _require_format(path: Path, kind: str, content: Mapping[str, Any]) -> None:
    if any(key not in content for key in ("format", "version", "checksum")):
        raise InputError(
            f"{path} is not a {kind} that this version of painless saved: it has no checksum; {advice(kind)}"
        )
    written, version = content["format"], content["version"]
    if _text(written) != f"painless-{kind}":
        raise InputError(f"{path} is not a {kind}: its format is '{_text(written)}'; give another file")
    if _text(version) != str(VERSIONS[kind]):
        raise InputError(
            f"{path} has version {_text(version)} of the format; this painless reads {VERSIONS[kind]}: update "
            f"painless, or {advice(kind)}"
        )


def _text(value: Any) -> str:
    return " ".join(str(value).split())[:60]


def _require_file(path: Path, name: str, known: str) -> None:
    """Reject a folder one of whose files is not the one that was saved there."""
    if Path(name).name != name:
        raise InputError(f"{path} lists a file of another folder, {name[:60]}; save it again")
    if files.digest(path.parent / name) != known:
        raise InputError(
            f"{path.parent / name} is not the file that was saved with {path.name}; save both again"
        )
