"""A model of its transitions: rows (s, a, s', p, utilities…) as a sparse matrix and tables of utilities.

    P(s'|s, a) = Σ p over the rows of (s, a, s'),      u(s, a) = Σ p·u over the rows of (s, a)

A pair without rows is an action that the state does not have.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask
from painless.problem.transitions import checked_transition, sparse_divisors


class Rows(NamedTuple):
    """Transitions, one a row."""

    state: NDArray[np.intp]  # (N,)
    action: NDArray[np.intp]  # (N,)
    successor: NDArray[np.intp]  # (N,)
    probability: Array  # (N,)
    utility: Array  # (J, N)
    shape: tuple[int, int]  # (S, A)

    @property
    def pair(self) -> NDArray[np.intp]:
        """s·A + a of each row, (N,)."""
        return self.state * self.shape[1] + self.action


class Model(NamedTuple):
    """What a problem is made of."""

    transition: scipy.sparse.csr_array[np.float64]  # (S·A, S)
    utility: Array  # (J, S, A)
    actions: Mask  # (S, A)


def assemble(rows: Rows) -> Model:
    """Return the model of some transitions; rejects those of a pair that do not sum to 1."""
    states, n_actions = rows.shape
    pair, pairs = rows.pair, states * n_actions
    kernel = scipy.sparse.csr_array((rows.probability, (pair, rows.successor)), shape=(pairs, states))
    available = np.bincount(pair, minlength=pairs).reshape(rows.shape) > 0
    probability = rows.probability / _divisors(kernel, available)[pair]
    utility = np.array([np.bincount(pair, probability * column, pairs) for column in rows.utility])
    return Model(kernel, utility.reshape(-1, *rows.shape), available)


def with_stops(rows: Rows, end: Mask, *, only: bool = False) -> Rows:
    """Return the transitions with one more for each state in which the process ends and that has none: it stays there.

    With `only`, in the place of those that such states have.
    """
    if only:
        kept = ~end[rows.state]
        rows = rows._replace(
            state=rows.state[kept],
            action=rows.action[kept],
            successor=rows.successor[kept],
            probability=rows.probability[kept],
            utility=rows.utility[:, kept],
        )
    new = np.flatnonzero(end & (np.bincount(rows.state, minlength=len(end)) == 0))
    count = len(new)
    return Rows(
        np.append(rows.state, new),
        np.append(rows.action, np.zeros(count, dtype=rows.action.dtype)),
        np.append(rows.successor, new),
        np.append(rows.probability, np.ones(count)),
        np.hstack([rows.utility, np.zeros((len(rows.utility), count))]),
        rows.shape,
    )


def shares(rows: Rows) -> Array:
    """Return counts as probabilities, n/Σn over the rows of a pair, (N,)."""
    total = np.bincount(rows.pair, rows.probability)[rows.pair]
    return np.divide(rows.probability, total, out=np.zeros_like(total), where=total > 0)


def _divisors(kernel: scipy.sparse.csr_array[np.float64], available: Mask) -> Array:
    """Return what the probabilities of each pair are divided by as they are normalised, (S·A,)."""
    checked_transition(kernel, available, copy=False)  # rejects what is no distribution
    sums = np.asarray(kernel @ np.ones(kernel.shape[1]))
    divisors = sparse_divisors(kernel.data, kernel.indptr, sums, available.ravel())
    return np.ones(len(sums)) if divisors is None else divisors
