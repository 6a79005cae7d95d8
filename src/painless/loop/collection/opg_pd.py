"""OPG-PD (Ding et al. 2023): optimistic policy gradient primal–dual.

Both sides take optimistic projected gradient steps with one step size, at the same time, `painless.learners.optimistic_projection` and `optimistic_gradient`:

    π̂_{t+1} = Π(π̂_t + η Q_l^{π_t}),     π_{t+1} = Π(π̂_{t+1} + η Q_l^{π_t})
    λ̂_{t+1} = clip(λ̂_t − η (V_c − b)),     λ_{t+1} = clip(λ̂_{t+1} − η (V_c − b)),     on [0, U]

The paper proves that the last iterates converge linearly, at a rate that depends on the problem, for small enough η; its λ starts at 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from painless.common.arrays import Setting
from painless.duals import Lagrangian
from painless.learners import OptimisticGradient, OptimisticProjection
from painless.loop.situation import Pieces, Situation, require_positive


@dataclass(frozen=True)
class OPGPD:
    """Optimistic projected gradient for the policy and for the multipliers.

    Arguments:
        rate: η, the step size of both.
    """

    name: ClassVar[str] = "opg-pd"
    rate: Setting = 0.1

    def build(self, situation: Situation) -> Pieces:
        """Return the learner and the dual."""
        require_positive("rate", self.rate)
        upper = situation.multiplier_bound
        return (
            OptimisticProjection(self.rate),
            Lagrangian(OptimisticGradient(self.rate, 0.0, upper), upper, start=0.0),
        )
