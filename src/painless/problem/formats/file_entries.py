"""The entries of a problem file, which are the same in every format, as arguments of `CMDP`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common import arguments
from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.problem import validation
from painless.storage import mapped

NAME_KEYS = {"states": "state_names", "actions": "action_names", "constraints": "constraint_names"}
LIMIT_KEYS = ("threshold", "budget")
SPARSE_KEYS = ("transition_data", "transition_indices", "transition_indptr")
FILE_KEYS = (
    *("transition", *SPARSE_KEYS, "reward", "cost", "constraint_reward", "threshold"),
    *("constraint_cost", "budget", "initial", "discount", "horizon", "final", "constraint_final"),
    *("end", "average", "actions", *NAME_KEYS.values()),
)


def as_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `CMDP` from the entries of a file."""
    content = {key: value for key, value in given.items() if value is not None}
    given_otherwise = any(key in content for key in ("horizon", "end", "average"))
    for key in ("initial",) if given_otherwise else ("initial", "discount"):
        if key not in content:
            raise InputError(f"'{key}' is missing; {mapped.NEEDED}")
    names = {kind: _names(key, content.pop(key)) for kind, key in NAME_KEYS.items() if key in content}
    content |= {key: _limit_numbers(content[key]) for key in LIMIT_KEYS if key in content}
    parts = [content.pop(key, None) for key in SPARSE_KEYS]
    if any(part is not None for part in parts):
        if "transition" in content:
            raise InputError("give transition or transition_data/_indices/_indptr, not both")
        kernel = _sparse(parts, len(validation.initial(content["initial"])))
        content["transition"] = _steps(kernel, content) if "horizon" in content else kernel
    if "transition" not in content:
        raise InputError(f"'transition' is missing; {mapped.NEEDED}")
    return content | {"names": names}


def limit_texts(limits: Array) -> list[float | str]:
    """Return limits for JSON, which has no infinite numbers: "inf" or "-inf" in their place."""
    return [limit if np.isfinite(limit) else str(limit) for limit in limits.tolist()]


def _limit_numbers(limits: Any) -> Any:
    """Return limits of a file with "inf" and "-inf" as numbers."""
    numbers = {"inf": np.inf, "-inf": -np.inf}
    if isinstance(limits, list):
        return [numbers.get(limit, limit) if isinstance(limit, str) else limit for limit in limits]
    return numbers.get(limits, limits) if isinstance(limits, str) else limits


def _names(key: str, values: Any) -> list[str | int]:
    try:
        array = np.asarray(values)
        if array.ndim != 1 or array.dtype.kind not in "USiuf":
            raise ValueError(f"an array of shape {array.shape} and type {array.dtype}")
        return (array if array.dtype.kind in "iu" else array.astype(str)).tolist()
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
        raise InputError(
            f"{key} is not a list of whole numbers; give that of a SciPy CSR matrix of shape (S·A, S)"
        )
    return array if array.dtype in (np.int32, np.int64) else array.astype(np.int64)
