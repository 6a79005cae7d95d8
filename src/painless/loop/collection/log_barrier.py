"""The log-barrier method (LB-SGD: Usmanova et al. 2024; on CMDPs: Ni & Kamgarpour 2024), by natural policy gradients.

The equations are those of `painless.duals.log_barrier`. μ is `barrier`/(1−γ): a part of the largest value of a policy. At the barrier's maximum the reward is within K μ of the optimum, and every
limit is met. The papers start from a policy that is known to be safe; here the multiplier of a limit that is missed is U, which leads back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from painless.common.arrays import Setting
from painless.duals import LogBarrier
from painless.learners import ExponentiatedGradient
from painless.loop.situation import Pieces, Situation, require_positive


@dataclass(frozen=True)
class LogBarrierMethod:
    """Multipliers inverse to the slack, and the policy by exponentiated gradient.

    Arguments:
        barrier: μ, in units of the largest value, span/(1−γ).
        policy_rate: the policy's step size.
    """

    name: ClassVar[str] = "log-barrier"
    barrier: Setting = 0.001
    policy_rate: Setting = 1.0

    def build(self, situation: Situation) -> Pieces:
        """Return the learner and the dual."""
        require_positive("barrier", self.barrier)
        require_positive("policy_rate", self.policy_rate)
        dual = LogBarrier(self.barrier / situation.step, situation.multiplier_bound)
        return ExponentiatedGradient(self.policy_rate), dual
