"""Transitions as they are stored, dense (S, A, S) or sparse (S·A, S): checked, normalised, and sound for compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common.arguments import (
    SINGLE_TOLERANCE,
    SUM_TOLERANCE,
    as_floats,
    as_numbers,
    is_single,
    require_finite,
    require_not_negative,
    require_sums,
)
from painless.common.arrays import Array, Mask, read_only
from painless.common.errors import InputError
from painless.problem.distributions import normalised, sparse_divisors


def owned(array: NDArray[Any], given: NDArray[Any], copy: bool = True) -> NDArray[Any]:
    """Return `array`, or a copy if one is requested and it shares memory with the argument."""
    return array.copy() if copy and np.may_share_memory(array, given) else array


def is_sparse(kernel: Any) -> bool:
    """Whether `kernel` is a SciPy sparse matrix or array."""
    return not isinstance(kernel, np.ndarray | list | tuple) and scipy.sparse.issparse(kernel)


def action_count(kernel: Any, states: int) -> int:
    """Return A from the shape of the transitions, or reject the shape."""
    if is_sparse(kernel):
        shape = kernel.shape
        if len(shape) != 2 or shape[1] != states or shape[0] % states or not shape[0]:
            raise InputError(
                f"sparse transition has shape {shape}, not (S·A, S) with S = {states} as in initial; "
                "row s·A + a holds the successors of action a in state s"
            )
        return int(shape[0] // states)
    if isinstance(kernel, list | tuple) or (isinstance(kernel, np.ndarray) and kernel.dtype == object):
        _refuse_list_of_sparse(kernel)
    shape = as_numbers("transition", kernel).shape
    if len(shape) == 3 and shape[1] == shape[2] == states != shape[0]:
        raise InputError(
            f"transition has shape {shape}, which looks like (A, S, S); "
            "transpose it to (S, A, S): transition.transpose(1, 0, 2)"
        )
    if len(shape) == 2 and shape[1] == states:
        raise InputError(
            f"transition has shape {shape}, not (S, A, S) with S = {states} as in initial; for a row of each pair, give a "
            "SciPy sparse matrix with row s·A + a, or use painless.from_quantecon(reward, transition, discount, s_indices, "
            "a_indices, initial=…)"
        )
    if len(shape) != 3 or shape[0] != states or shape[2] != states or not shape[1]:
        raise InputError(
            f"transition has shape {shape}, not (S, A, S) with S = {states} as in initial; "
            "transition[s, a, t] is the probability of t after action a in state s"
        )
    return int(shape[1])


def _refuse_list_of_sparse(kernel: Any) -> None:
    if getattr(kernel, "ndim", 1) and len(kernel) and is_sparse(kernel[0]):
        raise InputError(
            "transition is a list of sparse matrices, as in pymdptoolbox; use "
            "painless.from_mdptoolbox(transition, reward, discount, initial=…)"
        )


def checked_transition(
    kernel: Any, available: Mask, copy: bool = True, ends: bool = False
) -> Array | scipy.sparse.csr_array[np.float64]:
    """Check that the row of every available pair is a distribution, and normalise those that need it.

    If the process `ends`, a row may sum to less than 1, and stays as it is.
    """
    single = is_single(kernel)
    if is_sparse(kernel):
        return _sparse_transition(kernel, available, single, copy, ends)
    given = as_numbers("transition", kernel)
    array = as_floats("transition", given)
    require_finite("transition", array, available[:, :, None])
    require_not_negative("transition", array, available[:, :, None])
    array = without_strays(array, available, 1.0)
    whole = _whole_rows(array.sum(-1), available, single, ends)
    return owned(normalised(array, whole), given, copy)


def _whole_rows(sums: Array, available: Mask, single: bool, ends: bool) -> Mask:
    """Return which available rows sum to 1; reject others, but those that end with what is missing."""
    if ends:
        available = available & (sums >= 1 - (SINGLE_TOLERANCE if single else SUM_TOLERANCE))
    require_sums("transition", sums, available, single, "normalise the row or add an absorbing state")
    return available


def without_strays(array: Array, available: Mask, largest: float) -> Array:
    """Clear masked pairs if one of their entries is not finite or beyond ±`largest`; else make no copy."""
    if (np.abs(array[~available]) <= largest).all():
        return array
    return np.where(available.reshape(available.shape + (1,) * (array.ndim - 2)), array, 0.0)


def _sparse_transition(
    kernel: Any, available: Mask, single: bool, copy: bool, ends: bool = False
) -> scipy.sparse.csr_array[np.float64]:
    matrix = _canonical(kernel)
    count = np.diff(matrix.indptr)
    taken = None if available.all() else np.repeat(available.ravel(), count)  # None: every stored entry
    for wrong, what in (
        (~np.isfinite(matrix.data), "; every entry must be finite"),
        (matrix.data < 0, ", below 0; give probabilities"),
    ):
        if taken is not None:
            wrong &= taken
        if wrong.any():
            k = int(np.argmax(wrong))
            pair = int(np.searchsorted(matrix.indptr, k, side="right")) - 1
            state, action = divmod(pair, available.shape[1])
            place = (state, action, int(matrix.indices[k]))
            raise InputError(f"transition{[*place]} is {matrix.data[k]:g}{what}").at(place)
    if taken is not None and not taken.all():
        pointer = np.concatenate([[0], np.cumsum(np.where(available.ravel(), count, 0))])
        parts = (matrix.data[taken], matrix.indices[taken], pointer.astype(matrix.indptr.dtype))
        matrix = scipy.sparse.csr_array(parts, shape=matrix.shape)
    sums = np.asarray(matrix @ np.ones(matrix.shape[1]))
    whole = _whole_rows(sums.reshape(available.shape), available, single, ends)
    divisor = sparse_divisors(matrix.data, matrix.indptr, sums, whole.ravel())
    data = matrix.data if divisor is None else matrix.data / np.repeat(divisor, np.diff(matrix.indptr))
    owned_parts = tuple(_owned_part(part, kernel, copy) for part in (data, matrix.indices, matrix.indptr))
    return scipy.sparse.csr_array(owned_parts, shape=matrix.shape)


def _owned_part(part: NDArray[Any], kernel: Any, copy: bool) -> NDArray[Any]:
    """Return a part of a sparse matrix, copied if it shares memory with the argument."""
    held = [values for values in vars(kernel).values() if isinstance(values, np.ndarray)]
    return part.copy() if copy and any(np.may_share_memory(part, values) for values in held) else part


def _canonical(kernel: Any) -> scipy.sparse.csr_array[np.float64]:
    """Return `kernel` as CSR with sorted indices and no duplicates, without a copy if possible."""
    if kernel.dtype.kind not in "biuf":
        raise InputError(f"the entries of the sparse transition are {kernel.dtype}; give real numbers")
    try:
        matrix = _read_only_csr(scipy.sparse.csr_array(kernel, dtype=np.float64))
        if (matrix.indptr[1:] < matrix.indptr[:-1]).any():  # SciPy does not check this if the last is 0
            raise ValueError("index pointer values must form a non-decreasing sequence")
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise InputError(
            f"the sparse transition is not a valid CSR matrix: {error}; build it again"
        ) from error
    matrix = _short_indices(matrix)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _short_indices(matrix: scipy.sparse.csr_array[np.float64]) -> scipy.sparse.csr_array[np.float64]:
    """Return the matrix with 4-byte indices if they suffice."""
    if max(matrix.nnz, *matrix.shape) > np.iinfo(np.int32).max:
        return matrix
    indices, pointer = (part.astype(np.int32, copy=False) for part in (matrix.indices, matrix.indptr))
    return scipy.sparse.csr_array((matrix.data, indices, pointer), shape=matrix.shape)


def _read_only_csr(matrix: scipy.sparse.csr_array[np.float64]) -> scipy.sparse.csr_array[np.float64]:
    parts = (read_only(matrix.data), read_only(matrix.indices), read_only(matrix.indptr))
    return scipy.sparse.csr_array(parts, shape=matrix.shape)


def require_sound(kernel: Any) -> None:
    """Reject a sparse matrix with indices out of bounds, which was changed after validation.

    One pass over the indices, so that compiled code never reads other memory.
    """
    if isinstance(kernel, np.ndarray):
        return
    rows, states = kernel.shape
    pointer, indices, stored = kernel.indptr, kernel.indices, len(kernel.data)
    fits = len(pointer) == rows + 1 and pointer[0] == 0 and pointer[-1] == stored == len(indices)
    within = not stored or (indices.min() >= 0 and indices.max() < states)
    if fits and within and (pointer[1:] >= pointer[:-1]).all():
        return
    raise _changed()


def require_rows(kernel: scipy.sparse.csr_array[np.float64], rows: NDArray[np.intp]) -> None:
    """Reject rows of a sparse matrix with indices out of bounds, at the cost of these rows only."""
    start, stop = kernel.indptr[rows], kernel.indptr[rows + 1]
    if (start < 0).any() or (stop <= start).any() or (stop > len(kernel.indices)).any():
        raise _changed()


def require_states(successors: NDArray[np.integer], states: int) -> None:
    """Reject successors that are not states."""
    if len(successors) and not (successors.min() >= 0 and successors.max() < states):
        raise _changed()


def _changed() -> InputError:
    return InputError(
        "the indices of the sparse transition have changed since the problem was made, and lead out of it; "
        "make the problem again, without copy=False"
    )
