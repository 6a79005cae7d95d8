"""Transitions as they are stored, dense (S, A, S) or sparse (S·A, S): checked, normalised, and sound for compiled code.

Distributions as they are stored: which rows stay as they are, and which are divided by their sum.

What is solved is the problem of the exact quotients p/Σp. A row with n positive entries whose sum, correctly rounded, is
within n·2⁻⁵² of 1 stays as it is, bit for bit; another that is close enough to be accepted is divided by that sum, once:

    |Σ p/σ − 1| ≤ 2·2⁻⁵³ + O(2⁻¹⁰⁶)        σ = (1 + δ)·Σp,   each quotient off by a relative 2⁻⁵³ at most,   |δ| ≤ 2⁻⁵³

so that a row of two or more entries that was divided stays as it is ever after, and a single entry is 1.

A plain sum of n positive numbers, in any order, is off by (n − 1)·2⁻⁵³ at most. Where it is within n·2⁻⁵³ of 1, the row
stays, then; only the others are summed with care. Zeros take no part, so that dense and sparse rows are treated alike.
"""

from __future__ import annotations

from math import fsum
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

HALF_ULP = 2.0**-53
PIECE = 2**20  # numbers that are summed at a time

Indices = NDArray[np.signedinteger]


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


def normalised(rows: Array, where: Mask | bool = True) -> Array:
    """Return rows (..., n) divided by their sums where they need it; the same array where none does.

    >>> exact = np.array([[0.25, 0.75], [0.1, 0.9]])
    >>> normalised(exact) is exact
    True
    >>> round(float(normalised(np.array([0.5, 0.5 + 2e-9])).sum()), 15)
    1.0
    """
    flat, ones = rows.reshape(-1, rows.shape[-1]), np.ones(rows.shape[-1])
    every = range(0, len(flat), max(PIECE // max(len(ones), 1), 1))
    known = [np.flatnonzero(np.abs(flat[k : k + every.step] @ ones - 1) > HALF_ULP) + k for k in every]
    unsure = np.concatenate([np.empty(0, dtype=np.intp), *known])
    unsure = unsure[np.broadcast_to(where, rows.shape[:-1]).reshape(-1)[unsure]]
    if not len(unsure):
        return rows
    divisor = np.ones(len(flat))
    for k in range(0, len(unsure), every.step):
        part = unsure[k : k + every.step]
        picked = flat[part]
        off = np.abs(picked @ ones - 1) > np.count_nonzero(picked, 1) * HALF_ULP
        divisor[part[off]] = [_divisor(row) for row in picked[off].tolist()]
    return rows if (divisor == 1).all() else rows / divisor.reshape(*rows.shape[:-1], 1)


def sparse_divisors(data: Array, pointer: Indices, sums: Array, where: Mask) -> Array | None:
    """Return what each row of a CSR matrix is to be divided by, (N,); None if all stay as they are.

    `sums` (N,) are the plain sums of the rows, `where` (N,) the rows that count.
    """
    off = np.flatnonzero((np.abs(sums - 1) > np.diff(pointer) * HALF_ULP) & where)
    divisor = np.ones(len(sums) if len(off) else 0)
    longest = int(np.diff(pointer)[off].max(initial=1))
    size = max(PIECE // longest, 1)
    for part in (off[k : k + size] for k in range(0, len(off), size)):
        divisor[part] = [
            _divisor(data[i:j].tolist()) for i, j in zip(pointer[part], pointer[part + 1], strict=True)
        ]
    return None if (divisor == 1).all() else divisor


def _divisor(row: list[float]) -> float:
    total = fsum(row)
    return 1.0 if abs(total - 1) <= 2 * HALF_ULP * (len(row) - row.count(0.0)) else total
