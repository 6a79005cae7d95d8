"""Episodes of a finite environment, one step at a time: what the learner of models asks for, and the player that records them."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from painless.common.arrays import Array
from painless.counting.memory import Indices, Memory
from painless.counting.trail import End, Trail
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
UNKNOWN: Iterator[int] = iter(())  # actions that are yet to be drawn
RESETS = 0.25  # of all steps, at most: episodes that are left at once, of which each counts as a step


class Episodes(Protocol):
    """An environment whose observations repeat; observations have hashable keys."""

    @property
    def specification(self) -> Specification:
        """Actions, discount, limits and the time limit."""

    def start(self, seed: int | None) -> Hashable:
        """Begin an episode; with a seed, those after it follow from it as well. Return the key of its first observation."""

    def walk(self, state: int, steps: int, trail: Trail) -> End:
        """Take up to `steps` upcoming actions from a state on, until the episode ends; leave them in the trail."""

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

    def walk(self, state: int, steps: int, trail: Trail) -> End:
        """Take up to `steps` upcoming actions from a state on, until the episode ends; leave them in the trail."""
        for _ in range(steps):
            action = trail.next(state)
            key, utilities, terminated, truncated = self.step(action)
            state = -1 if terminated else trail.number(key)
            trail.add(action, utilities, state)
            if terminated or truncated:
                return state, terminated, truncated
        return state, False, False

    def step(self, action: int) -> tuple[Hashable, Sequence[float], bool, bool]:
        """Return the next observation's key, all J utilities, and whether the episode was terminated or truncated."""
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
    found: list[Choice] = policy.argmax(1).tolist()
    mixed = np.flatnonzero(policy.max(1) <= 1 - 1e-9)
    for state, row in zip(mixed.tolist(), policy[mixed].cumsum(1).tolist(), strict=True):
        found[state] = row
    return found


