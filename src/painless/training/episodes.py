"""Episodes of a finite environment, one step at a time: what the learner of models asks for, and the player that records them."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from painless.common.arrays import Array
from painless.counting.memory import Memory
from painless.policies.observed import key_of, rows_of
from painless.simulation.simulator import Simulator, Specification

EXHAUSTED = 0.002  # of all steps so far: those in which a plan's action was tried often enough,
LEAST_EXHAUSTED = 3  # and so many more, at which a new plan is due,
SHORTEST = 0.12  # but not before this share of all steps so far,
ENTRIES = 0.1  # and a step for so many of the model's entries, since its size is what a plan costs
DRAWS = 4096  # random numbers that are drawn at once
STRETCH = 100  # steps of an episode after which the budget may end it
MOMENT = 0.05  # seconds after which to look at the clock, if steps are slow
STRATA = 32  # draws in a row of a state that mixes actions, one in each of so many equal parts
PARTS = np.tile(np.arange(STRATA), (8, 1))  # of several rows, drawn at once
RESETS = 0.25  # of all steps, at most: episodes that are left at once, of which each counts as a step


class Episodes(Protocol):
    """An environment whose observations repeat; `start` and `step` return observations as hashable keys."""

    @property
    def specification(self) -> Specification:
        """Actions, discount, limits and the time limit."""

    def start(self, seed: int | None) -> Hashable:
        """Begin an episode; with a seed, those after it follow from it as well."""

    def step(self, action: int) -> tuple[Hashable, Sequence[float], bool, bool]:
        """Return the next observation, all J utilities in the internal sense, and whether the episode was terminated or truncated."""

    def observations(self, keys: Sequence[Any]) -> Array:
        """Return the observations behind keys as numbers, (n, D)."""


class SimulatedEpisodes:
    """The episodes of a simulator, one at a time."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self._rng = np.random.default_rng(0)

    @property
    def specification(self) -> Specification:
        """That of the simulator."""
        return self.simulator.specification

    def start(self, seed: int | None) -> Hashable:
        """Begin an episode; with a seed, those after it follow from it as well."""
        self._rng = self._rng if seed is None else np.random.default_rng(seed)
        self._states = self.simulator.reset(1, self._rng)
        return key_of(self._states[0])

    def step(self, action: int) -> tuple[Hashable, Sequence[float], bool, bool]:
        """Take a step of the episode."""
        outcome = self.simulator.step(self._states, np.array([action]), self._rng)
        self._states = outcome.states
        truncated = outcome.truncated is not None and bool(outcome.truncated[0])
        key = key_of(self._states[0])
        return key, outcome.utilities[0].tolist(), bool(outcome.terminated[0]), truncated

    def observations(self, keys: Sequence[Any]) -> Array:
        """Return the observations behind keys, (n, D)."""
        return rows_of(keys)


Choice = int | list[float] | None  # an action, cumulative probabilities, or none: the action tried least


def choices_of(policy: Array) -> list[Choice]:
    """Return the rows of a policy (S, A) as what `Player` plays.

    >>> choices_of(np.array([[0.0, 1.0], [0.5, 0.5]]))
    [1, [0.5, 1.0]]
    """
    best, certain = policy.argmax(1).tolist(), (policy.max(1) > 1 - 1e-9).tolist()
    cumulative = policy.cumsum(1).tolist()
    return [a if sure else row for a, sure, row in zip(best, certain, cumulative, strict=True)]


class Returns(NamedTuple):
    """What one episode collected."""

    discounted: list[float]  # (J,)
    total: list[float]  # (J,)
    length: int

    @classmethod
    def of(cls, utilities: Sequence[float], count: int, discount: float) -> Self:
        """Add up the utilities of all steps of an episode, `count` numbers for each step in a row.

        >>> Returns.of([1.0, 0.0, 1.0, 2.0], 2, 0.5)
        Returns(discounted=[1.5, 1.0], total=[2.0, 2.0], length=2)
        """
        table = np.array(utilities, dtype=float).reshape(-1, count)
        factor = discount ** np.arange(len(table))
        return cls((factor @ table).tolist(), table.sum(0).tolist(), len(table))


