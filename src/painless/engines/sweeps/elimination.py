"""Elimination for small chains and for those that fill in little.

Sweeps cross some chains slowly; elimination solves them directly. It is done

- within a band, if with a good numbering every state leads only to states nearby, as in a queue, or there are about a thousand states;
- in an order that fills in little, if there are more states and there is one: from the leaves inwards if the states form a tree, such as a maze without loops, and in
  most mazes with loops, and in grids of a few thousand states (see `elimination_order`).

    (I − γP)V = u,          d(I − γP) = ρ
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.engines.sweeps.chain import Chain, transitions
from painless.engines.sweeps.elimination_order import ENTRIES, EliminationOrder

Places = NDArray[np.intp]

SMALL = 128  # states up to which elimination is faster than sweeps, band or no band
WIDEST = 20  # how far a state may lead, in the best numbering; elimination costs the square of it
QUICK = 1_200_000  # states times the square of it that take a few milliseconds, wide or not
PIECE = 1 << 14  # states that are looked at together
LARGEST = 1 << 24  # numbers in the band, with the room that elimination takes


def eliminate(
    chain: Chain,
    right: Array,
    *,
    transposed: bool = False,
    order: EliminationOrder | None = None,
    room: Callable[[], Array] | None = None,
) -> Array | None:
    """Return (I − γP)⁻¹ of `right` (S,) or (S, n), or of the transposed system; None if the chain fills in much.

    `order` is that of the model to which the chain belongs; it is found on first use. `room` returns an array like `right` for the answer, if one is at hand.

    >>> import painless
    >>> from painless.engines.sweeps.chain import chain_of
    >>> from painless.engines.sweeps.sparse_rows import sparse_rows
    >>> rows = sparse_rows(painless.problems.queueing(4))
    >>> visits = eliminate(chain_of(rows, 0.99, rows.first[:-1]), np.eye(5)[0], transposed=True)
    >>> visits.round(9)
    array([100.,   0.,   0.,   0.,   0.])
    """
    if order is not None and order.is_known:
        return order.solve(chain, right, transposed, None if room is None else room())
    if fills_in_much(int((chain.stop - chain.start).sum()), len(chain.stay)):
        return None
    states = len(chain.stay)
    is_wide = states > SMALL and not _fits(_own_width(chain), states)
    if is_wide and states**2 > QUICK:
        order = order or EliminationOrder(lambda: chain)
        found = order.solve(chain, right, transposed)
        if found is not None or not _fits(order.least_width, states):
            return found
    state, target, weight = transitions(chain)
    if states <= SMALL:
        dense = np.diag(1.0 - chain.stay)
        np.subtract.at(dense, (state, target), weight)
        direct: Array = np.linalg.solve(dense.T if transposed else dense, right).astype(np.float64)
        return direct
    rank = np.arange(states)
    if is_wide:  # the kernels of an order would take longer to compile than they save on a thousand states
        rank = _narrow_rank(state, target, states)
        if not _fits(_width(rank, state, target), states):
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


def fills_in_much(arrows: int, states: int) -> bool:
    """Whether a chain of so many states has so many transitions (or more) that it fills in much in any order, and lies in no band."""
    return states > SMALL and arrows > 0.5 * ENTRIES * states and not _fits(arrows // (2 * states), states)


def _own_width(chain: Chain) -> int:
    """Return how far a state leads, at most, as states are numbered."""
    width = 0
    for begin in range(0, len(chain.stay), PIECE):
        start, stop = (part[begin : begin + PIECE] for part in chain[:2])
        state = np.arange(begin, begin + len(start), dtype=np.int32)
        if (start[1:] == stop[:-1]).all():
            target = chain.target[start[0] : stop[-1]].view(np.int32)
            ahead = target - np.repeat(state, stop - start)
        else:
            place, to, _ = transitions(chain, slice(begin, begin + PIECE))
            ahead = (to - state[place]).astype(np.int32)
        width = max(width, int(ahead.max(initial=0)), -int(ahead.min(initial=0)))
    return width


def _width(rank: Places, state: Places, target: Places) -> int:
    """Return how far a state leads, at most, in a numbering."""
    return int(np.abs(rank[state] - rank[target]).max(initial=0))


def _fits(width: int, states: int) -> bool:
    """Whether the band of a numbering is eliminated quickly."""
    return (width <= WIDEST or states * width**2 <= QUICK) and states * (3 * width + 1) <= LARGEST


def _narrow_rank(state: Places, target: Places, states: int) -> Places:
    """Number the states so that transitions are short, by reverse Cuthill–McKee."""
    pattern = scipy.sparse.csr_array((np.ones(len(state), np.int8), (state, target)), shape=(states, states))
    order = scipy.sparse.csgraph.reverse_cuthill_mckee(pattern + pattern.T, symmetric_mode=True)
    rank = np.empty(states, np.intp)
    rank[order] = np.arange(states)
    return rank
