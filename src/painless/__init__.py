"""Constrained Markov decision processes solved without tuning, with a proof of the gap.

>>> import painless
>>> solution = painless.solve(painless.gridworld(), tolerance=1e-6)
>>> round(solution.reward_value, 5), bool(solution.feasible)
(1.65272, True)
"""

from typing import Any

from painless.algorithms import CBP, CRPO, GDA, PRM, PrimalDual, Situation
from painless.averages import Output
from painless.batch import solve_batch
from painless.checks import check_evaluator, check_learner, check_problem
from painless.errors import InputError
from painless.evaluate import Estimate, evaluate
from painless.feature_policies.storage import load_policy, save_policy
from painless.framework import Trace
from painless.frontier import frontier
from painless.planning import ColumnGeneration, LinearProgram
from painless.planning.planner import Progress
from painless.policy import TabularPolicy
from painless.problem import CMDP, load
from painless.problems import CartPole, garnet, gridworld, make
from painless.solution import Solution, Status
from painless.solve import solve
from painless.sources import from_rows, from_toy_text
from painless.surface import Surface, frontier_surface
from painless.trade_off import Frontier
from painless.train import TrainingProgress, train
from painless.training_result import Training

__version__ = "0.1.0"

_ENVIRONMENTS = ("from_gymnasium", "table_from_gymnasium")


def __getattr__(name: str) -> Any:
    """Load what needs Gymnasium only when it is asked for."""
    if name in _ENVIRONMENTS:
        from painless import environments

        return getattr(environments, name)
    raise AttributeError(f"module 'painless' has no attribute '{name}'")


__all__ = [
    "CBP",
    "CMDP",
    "CRPO",
    "GDA",
    "PRM",
    "CartPole",
    "ColumnGeneration",
    "Estimate",
    "Frontier",
    "InputError",
    "LinearProgram",
    "Output",
    "PrimalDual",
    "Progress",
    "Situation",
    "Solution",
    "Status",
    "Surface",
    "TabularPolicy",
    "Trace",
    "Training",
    "TrainingProgress",
    "check_evaluator",
    "check_learner",
    "check_problem",
    "evaluate",
    "from_gymnasium",
    "from_rows",
    "from_toy_text",
    "frontier",
    "frontier_surface",
    "garnet",
    "gridworld",
    "load",
    "load_policy",
    "make",
    "save_policy",
    "solve",
    "solve_batch",
    "table_from_gymnasium",
    "train",
]
