"""A model as its available pairs (s, a) alone: what a state does not have costs nothing.

The pairs of state s are first[s]..first[s + 1] − 1. Those of a sparse model without a mask are the model's own
rows, shared without a copy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common.arrays import Array, same_array
from painless.problem import CMDP
from painless.problem.pair_utilities import PairUtilities
from painless.problem.transitions import require_sound

Indices = NDArray[np.uint32]


class SparseRows(NamedTuple):
    """N pairs of S states; the successors of pair p are pointer[p]..pointer[p + 1] − 1."""

    first: Indices  # (S + 1,)
    pointer: Indices  # (N + 1,)
    successor: Indices  # (nnz,)
    probability: Array  # (nnz,)
    utility: Any  # (J, N) an array, or PairUtilities
    action: NDArray[np.intp] | None  # (N,) the column of each pair in the table; None if none is masked
    most_successors: int  # of a pair
    table: Array | None = None  # the dense table of which they are the entries, if there is one


def sparse_rows(problem: CMDP, shares_utility: bool = False, like: SparseRows | None = None) -> SparseRows:
    """Lay a problem out by its available pairs.

    With `shares_utility`, the utilities of a sparse model without a mask are not copied either. `like` are the rows of a model whose graph may be the
    same: to check that in a dense table is quicker than to look for the graph.

    >>> import painless
    >>> sparse_rows(painless.gridworld()).first[:3]
    array([0, 4, 8], dtype=uint32)
    """
    states, actions, constraints = problem.shape
    kernel: Any = problem.transition
    require_sound(kernel)
    if isinstance(kernel, np.ndarray):
        probability = None if like is None or not problem.actions.all() else _entries(kernel, like)
        if like is not None and probability is not None:
            return like._replace(
                probability=probability,
                utility=np.ascontiguousarray(problem.utility.reshape(1 + constraints, -1)),
                table=kernel,
            )
        kernel = _sparse(kernel.reshape(-1, states))
    shares_utility = shares_utility and problem.is_sparse
    utility: Any = problem.pair_utility if shares_utility else problem.utility.reshape(1 + constraints, -1)
    column = None
    first = np.arange(0, states * actions + 1, actions, dtype=np.uint32)
    if not problem.actions.all():
        pairs = np.flatnonzero(problem.actions)
        kernel, utility, column = kernel[pairs], utility[:, pairs], pairs % actions
        first = np.concatenate([[0], np.cumsum(problem.actions.sum(1))]).astype(np.uint32)
    if kernel.nnz >= 2**32:
        raise MemoryError("the model has more than 4e9 transitions; aggregate states")
    probability = np.ascontiguousarray(kernel.data)
    return SparseRows(
        first=first,
        pointer=unsigned(kernel.indptr),
        successor=unsigned(kernel.indices),
        probability=probability,
        utility=utility if isinstance(utility, PairUtilities) else np.ascontiguousarray(utility),
        action=column,
        most_successors=int(np.diff(kernel.indptr).max(initial=1)),
        table=problem.transition if isinstance(problem.transition, np.ndarray) else None,
    )


def _sparse(table: Array) -> Any:
    """Return a dense table as a sparse one; to look for entries in a mask takes a tenth of the time that SciPy takes.

    >>> _sparse(np.array([[0.0, 1.0], [0.5, 0.5], [0.0, 0.0]])).indptr
    array([0, 1, 3, 3], dtype=int32)
    """
    place = np.flatnonzero(table != 0)
    kind = np.int32 if max(len(place), *table.shape) < 2**31 else np.int64
    pointer = np.searchsorted(place, np.arange(0, table.size + 1, table.shape[1])).astype(kind)
    entries = table.reshape(-1)[place], (place % table.shape[1]).astype(kind), pointer
    return scipy.sparse.csr_array(entries, shape=table.shape)


def _entries(table: Array, like: SparseRows) -> Array | None:
    """Return the probabilities (nnz,) of a dense table (S, A, S) if they are positive where other rows have theirs and nowhere else, else None."""
    states, actions, _ = table.shape
    if like.action is not None or not np.array_equal(
        like.first, np.arange(0, states * actions + 1, actions, dtype=np.uint32)
    ):
        return None
    if like.table is not None and same_array(like.table, table):
        return like.probability
    if np.count_nonzero(table) != len(like.successor):
        return None
    begin = np.arange(0, states * actions * states, states)
    found = table.reshape(-1)[np.repeat(begin, np.diff(like.pointer)) + like.successor]
    return found if found.all() else None


def inverse(order: Indices) -> Indices:
    """Return the place of each number in a permutation.

    >>> inverse(np.array([2, 0, 1], dtype=np.uint32))
    array([1, 2, 0], dtype=uint32)
    """
    place = np.empty_like(order)
    place[order] = np.arange(len(order), dtype=order.dtype)
    return place


def unsigned(index: NDArray[Any]) -> Indices:
    """Return indices as unsigned ones, without a copy if they have as many bits."""
    return np.ascontiguousarray(index if index.dtype == np.int32 else index.astype(np.uint32)).view(np.uint32)
