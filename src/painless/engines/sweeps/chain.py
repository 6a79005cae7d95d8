"""The Markov chain of one policy, as sweeps need it: its rows in the order of the states, without self-loops."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.engines.sweeps import _chain_kernels as kernels
from painless.engines.sweeps.sparse_rows import Indices, SparseRows
from painless.engines.sweeps.state_threads import PIECES, StateThreads
from painless.problem.pair_utilities import as_parts

NO_PAIR = np.uint32(2**32 - 1)
EVERY = slice(None)


class Chain(NamedTuple):
    """The rows of one policy, in the order of the states."""

    start: Indices  # (S,)
    stop: Indices  # (S,)
    target: Indices  # (nnz,)
    weight: Array  # (nnz,) γp without self-loops
    stay: Array  # (S,) γp of the self-loop
    gain: Array  # (S, J) u_π


def chain_of(rows: SparseRows, discount: float, choices: Indices, shares: Array | None = None) -> Chain:
    """Return the chain of the policy that takes pair choices[n, s] with probability shares[n, s]."""
    choices = np.atleast_2d(choices)
    shares = np.ones(choices.shape) if shares is None else shares
    chain = _with_room(_starts(_successors(rows, choices, shares)), len(rows.utility))
    stale = np.ones(choices.shape[1], dtype=bool)
    utility = as_parts(rows.utility)
    kernels.write_rows(*(*rows[1:4], utility, discount, choices, shares, stale, *chain, 0, len(stale)))
    return chain


def _successors(rows: SparseRows, choices: Indices, shares: Array) -> Indices:
    """Return how many successors a state has under a mixed policy, (S,); choices of share 0 are left out."""
    total = np.zeros(choices.shape[1], np.uint32)
    for choice, share in zip(choices, shares, strict=True):
        total += (rows.pointer[choice + np.uint32(1)] - rows.pointer[choice]) * (share > 0)
    return total


def _starts(successors: Indices) -> Indices:
    """Return where the rows of a chain begin that have at most so many successors of each state, (S,), and where the last one ends."""
    start = np.zeros(len(successors) + 1, np.uint32)
    np.cumsum(successors, out=start[1:])
    return start


def _with_room(start: Indices, utilities: int) -> Chain:
    """Return room for a chain whose rows begin there, (S + 1,)."""
    states = len(start) - 1
    return Chain(
        start[:-1],
        np.empty(states, np.uint32),
        np.empty(start[-1], np.uint32),
        np.empty(start[-1]),
        np.empty(states),
        np.empty((states, utilities)),
    )


class ChangingChain:
    """The chain of one deterministic policy after another; only rows that change are rewritten."""

    def __init__(self, rows: SparseRows, discount: float, threads: StateThreads) -> None:
        self.rows, self.discount, self.threads = rows, discount, threads
        self._start = _starts(np.maximum.reduceat(np.diff(rows.pointer), rows.first[:-1]))
        self._chain: Chain | None = None
        self._written = np.full(len(rows.first) - 1, NO_PAIR, np.uint32)

    @property
    def transitions(self) -> int:
        """How many transitions the chain of a policy has at most."""
        return int(self._start[-1])

    def release(self) -> None:
        """Give up the chain while memory is needed for something else; the next one is written from scratch."""
        self._chain = None

    def follow(self, choice: Indices) -> Chain:
        """Make it the chain of the policy that takes pair choice[s]; an interruption leaves no row that is taken for another."""
        if self._chain is None:
            self._written.fill(NO_PAIR)
            self._chain = _with_room(self._start, len(self.rows.utility))
        chain = self._chain
        stale = self._written != choice
        self._written[stale] = NO_PAIR
        choices, alone, utility = choice[None], np.empty((0, 0)), as_parts(self.rows.utility)

        def part(begin: int, end: int) -> None:
            kernels.write_rows(
                *(*self.rows[1:4], utility, self.discount, choices, alone, stale, *chain, begin, end)
            )

        self.threads.share(part, len(choice), PIECES)
        self._written[stale] = choice[stale]
        return chain


def flow_order(chain: Chain, threads: StateThreads) -> Indices:
    """Order the states of each thread's range so that the most probable successors come first."""
    states = len(chain.stay)
    order, path, seen = np.empty(states, np.uint32), np.empty(states, np.uint32), np.zeros(states, bool)
    threads.share(lambda begin, end: kernels.flow_order(*chain[:4], path, seen, order, begin, end), states)
    return order


def transitions(
    chain: Chain, states: NDArray[np.intp] | slice = EVERY
) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """Return origin, target and weight γp of the transitions of `states` that are no self-loops.

    The origin is a place in `states`.
    """
    start = chain.start[states].astype(np.intp)
    length = chain.stop[states].astype(np.intp) - start
    origin = np.repeat(np.arange(len(length)), length)
    within = np.arange(len(origin)) - np.repeat(np.cumsum(length) - length, length)
    place = start[origin] + within
    return origin, chain.target[place].astype(np.intp), chain.weight[place]


def as_matrix(chain: Chain) -> Any:
    """Return γP as a sparse matrix, (S, S)."""
    states = np.arange(len(chain.stay))
    origin, target, weight = transitions(chain)
    places = np.append(origin, states), np.append(target, states)
    return scipy.sparse.csr_array((np.append(weight, chain.stay), places), (len(states), len(states)))


def bandwidth(matrix: Any) -> int:
    """Return how far a state leads, at most, in a good numbering of a sparse matrix (S, S), that of Cuthill and McKee in reverse."""
    pattern = scipy.sparse.csr_array(matrix)
    order = scipy.sparse.csgraph.reverse_cuthill_mckee(pattern, symmetric_mode=False)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    rows = np.repeat(np.arange(len(order)), np.diff(pattern.indptr))
    return int(np.abs(place[rows] - place[pattern.indices]).max(initial=0))
