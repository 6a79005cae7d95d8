"""Which actions a best response exchanges next as its price moves, and the price at which they make up for what a limit is missed by.

Of a policy that is the best for r + λ·c, with visits d, an action a of state s is as good as the policy's own at the price

    λ_s,a = −(Q_r(s, a) − V_r(s)) / (Q_c(s, a) − V_c(s))

and to take it gains d(s)·(Q_c(s, a) − V_c(s)) of c, to first order (the performance difference; Kakade & Langford 2002). In the order of these prices, the first
exchanges whose gains sum to the shortfall give the price at which the limit is just met, and a policy on its other side: no response is asked for on the way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array
from painless.engines.sweeps import _improve_kernels as kernels
from painless.engines.sweeps.sparse_rows import Indices, SparseRows

REACH = 0.5  # share of the price by which it moves at most: further away little is known
BEYOND = 1.5  # how much more is exchanged than it takes to meet the limit: to first order is not enough


class Exchanged(NamedTuple):
    """The price of a policy and its slack, the price at which the limit is met, the one up to which pairs are exchanged, and the pairs (S,) of that policy; None if it is far away."""

    start: float
    slack: float
    price: float
    further: float
    choice: Indices | None


def exchange(
    rows: SparseRows,
    discount: float,
    visits: Array,
    choice: Indices,
    value: Array,
    price: float,
    slack: float,
) -> Exchanged:
    """Return where the slack is used up that a policy (S,) has, by its values (S, 2) and about its visits (S,), if it is nearly the best at a price."""
    side = -1.0 if slack >= 0 else 1.0
    states = len(choice)
    at, gain, pair = np.empty(states), np.empty(states), np.empty(states, np.uint32)
    reward, held = (np.ascontiguousarray(rows.utility[j]) for j in range(2))
    kernels.exchanges(*rows[:4], reward, held, discount, value, choice, price, side, at, gain, pair)
    near = np.flatnonzero((np.abs(at - price) <= REACH * price) & (visits > 0))
    near = near[np.argsort(side * at[near], kind="stable")]
    gained = np.cumsum(visits[near] * np.abs(gain[near]))
    if not len(gained) or gained[-1] <= abs(slack):
        further = price * (1 + side * REACH)
        return Exchanged(price, slack, further, further, None)
    last = int(np.searchsorted(gained, abs(slack)))
    most = near[: 1 + int(np.searchsorted(gained, BEYOND * abs(slack)))]
    beyond = choice.copy()
    beyond[most] = pair[most]
    return Exchanged(price, slack, float(at[near[last]]), float(at[most[-1]]), beyond)
