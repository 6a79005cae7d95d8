"""A simplex method for the master program with few rows, done before a general solver has started up.

    max Σ_k x_k r_k   subject to   Σ_k x_k s_k ≥ 0,   Σ_k∈policies x_k = 1,   x ≥ 0

Columns k are policies with reward r_k and slacks s_k (K,), and penalties: columns outside the simplex row, which
make up for missing slack at a price. With one penalty for each constraint the price bounds its multiplier;
with a single one for all, and thresholds raised out of reach, the program is the largest joint slack. So a basis to
start from always exists. The largest reduced gain enters; after many steps without progress the first one does
(Bland 1977), which cannot cycle. The result is recomputed from its basis, and rejected if it does not hold.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.arrays import Array

Basis = NDArray[np.intp]  # (K + 1,) columns

PRECISION = 1e-12  # of reduced gains, in units where the entries are about 1
HOLDS = 1e-9


class Optimum(NamedTuple):
    """The weights of all columns, the multipliers (K,) and the value."""

    weights: Array
    multiplier: Array
    value: float


def maximise(reward: Array, slack: Array, policies: int, basis: Basis) -> Optimum | None:
    """Solve the program with columns `reward` (n,) and `slack` (n, K), the first `policies` on the simplex.

    `basis` names K + 1 columns; n + i stands for the surplus of row i. None if rounding spoils the result.

    >>> best = maximise(np.array([1.0, 0.0, -9.0]), np.array([[-0.25], [0.75], [1.0]]), 2, np.array([0, 2]))
    >>> best.weights.round(12), best.multiplier.round(12), round(best.value, 12)
    (array([0.75, 0.25, 0.  ]), array([1.]), 0.75)
    """
    count, rows = slack.shape
    matrix = np.zeros((rows + 1, count + rows))
    matrix[:rows, :count] = slack.T
    matrix[np.arange(rows), count + np.arange(rows)] = -1.0
    matrix[rows, :policies] = 1.0
    gain = np.zeros(count + rows)
    gain[:count] = reward
    try:
        last = _pivoted(matrix, gain, basis)
        if last is None:
            return None
        chosen = matrix[:, last]
        solution = np.linalg.solve(chosen, np.eye(rows + 1)[-1])
        price = np.linalg.solve(chosen.T, gain[last])
    except np.linalg.LinAlgError:
        return None
    most = float((gain - price @ matrix).max())
    if not (solution.min() >= -HOLDS and most <= HOLDS * (1.0 + float(np.abs(price).max()))):
        return None
    weights = np.zeros(count + rows)
    weights[last] = np.maximum(solution, 0.0)
    return Optimum(weights[:count], np.maximum(-price[:-1], 0.0), float(price[-1]))


def _pivoted(matrix: Array, gain: Array, basis: Basis) -> Basis | None:
    """Pivot, with a fresh inverse at each step, until no column gains; None if that fails."""
    basis, idle = basis.copy(), 0
    for _ in range(200 * len(gain)):
        inverse, mine = np.linalg.inv(matrix[:, basis]), gain[basis]
        least = PRECISION * (1.0 + float(np.abs(mine).max()))
        reduced = gain - mine @ inverse @ matrix
        reduced[basis] = 0.0
        enter = int((reduced > least).argmax() if idle > 4 * len(basis) else reduced.argmax())
        if not reduced[enter] > least:
            return basis
        leave, step = _leaving((inverse @ matrix[:, enter]).tolist(), inverse[:, -1].tolist(), basis.tolist())
        if leave < 0:
            return None
        idle = 0 if step * reduced[enter] > PRECISION else idle + 1
        basis[leave] = enter
    return None


def _leaving(column: list[float], right: list[float], basis: list[int]) -> tuple[int, float]:
    """Return which row of the basis falls to 0 first (of ties, the one with the first column), and when."""
    leave, least = -1, np.inf
    for i, (fall, held) in enumerate(zip(column, right, strict=True)):
        if fall > PRECISION:
            ratio = max(held, 0.0) / fall
            if ratio < least or (ratio == least and basis[i] < basis[leave]):
                leave, least = i, ratio
    return leave, least
