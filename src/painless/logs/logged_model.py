"""What a log says of a problem: counts, the estimated CMDP, and how much of it the log covers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.common.arguments import number
from painless.common.arrays import Array, summed_by
from painless.common.errors import InputError
from painless.common.render import counted
from painless.counting.learned_model import LearnedModel
from painless.counting.memory import SUCCESSOR_BITS, Memory
from painless.logs.description import Description, describe
from painless.logs.log_columns import LogColumns
from painless.logs.tally import KeptRows, Starts, Tally
from painless.problem import CMDP
from painless.problem.names import Names, text_of

CERTAIN = 1e12  # episodes that a first state which is given counts as, so that it has no error
UNEXPLAINED = 0.05  # share of starts that may be missing for the rest to count, without episodes
END, UNKNOWN = "end", "unknown"  # states that the estimated problem has beside those of the log


@dataclass(frozen=True, eq=False)
class LoggedModel:
    """A log by its counts; `from_log` makes one, and `painless.solve` plans on it.

    Two logs of the same kind are added with `+`: the sum is the log of all their rows.
    """

    memory: Memory  # in two halves, the first and the second of the log
    columns: LogColumns
    states: Names
    actions: Names
    discount: float
    starts: Starts
    kept: KeptRows  # the first rows
    initial_given: bool = False
    untried: bool = False

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.memory.steps

    @property
    def sign(self) -> Array:
        """+1 or −1 for each utility, (J,): the user's value is sign times the internal one."""
        return self.columns.sign

    @cached_property
    def threshold(self) -> Array:
        """The limits in the internal sense, (K,)."""
        return self.columns.limit * self.sign[1:]

    @cached_property
    def model(self) -> LearnedModel:
        """The model that the counts give."""
        return LearnedModel(self.memory, self.discount, self.threshold, logged=True, untried=self.untried)

    @cached_property
    def _added(self) -> list[tuple[int, str]]:
        """The states that the estimated problem has beside those of the log, with their places in the model."""
        ends = bool((self.model.successors == self.memory.states).any())
        unknown = self.untried or not self.model.tried.any(1).all()
        taken = {*self.states.texts}
        wanted = [(0, END)] * ends + [(1, UNKNOWN)] * unknown
        return [(self.memory.states + place, _free(name, taken)) for place, name in wanted]

    @cached_property
    def problem(self) -> CMDP:
        """The estimated problem: P = n/Σn and mean utilities, in the user's terms.

        Rows that end lead to a state "end", worth 0, and states without rows of their own to a state "unknown", where every step is as bad as
        the worst one in the log.
        """
        transition, utility, actions = self.model.nominal_parts
        kept = np.append(np.arange(self.memory.states), [place for place, _ in self._added]).astype(int)
        pairs = (kept[:, None] * len(self.actions) + np.arange(len(self.actions))).ravel()
        utility = utility[:, kept] * self.sign[:, None, None] + 0.0
        limits, lower = self.columns.limit, len(self.columns.constraint_reward)
        return CMDP(
            transition[pairs][:, kept],
            **{"cost" if self.columns.reward is None else "reward": utility[0]},
            initial=np.append(self.model.initial, np.zeros(len(self._added))),
            discount=self.discount,
            constraint_reward=utility[1 : 1 + lower] if lower else None,
            threshold=limits[:lower] if lower else None,
            constraint_cost=utility[1 + lower :] if len(limits) > lower else None,
            budget=limits[lower:] if len(limits) > lower else None,
            actions=actions[kept],
            names={
                "states": [*self.states, *(name for _, name in self._added)],
                "actions": self.actions,
                **({"constraints": self.columns.constraint_names} if len(limits) else {}),
            },
        )

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many rows each pair has, (S, A), in the order of the names of `problem`."""
        table = np.zeros((self.memory.states + len(self._added), len(self.actions)), dtype=np.int64)
        table[: self.memory.states] = self.memory.visits.astype(np.int64)
        return table

    def extended(self, policy: Array) -> Array:
        """Return a policy (S, A) with rows for the states that were added."""
        rest = np.full((len(self._added), policy.shape[1]), 1 / policy.shape[1])
        return np.vstack([policy, rest])

    def describe(self) -> Description:
        """Return how large the log is, what it covers of what the estimate would plan, and what was never tried."""
        return describe(self)

    def with_limits(self, limit: Any) -> LoggedModel:
        """Return the same log with other limits, in order or by name, in the user's terms."""
        limits = self.problem.with_limits(limit).limit
        lower = len(self.columns.constraint_reward)
        columns = replace(
            self.columns,
            constraint_reward=dict(zip(self.columns.constraint_reward, limits[:lower].tolist(), strict=True)),
            constraint_cost=dict(zip(self.columns.constraint_cost, limits[lower:].tolist(), strict=True)),
        )
        return replace(self, columns=columns)

    def __add__(self, other: Any) -> LoggedModel:
        """Return the log of the rows of both."""
        if not isinstance(other, LoggedModel):
            return NotImplemented
        from painless.logs.merging import merged

        return merged(self, other)

    def __repr__(self) -> str:
        sizes = [
            counted(self.rows, "row"),
            counted(len(self.states), "state"),
            counted(len(self.actions), "action"),
            counted(len(self.threshold), "constraint"),
        ]
        return f"LoggedModel({', '.join(sizes)}, discount {self.discount:g})"


