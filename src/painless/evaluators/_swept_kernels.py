"""One sweep of a stochastic policy over all pairs, compiled. The equations are in `swept`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.compiling import njit

Indices = NDArray[np.uint32]


@njit
def policy_sweep(
    first: Indices,
    pointer: Indices,
    successor: Indices,
    probability: Array,
    utility: Array,
    place: Indices,
    discount: float,
    policy: Array,
    value: Array,
    q: Array,
    updated: Array,
    low: Array,
    high: Array,
    start: int,
    stop: int,
) -> None:
    """`q` = u + γPV of all pairs and `updated` = ⟨π, Q⟩ on states start..stop − 1, for all J utilities.

    `value` and `updated` are (S, J); `policy` (S·A,) and `q` (J, S·A) hold pair p at `place[p]`, or at p where `place` is empty.
    Without room in `q` it is left out, and with it all pairs that the policy never takes. `low` and `high` (J,) receive the least and the largest entry of ⟨π, Q⟩ − V.
    """
    utilities = np.uint64(value.shape[1])
    for j in range(utilities):
        low[j], high[j] = np.inf, -np.inf
    placed, stored = len(place) > 0, q.size > 0
    for s in range(np.uint64(start), np.uint64(stop)):
        for j in range(np.uint64(0), utilities, np.uint64(2)):
            h = min(j + np.uint64(1), utilities - np.uint64(1))  # the last one, if alone, is done twice
            mine, others = 0.0, 0.0
            for pair in range(first[s], first[s + np.uint64(1)]):
                at = place[pair] if placed else pair
                share = policy[at]
                if share == 0.0 and not stored:
                    continue
                total, other = 0.0, 0.0
                for k in range(pointer[pair], pointer[pair + np.uint64(1)]):
                    total += probability[k] * value[successor[k], j]
                    other += probability[k] * value[successor[k], h]
                total = utility[j, pair] + discount * total
                other = utility[h, pair] + discount * other
                if stored:
                    q[j, at], q[h, at] = total, other
                mine += share * total
                others += share * other
            updated[s, j], updated[s, h] = mine, others
            change, second = mine - value[s, j], others - value[s, h]
            low[j], high[j] = min(low[j], change), max(high[j], change)
            low[h], high[h] = min(low[h], second), max(high[h], second)
