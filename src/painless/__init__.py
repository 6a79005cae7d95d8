"""Constrained Markov decision processes solved without tuning, with a proof of the gap.

>>> import painless
>>> solution = painless.solve(painless.gridworld(), tolerance=1e-6)
>>> round(solution.reward_value, 5), bool(solution.feasible)
(1.65272, True)
"""

from typing import Any

from painless import duals, learners
from painless.common.errors import InputError
from painless.duals.multipliers import Multipliers
from painless.frontiers import Frontier
from painless.frontiers.frontier import frontier
from painless.logs.from_log import from_log
from painless.logs.logged_model import LoggedModel
from painless.loop.algorithms import CBP, CRPO, GDA, PRM, PrimalDual
from painless.loop.averages import Output
from painless.planning import ColumnGeneration, LinearProgram
from painless.policies.storage import load_policy, save_policy
from painless.policies.table import TabularPolicy
from painless.problem import CMDP, load
from painless.problem.function_model import FunctionModel, from_function
from painless.problem.reaching import reach
from painless.problem.sources import from_frame, from_mdptoolbox, from_quantecon, from_rows
from painless.problems import CartPole, garnet, gridworld, make
from painless.solving.compare import compare
from painless.solving.many import solve_many
from painless.solving.sensitivity import sensitivity
from painless.solving.solution import Solution
from painless.solving.solve import solve
from painless.solving.value import value
from painless.training.deep.settings import Deep
from painless.training.evaluate import evaluate
from painless.training.train import train

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Load what needs Gymnasium only when it is asked for."""
    if name == "from_gymnasium":
        from painless.environments import from_gymnasium

        return from_gymnasium
    raise AttributeError(f"module 'painless' has no attribute '{name}'")


__all__ = [
    "CBP",
    "CMDP",
    "CRPO",
    "GDA",
    "PRM",
    "CartPole",
    "ColumnGeneration",
    "Deep",
    "Frontier",
    "FunctionModel",
    "InputError",
    "LinearProgram",
    "LoggedModel",
    "Multipliers",
    "Output",
    "PrimalDual",
    "Solution",
    "TabularPolicy",
    "compare",
    "duals",
    "evaluate",
    "from_frame",
    "from_function",
    "from_gymnasium",
    "from_log",
    "from_mdptoolbox",
    "from_quantecon",
    "from_rows",
    "frontier",
    "garnet",
    "gridworld",
    "learners",
    "load",
    "load_policy",
    "make",
    "reach",
    "save_policy",
    "sensitivity",
    "solve",
    "solve_many",
    "train",
    "value",
]
