"""What is to come of the slowest part of an error, compiled. The equations are in `total_pricing`."""

from __future__ import annotations

import numpy as np

from painless.common.arrays import Array
from painless.common.compiling import njit


@njit
def add_the_rest(before: Array, value: Array, slowest: Array, rate: float) -> None:
    """Add to `value` = T`before`, (S, J), what is to come of the part along φ = `slowest` (S,), with Pφ = λφ.

    A change a·φ is followed by a·λ/(1−λ)·φ; a is found by least squares.
    """
    states, utilities = value.shape
    norm, share = 0.0, np.zeros(utilities)
    for s in range(states):
        norm += slowest[s] * slowest[s]
        for j in range(utilities):
            share[j] += slowest[s] * (value[s, j] - before[s, j])
    if norm > 0:
        share *= rate / ((1 - rate) * norm)
        for s in range(states):
            for j in range(utilities):
                value[s, j] += share[j] * slowest[s]
