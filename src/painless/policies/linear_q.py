"""Linear action values: Q_j(s, a) = ⟨φ(s, a), θ_j⟩."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from painless.common.arrays import Array
from painless.features.base import FeatureMap, linear_action_value
from painless.simulation.simulator import States


@dataclass(frozen=True, eq=False)
class LinearQ:
    """Action values of all J utilities as weights of features, (B, J, d)."""

    features: FeatureMap
    weights: Array

    def at(self, states: States) -> Array:
        """Return the action values of some states, (B, J, n, A)."""
        return linear_action_value(self.features, self.weights, states)

    def combine(self, weight: Array) -> Array:
        """Return Σ_j weight_j·θ_j, (B, d): the weights of the Lagrangian action value."""
        return np.matmul(weight[:, None, :], self.weights)[:, 0]
