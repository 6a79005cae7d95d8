"""Inventory control with a limit on its cost (the DOPE benchmark, Bura et al. 2022).

The stock s is at most `capacity`; a units are ordered, a ≤ capacity − s, and arrive before the demand D:

    s' = max(0, s + a − D)
    sales(s, a) = 8 E min(D, s + a),     cost(s, a) = (4 + 2a if a > 0) + s + a

    maximise E Σ γᵗ sales / max sales   subject to   E Σ γᵗ cost / max cost ≤ budget

A. Bura, A. HasanzadeZonuzy, D. Kalathil, S. Shakkottai & J.-F. Chamberland, *DOPE: Doubly Optimistic and
Pessimistic Exploration for Safe Reinforcement Learning*, NeurIPS 2022.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from painless.common import arguments
from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.problem import CMDP

PRICE = 8.0  # of a unit sold
ORDER_COST, UNIT_COST, HOLDING_COST = 4.0, 2.0, 1.0  # of an order, of a unit ordered, of a unit in stock
DEMAND = (0.3, 0.2, 0.2, 0.2, 0.05, 0.05)  # of 0, 1, … units
DENSE_STATES = 100  # with as many actions, the cube of which a dense kernel holds


def inventory(
    capacity: int = 5,
    *,
    demand: Sequence[float] = DEMAND,
    discount: float = 0.9,
    budget: float = 5.0,
    dense: bool | None = None,
) -> CMDP:
    """Return the inventory problem from an empty stock; `demand` holds the probabilities of 0, 1, … units.

    Up to 100 states are stored dense and more sparse, unless `dense` is given.

    >>> inventory()
    CMDP(6 states, 6 actions, 1 constraint, discount 0.9, dense)
    >>> inventory(300)
    CMDP(301 states, 301 actions, 1 constraint, discount 0.9, sparse)
    """
    arguments.whole("capacity", capacity, most=arguments.LISTED)
    probability = arguments.as_floats("demand", demand)
    _check_distribution(probability)
    unit = np.arange(capacity + 1)
    stock, order = unit[:, None], unit
    actions = stock + order <= capacity
    level = np.where(actions, stock + order, 0)  # the stock that meets the demand
    left = np.maximum(stock - np.arange(len(probability)), 0)  # of each level, for each demand
    level_of, likely = np.broadcast_to(stock, left.shape), np.broadcast_to(probability, left.shape)
    after = scipy.sparse.csr_array(
        (likely.ravel(), (level_of.ravel(), left.ravel())), shape=(len(unit), len(unit))
    )
    sales = (PRICE * (stock - left) @ probability)[level]
    cost = (order > 0) * (ORDER_COST + UNIT_COST * order) + HOLDING_COST * level
    dense = len(unit) <= DENSE_STATES if dense is None else dense
    return CMDP(
        after.toarray()[level] if dense else after[level.ravel()],
        sales / sales[actions].max(),
        initial=np.eye(len(unit))[0],
        discount=discount,
        constraint_cost=cost / cost[actions].max(),
        budget=budget,
        actions=actions,
        names={
            "states": [f"stock {n}" for n in unit],
            "actions": [f"order {n}" for n in unit],
            "constraints": ["cost"],
        },
        copy=False,
    )


def _check_distribution(demand: Array) -> None:
    if demand.ndim != 1 or not demand.size:
        raise InputError(
            f"demand has shape {demand.shape}; give a list of the probabilities of 0, 1, … units"
        )
    arguments.require_finite("demand", demand)
    arguments.require_not_negative("demand", demand)
    arguments.require_sums("demand", np.asarray(demand.sum()), True, False, "divide it by its sum")
    if not demand[1:].any():
        raise InputError("demand is always 0, so that nothing is sold; give other demands a probability")
