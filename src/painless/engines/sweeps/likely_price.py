"""The price at which limits that a policy misses are likely to be met, as one step of policy improvement sees it.

From the visits d and the advantages A of one policy, changing the action of a state gains d(s)·A(s, a) to first order (the performance difference; Kakade & Langford
2002). At a price λ each state takes the action that is best for A_r + λ·A_m, with m the missed utilities together:

    gain(λ) = Σ_s d(s) A_m(s, argmax_a A_r(s, a) + λ·A_m(s, a))

The price at which this is as much as is missed is often right to a factor of two; where one step cannot gain as much at any price, as on paths to
other goals, it says nothing.
"""

from __future__ import annotations

import numpy as np

from painless.common.arrays import Array
from painless.engines.sweeps import _improve_kernels as kernels
from painless.engines.sweeps.sparse_rows import SparseRows

PRICES = 24  # that are tried in one pass, each half of the one before


def likely_price(
    rows: SparseRows, discount: float, value: Array, visits: Array, missed: Array, short: float, most: float
) -> float:
    """Return the price of the utilities `missed` (J,), 0 or 1 each, at which they gain `short`, from a policy's values (S, J) and visits (S,); at most `most`."""
    price = most * 0.5 ** np.arange(PRICES, dtype=np.float64)
    gain = np.empty(PRICES)
    both = np.column_stack([value[:, 0], value @ missed])
    utilities = np.ascontiguousarray(rows.utility[0]), np.ascontiguousarray(missed @ rows.utility)
    kernels.first_gains(*rows[:4], *utilities, discount, both, visits, price, gain)
    enough = np.flatnonzero(gain >= short)
    if not len(enough):
        return most
    last = int(enough[-1])  # the least of them
    if last == PRICES - 1 or gain[last] <= gain[last + 1]:
        return float(price[last])
    return float(np.interp(short, gain[[last + 1, last]], price[[last + 1, last]]))
