"""A table of transitions with names, as the arguments of `CMDP`.

A sheet says which columns of a table are what. Rows of one transition are summed, a pair without rows is an action that the
state does not have, and errors say the row, the state and the action.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from painless.common.arguments import SINGLE_TOLERANCE, SUM_TOLERANCE, is_single, number
from painless.common.arrays import Array
from painless.common.errors import InputError, shown
from painless.problem import columns
from painless.problem.assembly import Rows, assemble, shares, with_stops
from painless.problem.columns import ColumnNames, Labels, Row
from painless.problem.ending import named_states
from painless.problem.names import Names, limit_names, text_of
from painless.problem.reaching import Reach, sought

LISTED = 5  # rows that an error lists
OBJECTIVES = ("reward", "cost")
LIMITS = {"constraint_reward": "threshold", "constraint_cost": "budget"}


@dataclass(frozen=True)
class Sheet:
    """Which columns of a table are what; `from_frame` describes them."""

    state: ColumnNames = "state"
    action: ColumnNames = "action"
    next_state: ColumnNames = "next_state"
    probability: Hashable = None
    count: Hashable = None
    reward: Hashable = None
    cost: Hashable = None
    constraint_reward: Mapping[Any, float] = field(default_factory=dict)
    constraint_cost: Mapping[Any, float] = field(default_factory=dict)
    texts: bool = (
        False  # whether all entries are texts, so that whole numbers among the names are still to be read
    )
    row: Row = "row {}".format  # how a row is called
    end: Any = None  # the states where the process stops, which need no rows
    horizon: Any = None  # the number of steps, if there is one: the process then stays where it ends

    def __post_init__(self) -> None:
        given = [name for name in OBJECTIVES if getattr(self, name) is not None]
        if len(given) != 1:
            how_many = "both are" if given else "neither is"
            raise InputError(
                f"name the column of the reward (to maximise) or of the cost (to minimise); {how_many} given"
            )
        if self.probability is not None and self.count is not None:
            raise InputError("name the column of the probability or of the count, not both")
        for kind, limit in LIMITS.items():
            if not isinstance(getattr(self, kind), Mapping):
                raise InputError(
                    f"{kind} is {shown(getattr(self, kind))}; give the {limit} of each column: {{column: {limit}}}"
                )

    def arguments(self, frame: Any, initial: Any) -> dict[str, Any]:
        """Return what `CMDP` takes, but for the discount and the horizon."""
        rows, states, actions = self._rows(frame)
        end = None if self.end is None else named_states(self.end, states)
        stepped = self.horizon is not None
        rows = rows if end is None else with_stops(rows, end, only=stepped)
        self._require_rows(rows, states, actions)
        rows = self._distributions(rows, states, actions, is_single(np.asarray(self._probability(frame))))
        model = assemble(rows)
        start = _initial(initial, states)
        sets = {name: _set(name, states) for name in (self._objective, *self._limited)}
        names = {"states": states, "actions": actions}
        if self._limited:
            called = (
                [repr(sets[name]) if sets[name] else name for name in getattr(self, kind)] for kind in LIMITS
            )
            names["constraints"] = Names(limit_names(*called))
        content = {"transition": model.transition, "actions": model.actions, "end": None if stepped else end}
        return content | self._terms(model.utility, sets) | {"initial": start, "names": names}

    def _terms(self, utility: Array, sets: Mapping[Any, Reach | None]) -> dict[str, Any]:
        """Return the objective, the constraints and their limits; a set to reach stands in the place of its table."""
        objective = "cost" if self.reward is None else "reward"
        content: dict[str, Any] = {objective: sets[self._objective] or utility[0]}
        first = 1
        for kind, limit in LIMITS.items():
            if given := getattr(self, kind):
                tables = utility[first : first + len(given)]
                mixed = [sets[name] or table for name, table in zip(given, tables, strict=True)]
                content[kind] = mixed if any(sets[name] for name in given) else tables
                content[limit] = [
                    number(f"{limit} of {name!r}", one, "give one") for name, one in given.items()
                ]
                first += len(given)
        return content

    @property
    def _objective(self) -> Any:
        return self.cost if self.reward is None else self.reward

    @property
    def _weight(self) -> str:
        return "probability" if self.count is None else "count"

    @property
    def _limited(self) -> list[Any]:
        return [*self.constraint_reward, *self.constraint_cost]

    def _probability(self, frame: Any) -> Any:
        if self.count is not None:
            return columns.column(frame, "count", self.count)
        name = "probability" if self.probability is None else self.probability
        return columns.column(frame, "probability", name)

    def _rows(self, frame: Any) -> tuple[Rows, Names, Names]:
        """Return the rows by numbers, and the names of states and actions."""
        both, states = self._labels(frame, ("state", "next_state"))
        action, actions = self._labels(frame, ("action",))
        count = len(action)
        if not count:
            raise InputError("the table has no rows; give one for each transition")
        roles = [("the objective", self._objective), *(("a constraint", name) for name in self._limited)]
        utility = [
            np.zeros(count)  # a set to reach, in the place of a column
            if sought(name)
            else self._numbers(str(name), columns.column(frame, what, name), count)
            for what, name in roles
        ]
        probability = self._numbers(self._weight, self._probability(frame), count)
        shape = (len(states), len(actions))
        rows = Rows(both[:count], action, both[count:], probability, np.array(utility), shape)
        return rows, states, actions

    def _numbers(self, what: str, values: Any, count: int) -> Array:
        found = columns.numbers(what, values, self.row)
        if len(found) != count:
            raise InputError(
                f"column {what!r} has {len(found)} entries, that of the action {count}; give as many"
            )
        return found

    def _labels(self, frame: Any, roles: tuple[str, ...]) -> tuple[columns.Codes, Names]:
        """Return the columns of some roles, one below the other, as numbers, and their names."""
        named = [self._columns_of(role) for role in roles]
        if len({len(one) for one in named}) > 1:
            raise InputError(
                f"{' and '.join(roles)} have {[len(one) for one in named]} columns; give as many of each"
            )
        parts = []
        for together in zip(*named, strict=True):
            given = [
                (role, columns.column(frame, role, name)) for role, name in zip(roles, together, strict=True)
            ]
            part = columns.labels(given, self.row)
            parts.append(_with_numbers(part) if self.texts else part)
        codes, names = parts[0] if len(parts) == 1 else columns.combined(parts)
        return codes, Names.of(f"the column of {roles[0]}", names)

    def _columns_of(self, role: str) -> list[Any]:
        given = getattr(self, role)
        return given if isinstance(given, list) else [given]

    def _require_rows(self, rows: Rows, states: Names, actions: Names) -> None:
        """Reject entries that are no numbers or no probabilities, and states without rows."""
        columns_of = zip((self._objective, *self._limited), rows.utility, strict=True)
        checked = [(str(name), values, ~np.isfinite(values)) for name, values in columns_of]
        checked.append(
            (self._weight, rows.probability, ~(np.isfinite(rows.probability) & (rows.probability >= 0)))
        )
        for name, values, wrong in checked:
            if wrong.any():
                k = int(np.argmax(wrong))
                raise InputError(
                    f"{self._where(rows, states, actions, k)} has {name} {values[k]:g}; correct it"
                )
        without = np.setdiff1d(rows.successor, rows.state)
        if len(without):
            k = int(np.argmax(rows.successor == without[0]))
            raise InputError(
                f"state {shown(states.texts[without[0]])} is the next_state of {self.row(k)} but has no rows of its own; "
                "give it one that stays there, with probability 1 and reward 0, or name it among the states of end="
            )

    def _distributions(self, rows: Rows, states: Names, actions: Names, single: bool) -> Rows:
        """Return counts as probabilities, and reject those of a pair that do not sum to 1."""
        if self.count is not None:
            rows = rows._replace(probability=shares(rows))
        sums = np.bincount(rows.pair, rows.probability)
        wrong = np.abs(sums[rows.pair] - 1) > (SINGLE_TOLERANCE if single else SUM_TOLERANCE)
        if wrong.any():
            k = int(np.argmax(wrong))
            of_pair = np.flatnonzero(rows.pair == rows.pair[k])
            listed = ", ".join(self.row(int(i)) for i in of_pair[:LISTED])
            more = f" and {len(of_pair) - LISTED} more" if len(of_pair) > LISTED else ""
            total = sums[rows.pair[k]]
            what = (
                "counts are all 0" if self.count is not None else f"probabilities sum to {total:.10g}, not 1"
            )
            raise InputError(
                f"state {shown(states.texts[rows.state[k]])}, action {shown(actions.texts[rows.action[k]])}: its "
                f"{what} ({listed}{more}); correct them"
            )
        return rows._replace(probability=rows.probability / sums[rows.pair]) if single else rows

    def _where(self, rows: Rows, states: Names, actions: Names, k: int) -> str:
        state, action = states.texts[rows.state[k]], actions.texts[rows.action[k]]
        return f"{self.row(k)} (state {shown(state)}, action {shown(action)})"


def _set(name: Any, states: Names) -> Reach | None:
    """Return the set of states to reach that stands in the place of a column, such as "reach(home)", or None."""
    asked = sought(name)
    if asked is None:
        return None
    mask = named_states(asked.states, states)
    return Reach(mask, asked.label or ", ".join(states.texts[i] for i in np.flatnonzero(mask)[:LISTED]))


def _initial(given: Any, states: Names) -> Array:
    """Return ρ, (S,), from probabilities by name, or from the name of the first state."""
    if isinstance(given, Mapping):
        start = np.zeros(len(states))
        for name, value in given.items():
            start[_state(name, states)] += number(f"initial probability of {name!r}", value, "give one")
        return start
    return np.eye(1, len(states), _state(given, states))[0]


def _state(name: Any, states: Names) -> int:
    place = states.places.get(text_of(name))
    if place is None:
        raise states.missing("state", name)
    return place


def _with_numbers(found: Labels) -> Labels:
    """Return whole numbers for names that are their texts."""
    if not all(name.removeprefix("-").isdecimal() and str(int(name)) == name for name in found.names):
        return found
    order = sorted(range(len(found.names)), key=lambda i: int(found.names[i]))
    return Labels(np.argsort(order)[found.codes], [int(found.names[i]) for i in order])
