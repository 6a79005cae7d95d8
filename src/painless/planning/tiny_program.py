"""The master program by a simplex method of its own, for a few rows: what a general solver starts up in, it is done in.

    max Σ_k x_k r_k   subject to   Σ_k x_k s_k ≥ 0,   Σ_k∈policies x_k = 1,   x ≥ 0

Columns k are policies with reward r_k and slacks s_k (K,), and penalties: columns outside the simplex row, which
make up for missing slack at a price. With one penalty for each constraint the price bounds its multiplier;
with a single one for all, and thresholds raised out of reach, the program is the largest joint slack. So a basis to
start from always exists. The largest reduced gain enters; after many steps without progress the first one does
(Bland 1977), which cannot cycle. The result is computed anew from its basis, and refused where it does not hold.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.arrays import Array
from painless.compiling import njit

PRECISION = 1e-12  # of reduced gains, in units where the entries are about 1
HOLDS = 1e-9


class Optimum(NamedTuple):
    """The weights of all columns, the multipliers (K,) and the value."""

    weights: Array
    multiplier: Array
    value: float


def maximise(reward: Array, slack: Array, policies: int, basis: NDArray[np.intp]) -> Optimum | None:
    """Solve the program with columns `reward` (n,) and `slack` (n, K), the first `policies` on the simplex.

    `basis` names K + 1 columns; n + i stands for the surplus of row i. None where rounding spoils the result.

    >>> best = maximise(np.array([1.0, 0.0, -9.0]), np.array([[-0.25], [0.75], [1.0]]), 2, np.array([0, 2]))
    >>> best.weights.round(12), best.multiplier.round(12), round(best.value, 12)
    (array([0.75, 0.25, 0.  ]), array([1.]), 0.75)
    """
    try:
        holds, weights, price = _maximise(reward, np.ascontiguousarray(slack), policies, basis)
    except np.linalg.LinAlgError:
        return None
    if not holds:
        return None
    return Optimum(weights, np.maximum(-price[:-1], 0.0), float(price[-1]))


@njit(cache=True)
def pivot(tableau: Array, gain: Array, basis: NDArray[np.intp], limit: int) -> bool:
    """Bring the tableau (K + 1, n + K + 1) to its optimum, in place; say whether it got there."""
    rows, columns = tableau.shape[0], tableau.shape[1] - 1
    idle = 0
    for _ in range(limit):
        enter, most = -1, PRECISION * (1.0 + np.abs(gain[basis]).max())
        for k in range(columns):
            reduced = gain[k]
            for i in range(rows):
                reduced -= gain[basis[i]] * tableau[i, k]
            if reduced > most:
                enter, most = k, reduced
                if idle > 4 * rows:
                    break
        if enter < 0:
            return True
        leave, least = -1, np.inf
        for i in range(rows):
            if tableau[i, enter] > PRECISION:
                ratio = max(tableau[i, -1], 0.0) / tableau[i, enter]
                if ratio < least or (ratio == least and basis[i] < basis[leave]):
                    leave, least = i, ratio
        if leave < 0:
            return False
        idle = 0 if least * most > PRECISION else idle + 1
        tableau[leave] /= tableau[leave, enter]
        for i in range(rows):
            if i != leave:
                tableau[i] -= tableau[i, enter] * tableau[leave]
        basis[leave] = enter
    return False


@njit(cache=True)
def _maximise(
    reward: Array, slack: Array, policies: int, basis: NDArray[np.intp]
) -> tuple[bool, Array, Array]:
    """Return whether the result holds, the weights (n,), and the prices of all rows (K + 1,)."""
    count, rows = slack.shape
    matrix = np.zeros((rows + 1, count + rows))
    matrix[:rows, :count] = slack.T
    matrix[rows, :policies] = 1.0
    gain, right, weights = np.zeros(count + rows), np.zeros(rows + 1), np.zeros(count + rows)
    gain[:count] = reward
    right[rows] = 1.0
    for i in range(rows):
        matrix[i, count + i] = -1.0
    tableau = np.empty((rows + 1, count + rows + 1))
    tableau[:, :-1], tableau[:, -1] = matrix, right
    tableau = np.linalg.solve(np.ascontiguousarray(matrix[:, basis]), tableau)
    basis = basis.copy()
    if tableau[:, -1].min() < -HOLDS or not pivot(tableau, gain, basis, 200 * (count + rows)):
        return False, weights[:count], right
    chosen = np.ascontiguousarray(matrix[:, basis])
    solution = np.linalg.solve(chosen, right)
    price = np.linalg.solve(np.ascontiguousarray(chosen.T), gain[basis])
    scale = 1.0 + np.abs(price).max()
    weights[basis] = np.maximum(solution, 0.0)
    holds = solution.min() >= -HOLDS and (gain - price @ matrix).max() <= HOLDS * scale
    return holds, weights[:count], price
