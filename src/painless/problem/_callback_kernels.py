"""Numba kernels that call a user's functions: the successors of a pair, its utilities, and a check of all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.compiling import specialised

GUARD = 256  # room behind the successors of a pair, for functions that write more than they said
HALF_ULP = 2.0**-53
SUM_TOLERANCE = 1e-8

# What may be wrong with a pair; 0 for nothing.
COUNT, TARGET, PROBABILITY, SUM, UTILITY, ACTIONLESS = 1, 2, 3, 4, 5, 6


@specialised
def row(successors: Any, s: int, a: int, target: NDArray[np.int64], probability: Array) -> int:
    """Write the successors of a pair and their probabilities, which sum to 1 up to rounding; return how many there are."""
    count = successors(s, a, target, probability)
    total = 0.0
    for k in range(count):
        total += probability[k]
    if abs(total - 1.0) > (2 * count + 2) * HALF_ULP:
        for k in range(count):
            probability[k] /= total
    return count


@specialised
def check(
    successors: Any,
    write: Any,
    states: int,
    actions: int,
    most: int,
    low: Array,
    high: Array,
    first: NDArray[np.unsignedinteger],
    begin: int,
    end: int,
) -> tuple[int, int, int, int, float]:
    """Check all pairs of begin..end − 1, and return what is wrong with the first that is: what, state, action, count, number.

    `low` and `high` receive the range of each utility, and `first` the first action of each state.
    """
    target, probability = np.empty(most + GUARD, np.int64), np.empty(most + GUARD)
    utility = np.empty(len(low))
    low[:], high[:] = np.inf, -np.inf
    for s in range(begin, end):
        found = False
        for a in range(actions):
            count = successors(s, a, target, probability)
            if count == 0:
                continue
            if count < 0 or count > most:
                return COUNT, s, a, count, 0.0
            total = 0.0
            for k in range(count):
                if target[k] < 0 or target[k] >= states:
                    return TARGET, s, a, count, float(target[k])
                if not 0.0 <= probability[k] <= np.inf:
                    return PROBABILITY, s, a, count, probability[k]
                total += probability[k]
            if not abs(total - 1.0) <= SUM_TOLERANCE:
                return SUM, s, a, count, total
            write(s, a, utility)
            for j in range(len(utility)):
                if not np.isfinite(utility[j]):
                    return UTILITY, s, a, j, utility[j]
                low[j], high[j] = min(low[j], utility[j]), max(high[j], utility[j])
            if not found:
                found, first[s] = True, a
        if not found:
            return ACTIONLESS, s, 0, 0, 0.0
    return 0, 0, 0, 0, 0.0
