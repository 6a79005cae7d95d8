"""ReLOAD (Moskovitz et al. 2023): optimistic mirror ascent for the policy, optimistic gradients for the multipliers.

    π_{t+1} ∝ π_t·exp(η₁ (2 Q_t − Q_{t−1})),     Q_t the Lagrangian action value of π_t at λ_t
    λ_{t+1} = clip(λ_t + η₂ (2 g_t − g_{t−1}), 0, U),     g = b − V_c

The paper proves that last iterates converge for mirror steps in occupancies; on policies, as here, its evidence is empirical. It chooses step sizes for each task: these are
those of `GDA`. The multipliers' step is νPI with κ_p = κ_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from painless.common.arrays import Setting
from painless.duals import Lagrangian
from painless.learners import NuPI, OptimisticHedge
from painless.loop.situation import Pieces, Situation, require_positive


@dataclass(frozen=True)
class ReLOAD:
    """Optimistic exponentiated gradient for the policy, optimistic gradient for the multipliers.

    Arguments:
        policy_rate: η₁, the policy's step size.
        multiplier_rate: η₂, the multipliers' step size.
    """

    name: ClassVar[str] = "reload"
    policy_rate: Setting = 1.0
    multiplier_rate: Setting = 0.1

    def build(self, situation: Situation) -> Pieces:
        """Return the learner and the dual."""
        require_positive("policy_rate", self.policy_rate)
        require_positive("multiplier_rate", self.multiplier_rate)
        optimistic = NuPI(self.multiplier_rate, self.multiplier_rate)
        return OptimisticHedge(self.policy_rate), Lagrangian(optimistic, situation.multiplier_bound)
