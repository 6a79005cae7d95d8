"""Least squares on a design, from a simulator with generative access (paper, Algorithm 1, lines 5 to 8).

A generative simulator can be started in any state. The design is over pairs of some states, in the rows k·A + a. From each of its
entries m trajectories start, and eq. lspg fits

    θ̂ = argmin_θ Σ_{z ∈ C} ω(z)·(⟨φ(z), θ⟩ − q̂(z))²,        Q̂(s, a) = ⟨φ(s, a), θ̂⟩,        V̂(ρ) = ⟨ρ, ⟨π, Q̂⟩⟩

V̂(ρ) is the mean over first states that are drawn; on a table, whose ρ is known, it is the sum. Trajectories are cut off at the
time limit H, which leaves out γᴴ·|u|/(1−γ) at most. On a table they are rolled out by a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from painless.common.arrays import Array, Mask
from painless.common.errors import InputError
from painless.evaluators.base import Evaluation
from painless.evaluators.lstdq import CUTOFF
from painless.evaluators.monte_carlo import require_count, standard_error
from painless.features import Coreset, Design, FeatureMap, greedy_coreset, linear_action_value
from painless.policies import FeaturePolicy, LinearQ
from painless.policies.table import restricted
from painless.problem import CMDP
from painless.simulation.normalised_simulator import NormalisedSimulator
from painless.simulation.rollouts import returns_from, roll_out
from painless.simulation.simulator import Simulator, States, TableSimulator

FIRST_STATES = 1000  # that are drawn for V̂(ρ)


@dataclass(frozen=True, eq=False)
class DesignRollouts:
    """Fits linear action values to rollouts of a generative simulator from the entries of a design.

    Arguments:
        simulator: it must be generative, with a time limit.
        features: φ.
        states: the states whose pairs the design is over, (n, …).
        design: a design or coreset over the rows k·A + a.
        rollouts: m, for each entry.
    """

    simulator: Simulator
    features: FeatureMap
    states: States
    design: Design
    rollouts: int = 50

    def __post_init__(self) -> None:
        require_count("rollouts", self.rollouts)
        require_generative(self.simulator)

    def evaluate(self, policy: FeaturePolicy, rngs: Sequence[np.random.Generator]) -> Evaluation:
        """Roll out from every entry, and fit the weights of all utilities."""
        (rng,) = rngs
        mean, variance, steps = self._returns(policy, rng)
        weights = mean.T @ self._fit.T  # (J, d)
        first, share = self._first_states(rng)
        probability = policy.at(first)[0]  # (n, A)
        value = linear_action_value(self.features, weights, first)  # (J, n, A)
        at_start = (share[:, None, None] * probability[:, :, None] * self.features.at(first)).sum((0, 1))
        error = standard_error(at_start @ self._fit, variance)
        return Evaluation(
            LinearQ(self.features, weights[None]),
            (share[:, None] * probability * value).sum((1, 2))[None],
            error[None],
            steps,
        )

    def _first_states(self, rng: np.random.Generator) -> tuple[States, Array]:
        """Return first states and how much each counts."""
        table = table_of(self.simulator)
        if table is not None:
            return np.arange(len(table.initial)), table.initial
        return self.simulator.reset(FIRST_STATES, rng), np.full(FIRST_STATES, 1 / FIRST_STATES)

    def _returns(self, policy: FeaturePolicy, rng: np.random.Generator) -> tuple[Array, Array, int]:
        """Return the mean return of each entry, (k, J), the variance of that mean, and the steps taken."""
        count, table = self.rollouts, table_of(self.simulator)
        if table is None:
            returns, steps = self._simulated(policy, rng)
            mean, squares = returns.mean(1), ((returns - returns.mean(1, keepdims=True)) ** 2).sum(1)
        else:
            mean, squares = self._from_table(table, policy, rng)
            steps = len(mean) * count * (self.simulator.specification.time_limit or 0)
        variance = squares / (count * (count - 1)) if count > 1 else np.full_like(squares, np.inf)
        return mean, variance, steps

    def _simulated(self, policy: FeaturePolicy, rng: np.random.Generator) -> tuple[Array, int]:
        """Return the return of every trajectory, (k, m, J)."""
        rows = np.array([rng.choice(entry, self.rollouts) for entry in self.design.entries])  # (k, m)
        place, action = np.divmod(rows.reshape(-1), self.features.actions)
        returns, steps = returns_from(self.simulator, policy, self.states[place], action, rng)
        return returns.reshape(*rows.shape, -1), steps

    def _from_table(
        self, table: CMDP, policy: FeaturePolicy, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        from painless.evaluators import _table_kernels as compiled
        from painless.simulation.sampling import policy_sums, stream

        actions = table.shape[1]
        place, action = np.divmod(np.concatenate(self.design.entries), actions)
        starts = compiled.Starts.of(self.design.entries)._replace(pair=self.states[place] * actions + action)
        probabilities = restricted(policy.at(np.arange(table.shape[0]))[0], table.actions)
        mean, squares = compiled.returns(
            self._sampler,
            starts,
            policy_sums(probabilities),
            table.discount,
            self.rollouts,
            self.simulator.specification.time_limit or 0,
            stream(rng),
        )
        span = _span(self.simulator)
        return mean / span, squares / span**2

    @cached_property
    def _sampler(self) -> Any:
        from painless.simulation.sampling import table_sampler

        table = table_of(self.simulator)
        assert table is not None
        return table_sampler(table)

    @cached_property
    def _fit(self) -> Array:
        """(√ω Φ)† √ω, which takes estimates to weights, (d, k)."""
        place, action = np.divmod(self.design.indices, self.features.actions)
        root = np.sqrt(self.design.weights)
        rows = root[:, None] * self.features.at(self.states[place])[np.arange(len(action)), action]
        used = rows.any(0)
        fit = np.zeros((rows.shape[1], len(rows)))
        fit[used] = np.linalg.pinv(rows[:, used], rcond=CUTOFF) * root
        return fit


def require_generative(simulator: Simulator) -> None:
    """Reject simulators that cannot be started in any state, and those without a time limit."""
    specification = simulator.specification
    if not specification.generative:
        raise InputError(
            "rollouts from a coreset start in any state, and this simulator starts where it chooses; use painless.train, or "
            "declare generative=True in its specification if `step` accepts any state"
        )
    if specification.time_limit is None:
        raise InputError("this simulator has no time limit, so that a rollout might never end; give it one")


def table_of(simulator: Simulator) -> CMDP | None:
    """Return the table behind a simulator, scaled or not; None if it has none."""
    inner = simulator.inner if isinstance(simulator, NormalisedSimulator) else simulator
    return inner.problem if isinstance(inner, TableSimulator) else None


def _span(simulator: Simulator) -> Array | float:
    return simulator.inner.specification.span if isinstance(simulator, NormalisedSimulator) else 1.0


class _Uniform:
    """The policy that takes every action equally often."""

    def __init__(self, actions: int) -> None:
        self.actions = actions

    def at(self, states: States) -> Array:
        """Return the probabilities of all actions, (n, A)."""
        return np.full((len(states), self.actions), 1 / self.actions)


def states_met(simulator: Simulator, episodes: int, most: int, rng: np.random.Generator) -> States:
    """Return different states to choose a coreset from: all of a table, or some that random episodes meet."""
    table = table_of(simulator)
    if table is not None:
        return np.arange(table.shape[0])
    met = roll_out(simulator, _Uniform(simulator.specification.actions), episodes, rng)
    different = np.unique(met.states, axis=0)
    return different if len(different) <= most else rng.permutation(different)[:most]


def state_coreset(features: FeatureMap, states: States, tolerance: float, actions: Mask | None) -> Coreset:
    """Return the greedy coreset of the pairs of some states, over the rows k·A + a; `actions` (n, A) are those available."""
    matrix = features.at(states).reshape(len(states) * features.actions, -1)
    kept = np.arange(len(matrix)) if actions is None else np.flatnonzero(actions)
    matrix = matrix[kept]
    found = greedy_coreset(matrix[:, matrix.any(0)], tolerance)
    return replace(found, indices=kept[found.indices], shared=tuple(kept[rows] for rows in found.shared))
