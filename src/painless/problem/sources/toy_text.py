"""Problems from the tables of toy-text environments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from operator import index
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from painless.common.arguments import as_floats
from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.problem import CMDP, validation
from painless.problem.reaching import Reach
from painless.problem.sources.rows import from_rows

UTILITIES = ("constraint_reward", "constraint_cost")
ToyTable = Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]]


class ToyOutcome(NamedTuple):
    """One transition of a toy-text table."""

    state: int
    action: int
    probability: float
    successor: int
    reward: float
    end: bool


def from_toy_text(
    table: ToyTable,
    *,
    initial: ArrayLike,
    discount: float | None = None,
    negate: bool = False,
    **options: Any,
) -> CMDP:
    """Make a problem of a toy-text environment's `P`: P[s][a] = [(p, s', reward, terminated), …].

    A transition that terminates leads to an absorbing end with no utility; that state is added, last, where
    a terminal state does not absorb by itself. Constraints come as arrays (K, S, A) over the table's own
    states, with `threshold` or `budget`, as in `CMDP`, or as `painless.reach(states)`. In place of a discount, `end`, `horizon` or
    `average` serve as in `CMDP`. `negate` reads rewards as costs to minimise.
    """
    outcomes = _outcomes(table)
    start = validation.initial(initial)
    shape = (len(table), 1 + max(one.action for one in outcomes))
    if len(start) != len(table):
        raise InputError(
            f"initial has {len(start)} entries, the table {len(table)} states; give one for each"
        )
    arrays = _constraint_arrays(options, shape)
    options |= arrays
    adds_end = _needs_end(outcomes, [*arrays.values()])
    if adds_end and len(arrays) < sum(options.get(name) is not None for name in UTILITIES):
        raise InputError(
            "reach needs terminal states that stay where they are and pay nothing; give the arrays to CMDP instead"
        )
    rows = [_row(one, len(table) if one.end and adds_end else one.successor) for one in outcomes]
    if adds_end:
        rows += [(shape[0], a, shape[0], 1.0, 0.0) for a in range(shape[1])]
        start = np.append(start, 0.0)
        options = {name: _pad(name, value) for name, value in options.items()}
    plain = from_rows(rows, initial=start, discount=0.0)  # for its arrays
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
    arrays = {
        name: as_floats(name, options[name])
        for name in UTILITIES
        if options.get(name) is not None and not isinstance(options[name], Reach)
    }
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
    if name == "end" and value is not None and np.asarray(value).dtype == np.bool_:
        return np.append(value, True)
    if name == "names" and isinstance(value, Mapping) and "states" in value:
        return dict(value) | {"states": [*value["states"], "end"]}
    return value
