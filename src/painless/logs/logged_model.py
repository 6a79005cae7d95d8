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
from painless.counting.judgement import Judged
from painless.counting.learned_model import LearnedModel
from painless.counting.memory import SUCCESSOR_BITS, Memory
from painless.engines.drawn import Drawn, as_answer
from painless.logs.adding import Adding
from painless.logs.description import Description, describe
from painless.logs.episode_tally import Starts
from painless.logs.log_columns import LogColumns
from painless.logs.previous import Previous
from painless.logs.tally import KeptRows, Tally
from painless.logs.whole_episodes import Returns
from painless.policies.table import TabularPolicy
from painless.policies.table_mixture import TableMixture
from painless.policies.timed import TimedPolicy, policy_of
from painless.problem import CMDP, Criterion
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
    adding: Adding  # how steps add up
    starts: Starts
    returns: Returns  # of the whole episodes
    previous: Previous  # what followed a pair by the state before it
    kept: KeptRows  # the first rows
    initial_given: bool = False
    untried: bool = False

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.memory.steps

    @property
    def discount(self) -> float:
        """γ; 1 without one."""
        return self.adding.discount

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
        return self.model_of(self.memory)

    def model_of(self, memory: Memory) -> LearnedModel:
        """Return the model that other counts would give."""
        adding = self.adding
        return LearnedModel(
            *(memory, adding.discount, self.threshold),
            logged=True,
            untried=self.untried,
            horizon=adding.horizon,
            average=adding.average,
        )

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
            **self.model.criterion_arguments,
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

    def extended(self, table: Array) -> Array:
        """Return a policy (S, A) or (H, S, A) with rows for the states that were added."""
        rest = np.full((*table.shape[:-2], len(self._added), table.shape[-1]), 1 / table.shape[-1])
        return np.concatenate([table, rest], -2)

    def policy(self, judged: Judged) -> TabularPolicy | TimedPolicy | TableMixture:
        """Return a policy on the model as users see it, with the names of the log."""
        found = judged.policy
        if isinstance(found, Drawn):
            parts = tuple(self.extended(part) for part in found.parts)
            return as_answer(self.problem, Drawn(parts, found.weights))
        stages = judged.occupancy if judged.stages is None else judged.stages
        visits = np.concatenate([stages.sum(-1), np.zeros((*stages.shape[:-2], len(self._added)))], -1)
        return policy_of(self.problem, self.extended(found).reshape(-1, found.shape[-1]), visits.reshape(-1))

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
        return f"LoggedModel({', '.join(sizes)}, {self.adding})"


def _free(name: str, taken: set[str]) -> str:
    """Return a name that no state of the log has."""
    while name in taken:
        name = f"({name})"
    return name


def logged_model(
    tally: Tally, columns: LogColumns, adding: Adding, initial: Any, *, untried: bool
) -> LoggedModel:
    """Return the model of all that was added up."""
    states, state_place = tally.indices.state.sorted(tally.used_states(), texts=tally.texts)
    actions, action_place = tally.indices.action.sorted(
        np.arange(len(tally.indices.action)), texts=tally.texts
    )
    memory = _memory(tally, state_place, action_place, len(states))
    if adding.criterion is Criterion.TOTAL and not (memory.successors == memory.states).any():
        raise InputError(
            f"no row ends an episode by column {columns.done!r}, so that there is no total until the end; "
            "give a horizon, a discount below 1, or average=True"
        )
    starts = _starts(tally.episodes.starts, state_place, len(states))
    kept = KeptRows.joined(tally.kept, whole=sum(len(k.state) for k in tally.kept) == tally.rows)
    kept = kept.renumbered(state_place, action_place)
    both = np.fromiter(tally.pair_place, dtype=np.int64, count=len(tally.pair_place))
    pair_place = (
        state_place[both >> SUCCESSOR_BITS] * len(actions) + action_place[both & ((1 << SUCCESSOR_BITS) - 1)]
    )
    previous = tally.episodes.previous.renumbered(pair_place, state_place)
    first = _first(columns, memory, starts, kept, initial, states)
    if adding.average:
        _leave_out_the_last(memory)
    memory.starts = np.stack([first, np.zeros_like(first)])
    return LoggedModel(
        *(memory, columns, states, actions, adding, starts, tally.episodes.returns, previous, kept),
        initial_given=initial is not None,
        untried=untried,
    )


def _starts(found: Starts, state_place: NDArray[np.int64], states: int) -> Starts:
    place = state_place[: len(found.by_state)]
    used = place >= 0
    return found._replace(by_state=summed_by(place[used], found.by_state[used], states))


def _leave_out_the_last(memory: Memory) -> None:
    """Leave out the one row, if it is one, that leads to a state without rows: a log breaks off somewhere, and nothing follows from it."""
    visits = memory.visits.sum(1)
    dead = np.append(visits == 0, False)[memory.successors]
    if memory.counts[:, dead].sum() == 1 and memory.steps > 1:
        for name in ("counts", "sums", "squares"):
            setattr(memory, name, getattr(memory, name)[:, ~dead])
        memory.keys = memory.keys[~dead]


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