class Returns(NamedTuple):
    """What one episode collected."""

    discounted: list[float]  # (J,)
    total: list[float]  # (J,)
    length: int

    @classmethod
    def of(cls, table: Array, discount: float) -> Self:
        """Add up the utilities (n, J) of all steps of an episode.

        >>> Returns.of(np.array([[1.0, 0.0], [1.0, 2.0]]), 0.5)
        Returns(discounted=[1.5, 1.0], total=[2.0, 2.0], length=2)
        """
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
        self.numbers: dict[Hashable, int] = {}  # of states, by the keys of their observations
        self.places: dict[Hashable, int] = {}  # the same, by what the observations look like
        # (S, A) when the latest batch began, of the states known then; rows of states where it counts, or that are new
        self.tries: Indices = np.zeros((0, memory.actions), dtype=np.int64)
        self._rows: dict[int, list[int]] = {}
        self.steps = self.played = 0  # steps and episodes
        self.left = 0  # episodes that were left at once
        self.longest = 0  # steps of an episode
        self.cut_off = False  # whether the environment ever truncated one
        self.forced = 0  # steps in which the plan's action was tried often enough
        self._part = 1  # steps between two looks at the clock
        self._draws = self._uniform()
        self._choices: list[Choice] = []  # of all states
        self._upcoming: list[Iterator[int]] = []  # the next actions in each state, as long as they are known
        self._explores = False

    @property
    def time_limit(self) -> int:
        """The steps of an episode as far as is known: those of the longest one, if the environment itself cuts episodes off."""
        return self.longest if self.cut_off else self.episodes.specification.time_limit or 0

    def _uniform(self) -> Iterator[float]:
        return chain.from_iterable(self.rng.random(DRAWS).tolist() for _ in repeat(None))

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
        trail, seed = self._prepared(choices, explore=explore)
        target, exhausted = self.steps + steps, self.forced + EXHAUSTED * self.steps + LEAST_EXHAUSTED
        least = self.steps + max(SHORTEST * self.steps + ENTRIES * len(self.memory.keys), least)
        discount = self.episodes.specification.discount
        try:
            while self.steps < target and (self.forced <= exhausted or self.steps < least) and not stop():
                self.played += 1
                first = len(trail.successors)
                whole = self._episode(seed, trail, stop if returns is None else None, late)
                seed = None
                if not whole:
                    break
                if returns is not None:
                    returns.append(Returns.of(trail.since(first), discount))
        finally:
            self._store(trail)

    def begin(self, episodes: float, stop: Callable[[], bool] = lambda: False) -> None:
        """Begin episodes and leave them at once, until so many were, or `stop()` says so, or they are a quarter of all steps.

        Where nobody has acted yet, an episode goes on until it comes to a state that is known: of a state without any data a plan expects the worst.
        """
        (trail, seed), target = self._prepared([]), self.steps + episodes
        try:
            while self.steps < target and self.left < RESETS * self.steps and not stop():
                state, seed, going = self._first(seed, trail), None, True
                self.left += 1
                self.steps += 1
                while going and self.steps < target and not any(self._row(state)):
                    state, going = self._stretch(state, trail, 1)
                    self.steps += 1
        finally:
            self._store(trail)

    def _prepared(self, choices: list[Choice], *, explore: bool = False) -> tuple[Trail, int | None]:
        """Forget what the last episodes left, so that the generator's state is all that a checkpoint needs; return an empty trail and a seed."""
        self._draws, self._explores = self._uniform(), explore
        self._choices = [*choices, *[None] * (len(self.numbers) - len(choices))]
        plain = [state for state, choice in enumerate(self._choices) if type(choice) is int]
        actions: list[Any] = [self._choices[state] for state in plain]
        self._upcoming = [UNKNOWN] * len(self._choices)
        if explore:
            planned = map(repeat, actions, self._times(plain, actions).tolist())
        else:
            always = [repeat(action) for action in range(self.memory.actions)]
            planned = map(always.__getitem__, actions)
        for state, upcoming in zip(plain, planned, strict=True):
            self._upcoming[state] = upcoming
        trail = Trail(self.memory.utilities, self._upcoming, self._more, self._number, self.places)
        return trail, int(self.rng.integers(2**31))

    def _store(self, trail: Trail) -> None:
        """Add a trail to the memory, and count the tries anew."""
        trail.store(self.memory)
        self.tries, self._rows = np.zeros((len(self.numbers), self.memory.actions), dtype=np.int64), {}
        self.tries[: self.memory.states] = self.memory.visits

    def _episode(
        self,
        seed: int | None,
        trail: Trail,
        stop: Callable[[], bool] | None,
        late: Callable[[], bool],
    ) -> bool:
        """Play an episode to its end, to the time limit, or until `stop()` or `late()` says so; return whether neither did."""
        state = self._first(seed, trail)
        before, length, going, allowed = self.steps, 0, True, self.episodes.specification.time_limit or 0
        while going and length < allowed:
            rest = length % STRETCH
            if length and ((not rest and stop is not None and stop()) or late()):
                return False
            begun, now = len(trail.successors), time.perf_counter()
            try:
                part = min(self._part, STRETCH - rest, allowed - length)
                state, going = self._stretch(state, trail, part)
            finally:
                length += len(trail.successors) - begun
                self.steps = before + length
                self.longest = max(self.longest, length)
            slow = time.perf_counter() - now > MOMENT
            self._part = max(self._part // 2, 1) if slow else min(2 * self._part, STRETCH)
        return True

    def _first(self, seed: int | None, trail: Trail) -> int:
        """Begin an episode; return its first state."""
        state = self._number(self.episodes.start(seed))
        trail.begin(state)
        return state

    def _stretch(self, state: int, trail: Trail, steps: int) -> tuple[int, bool]:
        """Play some steps of an episode; return the state after them, and whether it goes on."""
        state, terminated, truncated = self.episodes.walk(state, steps, trail)
        self.cut_off = self.cut_off or (truncated and not terminated)
        return state, not (terminated or truncated)

    def _more(self, state: int) -> int:
        """Return the next action in a state where it does not follow from the plan, or was taken often enough; those after it are upcoming."""
        choice, row = self._choices[state], self._row(state)
        if choice is None:
            found = self._least(row)
        elif isinstance(choice, int):
            row[choice] += int(self._times(state, choice))
            found = self._least(row, forced=1)
        else:
            found = self._mixed(choice, row) if self._explores else self._stratified(choice)
        self._upcoming[state] = found
        return next(found)

    def _mixed(self, cumulative: list[float], row: list[int]) -> Iterator[int]:
        """Draw actions; in place of one that was tried often enough the one tried least is taken."""
        most = [max(2 * tried, 1) for tried in row]
        for action in self._stratified(cumulative):
            if row[action] < most[action]:
                row[action] += 1
                yield action
            else:
                yield next(self._least(row, forced=1))

    def _stratified(self, cumulative: list[float]) -> Iterator[int]:
        """Draw the actions of a state that mixes them."""
        while True:
            order = self.rng.permuted(PARTS, axis=1)
            drawn = (order + self.rng.random(order.shape)).reshape(-1) / STRATA
            actions = np.searchsorted(cumulative, drawn * cumulative[-1], side="right")
            yield from np.minimum(actions, len(cumulative) - 1)[::-1].tolist()

    def _least(self, row: list[int], *, forced: int = 0) -> Iterator[int]:
        """Draw one of the actions tried least each time, and count it; `forced` steps go against the plan."""
        draws = self._draws
        while True:
            least = min(row)
            options = [action for action, tried in enumerate(row) if tried == least]
            for count in range(len(options), 0, -1):
                action = options.pop(int(next(draws) * count))
                row[action] += 1
                self.forced += forced
                yield action

    def _number(self, key: Hashable) -> int:
        """Return the number of a state, the next one if it is new."""
        state = self.numbers.setdefault(key, len(self._choices))
        if state == len(self._choices):
            self._choices.append(None)
            self._upcoming.append(UNKNOWN)
        return state

    def _row(self, state: int) -> list[int]:
        """Return how often each action was tried in a state, (A,), which counts on."""
        if state not in self._rows:
            known = state < len(self.tries)
            self._rows[state] = self.tries[state].tolist() if known else [0] * self.memory.actions
        return self._rows[state]

    def _times(self, states: Any, actions: Any) -> Any:
        """Return how often planned actions are taken in a batch that explores: as often as in all batches before it, or once."""
        return np.maximum(self.tries[states, actions], 1)
