"""Problem files: the formats by their endings, and the entries of a file as arguments of `CMDP`.

To add a format, write a module with `read` and optionally `write`, and add a line to `FORMATS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common import arguments
from painless.common.arrays import Array
from painless.common.errors import InputError, either, unknown
from painless.common.registry import require_settings
from painless.problem import validation
from painless.problem.formats import choices, drn, prism, umb
from painless.storage import files, mapped

NAME_KEYS = {"states": "state_names", "actions": "action_names", "constraints": "constraint_names"}
LIMIT_KEYS = ("threshold", "budget")
SPARSE_KEYS = ("transition_data", "transition_indices", "transition_indptr")
FILE_KEYS = (
    *("transition", *SPARSE_KEYS, "reward", "cost", "constraint_reward", "threshold"),
    *(
        "constraint_cost",
        "budget",
        "initial",
        "discount",
        "horizon",
        "final",
        "constraint_final",
        "actions",
        *NAME_KEYS.values(),
    ),
)
OVERRIDES = ("discount", "limit")  # what `load` takes for every file

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
    limits = {key: _limit_texts(content[key]) for key in LIMIT_KEYS if key in content}
    files.write_json(path, {**content, **limits})


FORMATS: dict[str, Format] = {
    ".npz": Format(_read, mapped.write_npz),
    ".json": Format(_read, _write_json),
    ".drn": Format(drn.read, drn.write, choices.PARAMETERS),
    ".umb": Format(umb.read, umb.write, choices.PARAMETERS),
    ".tra": Format(prism.read, prism.write, choices.PARAMETERS),
}


def is_file(name: str) -> bool:
    """Whether a name has the ending of a problem file."""
    return name.endswith(tuple(FORMATS))


def of(path: PathLike) -> Format:
    """Return the format of a file by its ending."""
    return _by_ending(path, FORMATS)


def _by_ending(path: PathLike, known: Mapping[str, Entry]) -> Entry:
    name = files.as_path(path).name
    for ending, entry in known.items():
        if name.endswith(ending) and name != ending:
            return entry
    raise InputError(f"{path} must end in {either(known)}; see docs/problem-files.md for the formats")


def write(path: PathLike, content: Mapping[str, Any]) -> None:
    """Write the entries of a problem in the format of the path's ending."""
    writers = {ending: form.write for ending, form in FORMATS.items() if form.write is not None}
    _by_ending(path, writers)(path, content)


def with_parameters() -> list[str]:
    """Return the endings of files that have parameters."""
    return [one for one, form in FORMATS.items() if form.parameters]


def read(path: PathLike, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the entries of a file, and those of `given` that must still replace them."""
    form = of(path)
    told = {name: value for name, value in given.items() if name in form.parameters}
    rest = {name: value for name, value in given.items() if name not in form.parameters}
    for name in set(rest).difference(OVERRIDES):
        if takers := [ending for ending, other in FORMATS.items() if name in other.parameters]:
            raise InputError(f"{path}: {name} is for {either(takers)} files; remove it")
    require_settings(str(path), rest, (*OVERRIDES, *form.parameters), "parameter")
    content = form.read(path, told)
    for key in content:
        if key not in FILE_KEYS:
            raise InputError(f"{path}: {unknown('entry', key, FILE_KEYS)}")
    return content, rest


def as_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `CMDP` from the entries of a file."""
    content = {key: value for key, value in given.items() if value is not None}
    for key in ("initial", "horizon" if "horizon" in content else "discount"):
        if key not in content:
            raise InputError(f"'{key}' is missing; docs/problem-files.md lists what a file needs")
    names = {kind: _names(key, content.pop(key)) for kind, key in NAME_KEYS.items() if key in content}
    content |= {key: _limit_numbers(content[key]) for key in LIMIT_KEYS if key in content}
    parts = [content.pop(key, None) for key in SPARSE_KEYS]
    if any(part is not None for part in parts):
        if "transition" in content:
            raise InputError("give transition or transition_data/_indices/_indptr, not both")
        kernel = _sparse(parts, len(validation.initial(content["initial"])))
        content["transition"] = _steps(kernel, content) if "horizon" in content else kernel
    if "transition" not in content:
        raise InputError("'transition' is missing; docs/problem-files.md lists what a file needs")
    return content | {"names": names}


def _limit_texts(limits: Array) -> list[float | str]:
    """Return limits for JSON, which has no infinite numbers: "inf" or "-inf" in their place."""
    return [limit if np.isfinite(limit) else str(limit) for limit in limits.tolist()]


def _limit_numbers(limits: Any) -> Any:
    """Return limits of a file with "inf" and "-inf" as numbers."""
    numbers = {"inf": np.inf, "-inf": -np.inf}
    if isinstance(limits, list):
        return [numbers.get(limit, limit) if isinstance(limit, str) else limit for limit in limits]
    return numbers.get(limits, limits) if isinstance(limits, str) else limits


def _names(key: str, values: Any) -> list[str]:
    try:
        array = np.asarray(values)
        if array.ndim != 1 or array.dtype.kind not in "USiuf":
            raise ValueError(f"an array of shape {array.shape} and type {array.dtype}")
        return [str(name) for name in array.astype(str)]
    except ValueError as error:
        raise InputError(f"'{key}' is not a list of names ({error}); give one text for each") from error


def _sparse(parts: Sequence[Any], states: int) -> scipy.sparse.csr_array[np.float64]:
    for key, part in zip(SPARSE_KEYS, parts, strict=True):
        if part is None:
            raise InputError(f"'{key}' is missing; a sparse transition needs all of {', '.join(SPARSE_KEYS)}")
    data = arguments.as_numbers(SPARSE_KEYS[0], parts[0])
    indices, indptr = (_whole(key, part) for key, part in zip(SPARSE_KEYS[1:], parts[1:], strict=True))
    try:
        return scipy.sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, states))
    except ValueError as error:
        raise InputError(
            f"the sparse transition is not a valid CSR matrix: {error}; save it again"
        ) from error


def _steps(kernel: scipy.sparse.csr_array[np.float64], content: Mapping[str, Any]) -> Any:
    """Return the transitions of a horizon: one kernel for all steps, or one for each if they are stacked."""
    actions = np.shape(content["cost" if "cost" in content else "reward"])[-1:]
    rows = kernel.shape[1] * (actions[0] if actions else 0)
    if not rows or kernel.shape[0] <= rows or kernel.shape[0] % rows:
        return kernel
    return [kernel[start : start + rows] for start in range(0, kernel.shape[0], rows)]


def _whole(key: str, values: Any) -> NDArray[np.signedinteger]:
    array = arguments.as_numbers(key, values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(f"{key} is not a list of whole numbers; see docs/problem-files.md")
    return array if array.dtype in (np.int32, np.int64) else array.astype(np.int64)
