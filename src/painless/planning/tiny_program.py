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

from painless.common.arrays import Array

Basis = NDArray[np.intp]  # (K + 1,) columns

PRECISION = 1e-12  # of reduced gains, in units where the entries are about 1
HOLDS = 1e-9


class ProgramSolution(NamedTuple):
    """The weights of all columns, the multipliers (K,) and the value."""

    weights: Array
    multiplier: Array
    value: float


def maximise(reward: Array, slack: Array, policies: int, basis: Basis) -> ProgramSolution | None:
    """Solve the program with columns `reward` (n,) and `slack` (n, K), the first `policies` on the simplex.

    `basis` names K + 1 columns; n + i stands for the surplus of row i. None if rounding spoils the result.

    >>> best = maximise(np.array([1.0, 0.0, -9.0]), np.array([[-0.25], [0.75], [1.0]]), 2, np.array([0, 2]))
    >>> best.weights.round(12), best.multiplier.round(12), round(best.value, 12)
    (array([0.75, 0.25, 0.  ]), array([1.]), 0.75)
    """
    count, rows = slack.shape
    matrix = np.zeros((rows + 1, count + rows + 1))  # the last column is the right-hand side
    matrix[:rows, :count] = slack.T
    matrix[:rows, count:-1] = -np.eye(rows)
    matrix[rows, :policies] = matrix[rows, -1] = 1.0
    gain = np.zeros(count + rows + 1)
    gain[:count] = reward
    try:
        last = _pivoted(matrix, gain, basis)
        if last is None:
            return None
        solution = np.linalg.solve(matrix[:, last], matrix[:, -1])
        price = np.linalg.solve(matrix[:, last].T, gain[last])
    except np.linalg.LinAlgError:
        return None
    most = float((gain - price @ matrix)[:-1].max())
    if not (solution.min() >= -HOLDS and most <= HOLDS * (1.0 + float(np.abs(price).max()))):
        return None
    weights = np.zeros(count + rows)
    weights[last] = np.maximum(solution, 0.0)
    return ProgramSolution(weights[:count], np.maximum(-price[:-1], 0.0), float(price[-1]))


def _pivoted(matrix: Array, gain: Array, start: Basis) -> list[int] | None:
    """Go from basis to basis, from `start` on, to one where no column gains; None if that fails."""
    tableau = np.empty((len(matrix) + 1, len(gain)))  # the last row holds the reduced gains
    tableau[:-1] = np.linalg.solve(matrix[:, start], matrix)
    tableau[-1] = gain - gain[start] @ tableau[:-1]
    reduced, right, basis = tableau[-1, :-1], tableau[:-1, -1], start.tolist()
    size, idle = np.abs(gain).tolist(), 0
    for _ in range(200 * len(gain)):
        least = PRECISION * (1.0 + max([size[k] for k in basis]))
        enter = int((reduced > least).argmax() if idle > 4 * len(basis) else reduced.argmax())
        most = float(reduced[enter])
        if not most > least:
            return basis
        column = tableau[:, enter]
        leave, step = _leaving(column[:-1].tolist(), right.tolist(), basis)
        if leave < 0:
            return None
        idle = 0 if step * most > PRECISION else idle + 1
        row = tableau[leave] / column[leave]
        tableau -= column[:, None] * row
        tableau[leave] = row
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
