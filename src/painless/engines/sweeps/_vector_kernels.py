"""Numba kernels on vectors of values (S, J), for ranges of states: sums and steps with a factor for each utility."""

from __future__ import annotations

from painless.common.arrays import Array
from painless.common.compiling import njit


@njit
def dot(one: Array, other: Array, found: Array, begin: int, end: int) -> None:
    """Write Σ_s x(s)·y(s) over begin..end − 1 to `found`, (J,)."""
    for j in range(one.shape[1]):
        total = 0.0
        for s in range(begin, end):
            total += one[s, j] * other[s, j]
        found[j] = total


@njit
def ends(vector: Array, low: Array, high: Array, begin: int, end: int) -> None:
    """Write the least and the largest entries over begin..end − 1 to `low` and `high`, (J,)."""
    for j in range(vector.shape[1]):
        for s in range(begin, end):
            low[j], high[j] = min(low[j], vector[s, j]), max(high[j], vector[s, j])


@njit
def step(
    size: Array, along: Array, product: Array, value: Array, residual: Array, begin: int, end: int
) -> None:
    """V += size·along and r −= size·product over begin..end − 1, with a size for each utility, (J,)."""
    for s in range(begin, end):
        for j in range(value.shape[1]):
            value[s, j] += size[j] * along[s, j]
            residual[s, j] -= size[j] * product[s, j]


@njit
def turn(
    beta: Array, omega: Array, along: Array, residual: Array, moved: Array, begin: int, end: int
) -> None:
    """P = r + β(p − ωv) over begin..end − 1, in place of p."""
    for s in range(begin, end):
        for j in range(along.shape[1]):
            along[s, j] = residual[s, j] + beta[j] * (along[s, j] - omega[j] * moved[s, j])


@njit
def shift(amount: Array, value: Array, begin: int, end: int) -> None:
    """V += amount over begin..end − 1, with an amount for each utility, (J,)."""
    for s in range(begin, end):
        for j in range(value.shape[1]):
            value[s, j] += amount[j]


@njit
def weighted(weight: Array, value: Array, found: Array, begin: int, end: int) -> float:
    """Write Σ_j w_j V_j over begin..end − 1 to `found`, (S,), and return the largest absolute value."""
    largest = 0.0
    for s in range(begin, end):
        total = 0.0
        for j in range(value.shape[1]):
            total += weight[j] * value[s, j]
        found[s] = total
        largest = max(largest, abs(total))
    return largest
