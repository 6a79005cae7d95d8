"""LSTDQ from trajectories: least-squares temporal differences over features (Lagoudakis & Parr 2003).

    A θ = b,     A = Σ φ(s, a)·(φ(s, a) − γ Σ_a' π(a'|s') φ(s', a'))ᵀ,     b = Σ φ(s, a)·u

over the steps of fresh episodes; nothing follows a step that terminates, and a time limit is no end. All J utilities
share the matrix, and only features that occur take part. The values at ρ are the mean returns of the episodes.

`AnchoredLSTDQ` is the default. A feature that was not visited keeps the weight it had, and the others are
drawn towards theirs: (A + κI)θ = b + κ·θ_previous. `PlainLSTDQ` is the paper's: the solution of least norm, with
the next action drawn; features that an iteration did not visit fall to zero, which biases the estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array
from painless.evaluators.base import Evaluation
from painless.evaluators.lstdq import solve_lstdq
from painless.features.base import BinaryFeatures, FeatureMap, Indices, batches, is_binary
from painless.policies import FeaturePolicy, LinearQ
from painless.simulation.rollouts import Exploring, Trajectories, draw_actions, roll_out
from painless.simulation.simulator import Simulator


class System(NamedTuple):
    """The equations A θ = b on the features that occur."""

    matrix: Array  # (rows, columns)
    right: Array  # (rows, J)
    rows: Indices  # the features of the rows
    columns: Indices  # the features of the columns


@dataclass(frozen=True)
class AnchoredLSTDQ:
    """LSTDQ with the expected next feature and a ridge towards the previous weights.

    Arguments:
        simulator: where episodes come from.
        features: φ.
        rollouts: episodes for each evaluation.
        anchor: κ, the weight of the previous solution, in visits.
        exploration: ε. With it, as many episodes again take a random action with this probability. They
            explore actions that the policy no longer takes, and enter the equations but not the values at ρ.
    """

    simulator: Simulator
    features: FeatureMap
    rollouts: int = 50
    anchor: float = 1.0
    exploration: float = 0.0

    def evaluate(self, policy: FeaturePolicy, rngs: Sequence[np.random.Generator]) -> Evaluation:
        """Roll out fresh episodes and solve for the weights of all utilities."""
        (rng,) = rngs
        trajectories = roll_out(self.simulator, policy, self.rollouts, rng)
        if self.exploration:
            explored = roll_out(self.simulator, Exploring(policy, self.exploration), self.rollouts, rng)
            trajectories = trajectories.with_steps_of(explored)
        previous = _previous(policy, self.features, trajectories.utilities.shape[1])
        probabilities = policy.at(trajectories.successors)[0]
        system = build_system(self.features, trajectories, probabilities, self._discount, previous)
        weights = previous.copy()
        weights[:, system.rows] = solve_lstdq(
            system.matrix, system.right.T, ridge=self.anchor, previous=previous[:, system.rows]
        )
        return _evaluation(self.features, weights, trajectories)

    @property
    def _discount(self) -> float:
        return self.simulator.specification.discount


@dataclass(frozen=True)
class PlainLSTDQ:
    """LSTDQ as in the paper: the next action is drawn, and the solution has the least norm.

    Arguments:
        simulator: where episodes come from.
        features: φ.
        rollouts: episodes for each evaluation.
        cutoff: singular values below this, relative to the largest, count as 0.
        expected: average over the next action in place of drawing it.
    """

    simulator: Simulator
    features: FeatureMap
    rollouts: int = 50
    cutoff: float = 1e-8
    expected: bool = False

    def evaluate(self, policy: FeaturePolicy, rngs: Sequence[np.random.Generator]) -> Evaluation:
        """Roll out fresh episodes and solve for the weights of all utilities."""
        from scipy import linalg

        (rng,) = rngs
        trajectories = roll_out(self.simulator, policy, self.rollouts, rng)
        probabilities = policy.at(trajectories.successors)[0]
        if not self.expected:
            drawn = draw_actions(probabilities, rng.random(len(probabilities)))
            probabilities = np.eye(probabilities.shape[1])[drawn]
        discount = self.simulator.specification.discount
        system = build_system(self.features, trajectories, probabilities, discount, None)
        solution = linalg.lstsq(system.matrix, system.right, cond=self.cutoff, lapack_driver="gelsy")[0]
        weights = np.zeros((trajectories.utilities.shape[1], self.features.dimension))
        weights[:, system.columns] = solution.T
        return _evaluation(self.features, weights, trajectories)


def build_system(
    features: FeatureMap, steps: Trajectories, probabilities: Array, discount: float, previous: Array | None
) -> System:
    """Return the equations of LSTDQ, with π at the successors as `probabilities` (N, A).

    With `previous` (J, d), the columns are those of the rows, and other features keep these weights.
    """
    ahead = probabilities * ~steps.terminated[:, None]
    if is_binary(features):
        return _binary_system(features, steps, ahead, discount, previous)
    everything = np.arange(features.dimension)
    matrix = np.zeros((features.dimension, features.dimension))
    right = np.zeros((features.dimension, steps.utilities.shape[1]))
    for part in batches(features, len(steps.actions)):
        actions = steps.actions[part]
        pairs = features.at(steps.states[part])[np.arange(len(actions)), actions]
        expected = np.einsum("na,nad->nd", ahead[part], features.at(steps.successors[part]))
        matrix += pairs.T @ (pairs - discount * expected)
        right += pairs.T @ steps.utilities[part]
    return System(matrix, right, everything, everything)


def _binary_system(
    features: BinaryFeatures, steps: Trajectories, ahead: Array, discount: float, previous: Array | None
) -> System:
    from painless.evaluators import _trajectory_kernels

    active = features.active(steps.states)[np.arange(len(steps.actions)), steps.actions]
    following = features.active(steps.successors)
    row_of = _places(features.dimension, active)
    column_of = row_of if previous is not None else _places(features.dimension, active, following)
    kinds, count = steps.utilities.shape[1], active.shape[1]
    most = ahead.shape[1] * count
    fixed = previous if previous is not None else np.zeros((kinds, 1))
    matrix = np.zeros((int(row_of.max()) + 1, int(column_of.max()) + 1))
    right = np.zeros((len(matrix), kinds))
    room = (np.empty(kinds), np.empty(count, np.int64), np.empty(most, np.int64), np.empty(most))
    _trajectory_kernels.normal_equations(
        *(active, following, ahead, steps.utilities, discount, row_of, column_of, fixed),
        *(*room, matrix, right),
    )
    return System(matrix, right, np.flatnonzero(row_of >= 0), np.flatnonzero(column_of >= 0))


def _places(dimension: int, *occurring: Indices) -> Indices:
    """Number the features that occur, in their order; the others get −1, (d,)."""
    present = np.zeros(dimension, dtype=bool)
    for one in occurring:
        present[one.reshape(-1)] = True
    return np.where(present, present.cumsum() - 1, -1)


def _previous(policy: FeaturePolicy, features: FeatureMap, utilities: int) -> Array:
    """Return the weights that led to this policy, (J, d); zero at the start."""
    return np.zeros((utilities, features.dimension)) if policy.last is None else policy.last.weights[0]


def _evaluation(features: FeatureMap, weights: Array, trajectories: Trajectories) -> Evaluation:
    q = LinearQ(features, weights[None])
    value, error = trajectories.value[None], trajectories.standard_error[None]
    return Evaluation(q, value, error, len(trajectories.actions))
