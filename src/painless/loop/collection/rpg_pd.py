"""RPG-PD (Ding et al. 2023): regularised policy gradient primal–dual.

    π_{t+1} ∝ π_t·exp(η Q_τ),     Q_τ the action value of r + λ_t·c − τ log π_t
    λ_{t+1} = clip((1 − ητ) λ_t − η (V_c − b), 0, U),     λ_0 = 0

The entropy of later steps counts in Q_τ, as in the paper, where the model is known and discounted (`painless.evaluators.Entropic`); with estimates, and with other criteria, only that of the
step itself does. The paper proves that last iterates converge to the regularised saddle point, within O(τ) of an optimum. It also keeps probabilities above a small ε_0, which
logits do not need.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from painless.common.arrays import Setting
from painless.duals import Lagrangian
from painless.learners import ExponentiatedGradient, RegularisedGradient
from painless.loop.situation import Pieces, Situation, require_entropy, require_positive


@dataclass(frozen=True)
class RPGPD:
    """Regularised exponentiated gradient for the policy, regularised gradient for the multipliers.

    Arguments:
        rate: η, the step size of both.
        entropy: τ, the strength of both regularisers, in units of the reward's span.
    """

    name: ClassVar[str] = "rpg-pd"
    rate: Setting = 0.1
    entropy: Setting = 0.08

    @property
    def future_entropy(self) -> Setting:
        """The strength with which the entropy of later steps counts."""
        return self.entropy

    def build(self, situation: Situation) -> Pieces:
        """Return the learner and the dual."""
        require_positive("rate", self.rate)
        require_entropy(self.entropy, self.rate)
        upper = situation.multiplier_bound
        dual = RegularisedGradient(self.rate, self.entropy, 0.0, upper)
        return ExponentiatedGradient(self.rate, self.entropy), Lagrangian(dual, upper, start=0.0)
