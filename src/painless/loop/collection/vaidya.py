"""The dual method of Gladin et al. (2023): Vaidya's cutting planes for the multipliers, entropy-regularised policies.

The equations are those of `painless.duals.vaidya`. Between two cuts the policy takes `inner` steps of the entropy-regularised natural policy gradient,

    π ∝ exp((1 − ητ) log π + η Q_τ),     ητ = 0.9

which converges linearly to the regularised best response to λ; Q_τ counts the entropy of later steps where the model is known and discounted. The
paper takes ητ = 1 and as many steps as its tolerance asks for. The convergence in cuts is linear, at a rate that depends on K alone: for few constraints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from painless.common.arrays import Setting
from painless.duals import Vaidya
from painless.learners import ExponentiatedGradient
from painless.loop.situation import Pieces, Situation, require_positive, require_whole

PACE = 0.9  # ητ


@dataclass(frozen=True)
class DualVaidya:
    """Cutting planes for the multipliers, regularised natural policy gradients for the policy.

    Arguments:
        entropy: τ > 0, in units of the reward's span.
        inner: the steps of the policy between two cuts.
    """

    name: ClassVar[str] = "vaidya"
    entropy: Setting = 0.01
    inner: Setting = 10

    @property
    def future_entropy(self) -> Setting:
        """The strength with which the entropy of later steps counts."""
        return self.entropy

    def build(self, situation: Situation) -> Pieces:
        """Return the learner and the dual."""
        require_positive("entropy", self.entropy)
        require_whole("inner", self.inner)
        dual = Vaidya(situation.multiplier_bound, self.inner)
        return ExponentiatedGradient(PACE / self.entropy, self.entropy), dual
