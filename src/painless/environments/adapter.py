"""Gymnasium environments as simulators, or as problems if they publish their table."""

from __future__ import annotations

import copy
import importlib
import math
import sys
import textwrap
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from painless.common import extras
from painless.common.arguments import function, whole
from painless.common.arrays import Array, Mask
from painless.common.errors import InputError, shown
from painless.environments.constraint import Constraint, Function, Given, constraints_of, names_of
from painless.environments.interface import MOST_ACTIONS, MOST_NUMBERS, Interface
from painless.environments.utilities import Utilities
from painless.problem import CMDP
from painless.problem.sources import from_toy_text
from painless.problem.validation import discount as checked_discount
from painless.simulation.simulator import Outcome, Specification, States

PILOT = 20  # episodes of random actions, to see the ranges that were not declared
PILOT_STEPS = 4000  # after which no other of them begins
PILOT_NUMBERS = 4 * 10**6  # that are kept of their observations; images are large
REPEATED = 0.5  # the share of new observations among those of random actions up to which they can be counted
STEPS = 1000  # the time limit of an environment that has none
LONGEST = 200  # characters of an error

Maker = Callable[[], Any]


def from_gymnasium(
    environment: str | gymnasium.Env[Any, Any] | Maker,
    *,
    constraints: Given | Iterable[Given] = (),
    discount: float,
    objective: int | None = None,
    reward: Function | None = None,
    time_limit: int | None = None,
    reward_range: tuple[float, float] | None = None,
    seed: int = 0,
    pilot_seconds: float | None = None,
    pilot_steps: int | None = None,
    **options: Any,
) -> GymnasiumSimulator:
    """Make a simulator of an environment.

    Arguments:
        environment: an id, also as "module:id" or "module:Class", an environment, a vector environment, or a function that makes one. Actions are Discrete or products of
            such; observations may be Discrete, Box, MultiDiscrete or MultiBinary, and tuples and dictionaries of these.
        constraints: on discounted sums: from `info` ("cost<=25"), from Safety-Gymnasium's six-tuple (also "cost"),
            from a vector reward ("reward[1]>=-3"), or from a function of (observation, action, next_observation, reward,
            terminated, info), given as (function, "<=25"). "episode cost<=25" limits the undiscounted sum over an episode.
        discount: γ.
        objective: the entry of a vector reward to maximise.
        reward: a function of the same arguments to maximise instead of the reward.
        time_limit: of an episode; the environment's own by default, or 1000 steps.
        reward_range: the least and the largest reward of a step; what random episodes show, if not given.
        seed: of those episodes.
        pilot_seconds: that those episodes may take; by default as long as it takes to see some, of at most a few thousand steps.
        pilot_steps: after which no other of them begins if observations are certain to repeat; a few thousand by default.
        options: passed on to `gymnasium.make`, or to the class or function.
    """
    given, environment = environment, _imported(environment)
    make = _maker(environment, options)
    function("reward", reward)
    if objective is not None:
        whole("objective", objective, least=0)
    first = environment if isinstance(environment, VectorEnv) else _made(make, environment)
    own = getattr(getattr(first, "spec", None), "max_episode_steps", None)
    limit = own or STEPS if time_limit is None else whole("time_limit", time_limit, least=1)
    wanted = constraints_of(constraints)
    name = environment if isinstance(environment, str) else _name(first)
    settings = (make, wanted, checked_discount(discount), objective, limit, name, reward_range, reward)
    simulator = GymnasiumSimulator(*settings)
    plain = objective is None and reward is None
    if plain and isinstance(environment, str) and _has_vector_version(environment, first, wanted):
        from painless.environments.vectorised import VectorGymnasiumSimulator

        simulator = VectorGymnasiumSimulator(*settings, options=options)
    if isinstance(first, VectorEnv):
        from painless.environments.native import NativeSimulator

        simulator = NativeSimulator(*settings)
    simulator.source = _source(given, first, options)
    simulator.pool.append(first)
    simulator.look_around(seed, pilot_seconds, pilot_steps)
    return simulator


def _has_vector_version(name: str, environment: Any, constraints: tuple[Constraint, ...]) -> bool:
    """Whether there is a native vector version that can report all that is asked of it."""
    vector = gymnasium.spec(name).vector_entry_point is not None
    box = isinstance(environment.observation_space, spaces.Box)
    box = box and isinstance(environment.action_space, spaces.Discrete)
    return vector and box and all(one.index is None and one.function is None for one in constraints)


def _name(environment: Any) -> str:
    """Return the id of an environment, or the name of its class."""
    spec = getattr(environment, "spec", None)
    return type(environment).__name__ if spec is None else str(spec.id)


def _imported(environment: Any) -> Any:
    """Import the module of "module:id" and return the id, or the class of "module:Class"; return anything else as it is."""
    if not isinstance(environment, str) or ":" not in environment:
        return environment
    module, name = environment.split(":", 1)
    try:
        made = getattr(importlib.import_module(module), name, None)
    except (ImportError, ValueError, TypeError) as error:
        raise InputError(
            f"cannot import {shown(module)}: {shown(str(error))}; install it, or run in the folder where it is"
        ) from error
    return made if name not in gymnasium.registry and callable(made) else name


