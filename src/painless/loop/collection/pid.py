"""PID Lagrangian (Stooke, Achiam & Abbeel 2020): a controller of the multipliers against natural policy gradients.

The equations are those of `painless.duals.pid`. The paper trains networks by PPO; here the policy takes steps of exponentiated gradient (natural
policy gradient on a table). The gains are those of the public implementation in OmniSafe (CPPOPID: 0.1, 0.01, 0.01), without its moving averages: the
paper has several. No guarantee is known; the claim is empirical, that the proportional part removes the oscillations of the integral.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from painless.common.arrays import Setting
from painless.duals import PID
from painless.learners import ExponentiatedGradient
from painless.loop.situation import Pieces, Situation, require_not_negative, require_positive


@dataclass(frozen=True)
class PIDLagrangian:
    """Multipliers by a PID controller, and the policy by exponentiated gradient.

    Arguments:
        proportional, integral, derivative: the gains K_P, K_I and K_D.
        policy_rate: the policy's step size.
    """

    name: ClassVar[str] = "pid"
    proportional: Setting = 0.1
    integral: Setting = 0.01
    derivative: Setting = 0.01
    policy_rate: Setting = 1.0

    def build(self, situation: Situation) -> Pieces:
        """Return the learner and the dual."""
        del situation
        for name in ("proportional", "integral", "derivative"):
            require_not_negative(name, getattr(self, name))
        require_positive("policy_rate", self.policy_rate)
        return ExponentiatedGradient(self.policy_rate), PID(self.proportional, self.integral, self.derivative)
