"""Validation of a model's arrays. Every error says what is wrong, where, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from painless.common.arguments import (
    as_floats,
    as_numbers,
    first,
    is_single,
    number,
    require_finite,
    require_not_negative,
    require_sums,
)
from painless.common.arrays import Array, Mask, read_only
from painless.common.errors import InputError, shown, unknown
from painless.problem.distributions import normalised, sparse_divisors

LARGEST = 1e100  # size of a utility, so that no sum or product of values overflows
SHORTEST = 1e-8  # 1 − γ, below which rounding leaves little to prove, and HiGHS takes 1 − γ for 0


def owned(array: NDArray[Any], given: NDArray[Any], copy: bool = True) -> NDArray[Any]:
    """Return `array`, or a copy if one is requested and it shares memory with the argument."""
    return array.copy() if copy and np.may_share_memory(array, given) else array


def is_sparse(kernel: Any) -> bool:
    """Whether `kernel` is a SciPy sparse matrix or array."""
    return not isinstance(kernel, np.ndarray | list | tuple) and scipy.sparse.issparse(kernel)


def discount(value: Any, largest: float | None = None) -> float:
    """Check 0 ≤ γ < 1, and that γ is not so close to 1 that rounding outweighs what can be proved; or γ ≤ `largest`."""
    if value is None:
        raise InputError("discount is missing; give one such as 0.9, or a horizon")
    gamma = number("discount", value, "give one such as 0.9")
    if largest is not None:
        if not 0 <= gamma <= largest:
            raise InputError(f"discount is {value}, outside [0, {largest:g}]")
        return gamma
    if not 0 <= gamma < 1:
        raise InputError(
            f"discount is {value}, outside [0, 1); for an average reward or an episode that ends, "
            "use a discount close to 1, such as 0.999, or make the end an absorbing state"
        )
    if gamma > 1 - SHORTEST:
        raise InputError(
            f"discount is {gamma!r}, so close to 1 that rounding outweighs what can be proved of sums over "
            f"1/(1 − discount) steps; give one of at most 1 − {SHORTEST:g}"
        )
    return gamma


def initial(values: ArrayLike) -> Array:
    """Check that ρ is a distribution over the states, and return a copy."""
    array = as_floats("initial", values)
    if array.ndim != 1 or not array.size:
        raise InputError(f"initial has shape {array.shape}, not (S,); give one probability for each state")
    require_finite("initial", array)
    require_not_negative("initial", array)
    require_sums("initial", np.asarray(array.sum()), True, is_single(values), "divide it by its sum")
    return owned(normalised(array), array)


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
    shape = as_numbers("transition", kernel).shape
    if len(shape) == 3 and shape[1] == shape[2] == states != shape[0]:
        raise InputError(
            f"transition has shape {shape}, which looks like (A, S, S); "
            "transpose it to (S, A, S): transition.transpose(1, 0, 2)"
        )
    if len(shape) != 3 or shape[0] != states or shape[2] != states or not shape[1]:
        raise InputError(
            f"transition has shape {shape}, not (S, A, S) with S = {states} as in initial; "
            "transition[s, a, t] is the probability of t after action a in state s"
        )
    return int(shape[1])


def actions(values: ArrayLike | None, shape: tuple[int, int]) -> Mask:
    """Check the mask of available actions, and return a copy."""
    if values is None:
        return np.ones(shape, dtype=bool)
    given = as_numbers("actions", values)
    if given.shape != shape:
        raise InputError(f"actions has shape {given.shape}, not (S, A) = {shape}")
    wrong = np.zeros(0, dtype=bool) if given.dtype == np.bool_ else ~np.isin(given, (0, 1))
    if wrong.any():
        raise InputError(f"actions{first(wrong)} is {given[wrong][0]}; give true or false for each action")
    mask = given.astype(bool)
    if not mask.any(1).all():
        state = int(np.argmin(mask.any(1)))
        raise InputError(f"state {state} has no actions; give it one that stays there, with reward 0")
    return mask


def transition(kernel: Any, available: Mask, copy: bool = True) -> Array | scipy.sparse.csr_array[np.float64]:
    """Check that the row of every available pair is a distribution, and normalise those that need it."""
    single = is_single(kernel)
    if is_sparse(kernel):
        return _sparse_transition(kernel, available, single, copy)
    given = as_numbers("transition", kernel)
    array = as_floats("transition", given)
    require_finite("transition", array, available[:, :, None])
    require_not_negative("transition", array, available[:, :, None])
    array = _without_strays(array, available, 1.0)
    _require_rows(array.sum(-1), available, single)
    return owned(normalised(array, available), given, copy)


def _require_rows(sums: Array, available: Mask, single: bool) -> None:
    require_sums("transition", sums, available, single, "normalise the row or add an absorbing state")


def _without_strays(array: Array, available: Mask, largest: float) -> Array:
    """Clear masked pairs if one of their entries is not finite or beyond ±`largest`; else make no copy."""
    if (np.abs(array[~available]) <= largest).all():
        return array
    return np.where(available.reshape(available.shape + (1,) * (array.ndim - 2)), array, 0.0)


def _sparse_transition(
    kernel: Any, available: Mask, single: bool, copy: bool
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
            where = f"[{state}, {action}, {matrix.indices[k]}]"
            raise InputError(f"transition{where} is {matrix.data[k]:g}{what}")
    if taken is not None and not taken.all():
        pointer = np.concatenate([[0], np.cumsum(np.where(available.ravel(), count, 0))])
        parts = (matrix.data[taken], matrix.indices[taken], pointer.astype(matrix.indptr.dtype))
        matrix = scipy.sparse.csr_array(parts, shape=matrix.shape)
    sums = np.asarray(matrix @ np.ones(matrix.shape[1]))
    _require_rows(sums.reshape(available.shape), available, single)
    divisor = sparse_divisors(matrix.data, matrix.indptr, sums, available.ravel())
    data = matrix.data if divisor is None else matrix.data / np.repeat(divisor, np.diff(matrix.indptr))
    owned_parts = tuple(_owned_part(part, kernel, copy) for part in (data, matrix.indices, matrix.indptr))
    return scipy.sparse.csr_array(owned_parts, shape=matrix.shape)


def _owned_part(part: NDArray[Any], kernel: Any, copy: bool) -> NDArray[Any]:
    """Return a part of a sparse matrix, copied if it shares memory with the argument."""
    held = [values for values in vars(kernel).values() if isinstance(values, np.ndarray)]
    return part.copy() if copy and any(np.may_share_memory(part, values) for values in held) else part


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


def utility(name: str, values: object, kernel: Any, available: Mask, copy: bool = True) -> Array:
    """Check one utility, (S, A), and average one of shape (S, A, S) over the successor."""
    given = as_numbers(name, values)
    array = as_floats(name, given)
    states, n_actions = available.shape
    if array.shape not in (available.shape, (states, n_actions, states)):
        raise InputError(f"{name} has shape {array.shape}, not (S, A) = {available.shape} or (S, A, S)")
    pairs = available if array.ndim == 2 else available[:, :, None]
    require_finite(name, array, pairs)
    largest = _require_size(name, array, pairs)
    array = _without_strays(array, available, largest)
    return owned(array if array.ndim == 2 else _over_successors(array, kernel), given, copy)


def _require_size(name: str, array: Array, where: Mask) -> float:
    """Return the largest absolute entry; reject one so large that values would overflow."""
    largest = float(np.abs(array).max(initial=0.0, where=where))
    if largest > LARGEST:
        wrong = (np.abs(array) > LARGEST) & where
        raise InputError(
            f"{name}{first(wrong)} is {float(array[wrong][0])!r}, beyond ±{LARGEST:g}, so that values would "
            "overflow; give it in larger units"
        )
    return largest


def _over_successors(array: Array, kernel: Any) -> Array:
    """u(s, a) = Σ_s' P(s'|s, a) u(s, a, s')."""
    if is_sparse(kernel):
        flat = array.reshape(kernel.shape)
        return np.asarray(kernel.multiply(flat).sum(1)).reshape(array.shape[:2])
    return np.einsum("sat,sat->sa", kernel, array)


def constraints(
    name: str,
    values: object,
    limit_name: str,
    limit: ArrayLike | None,
    kernel: Any,
    available: Mask,
    copy: bool = True,
) -> tuple[Array, Array]:
    """Check constraints (K, S, A) and their limits (K,); K = 1 may drop its axis."""
    require_both(name, values, limit_name, limit)
    if values is None or limit is None:
        return np.empty((0, *available.shape)), np.empty(0)
    bound = limits(limit_name, limit, -1.0 if limit_name == "budget" else 1.0)
    given = as_numbers(name, values)
    array = as_floats(name, given)
    states, n_actions = available.shape
    full = (len(bound), states, n_actions)
    if not array.size and not len(bound):
        return np.empty(full), bound
    alone = array.ndim < 3 or (array.shape == (states, n_actions, states) and array.shape != full)
    count = 1 if alone else len(array)
    if count != len(bound):
        raise InputError(
            f"{limit_name} has {len(bound)} entries but {name} has shape {array.shape}, "
            f"that is {count} constraint(s); give (K, S, A) = {full} or as many limits as constraints"
        )
    if alone:
        return owned(utility(name, array, kernel, available, False)[None], given, copy), bound
    checked = [utility(f"{name}[{i}]", one, kernel, available, False) for i, one in enumerate(array)]
    untouched = all(np.shares_memory(one, array) for one in checked)
    return (owned(array, given, copy) if untouched else np.array(checked)), bound


def require_both(name: str, values: object, limit_name: str, limit: object) -> None:
    """Reject constraints without limits, and limits without constraints."""
    if (values is None) != (limit is None):
        missing, present = (limit_name, name) if limit is None else (name, limit_name)
        raise InputError(f"{present} is given without {missing}; give both")


def limits(name: str, values: ArrayLike, sign: Array | float = 1.0) -> Array:
    """Check thresholds (sign +1) or budgets (−1), (K,) or one number, and return a copy.

    A threshold of −∞ or a budget of ∞ is no limit.
    """
    given = as_numbers(name, values)
    bound = np.atleast_1d(as_floats(name, given))
    if bound.ndim != 1:
        raise InputError(f"{name} has shape {bound.shape}, not (K,); give one number for each constraint")
    if np.isnan(bound).any():
        raise InputError(
            f"{name}{first(np.isnan(bound))} is nan; give a number, or an infinite one for no limit"
        )
    if isinstance(sign, np.ndarray) and len(bound) != len(sign):
        raise InputError(
            f"{len(bound)} limit(s) given for {len(sign)} constraint(s); "
            "give one number for each, in the order of the constraints"
        )
    never = bound * sign == np.inf
    if never.any():
        shown, none = bound[never][0], -bound[never][0]
        raise InputError(f"{name}{first(never)} is {shown}, which no policy meets; {none} is no limit")
    return owned(bound, given)


def names(
    given: Mapping[str, Iterable[object]] | None, shape: tuple[int, int, int]
) -> dict[str, tuple[str, ...]]:
    """Check that there is one name for each state, action or constraint that has any."""
    counts = dict(zip(("states", "actions", "constraints"), shape, strict=True))
    if not isinstance(given, Mapping | None):
        raise InputError(f"names is {shown(given)}; give lists of names under {', '.join(counts)}")
    checked = {}
    for kind, values in (given or {}).items():
        if kind not in counts:
            raise unknown("kind of names", str(kind), counts)
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InputError(f"names['{kind}'] is {shown(values)}; give a list of {counts[kind]} names")
        checked[kind] = tuple(str(value) for value in values)
        if len(checked[kind]) != counts[kind]:
            raise InputError(
                f"names['{kind}'] has {len(checked[kind])} entries, not {counts[kind]}; name every one"
            )
    return checked
