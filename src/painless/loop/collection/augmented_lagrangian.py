"""The augmented Lagrangian method (Hestenes 1969; Powell 1969), by natural policy gradients.

The equations are those of `painless.duals.augmented_lagrangian`: m steps of the policy between two changes of λ. For convex programs the multipliers converge for any penalty ρ, with
enough steps in between. The policy's rate is that of `GDA`; ρ and m are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from painless.common.arrays import Setting
from painless.duals import AugmentedLagrangian
from painless.learners import ExponentiatedGradient
from painless.loop.situation import Pieces, Situation, require_positive, require_whole


@dataclass(frozen=True)
class AugmentedLagrangianMethod:
    """Weights of the augmented Lagrangian, and the policy by exponentiated gradient.

    Arguments:
        penalty: ρ.
        inner: m, the steps of the policy between two changes of the multipliers.
        policy_rate: the policy's step size.
    """

    name: ClassVar[str] = "augmented-lagrangian"
    penalty: Setting = 1.0
    inner: Setting = 4
    policy_rate: Setting = 1.0

    def build(self, situation: Situation) -> Pieces:
        """Return the learner and the dual."""
        del situation
        require_positive("penalty", self.penalty)
        require_whole("inner", self.inner)
        require_positive("policy_rate", self.policy_rate)
        return ExponentiatedGradient(self.policy_rate), AugmentedLagrangian(self.penalty, self.inner)
