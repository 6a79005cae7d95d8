"""Elimination of the chains of one model, in an order that is chosen once: where entries appear depends on the model's graph alone.

States go one after another, one with the fewest neighbours first (Tinney & Walker 1967), and leave their neighbours connected to each other. In the order that this
gives, with entries of L and U where neighbours are left,

    I − γP = LU,          V = U⁻¹L⁻¹u,          d = ρU⁻¹L⁻¹
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.engines.sweeps import _elimination_kernels as kernels
from painless.engines.sweeps.chain import Chain
from painless.engines.sweeps.sparse_rows import Indices

Places = NDArray[np.intp]
Places32 = NDArray[np.int32]  # half as large

# Entries of both factors, for each state, up to which elimination is faster than anything else where sweeps are slow.
ENTRIES = 40
# States that are eliminated first, to see; with more entries for each of them the others are not.
PIECE, SPARSE = 1000, 16.0
WHOLE = 5000  # states up to which all are tried at once: a grid of as many is still faster than sweeps
MOST = 1 << 22  # entries of all states: as many take about as much memory as the model
THIN = 3  # entries of one factor, for each state, up to which it takes about as long as two or three sweeps
USUAL = 2  # neighbours that are left when a state goes, for which there is room at first
HUB = 10.0  # states with more neighbours go last, relative to the root of the number of states


class Structure(NamedTuple):
    """The order of the states, and where the rows of both factors have entries, by rank."""

    order: Indices  # (S,)
    lower_at: Indices  # (S + 1,)
    lower_column: Indices
    upper_at: Indices  # (S + 1,)
    upper_column: Indices
    rank: Indices  # (S,) the place of each state in the order


class Neighbours(NamedTuple):
    """The states that lead to a state or that it leads to: lists[first[s]..first[s] + size[s] − 1], in room for room[s] of them."""

    first: Places32  # (S,)
    size: Places32  # (S,)
    room: Places32  # (S,)
    lists: Places32


class EliminationOrder:
    """Solves chains by elimination, in an order that is found on first use.

    Arguments:
        graph: returns a chain that has the transitions of all of them, such as that of the uniform policy.

    >>> import painless
    >>> from painless.engines.sweeps.chain import chain_of
    >>> from painless.engines.sweeps.sparse_rows import sparse_rows
    >>> rows = sparse_rows(painless.problems.queueing(4))
    >>> chain = chain_of(rows, 0.99, rows.first[:-1])
    >>> EliminationOrder(lambda: chain).solve(chain, np.eye(5)[0], transposed=True).round(9)
    array([100.,   0.,   0.,   0.,   0.])
    """

    def __init__(self, graph: Callable[[], Chain]) -> None:
        self._graph: Callable[[], Chain] | None = graph
        self._structure: Structure | None = None
        self.least_width = 0  # in any numbering: how far a state leads at least, as far as is known

    @property
    def is_known(self) -> bool:
        """Whether there is such an order, as far as has been looked."""
        return self._structure is not None

    @property
    def is_thin(self) -> bool:
        """Whether hardly any entries appear, as in trees and on paths, so that elimination is as quick as a few sweeps."""
        known = self._structure
        return known is not None and len(known.upper_column) <= THIN * len(known.order)

    def solve(
        self, chain: Chain, right: Array, transposed: bool = False, out: Array | None = None
    ) -> Array | None:
        """Return (I − γP)⁻¹ of `right` (S,) or (S, n), or of the transposed system, in `out` if it is given; None if too many entries appear."""
        if self._graph is not None:
            self._structure, self.least_width = _structure(self._graph())
            self._graph = None
        if self._structure is None:
            return None
        structure, states = self._structure, len(chain.stay)
        whole = np.empty(right.shape) if out is None else out
        whole[:] = right
        found = whole.reshape(states, -1)
        upper, diagonal = np.empty(len(structure.upper_column)), np.empty(states)
        if transposed:
            lower, none = np.empty(len(structure.lower_column)), np.empty((states, 0))
            kernels.factorise(*chain[:5], *structure, lower, upper, diagonal, none)
            kernels.substitute_transposed(*structure[:5], lower, upper, diagonal, found)
        else:
            kernels.factorise(*chain[:5], *structure, np.empty(0), upper, diagonal, found)
            kernels.substitute(structure.order, *structure[3:5], upper, diagonal, found)
        return whole


def fills_in_little(chain: Chain) -> bool:
    """Whether hardly any entries appear among states that are next to each other."""
    return _is_sparse(_neighbours(chain))[0]


def _structure(chain: Chain) -> tuple[Structure | None, int]:
    """Return the structure of the factors, None if they have too many entries; and a bound on how far a state leads in any numbering."""
    near, states = _neighbours(chain), len(chain.stay)
    found, width = _eliminated_or_width(near)
    if found is None:
        return None, width
    order, begin, below = found
    rank = np.empty(states, np.uint32)
    rank[order] = np.arange(states, dtype=np.uint32)
    below[:] = rank[below]
    lower_at, lower_column = np.zeros(states + 1, np.uint32), np.empty(len(below), np.uint32)
    kernels.rows_below(begin, below, lower_at, lower_column)
    return Structure(order, lower_at, lower_column, begin, below, rank), width


def _eliminated_or_width(near: Neighbours) -> tuple[tuple[Indices, Indices, Indices] | None, int]:
    """Return the order and what is left when each state goes; where too much is, how far a state leads at least."""
    states = len(near.first)
    most, entries = _most_neighbours(states), min(ENTRIES * states, MOST)
    if states <= WHOLE:
        found = _eliminated(_among(near, np.arange(states)), most, entries)  # a copy, since it is used up
        return found, 0 if found is not None else _is_sparse(near)[1]
    is_sparse, width = _is_sparse(near)
    return _eliminated(near, most, entries) if is_sparse else None, width


def _neighbours(chain: Chain) -> Neighbours:
    """Return which states lead to each other, in either direction."""
    states, (start, stop, target) = len(chain.stay), chain[:3]
    room, size = np.zeros(states, np.int32), np.zeros(states, np.int32)
    kernels.count_neighbours(start, stop, target, room)
    first = np.cumsum(room, dtype=np.int32) - room
    lists = np.empty(int(room.sum()), np.int32)
    kernels.write_neighbours(start, stop, target, first, size, lists, np.full(states, -1, np.int32))
    return Neighbours(first, size, room, lists)


def _most_neighbours(states: int) -> int:
    """Return how many neighbours a state may have that does not go last."""
    return int(HUB * states**0.5)


def _is_sparse(near: Neighbours) -> tuple[bool, int]:
    """Return whether a piece of a graph fills in little, and how far a state leads at least, in any numbering."""
    states = len(near.first)
    alone = _most_neighbours(states)
    piece, width = _piece(near, alone, states // 2)
    width = max(width, _piece(near, alone, states // 3)[1])  # the first one may lie at an edge
    return _eliminated(_among(near, piece), alone, int(SPARSE * len(piece))) is not None, width


def _piece(near: Neighbours, alone: int, middle: int) -> tuple[Places, int]:
    """Return some states that are next to each other, around a middle one, and how far a state leads at least: within n steps of width w there are 2wn others at most."""
    states = len(near.first)
    found, seen = np.empty(min(PIECE, states), np.intp), np.zeros(states, bool)
    found[0] = middle
    count, steps = kernels.neighbourhood(near.first, near.size, near.lists, alone, seen, found)
    return found[:count], -(-(count - 1) // (2 * max(steps, 1)))


def _among(near: Neighbours, piece: Places) -> Neighbours:
    """Return the neighbours of some states among themselves, as places in `piece`."""
    place = np.full(len(near.first), -1, np.int32)
    place[piece] = np.arange(len(piece))
    count = near.size[piece]
    own = np.repeat(np.arange(len(piece)), count)
    within = np.arange(len(own)) - np.repeat(np.cumsum(count) - count, count)
    to = place[near.lists[near.first[piece][own] + within]]
    size = np.bincount(own[to >= 0], minlength=len(piece)).astype(np.int32)
    first = np.cumsum(size, dtype=np.int32) - size
    return Neighbours(first, size, size.copy(), to[to >= 0])


def _eliminated(near: Neighbours, alone: int, entries: int) -> tuple[Indices, Indices, Indices] | None:
    """Return the order of the states, and the neighbours that each has left when it goes; None if both factors have more entries."""
    states, lists = len(near.first), near.lists
    most = max(3 * (entries // 2) + 8 * states, len(lists)), entries // 2
    order, begin = np.empty(states, np.int32), np.empty(states + 1, np.int32)
    below = np.empty(min(USUAL * states + PIECE, most[1]), np.int32)
    hub = np.flatnonzero(near.size > alone).astype(np.int32)
    links, progress = np.full((4, states + 1), -1, np.int32), np.array([0, 0, 0, 0, len(lists)])
    kernels.link_by_size(*near[:2], lists, links, hub)
    while lacks := kernels.order_by_degree(
        *(*near[:3], lists, links, hub, order, begin, below, most, progress)
    ):
        if lacks < 0:
            return None
        short, limit = (lists, most[0]) if lacks == 1 else (below, most[1])
        short.resize(min(2 * len(short) + PIECE, limit), refcheck=False)
    below.resize(int(begin[-1]), refcheck=False)
    return order.view(np.uint32), begin.view(np.uint32), below.view(np.uint32)
