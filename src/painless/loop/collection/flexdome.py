"""FlexDOME's decaying safety margin (Zuo, Wang & He 2026), with exact or estimated values of any evaluator.

    π_{t+1} ∝ π_t·exp(η (Q_l − τ log π_t))
    λ_{t+1} = clip((1 − ητ) λ_t + η (b + ε_t − V_c), 0, U),     ε_t = ε_0/(t + 1)^¼,     λ_0 = 0

The paper's algorithm explores an unknown model over a finite horizon; its schedules of η, τ and ε could not be looked up. Taken from it are the margin, around the regularised primal–dual steps
that it starts from; the constants are ours: ε_0 is `margin` times the Slater policy's slack, so that a policy with the margin exists. Its claim is a strong violation Σ[b − V_c]₊ that hardly grows with T.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from painless.common.arrays import Array, Setting, per_run
from painless.duals import Lagrangian, Margin
from painless.learners import ExponentiatedGradient, RegularisedGradient
from painless.loop.situation import Pieces, Situation, require_entropy, require_positive


@dataclass(frozen=True)
class FlexDOME:
    """Regularised primal–dual steps towards limits with a margin that decays.

    Arguments:
        policy_rate: the policy's step size.
        multiplier_rate: the multipliers' step size.
        entropy: τ, the strength of both regularisers, in units of the reward's span.
        margin: ε_0, in units of the slack of the Slater policy.
        power: p of the decay 1/(t + 1)^p.
    """

    name: ClassVar[str] = "flexdome"
    policy_rate: Setting = 1.0
    multiplier_rate: Setting = 0.1
    entropy: Setting = 0.01
    margin: Setting = 0.5
    power: Setting = 0.25

    def build(self, situation: Situation) -> Pieces:
        """Return the learner and the dual."""
        for name in ("policy_rate", "multiplier_rate", "margin", "power"):
            require_positive(name, getattr(self, name))
        require_entropy(self.entropy, np.maximum(self.policy_rate, self.multiplier_rate))
        upper = situation.multiplier_bound
        dual = Lagrangian(
            RegularisedGradient(self.multiplier_rate, self.entropy, 0.0, upper), upper, start=0.0
        )
        first = per_run(self.margin, 2) * slack(situation)
        return ExponentiatedGradient(self.policy_rate, self.entropy), Margin(dual, first, self.power)


def slack(situation: Situation) -> Array:
    """The slack of the Slater policy, which U = 2/((1−γ) s) tells, (K,); at most the largest value."""
    return np.asarray(np.minimum(2 / (situation.step * situation.multiplier_bound), 1 / situation.step))
