"""Policy iteration on slowly mixing models: few steps, each with the values of one policy by `multilevel`.

The first policy is greedy for the values of the uniform policy, which see rewards from anywhere in the model: from there policy iteration
takes a handful of steps where it takes hundreds from a bad start. If the uniform policy leads to many more states than others do, its values cost more than some
steps, and come into play only where these do not suffice. The values of a policy are found to a share of the largest improvement,
η·max(TV − V) (inexact policy iteration; Gargiani et al. 2024), and only for the weighted utility.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from painless.common.arrays import Array
from painless.engines.sweeps import _multilevel_kernels as kernels
from painless.engines.sweeps.chain import Chain
from painless.engines.sweeps.multilevel import Multilevel, width_of
from painless.engines.sweeps.sparse_rows import Indices, SparseRows

INEXACT = 0.02  # residual of a policy's values, relative to the range of the last improvement
# Transitions of the uniform policy, relative to those of one that takes pairs with the most successors, above which its values are dear; steps that are tried without them.
SPREAD, UNAIDED = 3.0, 10
TRIES = 60  # times that a policy is evaluated and improved again; usually a few suffice
# Policy iteration is given up after so many steps in a row that leave more than this share of the range.
STEADY, IDLE = 0.7, 6
# Residuals of the uniform policy's values, relative to the utilities: rough ones suffice unless values are nearly the same in much of the
# model, as far from rewards, where tiny differences show the way.
ROUGH, UNIFORM = 1e-3, 1e-13
FLAT = 0.05  # the middle half of all values is the same if its range is a smaller share of the whole one
FEW = 20_000  # transitions of all pairs up to which rows are averaged without a compiled kernel, which takes longer to compile than it saves


class Progress:
    """Whether policy iteration still closes in; `credit` more steps in a row need not, as where it has served at so many prices before.

    Values improve in every step, but the range of the next improvement may jump, as where new weights make a policy good that the last ones
    hid; what counts is whether it shrinks from there.

    >>> progress = Progress()
    >>> any(progress.has_ended(width) for width in (0.4, 31.0, 7.4, 3.1, 1.1, 1.0, 0.9, 0.8))
    False
    >>> [progress.has_ended(0.8) for _ in range(4)]
    [False, False, True, True]
    """

    def __init__(self, credit: int = 0) -> None:
        self._last, self._idle, self._steps, self._patience = np.inf, 0, 0, IDLE + max(credit, 0)

    def has_ended(self, width: float) -> bool:
        """Count one more step, which left a range of this width; return whether to give up."""
        self._idle = 0 if width < STEADY * self._last else self._idle + 1
        self._last = width
        self._steps += 1
        return self._idle >= self._patience or self._steps > TRIES


def evaluate_inexactly(levels: Multilevel, chain: Chain, weight: Array, value: Array, goal: float) -> float:
    """Bring `value` (S,), in place, to those of a chain for weights (J,) of the utilities; return the width of the residual's range."""
    return levels.improve(np.ascontiguousarray(chain.gain @ weight), value, width_of, goal)


def uniform_values(
    rows: SparseRows,
    discount: float,
    utility: Array,
    tick: Callable[[int], None],
    chain: Chain | None = None,
) -> Array:
    """Return the values (S,) of the uniform policy for the utility (N,) of each pair, so precise that they show the way from every state.

    `chain` is that of the policy, if it is known.
    """
    chain = uniform_chain(rows, discount)[0] if chain is None else chain
    pairs = np.diff(rows.first)
    right = np.add.reduceat(utility, rows.first[:-1].astype(np.intp)) / pairs
    value = np.zeros(len(pairs))
    levels = Multilevel.of(chain, tick)
    size = float(np.abs(right).max())
    levels.improve(right, value, width_of, ROUGH * size)
    least, low, high, most = np.quantile(value, (0.0, 0.25, 0.75, 1.0))
    if high - low < FLAT * (most - least):
        levels.improve(right, value, width_of, UNIFORM * size)
    return value


def uniform_chain(rows: SparseRows, discount: float = 1.0) -> tuple[Chain, Array]:
    """Return the chain of the uniform policy and its utilities, (J, S)."""
    uniform = _uniform_rows(rows, discount)
    begin, gain = rows.first[:-1].astype(np.intp), np.empty((len(rows.utility), len(uniform[4])))
    for j, own in enumerate(gain):
        np.add.reduceat(rows.utility[j], begin, out=own)
    gain /= np.diff(rows.first)
    return Chain(*uniform[:4], 1.0 - uniform[4], np.empty((len(uniform[4]), 0))), gain


def _uniform_rows(rows: SparseRows, discount: float) -> tuple[Indices, Indices, Indices, Array, Array]:
    """Return I − γP of the uniform policy as rows without repeated successors, and its diagonal."""
    if len(rows.successor) <= FEW:
        return _averaged_by_product(rows, discount)
    states = len(rows.first) - 1
    begin, pairs = np.empty(states + 1, np.uint32), (rows.first, rows.pointer, rows.successor)
    kernels.count_successors(*pairs, np.full(states, states, np.uint32), begin)
    to, mass, diagonal = np.empty(begin[-1], np.uint32), np.empty(begin[-1]), np.empty(states)
    unmarked = np.full(states, -1, np.intp)
    kernels.average_rows(*pairs, rows.probability, discount, begin, (to, mass, diagonal), unmarked)
    return begin[:-1], begin[1:], to, mass, diagonal


def _averaged_by_product(rows: SparseRows, discount: float) -> tuple[Indices, Indices, Indices, Array, Array]:
    """Return the same rows as a product of sparse matrices, which takes three times as long and needs no compiling."""
    states, pairs = len(rows.first) - 1, len(rows.pointer) - 1
    taken = np.diff(rows.first)
    share = np.repeat(discount / taken, taken), np.arange(pairs), rows.first.astype(np.intp)
    parts = rows.probability, rows.successor.astype(np.intp), rows.pointer.astype(np.intp)
    averaged: Any = scipy.sparse.csr_array(share, shape=(states, pairs)) @ scipy.sparse.csr_array(
        parts, shape=(pairs, states)
    )
    origin = np.repeat(np.arange(states), np.diff(averaged.indptr))
    leaves = averaged.indices != origin
    begin = np.zeros(states + 1, np.uint32)
    np.cumsum(np.bincount(origin[leaves], minlength=states), out=begin[1:])
    to = averaged.indices[leaves].astype(np.uint32)
    return begin[:-1], begin[1:], to, averaged.data[leaves], np.asarray(1.0 - averaged.diagonal())
