"""The true models behind the environments of `benchmarks.zoo`: what can happen, listed, so that optima and policies are exact.

A model is a function of a state and an action that lists (probability, next state or None for the end, utilities), and the states
in which episodes begin. States are tuples of numbers, as the environment shows them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import gymnasium
import numpy as np
import scipy
from gymnasium import spaces

import painless
from painless.bellman import policy_value
from painless.problem import CMDP

State = tuple[float, ...]
Outcomes = Iterable[tuple[float, State | None, Sequence[float]]]


@dataclass
class Model:
    """All states that can be reached, with what can happen in them.

    Arguments:
        starts: the probability of each first state.
        actions: A.
        outcomes: of a state and an action: probability, next state, utilities as the user reads them.
        limits: each a sense and a number, for the utilities after the first.
        discount: γ.
        time_limit: of an episode.
        episodic: whether limits are on undiscounted sums up to the time limit.
        shown: the observation of a state.
    """

    starts: dict[State, float]
    actions: int
    outcomes: Callable[[State, int], Outcomes]
    limits: list[tuple[str, float]]
    discount: float
    time_limit: int
    episodic: bool = False
    shown: Callable[[State], State] = lambda state: state
    names: dict[State, int] = field(init=False)

    @cached_property
    def table(self) -> tuple[Any, Any]:
        """Transitions (S·A, S + 1), the end last, and utilities (J, S + 1, A)."""
        self.names = {state: k for k, state in enumerate(self.starts)}
        todo, entries, utilities = list(self.names), [], []
        while todo:
            state = todo.pop(0)
            for action in range(self.actions):
                pair = self.names[state] * self.actions + action
                for chance, after, values in self.outcomes(state, action):
                    if after is not None and after not in self.names:
                        self.names[after] = len(self.names)
                        todo.append(after)
                    entries.append((pair, -1 if after is None else self.names[after], chance))
                    utilities.append(np.asarray(values, float))
        states = len(self.names)
        rows, columns, chances = np.array(entries).T
        columns = np.where(columns < 0, states, columns)
        size = (states + 1) * self.actions
        end = np.arange(states * self.actions, size)
        transition = scipy.sparse.csr_array(
            (
                np.append(chances, np.ones(self.actions)),
                (
                    np.append(rows, end).astype(int),
                    np.append(columns, np.full(self.actions, states)).astype(int),
                ),
            ),
            shape=(size, states + 1),
        )
        mean = [np.bincount(rows.astype(int), chances * column, size) for column in np.array(utilities).T]
        return transition, np.array(mean).reshape(-1, states + 1, self.actions)

    def problem(self, **criterion: Any) -> CMDP:
        """Return the model as a problem; with `horizon=`, of its episodes."""
        transition, utility = self.table
        initial = np.zeros(transition.shape[1])
        for state, chance in self.starts.items():
            initial[self.names[state]] = chance
        signs = [1.0 if sense == ">=" else -1.0 for sense, _ in self.limits]
        return CMDP(
            transition,
            utility[0],
            initial=initial,
            constraint_reward=np.array([s * u for s, u in zip(signs, utility[1:], strict=True)])
            if signs
            else None,
            threshold=np.array([s * b for s, (_, b) in zip(signs, self.limits, strict=True)])
            if signs
            else None,
            **({"discount": self.discount} | criterion),
        )

    @cached_property
    def optimum(self) -> float:
        """The largest value that meets the limits, of episodes that never are cut off."""
        return painless.solve(self.problem(), tolerance=1e-6).reward_value

    def optimum_of_episodes(self) -> float:
        """The largest value of episodes as they are cut off, by policies that know the time."""
        return painless.solve(self.problem(horizon=self.time_limit), tolerance=1e-4).reward_value

    def policy(self, training: Any) -> Any:
        """Return the policy of a training as a table, (S + 1, A)."""
        self.table  # noqa: B018  names the states
        observations = np.array([self.shown(state) for state in self.names], dtype=float)
        states = observations[:, 0] if observations.shape[1] == 1 else observations
        chances = training.policy.policies[0].at(states)[0]
        return np.vstack([chances, np.full((1, self.actions), 1 / self.actions)])

    def value(self, training: Any) -> Any:
        """Return the exact endless values of the policy of a training, (J,), as the user reads them."""
        signs = np.array([1.0, *(1.0 if sense == ">=" else -1.0 for sense, _ in self.limits)])
        return policy_value(self.problem(), self.policy(training)) * signs

    def episode_value(self, training: Any) -> tuple[Any, Any]:
        """Return the exact values of episodes as they are cut off, (J,), with and without discounting."""
        transition, utility = self.table
        policy = self.policy(training)
        weights = scipy.sparse.csr_array(
            (policy.reshape(-1), (np.repeat(np.arange(len(policy)), self.actions), np.arange(policy.size)))
        )
        chain, gain = (weights @ transition).T.tocsr(), (utility * policy).sum(-1)
        share = self.problem().initial
        discounted, total, factor = 0.0, 0.0, 1.0
        for _ in range(self.time_limit):
            now = gain @ share
            discounted, total = discounted + factor * now, total + now
            share, factor = chain @ share, factor * self.discount
        return discounted, total

    def missed(self, values: Any) -> bool:
        """Whether values (J,) miss some limit by more than 1 %."""
        misses = [
            (limit - value if sense == ">=" else value - limit) > 0.01 * abs(limit)
            for (sense, limit), value in zip(self.limits, values[1:], strict=True)
        ]
        return any(misses)


class ModelEnv(gymnasium.Env):
    """A model, played; observations are whole numbers, and `info` holds utility k as `f"c{k}"`."""

    def __init__(self, model: Model) -> None:
        self.model = model
        model.table  # noqa: B018  names the states
        largest = np.max([model.shown(state) for state in model.names], axis=0).astype(int)
        self.observation_space = spaces.MultiDiscrete(largest + 1)
        self.action_space = spaces.Discrete(model.actions)
        self.known: dict[Any, Any] = {}

    def reset(self, *, seed=None, options=None):
        """Draw a first state."""
        super().reset(seed=seed)
        starts = list(self.model.starts)
        self.state = starts[self.np_random.choice(len(starts), p=list(self.model.starts.values()))]
        self.steps = 0
        return np.array(self.model.shown(self.state)), {}

    def step(self, action):
        """Draw one of the outcomes."""
        key = (self.state, int(action))
        if key not in self.known:
            found = list(self.model.outcomes(*key))
            self.known[key] = (np.cumsum([one[0] for one in found]), found)
        chances, found = self.known[key]
        place = min(int(np.searchsorted(chances, self.np_random.random())), len(found) - 1)
        _, after, utilities = found[place]
        self.steps += 1
        self.state = self.state if after is None else after
        info = {f"c{k}": float(value) for k, value in enumerate(utilities)}
        cut = self.steps >= self.model.time_limit
        return np.array(self.model.shown(self.state)), float(utilities[0]), after is None, cut, info


def of_toy_text(environment, cost, limit, discount, time_limit, episodic=False) -> Model:
    """Return the model of an environment that publishes its table; `cost` is that of `train`."""
    one = environment.unwrapped
    first = getattr(one, "initial_state_distrib", None)
    first = np.eye(one.observation_space.n)[one.start_state_index] if first is None else first

    def outcomes(state, action):
        for chance, after, reward, end in one.P[int(state[0])][action]:
            yield (
                chance,
                None if end else (after,),
                (reward, float(cost(state[0], action, after, reward, end, {}))),
            )

    starts = {(k,): float(p) for k, p in enumerate(first) if p > 0}
    return Model(starts, one.action_space.n, outcomes, [limit], discount, time_limit, episodic)


def of_deterministic(make, seen, utilities, limits, discount, time_limit, count=None) -> Model:
    """Return the model of an environment without chance, played along the first path to each state.

    `make` makes it, `seen` is a function of it, `utilities` one of (reward, info, terminated).
    """
    environment = make()
    environment.reset(seed=1)
    first = tuple(map(float, seen(environment)))
    paths: dict[State, list[int]] = {first: []}

    def outcomes(state, action):
        environment.reset(seed=1)
        for earlier in paths[state]:
            environment.step(earlier)
        _, reward, end, _, info = environment.step(action)
        after = tuple(map(float, seen(environment)))
        if not end:
            paths.setdefault(after, [*paths[state], action])
        yield 1.0, None if end else after, utilities(reward, info, end)

    return Model(
        {first: 1.0}, count or int(environment.action_space.n), outcomes, limits, discount, time_limit
    )
