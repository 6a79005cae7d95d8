"""Policy iteration on slowly mixing models: few steps, each with the values of one policy by `multilevel`.

The first policy is greedy for the values of the uniform policy, which see rewards from anywhere in the model: from there policy iteration
takes a handful of steps where it takes hundreds from a bad start. The values of a policy are found to a share of the largest improvement,
η·max(TV − V) (inexact policy iteration; Gargiani et al. 2024), and only for the weighted utility.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from painless.common.arrays import Array
from painless.engines.sweeps import _multilevel_kernels as kernels
from painless.engines.sweeps.chain import Chain
from painless.engines.sweeps.multilevel import Multilevel, ordered_level, width_of
from painless.engines.sweeps.sparse_rows import Indices, SparseRows

INEXACT = 0.02  # residual of a policy's values, relative to the range of the last improvement
UNIFORM = 1e-13  # residual of the uniform policy's values, relative to the utilities: far from rewards, values are tiny


def evaluate_inexactly(
    chain: Chain, weight: Array, value: Array, goal: float, tick: Callable[[int], None]
) -> float:
    """Bring `value` (S,), in place, to those of a chain for weights (J,) of the utilities; return the width of the residual's range."""
    right = np.ascontiguousarray(chain.gain @ weight)
    return Multilevel.of(chain, tick).improve(right, value, width_of, goal)


def uniform_values(rows: SparseRows, discount: float, utility: Array, tick: Callable[[int], None]) -> Array:
    """Return the values (S,) of the uniform policy for the utility (N,) of each pair, nearly to full precision."""
    start, stop, target, weight, diagonal = _uniform_rows(rows, discount)
    pairs = np.diff(rows.first)
    right = np.add.reduceat(utility, rows.first[:-1].astype(np.intp)) / pairs
    value = np.zeros(len(pairs))
    levels = Multilevel.from_level(ordered_level(start, stop, target, weight, diagonal), tick)
    levels.improve(right, value, width_of, UNIFORM * float(np.abs(right).max()))
    return value


def uniform_chain(rows: SparseRows) -> tuple[Chain, Array]:
    """Return the chain of the uniform policy without a discount, and its utilities, (J, S)."""
    *parts, diagonal = _uniform_rows(rows, 1.0)
    gain = np.add.reduceat(rows.utility, rows.first[:-1].astype(np.intp), axis=1) / np.diff(rows.first)
    return Chain(*parts, 1.0 - diagonal, np.empty((len(diagonal), 0))), gain


def _uniform_rows(rows: SparseRows, discount: float) -> tuple[Indices, Indices, Indices, Array, Array]:
    """Return I − γP of the uniform policy as rows without repeated successors, and its diagonal."""
    states, pairs = len(rows.first) - 1, len(rows.pointer) - 1
    share = np.repeat(1.0 / np.diff(rows.first), np.diff(rows.first))
    weight = discount * rows.probability * np.repeat(share, np.diff(rows.pointer))
    begin, own = np.empty(states + 1, np.uint32), np.empty(states)
    to, mass = np.empty(len(weight), np.uint32), np.empty(len(weight))
    used = kernels.coarsen(
        *(rows.pointer[:-1], rows.pointer[1:], rows.successor, weight, share),
        *(np.arange(states, dtype=np.uint32), np.arange(pairs), rows.first.astype(np.intp)),
        *((begin, to, mass, own), np.full(states, -1, np.intp)),
    )
    return begin[:-1], begin[1:], to[:used].copy(), mass[:used].copy(), own
