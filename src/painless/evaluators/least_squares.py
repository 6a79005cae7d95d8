"""Least squares on a design: rollouts from a few pairs, and a fit that extends them to all (paper, eq. lspg).

    θ̂ = argmin_θ Σ_{z ∈ C} ω(z)·(⟨φ(z), θ⟩ − q̂(z))² = G_ω† Σ_{z ∈ C} ω(z) φ(z) q̂(z),      Q(s, a) = ⟨φ(s, a), θ̂⟩

q̂ is the Monte Carlo estimate of `monte_carlo`. An entry of a coreset is a feature with all the pairs that share it: its rollouts start with
any of them, and q̂ estimates their mean. Of several solutions the one of minimum norm is taken. How far the fit can be off at other pairs is
Lemma 3: `painless.features.extrapolation_bound`. Values at ρ are linear in q̂, hence their standard errors; those do not
include the error of the features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from painless.common.arrays import Array
from painless.evaluators.base import Evaluation
from painless.evaluators.exact import TablePolicy
from painless.evaluators.lstdq import CUTOFF, linear_table, require_features
from painless.evaluators.monte_carlo import MonteCarlo, TableEstimate, evaluate_runs, standard_error
from painless.features import Design, FeatureMap, feature_matrix
from painless.problem import CMDP


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Fits action values, linear in features, to rollouts from the entries of a design.

    Arguments:
        problem: a table.
        features: a feature map over the indices of its states.
        design: a design or coreset over the rows s·A + a of the feature matrix.
        rollouts: m, for each entry of the design.
        horizon: the steps of a rollout; as in `MonteCarlo`.

    >>> import painless
    >>> from painless.features import TileCoding, feature_matrix, greedy_coreset
    >>> features = TileCoding(0, 25, tiles=14, tilings=1, actions=4)
    >>> coreset = greedy_coreset(feature_matrix(features, states=25))
    >>> evaluator = LeastSquares(painless.gridworld(), features, coreset, rollouts=100)
    >>> len(evaluator.design.entries), len(evaluator.monte_carlo.start)
    (56, 100)
    """

    problem: CMDP
    features: FeatureMap
    design: Design
    rollouts: int
    horizon: int | None = None

    def __post_init__(self) -> None:
        require_features(self.problem, self.features)
        _ = self.monte_carlo, self._feature

    @cached_property
    def monte_carlo(self) -> MonteCarlo:
        """The evaluator of all pairs of the design's entries."""
        return MonteCarlo(self.problem, self.rollouts, self.horizon, np.concatenate(self.design.entries))

    def evaluate(self, policy: TablePolicy, rngs: Sequence[np.random.Generator]) -> Evaluation:
        """Evaluate all J utilities of every run from the same trajectories."""
        return evaluate_runs(self.problem, policy, rngs, self._estimate)

    def _estimate(self, policy: Array, rng: np.random.Generator) -> TableEstimate:
        mean, variance = self.monte_carlo.entry_returns(policy, rng, self.design.entries)
        weight = mean.T @ self._fit.T  # (J, d)
        at_start = (self.problem.initial[:, None] * policy).reshape(-1) @ self._feature  # (d,)
        error = standard_error(at_start @ self._fit, variance)
        return TableEstimate(linear_table(self.problem, self._feature, weight), error)

    @cached_property
    def _feature(self) -> Array:
        return feature_matrix(self.features, self.problem.shape[0])

    @cached_property
    def _fit(self) -> Array:
        """G_ω† Φᵀ ω = (√ω Φ)† √ω, which takes estimates to weights, (d, k)."""
        root = np.sqrt(self.design.weights)
        rows = root[:, None] * self._feature[self.design.indices]
        return np.asarray(np.linalg.pinv(rows, rcond=CUTOFF) * root, dtype=np.float64)
