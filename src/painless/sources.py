"""Problems from other sources: lists of transitions, and the tables of toy-text environments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from painless.arrays import Array
from painless.errors import InputError
from painless.problem import CMDP
from painless.validation import as_floats

UTILITIES = ("constraint_reward", "constraint_cost")
ToyTable = Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]]


def from_rows(
    rows: ArrayLike,
    *,
    initial: ArrayLike,
    discount: float,
    threshold: ArrayLike | None = None,
    **options: Any,
) -> CMDP:
    """Make a problem of rows (s, a, s', p, reward, constraint rewards…), one for each transition.

    Utilities are averaged over the successor. A pair (s, a) without rows is an action that the state does
    not have. The model is stored sparse. `options` go to `CMDP`: names, and `budget` in place of
    `threshold` to read the constraint columns as costs.

    >>> rows = [(0, 0, 0, 0.5, 1.0), (0, 0, 1, 0.5, 1.0), (1, 0, 1, 1.0, 0.0)]
    >>> from_rows(rows, initial=[1.0, 0.0], discount=0.9)
    CMDP(2 states, 1 action, 0 constraints, discount 0.9, sparse)
    """
    table = as_floats("rows", rows)
    states = np.size(initial)
    if table.ndim != 2 or table.shape[1] < 5 or not len(table):
        raise InputError(f"rows has shape {table.shape}, not (N, 5 + K): s, a, s', p, reward, constraints…")
    index = _indices(table[:, :3], states)
    n_actions = int(index[:, 1].max()) + 1
    pair = index[:, 0] * n_actions + index[:, 1]
    shape = (states * n_actions, states)
    kernel = sparse.csr_array((table[:, 3], (pair, index[:, 2])), shape=shape)
    weighted = np.array([np.bincount(pair, table[:, 3] * column, shape[0]) for column in table[:, 4:].T])
    utility = weighted.reshape(-1, states, n_actions)
    available = np.bincount(pair, minlength=shape[0]).reshape(states, n_actions) > 0
    budget = options.pop("budget", None)
    limits: dict[str, Any] = {
        "threshold": threshold,
        "constraint_reward": utility[1:] if threshold is not None else None,
    }
    if budget is not None:
        limits = {"budget": budget, "constraint_cost": utility[1:]}
    elif threshold is None and len(utility) > 1:
        raise InputError(f"rows has {len(utility) - 1} constraint column(s); give their threshold or budget")
    return CMDP(
        kernel, utility[0], initial=initial, discount=discount, actions=available, **limits, **options
    )


def _indices(columns: Array, states: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    index = columns.astype(np.intp)
    wrong = (index != columns) | (index < 0)
    wrong[:, [0, 2]] |= index[:, [0, 2]] >= states
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        what = ("s", "a", "s'")[column]
        raise InputError(
            f"rows[{row}] has {what} = {columns[row, column]:g}; states are 0..{states - 1} (the length of "
            "initial) and actions whole numbers from 0"
        )
    return index


def from_toy_text(
    table: ToyTable, *, initial: ArrayLike, discount: float, negate: bool = False, **options: Any
) -> CMDP:
    """Make a problem of a toy-text environment's `P`: P[s][a] = [(p, s', reward, terminated), …].

    A transition that terminates leads to an absorbing end with no utility; that state is added, last, where
    a terminal state does not absorb by itself. Constraints come as arrays (K, S, A) over the table's own
    states, with `threshold` or `budget`, as in `CMDP`. `negate` reads rewards as costs to minimise.
    """
    states = len(table)
    quadruples = _quadruples(table)
    ends = {successor for _, _, _, successor, _, end in quadruples if end}
    needs_end = not all(_absorbs(table, state, options) for state in ends)
    rows = [(s, a, states if end and needs_end else t, p, reward) for s, a, p, t, reward, end in quadruples]
    start = np.atleast_1d(as_floats("initial", initial))
    if needs_end:
        n_actions = 1 + max(a for _, a, *_ in rows)
        rows += [(states, a, states, 1.0, 0.0) for a in range(n_actions)]
        start = np.append(start, 0.0)
        options = {name: _pad(name, value) for name, value in options.items()}
    plain = from_rows(np.array(rows), initial=start, discount=discount)
    objective: dict[str, Any] = {"cost": -plain.reward} if negate else {"reward": plain.reward}
    return CMDP(
        plain.transition, initial=start, discount=discount, actions=plain.actions, **objective, **options
    )


def _quadruples(table: ToyTable) -> list[tuple[int, int, float, int, float, bool]]:
    try:
        return [
            (int(s), int(a), float(p), int(successor), float(reward), bool(end))
            for s, choices in table.items()
            for a, outcomes in choices.items()
            for p, successor, reward, end in outcomes
        ]
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"the table is not P[s][a] = [(p, s', reward, terminated), …]: {error}") from error


def _absorbs(table: ToyTable, state: int, options: Mapping[str, Any]) -> bool:
    """Whether nothing more happens in `state`: it stays, and pays neither reward nor constraint."""
    outcomes = (outcome for choice in table[state].values() for outcome in choice)
    stays = all(successor == state and reward == 0 for _, successor, reward, _ in outcomes)
    paid = (np.asarray(options[name])[..., state, :] for name in UTILITIES if options.get(name) is not None)
    return stays and not any(np.any(one) for one in paid)


def _pad(name: str, value: Any) -> Any:
    """Extend an option of `CMDP` by the added end state."""
    if name in UTILITIES and value is not None:
        array = as_floats(name, value)
        return np.pad(array, [(0, 0)] * (array.ndim - 2) + [(0, 1), (0, 0)])
    if name == "names" and value and "states" in value:
        return dict(value) | {"states": [*value["states"], "end"]}
    return value
