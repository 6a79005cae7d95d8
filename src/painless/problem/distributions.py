"""Distributions as they are stored: which rows stay as they are, and which are divided by their sum.

What is solved is the problem of the exact quotients p/Σp. A row with n positive entries whose sum, correctly rounded, is
within n·2⁻⁵² of 1 stays as it is, bit for bit; another that is close enough to be accepted is divided by that sum, once:

    |Σ p/σ − 1| ≤ 2·2⁻⁵³ + O(2⁻¹⁰⁶)        σ = (1 + δ)·Σp,   each quotient off by a relative 2⁻⁵³ at most,   |δ| ≤ 2⁻⁵³

so that a row of two or more entries that was divided stays as it is ever after, and a single entry is 1.

A plain sum of n positive numbers, in any order, is off by (n − 1)·2⁻⁵³ at most. Where it is within n·2⁻⁵³ of 1, the row
stays, then; only the others are summed with care. Zeros take no part, so that dense and sparse rows are treated alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import fsum

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask

HALF_ULP = 2.0**-53
PIECE = 2**20  # numbers that are summed at a time

Indices = NDArray[np.signedinteger]


def normalised(rows: Array, where: Mask | bool = True) -> Array:
    """Return rows (..., n) divided by their sums where they need it; the same array where none does.

    >>> exact = np.array([[0.25, 0.75], [0.1, 0.9]])
    >>> normalised(exact) is exact
    True
    >>> round(float(normalised(np.array([0.5, 0.5 + 2e-9])).sum()), 15)
    1.0
    """
    flat, ones = rows.reshape(-1, rows.shape[-1]), np.ones(rows.shape[-1])
    every = range(0, len(flat), max(PIECE // max(len(ones), 1), 1))
    known = [np.flatnonzero(np.abs(flat[k : k + every.step] @ ones - 1) > HALF_ULP) + k for k in every]
    unsure = np.concatenate([np.empty(0, dtype=np.intp), *known])
    unsure = unsure[np.broadcast_to(where, rows.shape[:-1]).reshape(-1)[unsure]]
    if not len(unsure):
        return rows
    divisor = np.ones(len(flat))
    for part in _parts(unsure, len(ones)):
        picked = flat[part]
        off = np.abs(picked @ ones - 1) > np.count_nonzero(picked, 1) * HALF_ULP
        divisor[part[off]] = [_divisor(row) for row in picked[off].tolist()]
    return rows if (divisor == 1).all() else rows / divisor.reshape(*rows.shape[:-1], 1)


def sparse_divisors(data: Array, pointer: Indices, sums: Array, where: Mask) -> Array | None:
    """Return what each row of a CSR matrix is to be divided by, (N,); None if all stay as they are.

    `sums` (N,) are the plain sums of the rows, `where` (N,) the rows that count.
    """
    off = np.flatnonzero((np.abs(sums - 1) > np.diff(pointer) * HALF_ULP) & where)
    divisor = np.ones(len(sums) if len(off) else 0)
    longest = int(np.diff(pointer)[off].max(initial=1))
    for part in _parts(off, longest):
        divisor[part] = [
            _divisor(data[i:j].tolist()) for i, j in zip(pointer[part], pointer[part + 1], strict=True)
        ]
    return None if (divisor == 1).all() else divisor


def _divisor(row: list[float]) -> float:
    total = fsum(row)
    return 1.0 if abs(total - 1) <= 2 * HALF_ULP * (len(row) - row.count(0.0)) else total


def _parts(rows: NDArray[np.intp], width: int) -> Iterator[NDArray[np.intp]]:
    size = max(PIECE // width, 1)
    return (rows[k : k + size] for k in range(0, len(rows), size))