class Player:
    """Plays policies, numbers the states in the order of first sight, and counts every step in a memory.

    In states that a policy does not know the action tried least is taken. When it explores, the same happens once a pair was tried as often in
    one batch as in all batches before it. Where a policy mixes actions, the draws of a state are stratified: each is
    uniform, so that means of episodes are those of the policy, and they scatter less. An episode that is left at once, to see its first state, counts as a step.
    """

    def __init__(self, episodes: Episodes, memory: Memory, rng: np.random.Generator) -> None:
        self.episodes, self.memory, self.rng = episodes, memory, rng
        self.numbers: dict[Hashable, int] = {}
        self.tries: list[list[int]] = []  # (S, A)
        self.steps = self.played = 0  # steps and episodes
        self.left = 0  # episodes that were left at once
        self.longest = 0  # steps of an episode
        self.cut_off = False  # whether the environment ever truncated one
        self.forced = 0  # steps in which the plan's action was tried often enough
        self._part = 1  # steps between two looks at the clock
        self._draws = self._uniform()
        self._choices: list[Choice] = []  # of all states
        self._strata: dict[int, list[int]] = {}  # the next actions of states that mix them

    @property
    def time_limit(self) -> int:
        """The steps of an episode as far as is known: those of the longest one, if the environment itself cuts episodes off."""
        return self.longest if self.cut_off else self.episodes.specification.time_limit or 0

    def _uniform(self) -> Iterator[float]:
        while True:
            yield from self.rng.random(DRAWS).tolist()

    def play(
        self,
        choices: list[Choice],
        steps: float,
        *,
        explore: bool,
        returns: list[Returns] | None = None,
        stop: Callable[[], bool] = lambda: False,
        late: Callable[[], bool] = lambda: False,
        least: float = 0.0,
    ) -> None:
        """Play episodes until `steps` are done or `stop()` says so, which leaves one before its end; add what each collected to `returns`.

        Episodes for `returns` are played to their end: without those that the budget ends, long ones would count too rarely. `late()`, which is asked about as often as `MOMENT` says, ends any episode, and one for `returns` then counts for nothing. A batch that explores ends early when it brings little more, after `least` steps at the soonest. What was recorded until an exception is kept.
        """
        record, seed = self._prepared(choices)
        most = self._enough() if explore else None
        target, exhausted = self.steps + steps, self.forced + EXHAUSTED * self.steps + LEAST_EXHAUSTED
        least = self.steps + max(SHORTEST * self.steps + ENTRIES * len(self.memory.keys), least)
        discount = self.episodes.specification.discount
        try:
            while self.steps < target and (self.forced <= exhausted or self.steps < least) and not stop():
                self.played += 1
                first = len(record.utilities)
                whole = self._episode(seed, most, record, stop if returns is None else None, late)
                seed = None
                if not whole:
                    break
                if returns is not None:
                    returns.append(Returns.of(record.utilities[first:], self.memory.utilities, discount))
        finally:
            record.store(self.memory)

    def begin(self, episodes: float, stop: Callable[[], bool] = lambda: False) -> None:
        """Begin episodes and leave them at once, until so many were, or `stop()` says so, or they are a quarter of all steps.

        Where nobody has acted yet, an episode goes on until it comes to a state that is known: of a state without any data a plan expects the worst.
        """
        (record, seed), target = self._prepared([]), self.steps + episodes
        try:
            while self.steps < target and self.left < RESETS * self.steps and not stop():
                state, seed, going = self._first(seed), None, True
                record.starts.append(state)
                self.left += 1
                self.steps += 1
                while going and self.steps < target and not any(self.tries[state]):
                    state, going = self._stretch(state, None, record, 1)
                    self.steps += 1
        finally:
            record.store(self.memory)

    def _prepared(self, choices: list[Choice]) -> tuple[_Record, int | None]:
        """Forget what the last episodes left, so that the generator's state is all that a checkpoint needs; return an empty record and a seed."""
        self._draws = self._uniform()
        self._strata = {}
        self._choices = [*choices, *[None] * (len(self.tries) - len(choices))]
        return _Record(), int(self.rng.integers(2**31))

    def _enough(self) -> list[list[int]]:
        """Return how often each pair may have been tried, (S, A), before it is explored no further."""
        tries = np.array(self.tries, dtype=np.int64).reshape(-1, self.memory.actions)
        return list(np.maximum(2 * tries, 1).tolist())

    def _episode(
        self,
        seed: int | None,
        most: list[list[int]] | None,
        record: _Record,
        stop: Callable[[], bool] | None,
        late: Callable[[], bool],
    ) -> bool:
        """Play an episode to its end, to the time limit, or until `stop()` or `late()` says so; return whether neither did."""
        state = self._first(seed)
        record.starts.append(state)
        before, length, going, allowed = self.steps, 0, True, self.episodes.specification.time_limit or 0
        while going and length < allowed:
            rest = length % STRETCH
            if length and ((not rest and stop is not None and stop()) or late()):
                return False
            begun, now = len(record.steps), time.perf_counter()
            try:
                part = min(self._part, STRETCH - rest, allowed - length)
                state, going = self._stretch(state, most, record, part)
            finally:
                length += (len(record.steps) - begun) // 3
                self.steps = before + length
                self.longest = max(self.longest, length)
            slow = time.perf_counter() - now > MOMENT
            self._part = max(self._part // 2, 1) if slow else min(2 * self._part, STRETCH)
        return True

    def _first(self, seed: int | None) -> int:
        """Begin an episode; return its first state."""
        key = self.episodes.start(seed)
        state = self.numbers.get(key)
        return self._number(key) if state is None else state

    def _stretch(
        self, state: int, most: list[list[int]] | None, part: _Record, steps: int
    ) -> tuple[int, bool]:
        """Play some steps of an episode; return the state after them, and whether it goes on."""
        step, numbers, tries, choices = self.episodes.step, self.numbers, self.tries, self._choices
        record, collect, strata = part.steps.extend, part.utilities.extend, self._strata
        for _ in range(steps):
            choice, row = choices[state], tries[state]
            if choice is None:
                action = self._least(row)
            else:
                if type(choice) is int:
                    action = choice
                else:
                    left = strata.get(state)
                    action = left.pop() if left else self._stratified(state, choice)  # type: ignore[arg-type]
                if most is not None and row[action] >= most[state][action]:
                    action = self._least(row)
                    self.forced += 1
            key, utilities, terminated, truncated = step(action)
            successor = -1 if terminated else numbers.get(key)
            if successor is None:
                successor = self._number(key)
            collect(utilities)
            record((state, action, successor))
            row[action] += 1
            state = successor
            if terminated or truncated:
                self.cut_off = self.cut_off or (truncated and not terminated)
                return state, False
        return state, True

    def _stratified(self, state: int, cumulative: list[float]) -> int:
        """Draw the next actions in a state that mixes them, and return the first."""
        order = self.rng.permuted(PARTS, axis=1)
        drawn = (order + self.rng.random(order.shape)).reshape(-1) / STRATA
        actions = np.searchsorted(cumulative, drawn * cumulative[-1], side="right")
        self._strata[state] = left = np.minimum(actions, len(cumulative) - 1).tolist()
        return left.pop()

    def _number(self, key: Hashable) -> int:
        self.numbers[key] = state = len(self.tries)
        self.tries.append([0] * self.memory.actions)
        self._choices.append(None)
        return state

    def _least(self, row: list[int]) -> int:
        """Draw one of the actions tried least."""
        least = min(row)
        options = [action for action, tried in enumerate(row) if tried == least]
        return options[int(next(self._draws) * len(options))]


class _Record:
    """Steps that are not yet in the memory, as numbers in a row: containers would cost more."""

    def __init__(self) -> None:
        self.steps: list[int] = []  # state, action and successor of each
        self.utilities: list[float] = []  # J of each
        self.starts: list[int] = []

    def store(self, memory: Memory) -> None:
        """Add all complete steps to the memory."""
        count = min(len(self.steps) // 3, len(self.utilities) // memory.utilities)
        steps = np.array(self.steps[: 3 * count], dtype=np.int64).reshape(count, 3)
        utilities = np.array(self.utilities[: memory.utilities * count], dtype=float)
        starts = np.array(self.starts, dtype=np.int64)
        memory.add(
            0, steps[:, 0], steps[:, 1], steps[:, 2], utilities.reshape(count, memory.utilities), starts
        )
