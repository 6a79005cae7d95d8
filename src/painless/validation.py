"""What the arguments of a CMDP must be. Every refusal says what is wrong, where, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from painless.arrays import Array, Mask, read_only
from painless.errors import InputError, unknown

SUM_TOLERANCE = 1e-8  # for probabilities given in double precision
SINGLE_TOLERANCE = 1e-5  # for lower precision; such rows are normalised as they are converted


def as_floats(name: str, values: object) -> Array:
    """Return `values` as a C-ordered array of doubles, without a copy where they are one already."""
    try:
        array = np.asarray(values)
        if array.dtype == object or array.dtype.kind not in "biuf":
            raise TypeError(f"its entries are {array.dtype}")
        return np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not a numeric array ({error}); give nested lists or an array") from error


def is_sparse(kernel: Any) -> bool:
    """Whether `kernel` is a SciPy sparse matrix or array."""
    return sparse.issparse(kernel)


def first(wrong: NDArray[np.bool_]) -> str:
    """Return the index of the first true entry as text: "[3, 1]"."""
    return f"[{', '.join(str(int(i)) for i in np.argwhere(wrong)[0])}]"


def require_finite(name: str, array: Array) -> None:
    """Refuse entries that are infinite or not a number."""
    wrong = ~np.isfinite(array)
    if wrong.any():
        raise InputError(f"{name}{first(wrong)} is {array[wrong][0]}; every entry must be finite")


def discount(value: Any) -> float:
    """Check 0 ≤ γ < 1."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"discount must be a number, not {value!r}") from error
    if not 0 <= number < 1:
        raise InputError(
            f"discount is {number:g}, outside [0, 1); for an average reward or an episode that ends, "
            "use a discount close to 1, such as 0.999, or make the end an absorbing state"
        )
    return number


def initial(values: ArrayLike) -> Array:
    """Check that ρ is a distribution over the states."""
    array = as_floats("initial", values)
    if array.ndim != 1 or not array.size:
        raise InputError(f"initial has shape {array.shape}, not (S,); give one probability for each state")
    require_finite("initial", array)
    if (array < 0).any():
        raise InputError(f"initial{first(array < 0)} is {array[array < 0][0]:g}, below 0")
    if abs(array.sum() - 1) > SUM_TOLERANCE:
        raise InputError(f"initial sums to {array.sum():.6f}, not 1; divide it by its sum")
    return array


