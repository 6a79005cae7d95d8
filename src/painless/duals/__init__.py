"""Duals: how the constraints are weighed against the reward, from the shortfalls of the last iterate.

`base` has the interface. To add a dual, write a file; an algorithm that plays it has a line in `painless.loop.algorithms`.
"""

from painless.duals.alternating import Alternating
from painless.duals.augmented_lagrangian import AugmentedLagrangian, AugmentedState
from painless.duals.base import Dual
from painless.duals.lagrangian import Lagrangian
from painless.duals.log_barrier import LogBarrier, LogBarrierState
from painless.duals.margin import Margin, MarginState
from painless.duals.maximin import Maximin
from painless.duals.multipliers import Multipliers
from painless.duals.pid import PID, PIDState
from painless.duals.switching import Switching, SwitchingState
from painless.duals.vaidya import Vaidya, VaidyaState

__all__ = [
    "PID",
    "Alternating",
    "AugmentedLagrangian",
    "AugmentedState",
    "Dual",
    "Lagrangian",
    "LogBarrier",
    "LogBarrierState",
    "Margin",
    "MarginState",
    "Maximin",
    "Multipliers",
    "PIDState",
    "Switching",
    "SwitchingState",
    "Vaidya",
    "VaidyaState",
]
