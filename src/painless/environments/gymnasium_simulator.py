"""Episodes of a Gymnasium environment as a simulator, and what random ones show of its ranges."""

from __future__ import annotations

import math
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from painless.common import extras
from painless.common.arrays import Array, Mask
from painless.common.errors import InputError, shown
from painless.environments.constraint import Constraint, Function, names_of
from painless.environments.interface import MOST_ACTIONS, MOST_NUMBERS, Interface
from painless.environments.making import LONGEST, Maker, place_of
from painless.environments.utilities import Utilities
from painless.simulation.simulator import Outcome, Specification, States

PILOT = 20  # episodes of random actions, to see the ranges that were not declared
PILOT_STEPS = 4000  # after which no other of them begins
PILOT_NUMBERS = 4 * 10**6  # that are kept of their observations; images are large
NAMED = 50  # characters of a name in an error
REPEATED = 0.5  # the share of new observations among those of random actions up to which they can be counted


@dataclass(eq=False)
class GymnasiumSimulator:
    """Copies of an environment, one for each episode of a batch, stepped one after the other."""

    exploration: ClassVar[float] = 0.2  # suggested to `train`: such environments often reward rarely

    make: Maker
    constraints: tuple[Constraint, ...]
    discount: float
    objective: int | None
    time_limit: int
    name: str
    reward_range: tuple[float, float] | None = None
    reward: Function | None = None
    source: dict[str, Any] | None = None  # how to make the environment again
    pool: list[Any] = field(default_factory=list, repr=False)
    # Episodes that continue: number, environment
    _alive: list[tuple[int, Any]] = field(default_factory=list, repr=False)
    _last: dict[int, Any] = field(default_factory=dict, repr=False)  # the latest observation of each
    _steps: int = field(default=0, repr=False)
    _seen: list[Array] = field(default_factory=list, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the environments behind: a copy elsewhere makes its own."""
        assert self.specification is not None  # what it knows from them goes along
        assert self.interface is not None
        return {**self.__dict__, "pool": [], "_alive": [], "_last": {}}

    @cached_property
    def specification(self) -> Specification:
        """The ranges that were declared, and those that were seen for the rest."""
        signs = np.array([1.0, *(one.sign for one in self.constraints)])
        declared = [self.reward_range or (None, None), *((one.low, one.high) for one in self.constraints)]
        # In the user's terms
        seen = np.array(self._seen) * signs if self._seen else np.zeros((1, len(signs)))
        low = np.array([s if d[0] is None else d[0] for d, s in zip(declared, seen.min(0), strict=True)])
        high = np.array([s if d[1] is None else d[1] for d, s in zip(declared, seen.max(0), strict=True)])
        ends = np.sort(np.stack([low * signs, high * signs]), axis=0)
        return Specification(
            actions=self.actions,
            discount=self.discount,
            threshold=np.array([one.sign * one.limit for one in self.constraints]),
            low=ends[0],
            high=ends[1],
            time_limit=self.time_limit,
            sense=tuple(one.sense for one in self.constraints),
            constraint_names=names_of(self.constraints),
            declared=all(d[0] is not None and d[1] is not None for d in declared),
        )

    @property
    def actions(self) -> int:
        """A."""
        return self.interface.actions

    @cached_property
    def interface(self) -> Interface:
        """The spaces; those that cannot be taken are rejected."""
        one = self.pool[0]
        return Interface.of(one.observation_space, one.action_space, self.name)

    @cached_property
    def utilities(self) -> Utilities:
        """How a step's utilities are read."""
        return Utilities(self.objective, self.reward, self.constraints)

    @property
    def episodic(self) -> Mask:
        """Which limits are on the undiscounted sum over an episode, (K,)."""
        return np.array([one.episode for one in self.constraints], dtype=bool)

    @cached_property
    def repeats(self) -> bool:
        """Whether observations repeat, so that they can be counted: few by their space, or seen again by random actions."""
        if not self._may_repeat or self.interface.small:
            return self._may_repeat
        distinct = len(np.unique(self.observed.reshape(len(self.observed), -1), axis=0))
        return bool(distinct <= REPEATED * len(self.observed))

    @property
    def _may_repeat(self) -> bool:
        """Whether observations and actions are of a kind that can be counted."""
        one = self.interface
        return not one.continuous and one.actions <= MOST_ACTIONS and one.dimension <= MOST_NUMBERS

    def described(self) -> dict[str, Any]:
        """Return what makes this simulator again in another process, or why that is impossible."""
        functions = [self.reward, *(one.function for one in self.constraints)]
        places = [None if one is None else place_of(one) for one in functions]
        lost = any(one is not None and place is None for one, place in zip(functions, places, strict=True))
        if self.source is None or lost:
            what = (
                "its rewards or constraints are functions that no module has"
                if lost
                else f"{self.name} was made by a function or object"
            )
            return {"simulator": None, "reason": what}
        limits = zip(self.constraints, places[1:], strict=True)
        return {
            **self.source,
            **({} if places[0] is None else {"reward": places[0]}),
            "constraints": [one.text if place is None else [place, one.text] for one, place in limits],
            "discount": self.discount,
            "objective": self.objective,
            "time_limit": self.time_limit,
        }

    def features(self) -> Any:
        """Suggest features for the observations."""
        from painless.environments.features import suggest_features

        return suggest_features(self)

    def look_around(self, seed: int, seconds: float | None = None, steps: int | None = None) -> None:
        """Take random actions for some episodes, to see the ranges and that all is as it should be.

        They end with the step in which the seconds are up, and none begins after `steps` if observations are certain to repeat.
        """
        deadline = np.inf if seconds is None else time.perf_counter() + seconds
        rng = np.random.default_rng(seed)
        interface = self.interface  # rejected here, before any episode
        if not extras.torch_is_installed():
            interface.require_few(self.name)
        observed: list[States] = []
        episodes = 0
        kept = PILOT_NUMBERS // self.interface.dimension
        together = min(getattr(self, "copies", 1), PILOT)
        certain = self._may_repeat and interface.small
        enough = PILOT_STEPS if steps is None or not certain else steps
        late = False
        while episodes < PILOT and len(self._seen) < enough and not late:
            states = self.reset(together, rng)
            episodes += together
            for _ in range(self.time_limit):
                outcome = self.step(states, np.array([interface.random_action(rng) for _ in states]), rng)
                self._seen.extend(outcome.utilities)
                if len(observed) <= kept:
                    observed.extend(states)
                late = time.perf_counter() >= deadline
                if late or not self._alive:
                    break
                cut = False if outcome.truncated is None else outcome.truncated
                states = outcome.states[~(outcome.terminated | cut)]
        self.observed = np.array(observed)
        self.length = len(self._seen) / episodes  # of an episode with random actions

    def reset(self, count: int, rng: np.random.Generator) -> States:
        """Start `count` episodes, each with a seed drawn from `rng`."""
        while len(self.pool) < count:
            self.pool.append(self.make())
        self._alive, self._steps, first = list(enumerate(self.pool[:count])), 0, []
        for (number, one), seed in zip(self._alive, rng.integers(2**31, size=count), strict=True):
            first.append(self.begin(number, one, int(seed)))
        return np.array(first)

    def begin(self, number: int, one: Any, seed: int) -> Any:
        """Reset one environment; return its first state."""
        try:
            self._last[number] = first_of(one.reset(seed=seed))
            return self.interface.state(self._last[number])
        except Exception as error:
            raise self.trouble(number, error) from error

    def step(self, states: States, actions: NDArray[np.intp], rng: np.random.Generator) -> Outcome:
        """Step every episode that continues; `states` are those that the last call led to."""
        del rng
        if len(states) != len(self._alive):
            raise InputError(
                f"{self.name} keeps its own state: step all {len(self._alive)} episodes that go on"
            )
        self._steps += 1
        results = [
            self.proceed(number, one, action)
            for (number, one), action in zip(self._alive, actions, strict=True)
        ]
        following, utilities, terminated, truncated = (np.array(part) for part in zip(*results, strict=True))
        ended = terminated | truncated
        self._alive = [pair for pair, over in zip(self._alive, ended, strict=True) if not over]
        return Outcome(following, utilities, terminated, truncated)

    def proceed(self, number: int, one: Any, action: Any) -> tuple[Any, list[float], bool, bool]:
        """Step one environment; return its state, the utilities, and whether it was terminated or truncated."""
        try:
            chosen = self.interface.action(action)
            observation, values, terminated, truncated = self.utilities.read(
                self._last[number], chosen, one.step(chosen)
            )
            self._last[number] = observation
            return self.state(observation), values, terminated, truncated
        except Exception as error:
            raise self.trouble(number, error) from error

    def state(self, observation: Any) -> Any:
        """Return an observation as numbers, which must be finite."""
        state = self.interface.state(observation)
        if not self.interface.discrete and not math.isfinite(state.sum()) and not np.isfinite(state).all():
            raise InputError(f"the observation is not finite: {shown(state)}")
        return state

    def _call(self, number: int, function: Callable[[], Any]) -> Any:
        try:
            return function()
        except Exception as error:
            raise self.trouble(number, error) from error

    def trouble(self, number: int, error: Exception) -> InputError:
        """Return the error that says where something went wrong."""
        place = self._place(number)
        if isinstance(error, InputError):
            return InputError(f"{place} {error}")
        rest = "the environment raised {}; try gymnasium.utils.env_checker.check_env"
        return InputError(f"{place} {rest.format(shown(error, max(LONGEST - len(place) - len(rest), 40)))}")

    def _place(self, number: int) -> str:
        return f"{textwrap.shorten(self.name, NAMED, placeholder='…')}, episode {number}, step {self._steps}:"


def first_of(result: Any) -> Any:
    """Return the observation that `reset` returned."""
    if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[1], dict):
        raise InputError(
            f"reset returned {shown(result)}; it must return (observation, info), as Gymnasium has it"
        )
    return result[0]
