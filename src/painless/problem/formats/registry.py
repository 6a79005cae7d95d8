"""Formats of problem files, by their endings.

To add a format, write a module with `read` and optionally `write`, and add a line to `FORMATS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from painless.common.errors import InputError, either, unknown
from painless.common.registry import require_settings
from painless.problem.formats import choices, csv, drn, prism, umb
from painless.problem.formats.file_entries import FILE_KEYS, LIMIT_KEYS, limit_texts
from painless.storage import files, mapped

OVERRIDES = ("discount", "average", "horizon", "limit")  # what `load` takes for every file

PathLike = str | os.PathLike[str]
Entry = TypeVar("Entry")


class Format(NamedTuple):
    """How files with one ending are read and written.

    Arguments:
        read: returns the entries of the problem in a file, given some of its parameters.
        write: writes the entries of a problem; None if it cannot.
        parameters: the arguments of `read`, each with its parser. Those of `OVERRIDES` that are not among them replace
            the entries of the file.
    """

    read: Callable[[PathLike, Mapping[str, Any]], dict[str, Any]]
    write: Callable[[PathLike, Mapping[str, Any]], object] | None = None
    parameters: Mapping[str, Callable[[str], Any]] = MappingProxyType({})


def _read(path: PathLike, given: Mapping[str, Any]) -> dict[str, Any]:
    del given
    return mapped.read(path, FILE_KEYS)


def _write_json(path: PathLike, content: Mapping[str, Any]) -> None:
    limits = {key: limit_texts(content[key]) for key in LIMIT_KEYS if key in content}
    files.write_json(path, {**content, **limits})


FORMATS: dict[str, Format] = {
    ".npz": Format(_read, mapped.write_npz),
    ".json": Format(_read, _write_json),
    ".drn": Format(drn.read, drn.write, choices.PARAMETERS),
    ".umb": Format(umb.read, umb.write, choices.PARAMETERS),
    ".tra": Format(prism.read, prism.write, choices.PARAMETERS),
    ".csv": Format(csv.read, None, csv.PARAMETERS),
}


def is_file(name: str) -> bool:
    """Whether a name has the ending of a problem file."""
    return name.endswith(tuple(FORMATS))


def format_of(path: PathLike) -> Format:
    """Return the format of a file by its ending."""
    return _by_ending(path, FORMATS)


def _by_ending(path: PathLike, known: Mapping[str, Entry]) -> Entry:
    name = files.as_path(path).name
    for ending, entry in known.items():
        if name.endswith(ending) and name != ending:
            return entry
    raise InputError(
        f"{path} must end in {either(known)}; .npz and .json hold arrays, .drn, .umb and .tra models of model checkers, and .csv a table of transitions"
    )


def write(path: PathLike, content: Mapping[str, Any]) -> None:
    """Write the entries of a problem in the format of the path's ending."""
    writers = {ending: form.write for ending, form in FORMATS.items() if form.write is not None}
    _by_ending(path, writers)(path, content)


def with_parameters() -> list[str]:
    """Return the endings of files that have parameters."""
    return [one for one, form in FORMATS.items() if form.parameters]


def read(path: PathLike, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the entries of a file, and those of `given` that must still replace them."""
    form = format_of(path)
    told = {name: value for name, value in given.items() if name in form.parameters}
    rest = {name: value for name, value in given.items() if name not in form.parameters}
    for name in set(rest).difference(OVERRIDES):
        if takers := [ending for ending, other in FORMATS.items() if name in other.parameters]:
            raise InputError(f"{path}: {name} is for {either(takers)} files; remove it")
    require_settings(str(path), rest, dict.fromkeys((*OVERRIDES, *form.parameters)), "parameter")
    content = form.read(path, told)
    for key in content:
        if key not in FILE_KEYS:
            raise InputError(f"{path}: {unknown('entry', key, FILE_KEYS)}")
    return content, rest