def _maker(environment: Any, options: dict[str, Any]) -> Maker:
    """Return a function that makes environments like the given one."""
    if isinstance(environment, str):
        try:
            gymnasium.spec(environment)
        except gymnasium.error.Error as error:
            raise InputError(_unknown(environment, error)) from error
        return lambda: gymnasium.make(environment, **options)
    if isinstance(environment, type) or (callable(environment) and not hasattr(environment, "step")):
        return lambda: environment(**options)
    if not hasattr(environment, "step") or not hasattr(environment, "reset"):
        raise InputError(
            f"{shown(environment)} is no environment; give an id, an environment with reset and step, or a function that makes one"
        )
    vector = isinstance(environment, VectorEnv)
    if not vector and getattr(environment, "spec", None) is not None and not _is_changed(environment):
        return lambda: gymnasium.make(environment.spec)
    return lambda: copy.deepcopy(environment)


def _is_changed(environment: Any) -> bool:
    """Whether an environment has wrappers that its specification does not make again."""
    try:
        return type(gymnasium.make(environment.spec)) is not type(environment)
    except Exception:  # whatever it is, the environment is copied instead
        return True


def _unknown(name: str, error: Exception) -> str:
    """Return one line on an id that cannot be made."""
    reason = " ".join(str(error).split()).rstrip(".")
    text = f"Gymnasium does not know '{name}': {reason}"
    advice = "; write module:id or module:Class, or import the module that registers it (--import)"
    return (text if len(text) + len(advice) <= 200 else f"Gymnasium does not know '{name[:60]}'") + advice


def _made(make: Maker, environment: Any) -> Any:
    """Make the first environment, or say in one line why not."""
    try:
        first = make()
    except gymnasium.error.DependencyNotInstalled as error:  # it says what to install
        text = f"{shown(environment)} could not be made: {error}"
        raise InputError(textwrap.shorten(text, LONGEST, placeholder="…")) from error
    except Exception as error:
        raise InputError(
            f"{shown(environment)} could not be made: {shown(error)}; check its arguments"
        ) from error
    if not callable(getattr(first, "step", None)) or not hasattr(first, "action_space"):
        raise InputError(f"{shown(environment)} made {shown(first)}, which is no environment; return one")
    return first


def place_of(given: Any) -> str | None:
    """Return "module:name" of a function or class that another process can import; None of others.

    >>> place_of(gymnasium.make), place_of(lambda: None)
    ('gymnasium.envs.registration:make', None)
    """
    module, name = getattr(given, "__module__", None), getattr(given, "__qualname__", "")
    if module in (None, "__main__") or not name.isidentifier():
        return None
    return f"{module}:{name}" if getattr(sys.modules.get(str(module)), name, None) is given else None


def _source(environment: Any, first: Any, options: dict[str, Any]) -> dict[str, Any] | None:
    """Describe how to make the environment again in another process; None if there is no way."""
    if isinstance(environment, str):
        return {"simulator": f"gym:{environment}", "options": options}
    place = place_of(environment)
    if place is not None:
        return {"simulator": f"python:{place}", "options": options}
    spec = getattr(first, "spec", None)
    if spec is not None and not callable(environment) and not _is_changed(first):
        return {"simulator": f"gym:{spec.id}", "options": dict(spec.kwargs)}
    return None


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
        what = str(error) if isinstance(error, InputError) else f"the environment raised {error!r}"
        return InputError(f"{self._place(number)} {what}")

    def _place(self, number: int) -> str:
        return f"{self.name}, episode {number}, step {self._steps}:"


def first_of(result: Any) -> Any:
    """Return the observation that `reset` returned."""
    if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[1], dict):
        raise InputError(
            f"reset returned {shown(result)}; it must return (observation, info), as Gymnasium has it"
        )
    return result[0]


def table_from_gymnasium(
    environment: str | gymnasium.Env[Any, Any], *, discount: float | None = None, **options: Any
) -> CMDP:
    """Read the table `P` that a toy-text environment publishes; `options` go to `from_toy_text`.

    >>> table_from_gymnasium("FrozenLake-v1", discount=0.99)
    CMDP(16 states, 4 actions, 0 constraints, discount 0.99, sparse)
    """
    one = gymnasium.make(environment) if isinstance(environment, str) else environment
    table = getattr(one.unwrapped, "P", None)
    if table is None:
        raise InputError(f"{environment} publishes no table P; make a simulator of it with from_gymnasium")
    states = int(one.observation_space.n)  # type: ignore[attr-defined]
    initial = getattr(one.unwrapped, "initial_state_distrib", np.full(states, 1 / states))
    return from_toy_text(table, initial=initial, discount=discount, **options)
