"""What the arguments of a CMDP must be. Every refusal says what is wrong, where, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any, cast

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from painless.arrays import Array, Mask, read_only
from painless.errors import InputError, unknown

SUM_TOLERANCE = 1e-8  # for probabilities given in double precision
SINGLE_TOLERANCE = 1e-5  # for lower precision; such rows are normalised as they are converted


def as_numbers(name: str, values: object) -> NDArray[Any]:
    """Return `values` as an array of real numbers or truth values, whatever their precision."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"its entries are {array.dtype}")
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not a numeric array ({error}); give nested lists or an array") from error
    return array


def as_floats(name: str, values: object) -> Array:
    """Return `values` as a C-ordered array of doubles, without a copy where they are one already."""
    array = as_numbers(name, values)
    return np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)


def is_sparse(kernel: Any) -> bool:
    """Whether `kernel` is a SciPy sparse matrix or array."""
    return not isinstance(kernel, np.ndarray | list | tuple) and scipy.sparse.issparse(kernel)


def is_single(values: Any) -> bool:
    """Whether `values` come in less than double precision."""
    dtype = getattr(values, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind == "f" and dtype.itemsize < 8


def first(wrong: NDArray[np.bool_]) -> str:
    """Return the index of the first true entry as text: "[3, 1]"."""
    return f"[{', '.join(str(int(i)) for i in np.argwhere(wrong)[0])}]"


def require_finite(name: str, array: Array, where: NDArray[np.bool_] | bool = True) -> None:
    """Refuse entries that are infinite or not a number."""
    wrong = ~np.isfinite(array) & where
    if wrong.any():
        raise InputError(f"{name}{first(wrong)} is {array[wrong][0]}; every entry must be finite")


def require_not_negative(name: str, array: Array, where: NDArray[np.bool_] | bool = True) -> None:
    """Refuse probabilities below 0."""
    wrong = (array < 0) & where
    if wrong.any():
        raise InputError(f"{name}{first(wrong)} is {array[wrong][0]:g}, below 0; give probabilities")


def require_sums(name: str, sums: Array, where: Mask | bool, single: bool, advice: str) -> None:
    """Refuse distributions that do not sum to 1."""
    wrong = (np.abs(sums - 1) > (SINGLE_TOLERANCE if single else SUM_TOLERANCE)) & where
    if wrong.any():
        total = sums[wrong][0]
        shown = f"{total:.6f}" if abs(total - 1) > 1e-6 else f"{total:.10f}"
        raise InputError(f"{name}{first(wrong) if sums.ndim else ''} sums to {shown}, not 1; {advice}")


def whole(name: str, value: Any, least: int = 1) -> int:
    """Check that something counted is a whole number."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} is {value}; it must be a whole number of at least {least}")
    return int(value)


def discount(value: Any) -> float:
    """Check 0 ≤ γ < 1."""
    given = value.item() if isinstance(value, np.ndarray) and not value.ndim else value
    if not isinstance(given, Real):
        shown = " ".join(repr(value).split())[:60]
        raise InputError(f"discount must be a number, not {shown}; give one such as 0.9")
    number = cast(float, given)
    if not 0 <= number < 1:
        raise InputError(
            f"discount is {number}, outside [0, 1); for an average reward or an episode that ends, "
            "use a discount close to 1, such as 0.999, or make the end an absorbing state"
        )
    return float(number)


def initial(values: ArrayLike) -> Array:
    """Check that ρ is a distribution over the states."""
    array = as_floats("initial", values)
    if array.ndim != 1 or not array.size:
        raise InputError(f"initial has shape {array.shape}, not (S,); give one probability for each state")
    require_finite("initial", array)
    require_not_negative("initial", array)
    single = is_single(values)
    require_sums("initial", np.asarray(array.sum()), True, single, "divide it by its sum")
    return array / array.sum() if single else array


def action_count(kernel: Any, states: int) -> int:
    """Return A from the shape of the transitions, or refuse the shape."""
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
    """Check the mask of available actions."""
    if values is None:
        return np.ones(shape, dtype=bool)
    given = as_numbers("actions", values)
    if given.shape != shape:
        raise InputError(f"actions has shape {given.shape}, not (S, A) = {shape}")
    wrong = np.zeros(0, dtype=bool) if given.dtype == np.bool_ else ~np.isin(given, (0, 1))
    if wrong.any():
        raise InputError(f"actions{first(wrong)} is {given[wrong][0]}; give true or false for each action")
    mask = given.astype(bool, copy=False)
    if not mask.any(1).all():
        state = int(np.argmin(mask.any(1)))
        raise InputError(f"state {state} has no actions; give it one that stays there, with reward 0")
    return mask


def transition(kernel: Any, available: Mask) -> Array | scipy.sparse.csr_array[np.float64]:
    """Check that the row of every available pair is a distribution."""
    single = is_single(kernel)
    if is_sparse(kernel):
        return _sparse_transition(kernel, available, single)
    array = as_floats("transition", kernel)
    require_finite("transition", array, available[:, :, None])
    require_not_negative("transition", array, available[:, :, None])
    array = _without_strays(array, available, 1.0)
    sums: Array = array.sum(-1)
    _require_rows(sums, available, single)
    return array / np.where(available, sums, 1.0)[:, :, None] if single else array


def _require_rows(sums: Array, available: Mask, single: bool) -> None:
    require_sums("transition", sums, available, single, "normalise the row or add an absorbing state")


def _without_strays(array: Array, available: Mask, largest: float) -> Array:
    """Clear masked pairs where one of their entries is not finite or beyond ±`largest`; else no copy."""
    if (np.abs(array[~available]) <= largest).all():
        return array
    return np.where(available.reshape(available.shape + (1,) * (array.ndim - 2)), array, 0.0)


def _sparse_transition(kernel: Any, available: Mask, single: bool) -> scipy.sparse.csr_array[np.float64]:
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
    totals = matrix.sum(1) if single else matrix @ np.ones(matrix.shape[1])
    sums: Array = np.asarray(totals).reshape(available.shape)
    _require_rows(sums, available, single)
    if single:
        matrix = scipy.sparse.csr_array(
            scipy.sparse.diags_array(1 / np.where(available, sums, 1.0).ravel()) @ matrix
        )
    return _read_only_csr(matrix)


def _canonical(kernel: Any) -> scipy.sparse.csr_array[np.float64]:
    """Return `kernel` as CSR with sorted indices and no duplicates, sharing its memory where it is that."""
    if kernel.dtype.kind not in "biuf":
        raise InputError(f"the entries of the sparse transition are {kernel.dtype}; give real numbers")
    try:
        matrix = _read_only_csr(scipy.sparse.csr_array(kernel, dtype=np.float64))
        if (matrix.indptr[1:] < matrix.indptr[:-1]).any():  # where the last is 0, SciPy checks nothing
            raise ValueError("index pointer values must form a non-decreasing sequence")
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise InputError(
            f"the sparse transition is not a valid CSR matrix: {error}; build it anew"
        ) from error
    matrix = _short_indices(matrix)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _short_indices(matrix: scipy.sparse.csr_array[np.float64]) -> scipy.sparse.csr_array[np.float64]:
    """Return the matrix with 4 bytes for each index where they are enough."""
    if max(matrix.nnz, *matrix.shape) > np.iinfo(np.int32).max:
        return matrix
    indices, pointer = (part.astype(np.int32, copy=False) for part in (matrix.indices, matrix.indptr))
    return scipy.sparse.csr_array((matrix.data, indices, pointer), shape=matrix.shape)


def _read_only_csr(matrix: scipy.sparse.csr_array[np.float64]) -> scipy.sparse.csr_array[np.float64]:
    parts = (read_only(matrix.data), read_only(matrix.indices), read_only(matrix.indptr))
    return scipy.sparse.csr_array(parts, shape=matrix.shape)


def utility(name: str, values: object, kernel: Any, available: Mask) -> Array:
    """Check one utility, (S, A), and average one of shape (S, A, S) over the successor."""
    array = as_floats(name, values)
    states, n_actions = available.shape
    if array.shape not in (available.shape, (states, n_actions, states)):
        raise InputError(f"{name} has shape {array.shape}, not (S, A) = {available.shape} or (S, A, S)")
    pairs = available if array.ndim == 2 else available[:, :, None]
    require_finite(name, array, pairs)
    largest = np.abs(array).max(initial=0.0, where=pairs)
    array = _without_strays(array, available, float(largest))
    return array if array.ndim == 2 else _over_successors(array, kernel)


def _over_successors(array: Array, kernel: Any) -> Array:
    """u(s, a) = Σ_s' P(s'|s, a) u(s, a, s')."""
    if is_sparse(kernel):
        flat = array.reshape(kernel.shape)
        return np.asarray(kernel.multiply(flat).sum(1)).reshape(array.shape[:2])
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
    bound = limits(limit_name, limit)
    array = as_floats(name, values)
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
        return utility(name, array, kernel, available)[None], bound
    checked = [utility(f"{name}[{i}]", one, kernel, available) for i, one in enumerate(array)]
    untouched = all(np.shares_memory(one, array) for one in checked)
    return (array if untouched else np.array(checked)), bound


def limits(name: str, values: ArrayLike) -> Array:
    """Check thresholds or budgets, (K,) or one number."""
    bound = np.atleast_1d(as_floats(name, values))
    if bound.ndim != 1:
        raise InputError(f"{name} has shape {bound.shape}, not (K,); give one number for each constraint")
    require_finite(name, bound)
    return bound


def names(
    given: Mapping[str, Iterable[object]] | None, shape: tuple[int, int, int]
) -> dict[str, tuple[str, ...]]:
    """Check that there is one name for each state, action or constraint that has any."""
    counts = dict(zip(("states", "actions", "constraints"), shape, strict=True))
    if not isinstance(given, Mapping | None):
        raise InputError(f"names is {given!r}; give lists of names under {', '.join(counts)}")
    checked = {}
    for kind, values in (given or {}).items():
        if kind not in counts:
            raise unknown("kind of names", str(kind), counts)
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InputError(f"names['{kind}'] is {values!r}; give a list of {counts[kind]} names")
        checked[kind] = tuple(str(value) for value in values)
        if len(checked[kind]) != counts[kind]:
            raise InputError(
                f"names['{kind}'] has {len(checked[kind])} entries, not {counts[kind]}; name every one"
            )
    return checked
