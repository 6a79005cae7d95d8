"""Gymnasium environments as simulators, or as problems if they publish their table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv

from painless.common.arguments import function, whole
from painless.common.errors import InputError
from painless.environments.constraint import Constraint, Function, Given, constraints_of
from painless.environments.gymnasium_simulator import GymnasiumSimulator
from painless.environments.making import Maker, first_made, imported, maker_of, name_of, source_of
from painless.environments.native import NativeSimulator
from painless.environments.vectorised import VectorGymnasiumSimulator
from painless.problem import CMDP
from painless.problem.sources import from_toy_text
from painless.problem.validation import discount as checked_discount

STEPS = 1000  # the time limit of an environment that has none


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
    given, environment = environment, imported(environment)
    make = maker_of(environment, options)
    function("reward", reward)
    if objective is not None:
        whole("objective", objective, least=0)
    first = environment if isinstance(environment, VectorEnv) else first_made(make, environment)
    own = getattr(getattr(first, "spec", None), "max_episode_steps", None)
    limit = own or STEPS if time_limit is None else whole("time_limit", time_limit, least=1)
    wanted = constraints_of(constraints)
    name = environment if isinstance(environment, str) else name_of(first)
    settings = (make, wanted, checked_discount(discount), objective, limit, name, reward_range, reward)
    simulator = GymnasiumSimulator(*settings)
    plain = objective is None and reward is None
    if plain and isinstance(environment, str) and _has_vector_version(environment, first, wanted):
        simulator = VectorGymnasiumSimulator(*settings, options=options)
    if isinstance(first, VectorEnv):
        simulator = NativeSimulator(*settings)
    simulator.source = source_of(given, first, options)
    simulator.pool.append(first)
    simulator.look_around(seed, pilot_seconds, pilot_steps)
    return simulator


def _has_vector_version(name: str, environment: Any, constraints: tuple[Constraint, ...]) -> bool:
    """Whether there is a native vector version that can report all that is asked of it."""
    vector = gymnasium.spec(name).vector_entry_point is not None
    box = isinstance(environment.observation_space, spaces.Box)
    box = box and isinstance(environment.action_space, spaces.Discrete)
    return vector and box and all(one.index is None and one.function is None for one in constraints)


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
