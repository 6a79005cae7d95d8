"""Generalised advantage estimation, for every utility on its own (Schulman et al. 2016).

    δ_t = u_t + γ·V(s'_t)·[not terminated] − V(s_t)
    A_t = δ_t + γ·λ·[the episode goes on]·A_{t+1}

Termination ends all values. Truncation does not: V(s'_t) is that of the observation before the reset.
"""

from __future__ import annotations

import numpy as np

from painless.common.arrays import Array, Mask


def advantages(
    utilities: Array,
    values: Array,
    following: Array,
    terminated: Mask,
    ended: Mask,
    discount: float,
    smoothing: float,
) -> Array:
    """Return A, (H, N, J), of H steps in N environments.

    Arguments:
        utilities: u, (H, N, J).
        values, following: V(s_t) and V(s'_t), (H, N, J) each.
        terminated, ended: whether a step terminated its episode, and whether it ended it in any way, (H, N) each.

    >>> advantages(*[np.array([[[1.0]], [[2.0]]]), np.zeros((2, 1, 1)), np.full((2, 1, 1), 10.0)],
    ...            np.array([[False], [True]]), np.array([[False], [True]]), 0.5, 0.5).ravel()
    array([6.5, 2. ])
    """
    alive, going = ~terminated[..., None], ~ended[..., None]
    surprise = utilities + discount * following * alive - values
    found = np.empty_like(surprise)
    later = np.zeros(surprise.shape[1:])
    for step in range(len(surprise) - 1, -1, -1):
        later = surprise[step] + discount * smoothing * going[step] * later
        found[step] = later
    return found
