"""Problems from data frames."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from painless.problem import CMDP
from painless.problem.columns import ColumnNames
from painless.problem.sheet import Sheet


def from_frame(
    frame: Any,
    *,
    state: ColumnNames = "state",
    action: ColumnNames = "action",
    next_state: ColumnNames = "next_state",
    probability: Hashable = None,
    count: Hashable = None,
    reward: Hashable = None,
    cost: Hashable = None,
    constraint_reward: Mapping[Any, float] | None = None,
    constraint_cost: Mapping[Any, float] | None = None,
    initial: Any,
    discount: float | None = None,
    **criterion: Any,
) -> CMDP:
    """Make a problem of a table with a row for each transition, and with names in place of numbers.

    Arguments:
        frame: a pandas or Polars DataFrame, or a dictionary of columns.
        state, action, next_state: the columns with the names: texts, numbers, tuples or dates. A list of columns gives tuples.
        probability: the column of P(s'|s, a); "probability" by default. Rows of the same transition are summed.
        count: in its place, the column that counts how often a transition was seen: then P = n/Σn.
        reward: the column to maximise; averaged over the successor, as all utilities.
        cost: in its place, the column to minimise.
        constraint_reward: the lower limits by column, such as `{"sold": 10}`.
        constraint_cost: the upper limits by column, such as `{"waste": 4}`. In the place of any column, "reach(home)" is the
            probability of ever coming to some states.
        initial: the name of the first state, or probabilities by name: `{"fresh": 0.5, "old": 0.5}`.
        discount: γ in [0, 1).
        criterion: in its place `average`, `horizon` or `end`, as in `CMDP`. The states of `end` need no rows.

    A pair without rows is an action that the state does not have. States and actions are numbered in ascending order if they are
    numbers or dates, else as they first appear. The model is stored sparse.

    >>> table = {
    ...     "state": ["good", "good", "worn", "worn"], "action": ["work", "work", "work", "repair"],
    ...     "next_state": ["good", "worn", "worn", "good"], "probability": [0.8, 0.2, 1.0, 1.0],
    ...     "earned": [2.0, 2.0, 1.0, 0.0], "spent": [0.0, 0.0, 0.0, 3.0],
    ... }
    >>> problem = from_frame(table, reward="earned", constraint_cost={"spent": 3}, initial="good", discount=0.9)
    >>> problem, problem.name("states", 1)
    (CMDP(2 states, 2 actions, 1 constraint, discount 0.9, sparse), 'worn')
    """
    sheet = Sheet(
        *(state, action, next_state, probability, count, reward, cost),
        {} if constraint_reward is None else constraint_reward,
        {} if constraint_cost is None else constraint_cost,
        end=criterion.pop("end", None),
        horizon=criterion.get("horizon"),
    )
    return CMDP(**sheet.arguments(frame, initial), discount=discount, copy=False, **criterion)
