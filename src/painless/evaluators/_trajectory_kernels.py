"""The normal equations of LSTDQ over binary features, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from painless.arrays import Array
from painless.features.base import Indices


@njit(cache=True)
def normal_equations(
    active: Indices,
    following: Indices,
    probabilities: Array,
    utilities: Array,
    discount: float,
    row_of: Indices,
    column_of: Indices,
    size: tuple[int, int],
    previous: Array,
) -> tuple[Array, Array]:
    """Return Σ φ(φ − γ Σ_a π(a|s')φ(s', a))ᵀ on some rows and columns, and Σ φ·u, (rows, J).

    `active` (N, m) are the features of each pair, `following` (N, A, m) those of the successor, and
    `probabilities` (N, A) the policy there, all 0 where the episode ended. A feature without a column has
    its weight fixed at `previous` (J, d) and moves to the right-hand side.
    """
    count, features = active.shape
    actions, kinds = probabilities.shape[1], utilities.shape[1]
    matrix = np.zeros(size)
    right = np.zeros((size[0], kinds))
    known = np.empty(kinds)
    for n in range(count):
        for j in range(kinds):
            known[j] = utilities[n, j]
        for a in range(actions):
            share = discount * probabilities[n, a]
            if share > 0:
                for k in range(features):
                    feature = following[n, a, k]
                    if column_of[feature] < 0:
                        for j in range(kinds):
                            known[j] += share * previous[j, feature]
        for i in range(features):
            row = matrix[row_of[active[n, i]]]
            for k in range(features):
                row[column_of[active[n, k]]] += 1.0
            for a in range(actions):
                share = discount * probabilities[n, a]
                if share > 0:
                    for k in range(features):
                        column = column_of[following[n, a, k]]
                        if column >= 0:
                            row[column] -= share
            for j in range(kinds):
                right[row_of[active[n, i]], j] += known[j]
    return matrix, right
