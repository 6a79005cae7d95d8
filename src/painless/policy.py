"""Policies: the table that is deployed, and the table that learns."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from painless import files
from painless.arrays import Array, Mask
from painless.errors import InputError
from painless.learners.base import Learner, State
from painless.render import visible
from painless.validation import as_floats, first

DETERMINISTIC = 1e-9  # a largest probability of at least 1 − this counts as certain


class QFunction(Protocol):
    """Action values of all J utilities, for every run of a batch."""

    def at(self, states: NDArray[Any]) -> Array:
        """Return the action values of some states, (B, J, n, A)."""

    def combine(self, weight: Array) -> Array:
        """Return Σ_j weight_j·Q_j for weights (B, J): the Lagrangian action value."""


class Policy(Protocol):
    """A policy for every run of a batch."""

    def at(self, states: NDArray[Any]) -> Array:
        """Return the probabilities of all actions in some states, (B, n, A)."""

    def advance(self, weight: Array, q: Any) -> Self:
        """Return the next iterate, after gains Σ_j weight_j·Q_j; `q` is of the kind its evaluators give."""


@dataclass(frozen=True)
class TabularQ:
    """Action values at every state, (B, J, S, A)."""

    values: Array

    def at(self, states: NDArray[np.intp]) -> Array:
        """Return the action values of some states, (B, J, n, A)."""
        return self.values[:, :, states]

    def combine(self, weight: Array) -> Array:
        """Return Σ_j weight_j·Q_j at every state, (B, S, A)."""
        runs, _, states, actions = self.values.shape
        flat = self.values.reshape(runs, -1, states * actions)
        return np.matmul(weight[:, None, :], flat).reshape(runs, states, actions)


@dataclass(frozen=True)
class LearningTable(Generic[State]):
    """A learner's decision at every state: the policy in the making."""

    learner: Learner[State]
    state: State

    @classmethod
    def start(cls, learner: Learner[State], prior: Array) -> LearningTable[State]:
        """Start every run at its prior, (B, S, A)."""
        return cls(learner, learner.init(prior))

    @property
    def probabilities(self) -> Array:
        """The probabilities of all actions in all states, (B, S, A)."""
        return self.state.decision

    def at(self, states: NDArray[np.intp]) -> Array:
        """Return the probabilities of all actions in some states, (B, n, A)."""
        return self.state.decision[:, states]

    def advance(self, weight: Array, q: QFunction) -> LearningTable[State]:
        """Let the learner gain Σ_j weight_j·Q_j at every state."""
        return LearningTable(self.learner, self.learner.update(q.combine(weight), self.state))


@dataclass(frozen=True, eq=False)
class TabularPolicy:
    """A stationary policy as a table: `probabilities[s, a]` is the probability of action a in state s.

    >>> policy = TabularPolicy(np.array([[0.25, 0.75], [0.0, 1.0]]))
    >>> policy.randomised
    array([0])
    >>> policy.at([1])
    array([[0., 1.]])
    """

    probabilities: Array  # (S, A)
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def randomised(self) -> NDArray[np.intp]:
        """The states in which more than one action has a positive probability."""
        return np.flatnonzero(self.probabilities.max(-1) < 1 - DETERMINISTIC)

    def at(self, states: ArrayLike) -> Array:
        """Return the probabilities of all actions in some states, (n, A)."""
        return self.probabilities[np.asarray(states)]

    def act(self, state: int, rng: np.random.Generator) -> int:
        """Draw an action."""
        return int(rng.choice(self.probabilities.shape[1], p=self.probabilities[state]))

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the table as CSV, a row for each state, with names where there are any; write it to `path`."""
        states, actions = self.probabilities.shape
        state_names = map(visible, self.names.get("states") or range(states))
        action_names = map(visible, self.names.get("actions") or [f"action {a}" for a in range(actions)])
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(["state", *action_names])
        rows = zip(state_names, self.probabilities.tolist(), strict=True)
        writer.writerows([name, *(repr(p) for p in row)] for name, row in rows)
        if path is not None:
            files.write_atomically(path, lambda stream: stream.write(buffer.getvalue().encode()))
        return buffer.getvalue()


def uniform_policy(actions: Mask) -> Array:
    """Return the policy that takes every available action equally often, (S, A)."""
    return actions / actions.sum(-1, keepdims=True)


def dirichlet_policy(actions: Mask, rng: np.random.Generator) -> Array:
    """Draw every row from Dirichlet(1, …, 1) over the available actions, (S, A)."""
    draws = np.where(actions, rng.standard_exponential(actions.shape), 0.0)
    return draws / draws.sum(-1, keepdims=True)


def initial_policy(given: ArrayLike | TabularPolicy | None, actions: Mask) -> Array:
    """Check a starting policy, (S, A) or (B, S, A); None is the uniform policy over available actions."""
    if given is None:
        return uniform_policy(actions)
    policy = as_floats("initial_policy", given.probabilities if isinstance(given, TabularPolicy) else given)
    if policy.ndim not in (2, 3) or policy.shape[-2:] != actions.shape:
        raise InputError(f"initial_policy has shape {policy.shape}, not (S, A) = {actions.shape}")
    sums = policy.sum(-1)
    if not np.isfinite(policy).all() or (policy < 0).any() or (np.abs(sums - 1) > 1e-8).any():
        wrong = ~(np.abs(sums - 1) <= 1e-8) | (policy < 0).any(-1)
        raise InputError(f"initial_policy{first(wrong)} is not a distribution over the actions; normalise it")
    if (policy[..., ~actions] > 0).any():
        wrong = (policy > 0) & ~actions
        raise InputError(f"initial_policy{first(wrong)} is positive, but the state does not have that action")
    if (policy[..., actions] == 0).any():
        wrong = (policy == 0) & actions
        raise InputError(
            f"initial_policy{first(wrong)} is 0, so that action could never be chosen; "
            "mix in a little of the uniform policy: 0.99 * policy + 0.01 * uniform"
        )
    return policy
