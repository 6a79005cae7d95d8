"""Problems from rows of numbers, one for each transition."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from painless.common import arguments
from painless.common.arguments import as_floats
from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.problem import CMDP, validation
from painless.problem.assembly import Rows, assemble, shares, with_stops
from painless.problem.ending import end_mask

LARGEST_ACTION = 2**31 - 1


def from_rows(
    rows: ArrayLike,
    *,
    initial: ArrayLike,
    discount: float | None = None,
    threshold: ArrayLike | None = None,
    budget: ArrayLike | None = None,
    cost: bool = False,
    counts: bool = False,
    **options: Any,
) -> CMDP:
    """Make a problem of rows (s, a, s', p, reward, constraints…), one for each transition.

    Arguments:
        rows: (N, 5 + K). Utilities are averaged over the successor. A pair (s, a) without rows is an action that the state
            does not have.
        threshold: the lower limits of the first constraint columns, which are rewards.
        budget: the upper limits of the other constraint columns, which are costs.
        cost: whether the fifth column is a cost to minimise.
        counts: whether the fourth column counts how often a transition was seen: then p = n/Σn.
        options: what `CMDP` takes, such as names, or `horizon`, `end` or `average=True` in place of a discount. The states of `end`
            need no rows.

    The model is stored sparse.

    >>> rows = [(0, 0, 0, 0.5, 1.0), (0, 0, 1, 0.5, 1.0), (1, 0, 1, 1.0, 0.0)]
    >>> from_rows(rows, initial=[1.0, 0.0], discount=0.9)
    CMDP(2 states, 1 action, 0 constraints, discount 0.9, sparse)
    """
    table = as_floats("rows", rows)
    if table.ndim != 2 or table.shape[1] < 5 or not len(table):
        raise InputError(f"rows has shape {table.shape}, not (N, 5 + K): s, a, s', p, reward, constraints…")
    arguments.require_finite("rows", table)
    start = validation.initial(initial)
    state, action, successor = _indices(table[:, :3], len(start)).T
    shape = (len(start), int(action.max()) + 1)
    found = Rows(state, action, successor, table[:, 3], table[:, 4:].T, shape)
    found = _counted(found) if counts else found
    if options.get("end") is not None:
        options["end"] = end_mask(options["end"], shape[0], options.get("names"))
        found = with_stops(found, options["end"])
    model = assemble(found)
    objective = {"cost" if cost else "reward": model.utility[0]}
    limits = _limits(model.utility[1:], threshold, budget)
    return CMDP(
        model.transition,
        **objective,
        **limits,
        initial=start,
        discount=discount,
        actions=model.actions,
        copy=False,
        **options,
    )


def _counted(rows: Rows) -> Rows:
    """Return rows of counts as rows of probabilities."""
    if (rows.probability < 0).any():
        k = int(np.argmax(rows.probability < 0))
        raise InputError(f"rows[{k}] has a count of {rows.probability[k]:g}; counts are 0 or more")
    probability = shares(rows)
    empty = np.bincount(rows.pair, probability)[rows.pair] == 0
    if empty.any():
        k = int(np.argmax(empty))
        raise InputError(
            f"the counts of state {rows.state[k]}, action {rows.action[k]} are all 0 (rows[{k}]); remove its rows"
        )
    return rows._replace(probability=probability)


def _indices(columns: Array, states: int) -> NDArray[np.intp]:
    largest = (states - 1, LARGEST_ACTION, states - 1)
    wrong = (columns != np.floor(columns)) | (columns < 0) | (columns > largest)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        what = ("s", "a", "s'")[column]
        raise InputError(
            f"rows[{row}] has {what} = {columns[row, column]:g}; states are 0..{states - 1} (the length of "
            "initial) and actions whole numbers from 0"
        )
    return columns.astype(np.intp)


def _limits(utility: Array, threshold: ArrayLike | None, budget: ArrayLike | None) -> dict[str, Any]:
    """Return the constraint columns and their limits as arguments of `CMDP`: rewards first, then costs."""
    lower, upper = (
        None if values is None else np.atleast_1d(as_floats(name, values))
        for name, values in (("threshold", threshold), ("budget", budget))
    )
    gained = 0 if lower is None else len(lower)
    count = gained + (0 if upper is None else len(upper))
    if count != len(utility):
        raise InputError(
            f"{count} limit(s) are given as threshold and budget, but rows has {len(utility)} constraint column(s); "
            "give one for each: thresholds for the first, which are rewards, and budgets for the rest"
        )
    rewards = {} if lower is None else {"constraint_reward": utility[:gained], "threshold": lower}
    costs = {} if upper is None else {"constraint_cost": utility[gained:], "budget": upper}
    return rewards | costs
