"""The augmented Lagrangian (Hestenes 1969; Powell 1969; Rockafellar 1973): a quadratic penalty beside the multipliers.

    L(π, λ) = V_r − Σ_i ([λ_i + ρ g_i]₊² − λ_i²)/(2ρ),     g = b − V_c
    weights (1, [λ + ρ g_t]₊), which are its gradient at π_t
    λ ← [λ + ρ g_t]₊ after every m-th iteration

The policy takes m steps on the augmented Lagrangian between two changes of λ, as in the inexact method; with m = 1 it is gradient
ascent on the multipliers that answers each shortfall at once. L is concave in the occupancy, without the corners of the
Lagrangian, so that its maximum attracts the last iterate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array, Setting, per_run
from painless.duals.base import with_reward


class AugmentedState(NamedTuple):
    """The multipliers, and how many shortfalls there were."""

    decision: Array
    rounds: int


@dataclass(frozen=True)
class AugmentedLagrangian:
    """Weights of the augmented Lagrangian; the multipliers stay at 0 or above.

    Arguments:
        penalty: ρ, which is the step size of the multipliers as well.
        inner: m, the steps of the policy between two changes of the multipliers.

    >>> dual = AugmentedLagrangian(penalty=2.0, inner=2)
    >>> weight, state = dual.play(np.array([[0.5]]), dual.init(np.array([[1.0]])))
    >>> weight, state.decision, dual.play(np.array([[0.25]]), state)[1].decision
    (array([[1., 2.]]), array([[1.]]), array([[1.5]]))

    References:
        Hestenes, "Multiplier and gradient methods", JOTA 4, 1969. Powell, "A method for nonlinear constraints in minimization
        problems", 1969. Rockafellar, "The multiplier method of Hestenes and Powell applied to convex programming", JOTA 12, 1973.
    """

    penalty: Setting = 1.0
    inner: Setting = 1

    def init(self, multiplier: Array) -> AugmentedState:
        """Start at `multiplier`."""
        return AugmentedState(multiplier, 0)

    def play(self, shortfall: Array, state: AugmentedState) -> tuple[Array, AugmentedState]:
        """Return (1, [λ + ρ g]₊), which λ becomes after every m-th iteration."""
        rounds = state.rounds + 1
        weight = np.maximum(state.decision + per_run(self.penalty, 2) * shortfall, 0.0)
        due = rounds % np.asarray(per_run(self.inner, 2)) == 0
        return with_reward(weight), AugmentedState(np.where(due, weight, state.decision), rounds)
