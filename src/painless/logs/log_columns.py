"""Which columns of a log are what, and what a chunk of rows says: numbers for names, utilities, and which rows end."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from painless.common.arguments import number
from painless.common.arrays import Array, Mask
from painless.common.errors import InputError, shown
from painless.logs.chunks import Chunk
from painless.logs.name_index import MISSING, Codes, NameIndex, absent
from painless.problem import columns
from painless.problem.columns import ColumnNames, Labels
from painless.problem.names import limit_names, text_of

TRUE = {"true", "yes", "t", "y", "1", "1.0"}
FALSE = {"false", "no", "f", "n", "0", "0.0"}
END = -1  # the successor of a row that ends


class Rows(NamedTuple):
    """A chunk by numbers."""

    state: Codes  # (n,)
    action: Codes  # (n,)
    successor: Codes  # (n,) −1 where the row ends
    named: Codes  # (n,) the next state as it stands in the log; −1 where there is none
    utility: Array  # (n, J) in the internal sense
    episode: Codes | None  # (n,) 64 bits of each name
    step: Array | None  # (n,)


class Indices(NamedTuple):
    """The names so far."""

    state: NameIndex
    action: NameIndex

    @classmethod
    def empty(cls) -> Indices:
        """Return indices without names."""
        return cls(NameIndex("state"), NameIndex("action"))


@dataclass(frozen=True)
class LogColumns:
    """Which columns of a log are what; `from_log` describes them."""

    state: ColumnNames = "state"
    action: ColumnNames = "action"
    next_state: ColumnNames = "next_state"
    reward: Hashable = None
    cost: Hashable = None
    constraint_reward: Mapping[Any, float] = field(default_factory=dict)
    constraint_cost: Mapping[Any, float] = field(default_factory=dict)
    episode: Hashable = None
    done: Hashable = None
    step: Hashable = None

    def __post_init__(self) -> None:
        given = [name for name in ("reward", "cost") if getattr(self, name) is not None]
        if len(given) != 1:
            how_many = "both are" if given else "neither is"
            raise InputError(
                f"name the column of the reward (to maximise) or of the cost (to minimise); {how_many} given"
            )
        for kind, limit in (("constraint_reward", "least"), ("constraint_cost", "largest")):
            if not isinstance(getattr(self, kind), Mapping):
                raise InputError(
                    f"{kind} is {shown(getattr(self, kind))}; give the {limit} value of each column: {{column: limit}}"
                )
        if self.step is not None and self.episode is None:
            raise InputError("step counts the rows of an episode; name the column of the episode, too")

    @property
    def utilities(self) -> list[Any]:
        """The columns of the objective, the constraint rewards and the constraint costs."""
        objective = self.cost if self.reward is None else self.reward
        return [objective, *self.constraint_reward, *self.constraint_cost]

    @property
    def sense(self) -> tuple[str, ...]:
        """≥ for constraint rewards, ≤ for costs."""
        return (">=",) * len(self.constraint_reward) + ("<=",) * len(self.constraint_cost)

    @property
    def sign(self) -> Array:
        """+1 or −1 for each utility, (J,): the user's value is sign times the internal one."""
        first = -1.0 if self.reward is None else 1.0
        return np.array([first, *(1.0 if sense == ">=" else -1.0 for sense in self.sense)])

    @property
    def limit(self) -> Array:
        """The limits in the user's terms, (K,)."""
        listed = [*self.constraint_reward.items(), *self.constraint_cost.items()]
        found = [number(f"limit of {name!r}", value, "give one") for name, value in listed]
        for (name, _), value in zip(listed, found, strict=True):
            if not np.isfinite(value):
                raise InputError(
                    f"the limit of {name!r} is {value}; give a finite one, or leave the constraint out"
                )
        return np.array(found, dtype=float)

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """The names of the constraints."""
        return tuple(map(text_of, limit_names(self.constraint_reward, self.constraint_cost)))

    def rows(self, chunk: Chunk, indices: Indices) -> Rows:
        """Return what a chunk says; reject missing and contradictory entries, with their row."""
        state = self._codes(chunk, "state", indices.state)
        action = self._codes(chunk, "action", indices.action)
        done = self._done(chunk)
        named = self._codes(chunk, "next_state", indices.state, needed=~done)
        episode = None if self.episode is None else self._episodes(chunk)
        utility = np.stack([self._numbers(chunk, name) for name in self.utilities], 1) * self.sign
        step = None if self.step is None else self._numbers(chunk, self.step)
        if step is not None and (step != np.floor(step)).any():
            k = int(np.argmax(step != np.floor(step)))
            raise InputError(
                f"{chunk.line(k)} has step {step[k]:g}; give whole numbers that count the rows of an episode"
            )
        return Rows(state, action, np.where(done, END, named), named, utility + 0.0, episode, step)

    def labels(self, chunk: Chunk, role: str) -> Labels:
        """Return the names in the columns of a role."""
        given = getattr(self, role)
        names = given if isinstance(given, list) else [given]
        parts = [columns.coded(columns.column(chunk.columns, role, name)) for name in names]
        return parts[0] if len(parts) == 1 else columns.combined(parts)

    def _episodes(self, chunk: Chunk) -> Codes:
        """Return 64 bits of the name of each row's episode, (n,): no list of all names is kept."""
        found = self.labels(chunk, "episode")
        missing = np.array([absent(name, chunk.texts) for name in found.names], dtype=bool)[found.codes]
        if missing.any():
            raise InputError(f"{chunk.line(int(np.argmax(missing)))} has no episode; fill it in")
        return np.array([hash(text_of(name)) for name in found.names], dtype=np.int64)[found.codes]

    def _codes(self, chunk: Chunk, role: str, index: NameIndex, needed: Mask | bool = True) -> Codes:
        codes = index.codes(self.labels(chunk, role), chunk.line, texts=chunk.texts)
        absent = (codes == MISSING) & needed
        if absent.any():
            ends = ", or say which rows end an episode: done=…" if role == "next_state" else ""
            raise InputError(f"{chunk.line(int(np.argmax(absent)))} has no {role}; fill it in{ends}")
        return codes

    def _numbers(self, chunk: Chunk, name: Any) -> Array:
        values = columns.column(chunk.columns, "a utility", name)
        found = columns.numbers(str(name), values, chunk.line)
        wrong = ~np.isfinite(found)
        if wrong.any():
            k = int(np.argmax(wrong))
            what = "no" if np.isnan(found[k]) else f"{found[k]:g} as its"
            raise InputError(f"{chunk.line(k)} has {what} {name}; fill in a number, or leave the row out")
        return found

    def _done(self, chunk: Chunk) -> Mask:
        """Return which rows end an episode, (n,); without a column none does."""
        if self.done is None:
            return np.zeros(chunk.rows, dtype=bool)
        values = np.asarray(columns.column(chunk.columns, "done", self.done))
        if values.dtype.kind == "b":
            return values
        found = columns.coded(values)
        table = [_truth(name) for name in found.names]
        if None in table:
            k = int(np.argmax(found.codes == table.index(None)))
            raise InputError(
                f"{chunk.line(k)} has {shown(found.names[found.codes[k]])} in column {shown(self.done)}; give true or false"
            )
        return np.array(table, dtype=bool)[found.codes]


def _truth(name: Any) -> bool | None:
    text = str(name).strip().lower()
    return True if text in TRUE else False if text in FALSE else None
