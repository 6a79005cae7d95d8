"""The log barrier as a dual (LB-SGD: Usmanova et al. 2024; on CMDPs: Ni & Kamgarpour 2024).

    maximise V_r + μ Σ_i log(V_{c_i} − b_i),     whose gradient has the weights (1, λ),     λ_i = μ/(V_{c_i} − b_i)
    weights (1, λ)/(1 + Σ λ)

At a maximum Σ λ_i (V_{c_i} − b_i) = K μ, so that V_r is within K μ of the optimum. The weights are divided so that a step shrinks
near the border, as the adaptive step size of LB-SGD does. Where a constraint is missed, or met by less than μ/U_i, its multiplier is U_i: a barrier says nothing there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array, Setting, per_run
from painless.duals.pid import divided


class LogBarrierState(NamedTuple):
    """How many shortfalls were seen; the multipliers depend on the latest alone."""

    rounds: int


@dataclass(frozen=True)
class LogBarrier:
    """Multipliers that are inverse to the slack.

    Arguments:
        barrier: μ, in units of a value.
        upper: U, one number or one for each constraint.

    >>> dual = LogBarrier(barrier=0.1, upper=9.0)
    >>> dual.play(np.array([[-0.1], [0.5]]), dual.init(np.ones((2, 1))))[0]
    array([[0.5, 0.5],
           [0.1, 0.9]])

    References:
        Usmanova, As, Kamgarpour & Krause, "Log barriers for safe black-box optimization with application to safe reinforcement
        learning", JMLR 25, 2024. Ni & Kamgarpour, "A safe exploration approach to constrained Markov decision processes", 2024.
    """

    barrier: Setting
    upper: Setting

    def init(self, multiplier: Array) -> LogBarrierState:
        """Start; there is no multiplier to keep."""
        del multiplier
        return LogBarrierState(0)

    def play(self, shortfall: Array, state: LogBarrierState) -> tuple[Array, LogBarrierState]:
        """Return the weights for this shortfall."""
        upper, barrier = np.zeros_like(shortfall) + self.upper, per_run(self.barrier, 2)
        slack = np.maximum(-shortfall, barrier / upper)
        return divided(np.minimum(barrier / slack, upper)), LogBarrierState(state.rounds + 1)
