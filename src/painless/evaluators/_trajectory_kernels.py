"""The normal equations of LSTDQ over binary features, compiled."""

from __future__ import annotations

from painless.common.arrays import Array
from painless.common.compiling import njit
from painless.features.base import Indices


@njit
def normal_equations(
    active: Indices,
    following: Indices,
    probabilities: Array,
    utilities: Array,
    discount: float,
    row_of: Indices,
    column_of: Indices,
    previous: Array,
    known: Array,
    columns: Indices,
    ahead: Indices,
    shares: Array,
    matrix: Array,
    right: Array,
) -> None:
    """Add Σ φ(φ − γ Σ_a π(a|s')φ(s', a))ᵀ on some rows and columns to `matrix`, and Σ φ·u to `right`, (rows, J).

    `active` (N, m) are the features of each pair, `following` (N, A, m) those of the successor, and
    `probabilities` (N, A) the policy there, all 0 where the episode ended. A feature without a column has
    its weight fixed at `previous` (J, d) and moves to the right-hand side. `known` (J,), `columns` (m,), `ahead` and
    `shares` (A·m,) are scratch space.
    """
    count, features = active.shape
    actions, kinds = probabilities.shape[1], utilities.shape[1]
    for n in range(count):
        for j in range(kinds):
            known[j] = utilities[n, j]
        for k in range(features):
            columns[k] = column_of[active[n, k]]
        entries = 0  # of the successor, in columns `ahead` with weights `shares`
        for a in range(actions):
            share = discount * probabilities[n, a]
            if share > 0:
                for k in range(features):
                    feature = following[n, a, k]
                    if column_of[feature] >= 0:
                        ahead[entries], shares[entries] = column_of[feature], share
                        entries += 1
                    else:
                        for j in range(kinds):
                            known[j] += share * previous[j, feature]
        for i in range(features):
            row = row_of[active[n, i]]
            for k in range(features):
                matrix[row, columns[k]] += 1.0
            for e in range(entries):
                matrix[row, ahead[e]] -= shares[e]
            for j in range(kinds):
                right[row, j] += known[j]
