"""Elimination for small chains and for those that fill in little.

Sweeps cross some chains slowly; elimination solves them directly. It is done

- within a band, if with a good numbering every state leads only to states nearby, as in a queue, or there are about a thousand states;
- from the leaves inwards, if the states form a tree, such as a maze without loops;
- in a fill-reducing order, if the states lie in a plane and hardly any entries appear on the way, as in most mazes: a piece of the chain is
  eliminated first, to see.

    (I − γP)V = u,          d(I − γP) = ρ
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.engines.sweeps.chain import Chain, transitions

Arrows = tuple[
    NDArray[np.intp], NDArray[np.intp], Array
]  # where transitions begin and end, and their weights

SMALL = 128  # states up to which elimination is faster than sweeps, band or no band
WIDEST = 20  # how far a state may lead, in the best numbering; elimination costs the square of it
QUICK = 1_200_000  # states times the square of it that take a few milliseconds, wide or not
CYCLES = 1.01  # pairs of states that lead to each other, for each state, in what counts as a tree
PLANE = 3.0  # how far a state may lead in a plane, in the best numbering, relative to the root of the number of states
PIECE = 4096  # states of which elimination shows how many entries appear
SPARSE = 15.0  # entries for each of them up to which all states are eliminated
LARGEST = 1 << 24  # numbers in the band, with the room that elimination takes
# Entries for all states as the piece has them: as many take about as much memory as the model.
FULLEST = 1 << 21


def eliminate(chain: Chain, right: Array, *, transposed: bool = False, in_plane: bool = True) -> Array | None:
    """Return (I − γP)⁻¹ of `right` (S,) or (S, n), or of the transposed system; None if the chain is too wide.

    Without `in_plane` only narrow chains and trees are eliminated, which is fast; in a plane fast sweeps may be faster.

    >>> import painless
    >>> from painless.engines.sweeps.chain import chain_of
    >>> from painless.engines.sweeps.sparse_rows import sparse_rows
    >>> rows = sparse_rows(painless.problems.queueing(4))
    >>> visits = eliminate(chain_of(rows, 0.99, rows.first[:-1]), np.eye(5)[0], transposed=True)
    >>> visits.round(9)
    array([100.,   0.,   0.,   0.,   0.])
    """
    state, target, weight = transitions(chain)
    if len(chain.stay) <= SMALL:
        dense = np.diag(1.0 - chain.stay)
        np.subtract.at(dense, (state, target), weight)
        direct: Array = np.linalg.solve(dense.T if transposed else dense, right).astype(np.float64)
        return direct
    arrows, states = (state, target, weight), len(chain.stay)
    rank = np.arange(states)
    if not _fits(_width(rank, arrows), states):
        if _is_tree(arrows, states):
            return _in_any_order(_system(chain, arrows), right, transposed)
        rank = _narrow_rank(arrows, states)
        width = _width(rank, arrows)
        if not _fits(width, states):
            is_plane = in_plane and width <= PLANE * states**0.5
            system = _system(chain, arrows) if is_plane else None
            if system is None or not _fills_in_little(system, rank):
                return None
            return _in_any_order(system, right, transposed)
    row, column = rank[state], rank[target]
    if transposed:
        row, column = column, row
    below = int((row - column).max(initial=0))
    above = int((column - row).max(initial=0))
    band = np.zeros((below + above + 1, len(rank)))
    np.add.at(band, (above + row - column, column), -weight)
    band[above, rank] += 1.0 - chain.stay
    ordered = np.empty_like(right)
    ordered[rank] = right
    solution: Array = scipy.linalg.solve_banded(
        (below, above), band, ordered, overwrite_ab=True, overwrite_b=True, check_finite=False
    )
    return solution[rank]


def _width(rank: NDArray[np.intp], arrows: Arrows) -> int:
    """Return how far a state leads, at most, in a numbering."""
    return int(np.abs(rank[arrows[0]] - rank[arrows[1]]).max(initial=0))


def _fits(width: int, states: int) -> bool:
    """Whether the band of a numbering is eliminated quickly."""
    return (width <= WIDEST or states * width**2 <= QUICK) and states * (3 * width + 1) <= LARGEST


def _is_tree(arrows: Arrows, states: int) -> bool:
    """Whether the states form a tree, or nearly."""
    state, target, _ = arrows
    if len(state) > 2 * CYCLES * states:
        return False
    edges = np.unique(np.minimum(state, target) * states + np.maximum(state, target))
    return len(edges) <= CYCLES * states


def _narrow_rank(arrows: Arrows, states: int) -> NDArray[np.intp]:
    """Number the states so that transitions are short, by reverse Cuthill–McKee."""
    state, target, _ = arrows
    pattern = scipy.sparse.csr_array((np.ones(len(state), np.int8), (state, target)), shape=(states, states))
    order = scipy.sparse.csgraph.reverse_cuthill_mckee(pattern + pattern.T, symmetric_mode=True)
    rank = np.empty(states, np.intp)
    rank[order] = np.arange(states)
    return rank


def _system(chain: Chain, arrows: Arrows) -> scipy.sparse.csc_array[np.float64]:
    """Return I − γP."""
    (state, target, weight), own = arrows, np.arange(len(chain.stay))
    entries = np.concatenate([-weight, 1.0 - chain.stay])
    places = np.concatenate([state, own]), np.concatenate([target, own])
    return scipy.sparse.csc_array((entries, places), shape=(len(own), len(own)))


def _fills_in_little(system: scipy.sparse.csc_array[np.float64], rank: NDArray[np.intp]) -> bool:
    """Whether elimination leaves few entries: whether it does so for states that are next to each other in a numbering."""
    states = len(rank)
    first = max((states - PIECE) // 2, 0)
    piece = np.argsort(rank)[first : first + PIECE]
    factors = _factorised(system[:, piece][piece, :])
    fill = (factors.L.nnz + factors.U.nnz) / len(piece)
    return bool(fill <= SPARSE and fill * states <= FULLEST)


def _in_any_order(system: scipy.sparse.csc_array[np.float64], right: Array, transposed: bool) -> Array:
    """Solve by elimination in the order that fills in least."""
    return np.asarray(_factorised(system).solve(np.ascontiguousarray(right), "T" if transposed else "N"))


def _factorised(system: scipy.sparse.csc_array[np.float64]) -> Any:
    """Return the triangular factors; rows of an M-matrix that are dominated by their diagonal need no pivots."""
    return scipy.sparse.linalg.splu(system.tocsc(), permc_spec="COLAMD", diag_pivot_thresh=0.0)
