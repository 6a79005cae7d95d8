"""NPG-PD (Ding et al. 2020) with the step sizes of its Theorem 1.

    π_{t+1} ∝ π_t·exp(η₁/(1−γ)·Q_l),     η₁ = 2 ln A
    λ_{t+1} = clip(λ_t − η₂ (V_c − b), 0, U),     η₂ = 2(1−γ)/√T,     λ_0 = 0

For utilities in [0, 1] and one constraint that some policy exceeds by ξ, from the uniform policy,

    average V_r* − V_r ≤ 7/((1−γ)²√T),     [average b − V_c]₊ ≤ (2/ξ + 4ξ)/((1−γ)²√T)

`GDA` is the same algorithm with constant steps of the user's choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from painless.common.errors import InputError
from painless.duals import Lagrangian
from painless.learners import ExponentiatedGradient, ProjectedGradient
from painless.loop.situation import Pieces, Situation


@dataclass(frozen=True)
class NPGPD:
    """Natural policy gradient primal–dual with the step sizes of its theorem, which need a known horizon."""

    name: ClassVar[str] = "npg-pd"

    def build(self, situation: Situation) -> Pieces:
        """Return the learner and the dual."""
        if situation.iterations is None:
            raise InputError("the step sizes of NPG-PD need a known horizon; give iterations")
        policy_rate = 2 * np.log(max(situation.actions, 2)) / situation.step
        multiplier_rate = 2 * situation.step / np.sqrt(situation.iterations)
        dual = Lagrangian(ProjectedGradient(float(multiplier_rate)), situation.multiplier_bound, start=0.0)
        return ExponentiatedGradient(float(policy_rate)), dual


def npg_pd_bounds(iterations: int, discount: float, slack: float) -> tuple[float, float]:
    """Return the bounds of Theorem 1 on the average gap and the average violation.

    >>> [round(bound, 3) for bound in npg_pd_bounds(10_000, 0.5, 1.0)]
    [0.28, 0.24]
    """
    scale = 1 / ((1 - discount) ** 2 * np.sqrt(iterations))
    return float(7 * scale), float((2 / slack + 4 * slack) * scale)
