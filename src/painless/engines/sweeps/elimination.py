"""Elimination for small chains and for narrow ones, such as queues: with a good numbering, every state leads only to states nearby.

Sweeps cross a narrow chain slowly; elimination within its band solves it directly. So it does a wide one of about a thousand states. A tree, such as a maze
without loops, is eliminated from its leaves inwards.

    (I − γP)V = u,          d(I − γP) = ρ
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.engines.sweeps.chain import Chain, transitions

SMALL = 128  # states up to which elimination is faster than sweeps, band or no band
WIDEST = 20  # how far a state may lead, in the best numbering; elimination costs the square of it
QUICK = 1_200_000  # states times the square of it that take a few milliseconds, wide or not
CYCLES = 1.01  # pairs of states that lead to each other, for each state, in what counts as a tree
LARGEST = 1 << 24  # numbers in the band, with the room that elimination takes


def eliminate(chain: Chain, right: Array, *, transposed: bool = False) -> Array | None:
    """Return (I − γP)⁻¹ of `right` (S,) or (S, n), or of the transposed system; None if the chain is too wide.

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
        system = np.diag(1.0 - chain.stay)
        np.subtract.at(system, (state, target), weight)
        direct: Array = np.linalg.solve(system.T if transposed else system, right).astype(np.float64)
        return direct
    if not _fits(state - target, len(chain.stay)):
        solved = _without_fill(chain, (state, target, weight), right, transposed)
        if solved is not None:
            return solved
    rank = _narrow_rank(state, target, len(chain.stay))
    if rank is None:
        return None
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


def _without_fill(
    chain: Chain, arrows: tuple[NDArray[np.intp], NDArray[np.intp], Array], right: Array, transposed: bool
) -> Array | None:
    """Solve a chain whose states form a tree, or nearly, from its leaves inwards; None if it has too many cycles."""
    states, (state, target, weight) = len(chain.stay), arrows
    if len(state) > 2 * CYCLES * states:
        return None
    edges = np.unique(np.minimum(state, target) * states + np.maximum(state, target))
    if len(edges) > CYCLES * states:
        return None
    own = np.arange(states)
    entries = np.concatenate([-weight, 1.0 - chain.stay])
    places = np.concatenate([state, own]), np.concatenate([target, own])
    system = scipy.sparse.csc_array((entries, places), shape=(states, states))
    # Rows of an M-matrix that are dominated by their diagonal need no pivots.
    factors: Any = scipy.sparse.linalg.splu(system, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0)
    return np.asarray(factors.solve(np.ascontiguousarray(right), "T" if transposed else "N"))


def _narrow_rank(state: NDArray[np.intp], target: NDArray[np.intp], states: int) -> NDArray[np.intp] | None:
    """Number the states so that transitions are short: as they are, or by reverse Cuthill–McKee; None if neither will do."""
    natural = np.arange(states)
    if _fits(state - target, states):
        return natural
    pattern = scipy.sparse.csr_array((np.ones(len(state), np.int8), (state, target)), shape=(states, states))
    order = scipy.sparse.csgraph.reverse_cuthill_mckee(pattern + pattern.T, symmetric_mode=True)
    rank = np.empty(states, np.intp)
    rank[order] = natural
    return rank if _fits(rank[state] - rank[target], states) else None


def _fits(distance: NDArray[np.intp], states: int) -> bool:
    width = int(np.abs(distance).max(initial=0))
    return (width <= WIDEST or states * width**2 <= QUICK) and states * (3 * width + 1) <= LARGEST
