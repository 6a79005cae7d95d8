"""Elimination of the chains of one model, in an order that is chosen once: where entries appear depends on the model's graph alone.

States go one after another, one with the fewest neighbours first (Tinney & Walker 1967), and leave their neighbours connected to each other. In the order that this
gives, with entries of L and U where neighbours are left,

    I − γP = LU,          V = U⁻¹L⁻¹u,          d = ρU⁻¹L⁻¹
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.engines.sweeps import _elimination_kernels as kernels
from painless.engines.sweeps.chain import Chain, arrows
from painless.engines.sweeps.sparse_rows import Indices

Places = NDArray[np.intp]
Places32 = NDArray[np.int32]  # half as large

# Entries of both factors, for each state, up to which elimination is faster than anything else where sweeps are slow.
ENTRIES = 40
# States that are eliminated first, to see; with more entries for each of them the others are not.
PIECE, SPARSE = 1000, 16.0
MOST = 1 << 22  # entries of all states: as many take about as much memory as the model
HUB = 10.0  # states with more neighbours go last, relative to the root of the number of states


class Structure(NamedTuple):
    """The order of the states, and where the rows of both factors have entries, by rank."""

    order: Indices  # (S,)
    lower_at: Places  # (S + 1,)
    lower_column: Indices
    upper_at: Places  # (S + 1,)
    upper_column: Indices


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
        self._rank: Indices = np.empty(0, np.uint32)

    @property
    def is_known(self) -> bool:
        """Whether there is such an order, as far as has been looked."""
        return self._structure is not None

    def solve(self, chain: Chain, right: Array, transposed: bool = False) -> Array | None:
        """Return (I − γP)⁻¹ of `right` (S,) or (S, n), or of the transposed system; None if too many entries appear."""
        if self._graph is not None:
            self._structure, self.least_width = _structure(self._graph())
            self._graph = None
            if self._structure is not None:
                self._rank = _ranks(self._structure.order).astype(np.uint32)
        if self._structure is None:
            return None
        structure, states = self._structure, len(chain.stay)
        lower, upper = np.empty(len(structure.lower_column)), np.empty(len(structure.upper_column))
        diagonal = np.empty(states)
        kernels.factorise(*chain[:5], structure.order, self._rank, *structure[1:], lower, upper, diagonal)
        table = np.ascontiguousarray(right.reshape(states, -1))
        found = np.empty_like(table)
        substitute = kernels.substitute_transposed if transposed else kernels.substitute
        substitute(*structure, lower, upper, diagonal, table, found)
        return found.reshape(right.shape)


def fills_in_little(chain: Chain) -> bool:
    """Whether hardly any entries appear among states that are next to each other."""
    return _is_sparse(*_graph(chain))[0]


def _structure(chain: Chain) -> tuple[Structure | None, int]:
    """Return the structure of the factors, None if they have too many entries; and a bound on how far a state leads in any numbering."""
    graph, alone = _graph(chain)
    is_sparse, width = _is_sparse(graph, alone)
    states = graph.shape[0]
    found = _eliminated(graph, alone, min(ENTRIES * states, MOST)) if is_sparse else None
    if found is None:
        return None, width
    order, begin, below = found
    below = _ranks(order).astype(np.int32)[below]
    lower_at, lower_column = np.zeros(states + 1, np.intp), np.empty(len(below), np.uint32)
    kernels.rows_below(begin, below, lower_at, lower_column)
    return Structure(order.astype(np.uint32), lower_at, lower_column, begin, below.astype(np.uint32)), width


def _graph(chain: Chain) -> tuple[Any, int]:
    """Return which states lead to each other, in either direction, and how many neighbours a state may have that does not go last."""
    states = len(chain.stay)
    pointer, target = arrows(chain)
    directed = scipy.sparse.csr_array((np.ones(len(target), bool), target, pointer), shape=(states, states))
    return directed + directed.T, int(HUB * states**0.5)


def _is_sparse(graph: Any, alone: int) -> tuple[bool, int]:
    """Return whether a piece of a graph fills in little, and how far a state leads at least, in any numbering."""
    states = graph.shape[0]
    piece, width = _piece(graph, alone, states // 2)
    width = max(width, _piece(graph, alone, states // 3)[1])  # the first one may lie at an edge
    return _eliminated(graph[:, piece][piece, :], alone, int(SPARSE * len(piece))) is not None, width


def _piece(graph: Any, alone: int, middle: int) -> tuple[Places, int]:
    """Return some states that are next to each other, around a middle one, and how far a state leads at least: within n steps of width w there are 2wn others at most."""
    states = graph.shape[0]
    found, seen = np.empty(min(PIECE, states), np.intp), np.zeros(states, bool)
    found[0] = middle
    count, steps = kernels.neighbourhood(*_parts(graph), alone, seen, found)
    return found[:count], -(-(count - 1) // (2 * max(steps, 1)))


def _eliminated(graph: Any, alone: int, entries: int) -> tuple[Places32, Places, Places32] | None:
    """Return the order of the states, and the neighbours that each has left when it goes; None if both factors have more entries."""
    states, room = graph.shape[0], entries // 2
    order, begin = np.empty(states, np.int32), np.empty(states + 1, np.intp)
    pool, below = np.empty(3 * room + 8 * states, np.int32), np.empty(room, np.int32)
    scratch = np.full((8, states + 1), -1, np.int32)
    if not kernels.order_by_degree(*_parts(graph), alone, pool, scratch, order, begin, below):
        return None
    return order, begin, below[: begin[-1]]


def _parts(graph: Any) -> tuple[Places32, Places32]:
    return graph.indptr.astype(np.int32, copy=False), graph.indices.astype(np.int32, copy=False)


def _ranks(order: NDArray[np.integer]) -> Places:
    """Return the place of each state in an order."""
    rank = np.empty(len(order), np.intp)
    rank[order] = np.arange(len(order))
    return rank
