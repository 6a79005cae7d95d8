"""Gymnasium environments as simulators, or as problems if they publish their table."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.environments.constraint import Constraint, constraints_of
from painless.problem import CMDP
from painless.problem.sources import from_toy_text
from painless.problem.validation import discount as checked_discount
from painless.simulation.simulator import Outcome, Specification, States

PILOT = 20  # episodes of random actions, to see the ranges that were not declared
STEPS = 1000  # the time limit of an environment that has none

Maker = Callable[[], Any]


def from_gymnasium(
    environment: str | gymnasium.Env[Any, Any] | Maker,
    *,
    constraints: str | Constraint | Iterable[str | Constraint] = (),
    discount: float,
    objective: int | None = None,
    time_limit: int | None = None,
    reward_range: tuple[float, float] | None = None,
    seed: int = 0,
    **options: Any,
) -> GymnasiumSimulator:
    """Make a simulator of an environment with discrete actions and Box or Discrete observations.

    Arguments:
        environment: an id, an environment, or a function that makes one.
        constraints: on discounted sums: from `info` ("cost<=25"), from Safety-Gymnasium's six-tuple (also "cost"),
            or from a vector reward ("reward[1]>=-3"); as text or as `Constraint`.
        discount: γ.
        objective: the entry of a vector reward to maximise.
        time_limit: of an episode; the environment's own by default, or 1000 steps.
        reward_range: the least and the largest reward of a step; what random episodes show, if not given.
        seed: of those episodes.
        options: passed on to `gymnasium.make` with an id.
    """
    make = _maker(environment, options)
    first = make()
    own = getattr(getattr(first, "spec", None), "max_episode_steps", None)
    limit = time_limit or own or STEPS
    wanted = constraints_of(constraints)
    name = environment if isinstance(environment, str) else _name(first)
    settings = (make, wanted, checked_discount(discount), objective, limit, name, reward_range)
    simulator = GymnasiumSimulator(*settings)
    if isinstance(environment, str) and _has_vector_version(environment, first, wanted):
        from painless.environments.vectorised import VectorGymnasiumSimulator

        simulator = VectorGymnasiumSimulator(*settings, options=options)
    simulator.pool.append(first)
    simulator.look_around(seed)
    return simulator


def _has_vector_version(name: str, environment: Any, constraints: tuple[Constraint, ...]) -> bool:
    """Whether there is a native vector version that can report all that is asked of it."""
    vector = gymnasium.spec(name).vector_entry_point is not None
    box = isinstance(environment.observation_space, spaces.Box)
    return vector and box and all(constraint.index is None for constraint in constraints)


def _name(environment: Any) -> str:
    """Return the id of an environment, or the name of its class."""
    spec = getattr(environment, "spec", None)
    return type(environment).__name__ if spec is None else str(spec.id)


def _maker(environment: Any, options: dict[str, Any]) -> Maker:
    """Return a function that makes environments like the given one."""
    if isinstance(environment, str):
        try:
            gymnasium.spec(environment)
        except gymnasium.error.Error as error:
            raise InputError(f"Gymnasium does not know '{environment}': {error}") from error
        return lambda: gymnasium.make(environment, **options)
    if isinstance(environment, type) or not hasattr(environment, "step"):
        return environment
    if getattr(environment, "spec", None) is not None:
        return lambda: gymnasium.make(environment.spec)
    return lambda: copy.deepcopy(environment)


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
    pool: list[Any] = field(default_factory=list)
    _alive: list[tuple[int, Any]] = field(
        default_factory=list
    )  # the episodes that continue: number, environment
    _steps: int = 0
    _seen: list[Array] = field(default_factory=list)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the environments behind: a copy elsewhere makes its own."""
        assert self.specification is not None  # what it knows from them goes along
        assert self.observation_space is not None
        return {**self.__dict__, "pool": [], "_alive": []}

    @cached_property
    def specification(self) -> Specification:
        """The ranges that were declared, and those that were seen for the rest."""
        signs = np.array([1.0, *(one.sign for one in self.constraints)])
        declared = [self.reward_range or (None, None), *((one.low, one.high) for one in self.constraints)]
        seen = (
            np.array(self._seen) * signs if self._seen else np.zeros((1, len(signs)))
        )  # in the user's terms
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
            constraint_names=tuple(one.name for one in self.constraints),
            declared=all(d[0] is not None and d[1] is not None for d in declared),
        )

    @cached_property
    def actions(self) -> int:
        """A; the actions must be discrete."""
        space = self.pool[0].action_space
        if not isinstance(space, spaces.Discrete):
            raise InputError(f"{self.name} has actions {space}; only Discrete actions can be trained")
        return int(space.n)

    @cached_property
    def observation_space(self) -> Any:
        """Where states lie: Box or Discrete."""
        space = self.pool[0].observation_space
        if not isinstance(space, spaces.Box | spaces.Discrete):
            raise InputError(f"{self.name} has observations {space}; only Box and Discrete can be trained")
        return space

    def features(self) -> Any:
        """Suggest features for the observations."""
        from painless.environments.features import suggest_features

        return suggest_features(self)

    def look_around(self, seed: int) -> None:
        """Take random actions for some episodes, to see the ranges and that all is as it should be."""
        rng = np.random.default_rng(seed)
        self.observation_space  # noqa: B018  rejected here, before any episode
        observed: list[States] = []
        for _ in range(PILOT):
            states = self.reset(1, rng)
            for _ in range(self.time_limit):
                outcome = self.step(states, rng.integers(self.actions, size=1), rng)
                self._seen.append(outcome.utilities[0])
                observed.append(states[0])
                states = outcome.states
                if not self._alive:
                    break
        self.observed = np.array(observed)

    def reset(self, count: int, rng: np.random.Generator) -> States:
        """Start `count` episodes, each with a seed drawn from `rng`."""
        while len(self.pool) < count:
            self.pool.append(self.make())
        self._alive, self._steps, first = list(enumerate(self.pool[:count])), 0, []
        for (number, one), seed in zip(self._alive, rng.integers(2**31, size=count), strict=True):
            returned = self._call(number, partial(one.reset, seed=int(seed)))
            first.append(self._state(returned[0], number))
        return np.array(first)

    def step(self, states: States, actions: NDArray[np.intp], rng: np.random.Generator) -> Outcome:
        """Step every episode that continues; `states` are those that the last call led to."""
        del rng
        if len(states) != len(self._alive):
            raise InputError(
                f"{self.name} keeps its own state: step all {len(self._alive)} episodes that go on"
            )
        self._steps += 1
        results = [
            self._step(number, one, int(action))
            for (number, one), action in zip(self._alive, actions, strict=True)
        ]
        following, utilities, terminated, truncated = (np.array(part) for part in zip(*results, strict=True))
        ended = terminated | truncated
        self._alive = [pair for pair, over in zip(self._alive, ended, strict=True) if not over]
        return Outcome(following, utilities, terminated, truncated)

    def _step(self, number: int, one: Any, action: int) -> tuple[Any, Array, bool, bool]:
        start = int(getattr(one.action_space, "start", 0))
        result = self._call(number, partial(one.step, start + action))
        if len(result) == 6:  # Safety-Gymnasium: the cost stands between reward and terminated
            observation, reward, cost, terminated, truncated, info = result
            info = {**info, "cost": cost}
        else:
            observation, reward, terminated, truncated, info = result
        utilities = [self._reward(reward, self.objective, number)]
        for constraint in self.constraints:
            if constraint.index is not None:
                value = self._reward(reward, constraint.index, number)
            else:
                value = self._info(info, str(constraint.key), number)
            utilities.append(constraint.sign * value)
        return self._state(observation, number), np.array(utilities), bool(terminated), bool(truncated)

    def _call(self, number: int, function: Callable[[], Any]) -> Any:
        try:
            return function()
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"{self._place(number)} the environment raised {error!r}") from error

    def _place(self, number: int) -> str:
        return f"{self.name}, episode {number}, step {self._steps}:"

    def _state(self, observation: Any, number: int) -> Any:
        state = np.asarray(observation)
        if isinstance(self.observation_space, spaces.Discrete):
            return int(state) - int(self.observation_space.start)
        if state.shape != self.observation_space.shape:
            raise InputError(
                f"{self._place(number)} the observation has shape {state.shape}, not {self.observation_space.shape}"
            )
        flat = state.astype(float).reshape(-1)
        if not np.isfinite(flat).all():
            raise InputError(f"{self._place(number)} the observation is not finite: {flat}")
        return flat

    def _reward(self, reward: Any, index: int | None, number: int) -> float:
        values = np.atleast_1d(np.asarray(reward, dtype=float))
        if index is None and values.size != 1:
            raise InputError(
                f"{self._place(number)} the reward has {values.size} entries; say which to maximise with objective="
            )
        if index is not None and not 0 <= index < values.size:
            raise InputError(
                f"{self._place(number)} the reward has {values.size} entries, so there is no reward[{index}]"
            )
        return self._finite(values[index or 0], "reward" if index is None else f"reward[{index}]", number)

    def _info(self, info: Any, key: str, number: int) -> float:
        if key not in info:
            known = ", ".join(sorted(map(str, info))) or "none"
            raise InputError(f"{self._place(number)} info has no key '{key}'; its keys: {known}")
        value = np.asarray(info[key], dtype=float)
        if value.size != 1:
            raise InputError(
                f"{self._place(number)} info['{key}'] has shape {value.shape}, not a single number"
            )
        return self._finite(value.reshape(-1)[0], f"info['{key}']", number)

    def _finite(self, value: Any, what: str, number: int) -> float:
        if not np.isfinite(value):
            raise InputError(
                f"{self._place(number)} {what} is {value}; every step must report a finite number"
            )
        return float(value)


def table_from_gymnasium(
    environment: str | gymnasium.Env[Any, Any], *, discount: float, **options: Any
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
