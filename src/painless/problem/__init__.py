"""The problem, `CMDP`: its arrays and units, where it comes from, and its files.

A problem is checked by `validation` and `transitions` when it is made, and is immutable then. Before it is solved, `units`
removes what no feasible policy does, and makes every span 1.
"""

from painless.problem.cmdp import CMDP, Transition, require_problem
from painless.problem.criterion import Criterion
from painless.problem.loading import load

__all__ = ["CMDP", "Criterion", "Transition", "load", "require_problem"]
