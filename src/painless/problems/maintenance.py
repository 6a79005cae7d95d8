"""Maintenance of a machine that wears out, with few days in repair (Tijms 2003, ex. 6.1.1).

Every morning a machine is found in working condition 1 (as new) to 4, or failed (5). Left alone in a
working condition i it is in condition j the next morning with probability W(i, j) (`WEAR`). In 2 to 4
it may be repaired instead, at a cost of 7, 7 and 5, which takes the day and leaves it as new. A failure
costs 10 and two days of repair, 5 → 6 → 1, where 6 is the second day.

    minimise (1 − γ) E Σ γᵗ cost   subject to   (1 − γ) E Σ γᵗ [day t in repair] ≤ budget

Costs and days carry the factor 1 − γ, so that values read as cost per day and share of days, whatever the
discount; as γ → 1 they tend to the long-run averages, for which 0.4338 (no limit) and 0.4423 (a share of
0.08) are known. Over a horizon of H days the factor is 1/H. The actions of a state differ: none is repaired as new, none is left alone failed.

H. C. Tijms, *A First Course in Stochastic Models*, Wiley 2003.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from painless.common import arguments
from painless.common.errors import InputError
from painless.problem import CMDP, validation

CONDITIONS = ("1", "2", "3", "4", "failed", "second day")
WEAR = (
    (0.9, 0.1, 0.0, 0.0, 0.0),
    (0.0, 0.8, 0.1, 0.05, 0.05),
    (0.0, 0.0, 0.7, 0.1, 0.2),
    (0.0, 0.0, 0.0, 0.5, 0.5),
)
DISCOUNT = 0.999
WORKING = len(WEAR)
FAILED, SECOND_DAY = 4, 5
LEAVE, REPAIR = 0, 1
REPAIR_COST = (0.0, 7.0, 7.0, 5.0, 10.0, 0.0)  # in each condition; a failure is paid on its first day


def maintenance(
    discount: float | None = None,
    budget: float = 0.08,
    average: bool = False,
    horizon: int | None = None,
) -> CMDP:
    """Return the maintenance problem; `budget` is the largest share of days in repair.

    Costs and days are (1 − γ) times their discounted sums, with a discount of 0.999 unless given; in its place, `average` makes them exactly their long-run
    averages, and `horizon` the averages of so many days.

    >>> maintenance()
    CMDP(6 states, 2 actions, 1 constraint, discount 0.999, dense)
    """
    step, criterion = _per_day(discount, average, horizon)
    advice = "it is a share of the days, so give one within [0, 1]"
    if not 0 <= arguments.number("budget", budget, advice) <= 1:
        raise InputError(f"budget is {budget}; {advice}")
    states = len(CONDITIONS)
    transition = np.zeros((states, 2, states))
    transition[:WORKING, LEAVE, : FAILED + 1] = WEAR
    transition[:, REPAIR, 0] = 1.0
    transition[FAILED, REPAIR] = np.eye(states)[SECOND_DAY]
    actions = np.ones((states, 2), dtype=bool)
    actions[0, REPAIR] = actions[FAILED:, LEAVE] = False
    cost, days = np.zeros((2, states, 2))
    cost[:, REPAIR], days[:, REPAIR] = REPAIR_COST, 1.0
    return CMDP(
        transition,
        cost=step * cost,
        initial=np.eye(states)[0],
        **criterion,
        constraint_cost=step * days,
        budget=budget,
        actions=actions,
        names={
            "states": CONDITIONS,
            "actions": ["leave", "repair"],
            "constraints": ["share of days in repair"],
        },
        copy=False,
    )


def _per_day(discount: float | None, average: bool, horizon: int | None) -> tuple[float, dict[str, Any]]:
    """Return the factor that makes a value one per day, and how the days add up."""
    if sum((discount is not None, average, horizon is not None)) > 1:
        raise InputError("discount, average and horizon are three ways to add up the days; give one of them")
    if average:
        return 1.0, {"average": True}
    if horizon is not None:
        return 1 / arguments.whole("horizon", horizon), {"horizon": horizon}
    gamma = validation.discount(DISCOUNT if discount is None else discount)
    return 1 - gamma, {"discount": gamma}
