"""Duals: how the constraints are weighed against the reward, from the shortfalls of the last iterate.

`base` has the interface. To add a dual, write a file; an algorithm that plays it has a line in `painless.loop.algorithms`.
"""

from painless.duals.alternating import Alternating
from painless.duals.base import Dual
from painless.duals.lagrangian import Lagrangian
from painless.duals.maximin import Maximin
from painless.duals.multipliers import Multipliers
from painless.duals.switching import Switching, SwitchingState

__all__ = ["Alternating", "Dual", "Lagrangian", "Maximin", "Multipliers", "Switching", "SwitchingState"]