def action_count(kernel: Any, states: int) -> int:
    """Return A from the shape of the transitions, or refuse the shape."""
    if is_sparse(kernel):
        rows, columns = kernel.shape
        if columns != states or rows % states or not rows:
            raise InputError(
                f"sparse transition has shape ({rows}, {columns}), not (S·A, S) with S = {states} as in initial; "
                "row s·A + a holds the successors of action a in state s"
            )
        return int(rows // states)
    shape = kernel.shape if isinstance(kernel, np.ndarray) else as_floats("transition", kernel).shape
    if len(shape) == 3 and shape[1] == shape[2] == states != shape[0]:
        raise InputError(
            f"transition has shape {shape}, which looks like (A, S, S); "
            "transpose it to (S, A, S): transition.transpose(1, 0, 2)"
        )
    if len(shape) != 3 or shape[0] != states or shape[2] != states or not shape[1]:
        raise InputError(f"transition has shape {shape}, not (S, A, S) with S = {states} as in initial")
    return int(shape[1])


def actions(values: ArrayLike | None, shape: tuple[int, int]) -> Mask:
    """Check the mask of available actions."""
    if values is None:
        return np.ones(shape, dtype=bool)
    given = np.asarray(values)
    if given.shape != shape:
        raise InputError(f"actions has shape {given.shape}, not (S, A) = {shape}")
    if given.dtype.kind not in "biuf" or not np.isin(given, (0, 1)).all():
        raise InputError("actions must be true or false for each state and action")
    mask = given.astype(bool, copy=False)
    if not mask.any(1).all():
        state = int(np.argmin(mask.any(1)))
        raise InputError(f"state {state} has no actions; give it one that stays there, with reward 0")
    return mask


def transition(kernel: Any, available: Mask) -> Array | sparse.csr_array[np.float64]:
    """Check that the row of every available pair is a distribution."""
    single = getattr(kernel, "dtype", np.dtype(float)) in (np.float16, np.float32)
    if is_sparse(kernel):
        return _sparse_transition(kernel, available, single)
    array = as_floats("transition", kernel)
    if not np.isfinite(array).all():
        wrong = ~np.isfinite(array) & available[:, :, None]
        if wrong.any():
            raise InputError(f"transition{first(wrong)} is {array[wrong][0]}; every entry must be finite")
        array = np.where(available[:, :, None], array, 0.0)
    if (array.min(-1) < 0)[available].any():
        wrong = (array < 0) & available[:, :, None]
        raise InputError(f"transition{first(wrong)} is {array[wrong][0]:g}, below 0")
    sums = array.sum(-1)
    _require_sums(sums, available, single)
    return array / np.where(available, sums, 1.0)[:, :, None] if single else array


def _sparse_transition(kernel: Any, available: Mask, single: bool) -> sparse.csr_array[np.float64]:
    matrix = _read_only_csr(sparse.csr_array(kernel, dtype=np.float64))
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    pair = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    for wrong, what in ((~np.isfinite(matrix.data), "not finite"), (matrix.data < 0, "below 0")):
        wrong = wrong & available.ravel()[pair]
        if wrong.any():
            k = int(np.argmax(wrong))
            state, action = divmod(int(pair[k]), available.shape[1])
            where = f"[{state}, {action}, {matrix.indices[k]}]"
            raise InputError(f"transition{where} is {matrix.data[k]:g}, {what}")
    if not available.all():
        matrix = sparse.csr_array(sparse.diags_array(available.ravel().astype(float)) @ matrix)
        matrix.eliminate_zeros()
    sums: Array = matrix.sum(1).reshape(available.shape)
    _require_sums(sums, available, single)
    if single:
        matrix = sparse.csr_array(sparse.diags_array(1 / np.where(available, sums, 1.0).ravel()) @ matrix)
    return _read_only_csr(matrix)


def _read_only_csr(matrix: sparse.csr_array[np.float64]) -> sparse.csr_array[np.float64]:
    parts = (read_only(matrix.data), read_only(matrix.indices), read_only(matrix.indptr))
    return sparse.csr_array(parts, shape=matrix.shape)


def _require_sums(sums: Array, available: Mask, single: bool) -> None:
    wrong = (np.abs(sums - 1) > (SINGLE_TOLERANCE if single else SUM_TOLERANCE)) & available
    if wrong.any():
        raise InputError(
            f"transition{first(wrong)} sums to {sums[wrong][0]:.6f}, not 1; "
            "normalise the row or add an absorbing state"
        )


def utility(name: str, values: object, kernel: Any, available: Mask) -> Array:
    """Check one utility, (S, A), and average one of shape (S, A, S) over the successor."""
    array = as_floats(name, values)
    states, n_actions = available.shape
    if array.shape == (states, n_actions, states) and array.ndim == 3:
        array = _over_successors(name, array, kernel, available)
    if array.shape != available.shape:
        raise InputError(f"{name} has shape {array.shape}, not (S, A) = {available.shape}")
    if not np.isfinite(array).all():
        require_finite(name, np.where(available, array, 0.0))
        array = np.where(available, array, 0.0)
    return array


def _over_successors(name: str, array: Array, kernel: Any, available: Mask) -> Array:
    if not np.isfinite(array).all():
        array = np.where(available[:, :, None], array, 0.0)
        require_finite(name, array)
    if is_sparse(kernel):
        flat = array.reshape(kernel.shape)
        return np.asarray(kernel.multiply(flat).sum(1)).reshape(available.shape)
    return np.einsum("sat,sat->sa", kernel, array)


def constraints(
    name: str, values: object, limit_name: str, limit: ArrayLike | None, kernel: Any, available: Mask
) -> tuple[Array, Array]:
    """Check constraints (K, S, A) and their limits (K,); K = 1 may drop its axis."""
    if (values is None) != (limit is None):
        missing, given = (limit_name, name) if limit is None else (name, limit_name)
        raise InputError(f"{given} is given without {missing}; give both")
    if values is None or limit is None:
        return np.empty((0, *available.shape)), np.empty(0)
    bound = np.atleast_1d(as_floats(limit_name, limit))
    if bound.ndim != 1:
        raise InputError(
            f"{limit_name} has shape {bound.shape}, not (K,); give one number for each constraint"
        )
    require_finite(limit_name, bound)
    array = as_floats(name, values)
    single = (available.shape, (*available.shape, available.shape[0]))
    if array.shape in single and (array.ndim == 2 or array.shape[0] != len(bound)):
        array = array[None]
    if array.ndim < 3 or len(array) != len(bound):
        count = len(array) if array.ndim >= 3 else 1
        raise InputError(
            f"{limit_name} has {len(bound)} entries but {name} has shape {array.shape}, "
            f"that is {count} constraint(s); give (K, S, A) = ({len(bound)}, "
            f"{available.shape[0]}, {available.shape[1]}) or as many limits as constraints"
        )
    checked = [utility(f"{name}[{i}]", one, kernel, available) for i, one in enumerate(array)]
    untouched = array.ndim == 3 and all(np.shares_memory(one, array) for one in checked)
    return (array if untouched else np.array(checked).reshape(len(bound), *available.shape)), bound


def names(
    given: Mapping[str, Sequence[str]] | None, shape: tuple[int, int, int]
) -> dict[str, tuple[str, ...]]:
    """Check that there is one name for each state, action or constraint that has any."""
    counts = dict(zip(("states", "actions", "constraints"), shape, strict=True))
    checked = {}
    for kind, values in (given or {}).items():
        if kind not in counts:
            raise unknown("kind of names", kind, counts)
        if isinstance(values, str) or len(values) != counts[kind]:
            raise InputError(
                f"names['{kind}'] has {len(values)} entries, not {counts[kind]}; give a list of names"
            )
        checked[kind] = tuple(str(value) for value in values)
    return checked
