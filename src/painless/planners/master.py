"""The master program: the best mixture of a few policies, known by their values alone.

    max Σ_k w_k r_k   subject to   Σ_k w_k c_k ≥ b,   w in the simplex            (polishing)
    max t             subject to   Σ_k w_k c_k − b ≥ t,   w in the simplex        (the joint slack)

Both have K + 1 rows, so that their solutions mix at most K + 1 policies. Their multipliers say where to
look for the next policy (Dantzig & Wolfe 1960).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from painless.arrays import Array
from painless.planners import highs


class Mixture(NamedTuple):
    """Weights of the policies (n,), the multipliers of the constraints (K,) and the program's value."""

    weights: Array
    multiplier: Array
    value: float


def best_mixture(value: Array, threshold: Array) -> Mixture | None:
    """Return the mixture of largest reward that meets the constraints, or None where there is none.

    `value` holds V_r and V_c of each policy, (n, J).
    """
    if not len(threshold):
        best = int(value[:, 0].argmax())
        return Mixture(np.eye(len(value))[best], np.empty(0), float(value[best, 0]))
    result = highs.minimise(
        -value[:, 0], A_ub=-value[:, 1:].T, b_ub=-threshold, A_eq=np.ones((1, len(value))), b_eq=[1.0]
    )
    if result.status != 0:
        return None
    return Mixture(_distribution(result.x), np.maximum(-result.ineqlin.marginals, 0.0), -float(result.fun))


def largest_slack(constraint_value: Array, threshold: Array) -> Mixture:
    """Return the mixture with the largest smallest slack V_c − b, and the weights of the constraints in it.

    `constraint_value` holds V_c of each policy, (n, K).
    """
    count = len(constraint_value)
    slack = constraint_value - threshold
    result = highs.minimise(
        -np.eye(count + 1)[-1],
        A_ub=np.column_stack([-slack.T, np.ones(len(threshold))]),
        b_ub=np.zeros(len(threshold)),
        A_eq=np.append(np.ones(count), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * count + [(None, None)],
    )
    if result.status != 0:
        raise RuntimeError(f"HiGHS gave up on the joint slack: {result.message}")
    multiplier = np.maximum(-result.ineqlin.marginals, 0.0)
    return Mixture(_distribution(result.x[:-1]), multiplier / multiplier.sum(), float(result.x[-1]))


def _distribution(weights: Array) -> Array:
    kept = np.maximum(weights, 0.0)
    return kept / kept.sum()
