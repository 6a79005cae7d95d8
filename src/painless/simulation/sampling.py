"""Draws from the rows of a table, compiled, with random numbers by counter.

A stream is a key, drawn once from the run's NumPy Generator. Its number at position i needs no other
(SplitMix64, Steele, Lea & Flood 2014; all arithmetic modulo 2⁶⁴):

    z = key + (i + 1)·0x9E3779B97F4A7C15
    z = (z ⊕ z≫30)·0xBF58476D1CE4E5B9,    z = (z ⊕ z≫27)·0x94D049BB133111EB,    bits = z ⊕ z≫31
    uniform = (bits≫11)·2⁻⁵³ ∈ [0, 1)

So a kernel and a NumPy reference that visit the positions in different orders see the same numbers.

A row of probabilities is kept as its running sums, divided by the last. The draw of u is the number of sums that are
at most u: entries of probability 0 are never drawn, whatever the rounding. Rows follow each other as in a CSR
matrix. A row with one entry takes no random number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.compiling import njit
from painless.common.errors import InputError
from painless.problem import CMDP
from painless.problem.transitions import require_sound

Indices = NDArray[np.int64]

SHORT = 16  # rows up to this length are counted through without a branch, which is faster than bisection


@njit
def uniform(key: np.uint64, position: int) -> float:
    """Return the number at a position of a stream, in [0, 1)."""
    z = key + (np.uint64(position) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


def uniforms(key: np.uint64, positions: Indices) -> Array:
    """Return the numbers at some positions of a stream: NumPy's `uniform`, the reference for the kernel.

    >>> uniforms(np.uint64(7), np.arange(3)).round(3)
    array([0.39 , 0.017, 0.901])
    """
    z = key + (positions.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def stream(rng: np.random.Generator) -> np.uint64:
    """Draw the key of a new stream."""
    return np.uint64(rng.integers(0, 2**64, dtype=np.uint64))


@njit
def draw(cumulative: Array, start: int, stop: int, u: float) -> int:
    """Return the first index k in start..stop − 1 with u < cumulative[k]; the last where there is none."""
    low, high = start, stop - 1
    while high - low > SHORT:
        middle = (low + high) // 2
        if u >= cumulative[middle]:
            low = middle + 1
        else:
            high = middle
    index = low
    for k in range(low, high):
        index += u >= cumulative[k]
    return index


def row_sums(pointer: Indices, probability: Array) -> Array:
    """Return the running sums of every row, divided by the row's total; a row without entries stays empty."""
    result = probability.copy()
    to_running_sums(pointer, result)
    return result


@njit
def to_running_sums(pointer: Indices, sums: Array) -> None:
    """Turn the probabilities of every row into their running sums, divided by the row's total, in place."""
    for row in range(len(pointer) - 1):
        total = 0.0
        for k in range(pointer[row], pointer[row + 1]):
            total += sums[k]
            sums[k] = total
        for k in range(pointer[row], pointer[row + 1]):
            sums[k] /= total


class TableSampler(NamedTuple):
    """A table laid out for kernels; row s·A + a is the pair (s, a). Masked pairs have no successors.

    >>> import painless
    >>> sampler = table_sampler(painless.gridworld())
    >>> sampler.successor[sampler.pointer[21 * 4]]  # left of state 21
    np.int64(20)
    """

    pointer: Indices  # (S·A + 1,) where each row's successors begin
    successor: Indices  # (nnz,)
    probability: Array  # (nnz,) positive, with sum 1 in each row
    cumulative: Array  # (nnz,)
    state: Indices  # (S·A,)
    utility: Array  # (S·A, J)


def table_sampler(problem: CMDP) -> TableSampler:
    """Lay a problem out for kernels, with memory for its positive probabilities only.

    The same probabilities give the same sampler, whether the model is dense or sparse.
    """
    states, actions, constraints = problem.shape
    require_sound(problem.transition)
    problem.require_discount("sampling")
    pair, successor, probability = _entries(problem)
    count = np.bincount(pair, minlength=states * actions)
    if not count[problem.actions.reshape(-1)].all():
        raise InputError("transitions have changed since the problem was made: a row is empty; make it again")
    pointer = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    cumulative = row_sums(pointer, probability)
    total = np.bincount(pair, probability, minlength=states * actions)
    return TableSampler(
        pointer=pointer,
        successor=successor,
        probability=probability / total[pair],
        cumulative=cumulative,
        state=np.repeat(np.arange(states, dtype=np.int64), actions),
        utility=np.array(problem.utility.reshape(1 + constraints, -1).T, order="C"),
    )


def _entries(problem: CMDP) -> tuple[Indices, Indices, Array]:
    """Return pairs, successors and probabilities, where these are positive and the pairs available."""
    available, kernel = problem.actions.reshape(-1), problem.transition
    if isinstance(kernel, np.ndarray):
        flat = kernel.reshape(len(available), -1)
        row, column = np.nonzero((flat > 0) & available[:, None])
        return row.astype(np.int64), column.astype(np.int64), flat[row, column]
    pair = np.repeat(np.arange(len(available), dtype=np.int64), np.diff(kernel.indptr))
    kept = (kernel.data > 0) & available[pair]
    return pair[kept], kernel.indices[kept].astype(np.int64), kernel.data[kept]


def policy_sums(policy: Array) -> Array:
    """Return the running sums of a policy (S, A) as rows of a table, (S·A,)."""
    pointer = np.arange(0, policy.size + 1, policy.shape[1], dtype=np.int64)
    return row_sums(pointer, np.array(policy, order="C").reshape(-1))


@njit
def draw_row(pointer: Indices, cumulative: Array, row: int, key: np.uint64, position: int) -> int:
    """Draw an entry of a row with the number at a position of a stream; a single entry needs none."""
    start, stop = pointer[row], pointer[row + 1]
    if stop - start > 1:
        return draw(cumulative, start, stop, uniform(key, position))
    return start
