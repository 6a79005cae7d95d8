"""Problems from other sources: lists of transitions, and the tables of toy-text environments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from operator import index
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from painless.common import arguments
from painless.common.arguments import as_floats
from painless.common.arrays import Array, Mask
from painless.common.errors import InputError
from painless.problem import CMDP, transitions, validation
from painless.problem.distributions import sparse_divisors

UTILITIES = ("constraint_reward", "constraint_cost")
LARGEST_ACTION = 2**31 - 1
ToyTable = Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]]


def from_rows(
    rows: ArrayLike,
    *,
    initial: ArrayLike,
    discount: float,
    threshold: ArrayLike | None = None,
    budget: ArrayLike | None = None,
    **options: Any,
) -> CMDP:
    """Make a problem of rows (s, a, s', p, reward, constraint rewards…), one for each transition.

    Utilities are averaged over the successor. A pair (s, a) without rows is an action that the state does
    not have. The model is stored sparse. `budget` in place of `threshold` reads the constraint columns as
    costs. `options`, such as names, go to `CMDP`.

    >>> rows = [(0, 0, 0, 0.5, 1.0), (0, 0, 1, 0.5, 1.0), (1, 0, 1, 1.0, 0.0)]
    >>> from_rows(rows, initial=[1.0, 0.0], discount=0.9)
    CMDP(2 states, 1 action, 0 constraints, discount 0.9, sparse)
    """
    table = as_floats("rows", rows)
    if table.ndim != 2 or table.shape[1] < 5 or not len(table):
        raise InputError(f"rows has shape {table.shape}, not (N, 5 + K): s, a, s', p, reward, constraints…")
    arguments.require_finite("rows", table)
    start = validation.initial(initial)
    states = len(start)
    state, action, successor = _indices(table[:, :3], states).T
    n_actions = int(action.max()) + 1
    pair, pairs = state * n_actions + action, states * n_actions
    kernel = scipy.sparse.csr_array((table[:, 3], (pair, successor)), shape=(pairs, states))
    available = np.bincount(pair, minlength=pairs).reshape(states, n_actions) > 0
    probability = table[:, 3] / _divisors(kernel, available)[pair]
    utility = np.array([np.bincount(pair, probability * column, pairs) for column in table[:, 4:].T])
    utility = utility.reshape(-1, states, n_actions)
    given = _limits(utility[1:], threshold, budget) | {"initial": start, "discount": discount}
    return CMDP(kernel, utility[0], actions=available, copy=False, **given, **options)


def _divisors(kernel: scipy.sparse.csr_array[np.float64], available: Mask) -> Array:
    """Return what the probabilities of each pair are divided by as they are normalised, (S·A,)."""
    transitions.checked_transition(kernel, available, copy=False)  # rejects what is no distribution
    sums = np.asarray(kernel @ np.ones(kernel.shape[1]))
    divisors = sparse_divisors(kernel.data, kernel.indptr, sums, available.ravel())
    return np.ones(len(sums)) if divisors is None else divisors


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
    """Return the constraint columns and their limits as arguments of `CMDP`."""
    if threshold is not None and budget is not None:
        raise InputError("give threshold (the constraint columns are rewards) or budget (costs), not both")
    if threshold is None and budget is None:
        if len(utility):
            raise InputError(f"rows has {len(utility)} constraint column(s); give their threshold or budget")
        return {}
    name, values = ("threshold", threshold) if budget is None else ("budget", budget)
    limit = np.atleast_1d(as_floats(name, values))
    if len(limit) != len(utility):
        raise InputError(
            f"{name} has {len(limit)} entries but rows has {len(utility)} constraint column(s); "
            "give one number for each"
        )
    return {"constraint_reward" if budget is None else "constraint_cost": utility, name: limit}


class ToyOutcome(NamedTuple):
    """One transition of a toy-text table."""

    state: int
    action: int
    probability: float
    successor: int
    reward: float
    end: bool


def from_toy_text(
    table: ToyTable, *, initial: ArrayLike, discount: float, negate: bool = False, **options: Any
) -> CMDP:
    """Make a problem of a toy-text environment's `P`: P[s][a] = [(p, s', reward, terminated), …].

    A transition that terminates leads to an absorbing end with no utility; that state is added, last, where
    a terminal state does not absorb by itself. Constraints come as arrays (K, S, A) over the table's own
    states, with `threshold` or `budget`, as in `CMDP`. `negate` reads rewards as costs to minimise.
    """
    outcomes = _outcomes(table)
    start = validation.initial(initial)
    shape = (len(table), 1 + max(one.action for one in outcomes))
    if len(start) != len(table):
        raise InputError(
            f"initial has {len(start)} entries, the table {len(table)} states; give one for each"
        )
    options |= _constraint_arrays(options, shape)
    adds_end = _needs_end(outcomes, [options[name] for name in UTILITIES if options.get(name) is not None])
    rows = [_row(one, len(table) if one.end and adds_end else one.successor) for one in outcomes]
    if adds_end:
        rows += [(shape[0], a, shape[0], 1.0, 0.0) for a in range(shape[1])]
        start = np.append(start, 0.0)
        options = {name: _pad(name, value) for name, value in options.items()}
    plain = from_rows(rows, initial=start, discount=discount)
    objective: dict[str, Any] = {"cost": -plain.reward} if negate else {"reward": plain.reward}
    return CMDP(
        plain.transition, initial=start, discount=discount, actions=plain.actions, **objective, **options
    )


def _outcomes(table: ToyTable) -> list[ToyOutcome]:
    try:
        outcomes = [
            ToyOutcome(index(s), index(a), float(p), index(successor), float(reward), bool(end))
            for s, choices in table.items()
            for a, choice in choices.items()
            for p, successor, reward, end in choice
        ]
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"the table is not P[s][a] = [(p, s', reward, terminated), …]: {error}") from error
    if not outcomes:
        raise InputError("the table has no transitions; give P[s][a] = [(p, s', reward, terminated), …]")
    for s, a, p, successor, reward, _ in outcomes:
        if min(s, a, successor) < 0 or max(s, successor) >= len(table):
            raise InputError(
                f"P[{s}][{a}] leads to {successor}, but the table has {len(table)} states; "
                "number states and actions from 0"
            )
        if not (isfinite(p) and isfinite(reward)):
            raise InputError(f"P[{s}][{a}] has p = {p:g} and reward = {reward:g}; both must be finite")
    return outcomes


def _row(outcome: ToyOutcome, successor: int) -> tuple[float, ...]:
    return outcome.state, outcome.action, successor, outcome.probability, outcome.reward


def _constraint_arrays(options: Mapping[str, Any], shape: tuple[int, int]) -> dict[str, Array]:
    arrays = {name: as_floats(name, options[name]) for name in UTILITIES if options.get(name) is not None}
    for name, array in arrays.items():
        if array.ndim not in (2, 3) or array.shape[-2:] != shape:
            raise InputError(
                f"{name} has shape {array.shape}, not (K, S, A) with (S, A) = {shape}, "
                "the table's own states and actions"
            )
    return arrays


def _needs_end(outcomes: Sequence[ToyOutcome], constraints: Sequence[Array]) -> bool:
    """Whether in some terminal state more happens: it leads elsewhere, or pays a reward or a constraint."""
    ends = {one.successor for one in outcomes if one.end}
    active = {one.state for one in outcomes if one.successor != one.state or one.reward != 0}
    for array in constraints:
        paid = (array.reshape(-1, *array.shape[-2:]) != 0).any((0, 2))
        active |= {int(state) for state in np.flatnonzero(paid)}
    return bool(ends & active)


def _pad(name: str, value: Any) -> Any:
    """Extend an option of `CMDP` by the added end state."""
    if name in UTILITIES and value is not None:
        return np.pad(value, [(0, 0)] * (value.ndim - 2) + [(0, 1), (0, 0)])
    if name == "names" and isinstance(value, Mapping) and "states" in value:
        return dict(value) | {"states": [*value["states"], "end"]}
    return value
