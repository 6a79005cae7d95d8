"""The end of a process: the states where it stops, and rows that end with what is missing.

In a state where the process stops, it stays, and every utility is 0. A row of probabilities that sums to less than 1 ends the
process with what is missing; only the total reward until the end (γ = 1) has such rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import scipy

from painless.common.arguments import SUM_TOLERANCE, as_numbers
from painless.common.arrays import Array, Mask
from painless.common.errors import InputError
from painless.problem.names import Names, as_objects, locate


def end_mask(given: Any, states: int, names: Mapping[str, Iterable[Any]] | None, what: str = "end") -> Mask:
    """Return which states are meant, (S,), such as those that end the process, given by a mask, by numbers or by names.

    >>> end_mask([2], 3, None), end_mask([True, False], 2, None), end_mask("out", 2, {"states": ["in", "out"]})
    (array([False, False,  True]), array([ True, False]), array([False,  True]))
    """
    values = np.asarray(given) if not isinstance(given, str | tuple) else None
    if values is not None and values.dtype == np.bool_:
        if values.shape != (states,):
            raise InputError(
                f"{what} has shape {values.shape}, not (S,) = ({states},); give a mask or a list of states"
            )
        return values.copy()
    if values is not None and not values.size:
        return np.zeros(states, dtype=bool)
    listed = names.get("states") if isinstance(names, Mapping) else None
    known = (
        None
        if listed is None
        else listed
        if isinstance(listed, Names)
        else Names.of("names['states']", as_objects(listed))
    )
    if known is None:
        as_numbers(what, given)
    mask = np.zeros(states, dtype=bool)
    mask[locate(known, given, states)] = True
    return mask


def named_states(given: Any, names: Names) -> Mask:
    """Return some states of a table with names, (S,); a text may be one name, or several with commas between them.

    >>> named_states("top, out", Names(["in", "out", "top"])), named_states("a, b", Names(["a, b", "c"]))
    (array([False,  True,  True]), array([ True, False]))
    """
    if isinstance(given, str) and given not in names.places:
        given = [part.strip() for part in given.split(",")]
    return end_mask(given, len(names), {"states": names})


def stopped_transition(kernel: Any, end: Mask) -> Any:
    """Return transitions, (S, A, S) or sparse (S·A, S), that stay in the states where the process ends."""
    if not end.any():
        return kernel
    if isinstance(kernel, np.ndarray):
        stays = kernel.copy()
        stays[end] = 0.0
        stays[end, :, end] = 1.0
        return stays
    actions = kernel.shape[0] // kernel.shape[1]
    ends = np.repeat(end, actions)
    count = np.where(ends, 1, np.diff(kernel.indptr))
    pointer = np.append(0, np.cumsum(count)).astype(kernel.indptr.dtype)
    kept = ~np.repeat(ends, np.diff(kernel.indptr))
    data, indices = np.ones(pointer[-1]), np.empty(pointer[-1], dtype=kernel.indices.dtype)
    goes = ~np.repeat(ends, count)
    data[goes], indices[goes] = kernel.data[kept], kernel.indices[kept]
    indices[~goes] = np.repeat(np.flatnonzero(end), actions)
    return scipy.sparse.csr_array((data, indices, pointer), shape=kernel.shape)


def stopped_utility(utility: Array, end: Mask) -> Array:
    """Return utilities (..., S, A) that are 0 where the process has ended; the same array where they are."""
    if not utility[..., end, :].any():
        return utility
    return np.where(end[:, None], 0.0, utility)


def positive_entries(kernel: Any) -> Any:
    """Return transitions as a sparse matrix that stores no zeros; the argument stays as it is."""
    matrix = scipy.sparse.csr_array(kernel)
    if not matrix.data.all():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    return matrix


def missing(kernel: Any) -> Array:
    """Return with what probability each pair ends the process at once, (S, A) or (S·A,); 0 where a row sums to 1.

    >>> missing(np.array([[[0.75]]]))
    array([[0.25]])
    """
    sums = kernel.sum(-1) if isinstance(kernel, np.ndarray) else np.asarray(kernel @ np.ones(kernel.shape[1]))
    return np.where(sums < 1 - SUM_TOLERANCE, 1 - sums, 0.0)
