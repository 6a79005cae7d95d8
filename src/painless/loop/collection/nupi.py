"""νPI (Sohrabi et al. 2024): a proportional-integral controller of the multipliers against natural policy gradients.

The equations are those of `painless.learners.nu_pi`. The paper chooses its gains for each task; here κ_i is the multipliers' rate of `GDA`, and κ_p ten times that. Updates
alternate, the multipliers first. Theorem 1 of the paper, that special gains are gradient ascent and the optimistic gradient, is a test of the library. No rate is known for CMDPs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from painless.common.arguments import as_floats
from painless.common.arrays import Setting
from painless.common.errors import InputError
from painless.duals import Alternating
from painless.learners import ExponentiatedGradient, NuPI
from painless.loop.situation import Pieces, Situation, require_not_negative, require_positive


@dataclass(frozen=True)
class NuPILagrangian:
    """Multipliers by the νPI controller, and the policy by exponentiated gradient.

    Arguments:
        integral: κ_i.
        proportional: κ_p.
        smoothing: ν in (−1, 1), of the proportional part.
        policy_rate: the policy's step size.
    """

    name: ClassVar[str] = "nupi"
    integral: Setting = 0.1
    proportional: Setting = 1.0
    smoothing: Setting = 0.0
    policy_rate: Setting = 1.0

    def build(self, situation: Situation) -> Pieces:
        """Return the learner and the dual."""
        del situation
        require_positive("integral", self.integral)
        require_not_negative("proportional", self.proportional)
        require_positive("policy_rate", self.policy_rate)
        if not (np.abs(as_floats("smoothing", self.smoothing)) < 1).all():
            raise InputError(f"smoothing is {self.smoothing}; it must lie between −1 and 1")
        controller = NuPI(self.integral, self.proportional, self.smoothing, lower=0.0)
        return ExponentiatedGradient(self.policy_rate), Alternating(controller, start=0.0)
