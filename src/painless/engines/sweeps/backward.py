"""Backward induction over the rows of a sparse model, compiled: one pass finds the best actions and the values of all utilities.

    V_t(s) = max_a Σ_j w_j u_j(s, a) + γ Σ_s' P_t(s'|s, a) V_{t+1}(s'),        W_t(s) = u(s, a_s) + γ Σ_s' P_t(s'|s, a_s) W_{t+1}(s')

with W the values of all utilities and of their sizes |u|, (S, 2J). `FiniteHorizon` has the same equations in NumPy, for small and dense models.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from painless.common.arrays import Array, Mask
from painless.common.compiling import njit


@njit
def best_step(
    pointer: Any,
    successor: Any,
    probability: Array,
    utility: Array,
    mask: Mask,
    step: int,
    weight: Array,
    discount: float,
    ahead: Array,
    values_ahead: Array,
    actions: Any,
    value: Array,
    values: Array,
    begin: int,
    end: int,
) -> None:
    """Write the best actions of a step, (S,), their weighted value (S,), and W (S, 2J), on states begin..end − 1."""
    utilities, choices = utility.shape[0], utility.shape[3]
    for s in range(begin, end):
        best, at = -np.inf, 0
        for a in range(choices):
            if not mask[step, s, a]:
                continue
            total = 0.0
            for k in range(pointer[s * choices + a], pointer[s * choices + a + 1]):
                total += probability[k] * ahead[successor[k]]
            total *= discount
            for j in range(utilities):
                total += weight[j] * utility[j, step, s, a]
            if total > best:
                best, at = total, a
        actions[s], value[s] = at, best
        for j in range(utilities):
            values[s, j] = utility[j, step, s, at]
            values[s, utilities + j] = abs(utility[j, step, s, at])
        for k in range(pointer[s * choices + at], pointer[s * choices + at + 1]):
            share = discount * probability[k]
            for j in range(2 * utilities):
                values[s, j] += share * values_ahead[successor[k], j]


@njit
def follow_step(
    pointer: Any,
    successor: Any,
    probability: Array,
    utility: Array,
    table: Array,
    step: int,
    discount: float,
    values_ahead: Array,
    values: Array,
    begin: int,
    end: int,
) -> None:
    """Write W (S, 2J) of a policy, of which `table` (S, A) are the probabilities of this step, on states begin..end − 1."""
    utilities, choices = utility.shape[0], utility.shape[3]
    for s in range(begin, end):
        values[s] = 0.0
        for a in range(choices):
            often = table[s, a]
            if often > 0:
                for j in range(utilities):
                    values[s, j] += often * utility[j, step, s, a]
                    values[s, utilities + j] += often * abs(utility[j, step, s, a])
                for k in range(pointer[s * choices + a], pointer[s * choices + a + 1]):
                    share = often * discount * probability[k]
                    for j in range(2 * utilities):
                        values[s, j] += share * values_ahead[successor[k], j]