def _free(name: str, taken: set[str]) -> str:
    """Return a name that no state of the log has."""
    while name in taken:
        name = f"({name})"
    return name


def logged_model(
    tally: Tally, columns: LogColumns, discount: float, initial: Any, *, untried: bool
) -> LoggedModel:
    """Return the model of all that was added up."""
    states, state_place = tally.indices.state.sorted(tally.used_states(), texts=tally.texts)
    actions, action_place = tally.indices.action.sorted(
        np.arange(len(tally.indices.action)), texts=tally.texts
    )
    memory = _memory(tally, state_place, action_place, len(states))
    starts = Starts(np.zeros(len(states)), 0, 0)
    if columns.episode is not None:
        found = tally.starts()
        used = state_place >= 0
        starts = found._replace(by_state=summed_by(state_place[used], found.by_state[used], len(states)))
    kept = KeptRows.joined(
        tally.kept, whole=tally.kept[-1].whole and sum(len(k.state) for k in tally.kept) == tally.rows
    )
    kept = kept.renumbered(state_place, action_place)
    first = _first(columns, memory, starts, kept, initial, states)
    memory.starts = np.stack([first, np.zeros_like(first)])
    return LoggedModel(memory, columns, states, actions, discount, starts, kept, initial is not None, untried)


def _memory(
    tally: Tally, state_place: NDArray[np.int64], action_place: NDArray[np.int64], states: int
) -> Memory:
    """Return the counts under the final numbers of states and actions."""
    raw = tally.memory
    memory = Memory(len(action_place), raw.utilities)
    both = np.fromiter(tally.pair_place, dtype=np.int64, count=len(tally.pair_place))[raw.pairs]
    state, action = both >> SUCCESSOR_BITS, both & ((1 << SUCCESSOR_BITS) - 1)
    successor = (raw.keys & ((1 << SUCCESSOR_BITS) - 1)) - 1
    successor = np.where(successor < 0, -1, state_place[np.maximum(successor, 0)])
    keys = ((state_place[state] * memory.actions + action_place[action]) << SUCCESSOR_BITS) | (successor + 1)
    order = np.argsort(keys)
    memory.keys = keys[order]
    memory.counts, memory.sums, memory.squares = (
        raw.counts[:, order],
        raw.sums[:, order],
        raw.squares[:, order],
    )
    memory.low, memory.high = raw.low, raw.high
    memory.starts = np.zeros((2, states))
    return memory


def _first(
    columns: LogColumns, memory: Memory, starts: Starts, kept: KeptRows, initial: Any, states: Names
) -> Array:
    """Return how many episodes begin in each state, (S,).

    They are those of the episodes. Without episodes it is every state as often as the log has it; with rows that end, as often as it is
    left more often than entered, if nearly all of the log is explained by that.
    """
    if initial is not None:
        return CERTAIN * _given(initial, states)
    if columns.episode is not None:
        known = starts.by_state.sum()
        if known >= starts.closed + starts.broken:
            return starts.by_state
        first = np.unique(kept.episode, return_index=True)[1]
        return np.bincount(kept.state[first], minlength=len(states)).astype(float)
    visits = memory.visits.sum(1)
    successors, count = memory.successors, memory.counts.sum(0)
    entered = np.bincount(successors, count, len(states) + 1)
    left = np.maximum(visits - entered[:-1], 0.0)
    unexplained = np.maximum(entered[:-1] - visits, 0.0).sum()
    explained = columns.done is not None and left.any() and unexplained <= UNEXPLAINED * left.sum()
    return left if explained else visits


def _given(initial: Any, states: Names) -> Array:
    """Return ρ, (S,), from the name of the first state, or from probabilities by name."""
    shares = initial if isinstance(initial, Mapping) else {initial: 1.0}
    start = np.zeros(len(states))
    for name, share in shares.items():
        place = states.places.get(text_of(name))
        if place is None:
            raise states.missing("state", name)
        start[place] += number(f"initial probability of {name!r}", share, "give one")
    if (start < 0).any() or abs(start.sum() - 1) > 1e-8:
        raise InputError(
            f"the initial probabilities sum to {start.sum():g}; give probabilities that sum to 1"
        )
    return start / start.sum()
