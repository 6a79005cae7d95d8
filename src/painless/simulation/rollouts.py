"""Rollouts: episodes of a policy in a simulator, a batch in lockstep."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask
from painless.common.errors import InputError
from painless.simulation.simulator import Simulator, States


class Acts(Protocol):
    """What a rollout needs of a policy."""

    def at(self, states: States) -> Array:
        """Return the probabilities of all actions in some states, (1, n, A) or (n, A)."""


@dataclass(frozen=True, eq=False)
class Trajectories:
    """All steps of a batch of episodes, in the order in which they were taken, and the episodes' returns."""

    states: States  # (N, …)
    actions: NDArray[np.intp]  # (N,)
    utilities: Array  # (N, J)
    successors: States  # (N, …)
    terminated: Mask  # (N,)
    returns: Array  # (n, J) discounted
    totals: Array | None = None  # (n, J) not discounted, where they were added up

    def with_steps_of(self, other: Trajectories) -> Trajectories:
        """Return these episodes with the steps of others added; the returns stay those of these."""
        names = ("states", "actions", "utilities", "successors", "terminated")
        joined = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in names}
        return replace(self, **joined)

    @property
    def value(self) -> Array:
        """The mean return of each utility, (J,)."""
        return self.returns.mean(0)

    @property
    def standard_error(self) -> Array:
        """The standard error of `value`, (J,)."""
        count = len(self.returns)
        spread = self.returns.std(0, ddof=1) if count > 1 else np.full(self.returns.shape[1], np.inf)
        return spread / np.sqrt(count)


@dataclass(frozen=True)
class Exploring:
    """A policy that takes a random action with probability ε."""

    policy: Acts
    exploration: float

    def at(self, states: States) -> Array:
        """Return (1 − ε)·π + ε/A, (n, A)."""
        plain = self.policy.at(states).reshape(len(states), -1)
        return (1 - self.exploration) * plain + self.exploration / plain.shape[1]


def draw_actions(probabilities: Array, draws: Array) -> NDArray[np.intp]:
    """Return the action of each row (n, A) that a uniform number in [0, 1) picks.

    >>> draw_actions(np.array([[0.25, 0.75], [1.0, 0.0]]), np.array([0.5, 0.99]))
    array([1, 0])
    """
    if probabilities.shape[1] == 2:
        return (probabilities[:, 0] <= draws * (probabilities[:, 0] + probabilities[:, 1])).astype(np.intp)
    total = probabilities.cumsum(-1)
    return (total[:, :-1] <= draws[:, None] * total[:, -1:]).sum(-1)


def roll_out(simulator: Simulator, policy: Acts, episodes: int, rng: np.random.Generator) -> Trajectories:
    """Run `episodes` episodes to their end or to the time limit.

    A simulator may offer `fused_rollout(policy, episodes, rng, span)`, which returns the same as `lockstep` from the same
    random numbers, with utilities divided by `span`, or None if it does not know the policy.
    """
    specification = simulator.specification
    if specification.time_limit is None:
        raise InputError("this simulator has no time limit, so that an episode might never end; give it one")
    fused = getattr(simulator, "fused_rollout", None)
    found = None if fused is None else fused(policy, episodes, rng, np.ones(len(specification.low)))
    return lockstep(simulator, policy, episodes, rng) if found is None else found


def _probabilities(policy: Acts, states: States, actions: int) -> Array:
    """Return the probabilities of all actions in some states, (n, A), or reject those of another number of actions."""
    found = np.asarray(policy.at(states))
    if found.size != len(states) * actions:
        raise InputError(
            f"the policy gives probabilities of shape {found.shape} for {len(states)} states with {actions} actions "
            "each; give (n, A)"
        )
    return found.reshape(len(states), actions)


def lockstep(simulator: Simulator, policy: Acts, episodes: int, rng: np.random.Generator) -> Trajectories:
    """Run `episodes` episodes, a step of all of them at a time."""
    specification = simulator.specification
    states = simulator.reset(episodes, rng)
    alive = np.arange(episodes)
    returns = np.zeros((episodes, len(specification.low)))
    totals = np.zeros_like(returns)
    parts: list[tuple[States, NDArray[np.intp], Array, States, Mask]] = []
    factor = 1.0
    choose = getattr(policy, "choose", None)  # of networks, whose actions may be points of a box
    for _ in range(specification.time_limit or 0):
        if choose is not None:
            actions = choose(states, rng)
        else:
            probabilities = _probabilities(policy, states, specification.actions)
            actions = draw_actions(probabilities, rng.random(len(states)))
        successors, utilities, terminated, truncated = simulator.step(states, actions, rng)
        parts.append((states, actions, utilities, successors, terminated))
        returns[alive] += factor * utilities
        totals[alive] += utilities
        factor *= specification.discount
        states = successors
        ended = terminated if truncated is None else terminated | truncated
        if ended.any():
            alive, states = alive[~ended], states[~ended]
            if not len(alive):
                break
    columns = zip(*parts, strict=True)
    joined = [np.concatenate(column) for column in columns]
    return Trajectories(joined[0], joined[1], joined[2], joined[3], joined[4], returns, totals)


def returns_from(
    simulator: Simulator,
    policy: Acts,
    states: States,
    actions: NDArray[np.intp],
    rng: np.random.Generator,
) -> tuple[Array, int]:
    """Return the discounted returns of trajectories that start with given pairs, (n, J), and the steps that they took.

    The simulator must be generative. Trajectories end with the episode, or at the time limit.
    """
    specification = simulator.specification
    alive, factor, steps = np.arange(len(states)), 1.0, 0
    returns = np.zeros((len(states), len(specification.low)))
    for _ in range(specification.time_limit or 0):
        successors, utilities, terminated, truncated = simulator.step(states, actions, rng)
        returns[alive] += factor * utilities
        factor *= specification.discount
        steps += len(alive)
        going = ~terminated if truncated is None else ~(terminated | truncated)
        alive, states = alive[going], successors[going]
        if not len(alive):
            break
        probabilities = _probabilities(policy, states, specification.actions)
        actions = draw_actions(probabilities, rng.random(len(states)))
    return returns, steps
