"""What proofs of totals look at in every row, compiled: one pass in the place of several arrays of all rows. `total_iteration` and `swept_total` have the equations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask
from painless.common.compiling import njit

Indices = NDArray[np.uint32]


@njit
def largest_excess(
    pointer: Indices,
    successor: Indices,
    probability: Array,
    state: Any,
    is_stop: Mask,
    utility: Array,
    value: Array,
    rounding: float,
) -> float:
    """Return the most by which a row (n,) may exceed the value of its state, or that stopping does; −∞ if there is no row, not a number if some is none."""
    largest = -np.inf
    for row in range(np.uint64(len(state))):
        here = value[np.uint64(state[row])]
        over = -here
        if not is_stop[row]:
            ahead, size = 0.0, 0.0
            for k in range(pointer[row], pointer[row + np.uint64(1)]):
                part = probability[k] * value[successor[k]]
                ahead += part
                size += abs(part)
            over = utility[row] + ahead - here + rounding * (size + abs(here) + abs(utility[row]))
        if over > largest or over != over:
            largest = over
            if over != over:
                return largest
    return largest


@njit
def policy_residuals(
    pointer: Indices,
    successor: Indices,
    probability: Array,
    utility: Array,
    choices: Any,
    shares: Array,
    value: Array,
    time: Array,
    rounding: float,
    left: Array,
) -> float:
    """Write the largest |u + PV − V| of a policy that takes one of several rows in each state, (n, N), with shares (n, N), for utilities (J, m) and values (N, J), rounded up, (J,).

    Return the least of W − PW, rounded down, for times W (N,).
    """
    held, columns, parts = np.inf, np.uint64(value.shape[1]), np.uint64(len(choices))
    left[:] = 0.0
    over, size = np.empty(columns), np.empty(columns)
    for s in range(np.uint64(choices.shape[1])):
        after = 0.0
        for j in range(columns):
            over[j], size[j] = -value[s, j], abs(value[s, j])
        for n in range(parts):
            share, row = shares[n, s], np.uint64(choices[n, s])
            if share > 0.0:
                for j in range(columns):
                    over[j] += share * utility[j, row]
                    size[j] += share * abs(utility[j, row])
                for k in range(pointer[row], pointer[row + np.uint64(1)]):
                    chance, t = share * probability[k], np.uint64(successor[k])
                    after += chance * time[t]
                    for j in range(columns):
                        over[j] += chance * value[t, j]
                        size[j] += chance * abs(value[t, j])
        held = min(held, time[s] - after - rounding * (time[s] + after))
        for j in range(columns):
            rest = abs(over[j]) + rounding * size[j]
            if rest > left[j] or rest != rest:
                left[j] = rest
    return held
