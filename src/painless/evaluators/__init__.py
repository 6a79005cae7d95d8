"""Evaluators: the action values and the values at ρ of a batch of policies, exact or from samples.

`base` has the interface. To add one, write a file and add a line to `EVALUATORS`.
"""

from painless.evaluators.averaged_lstdq import AveragedLSTDQ
from painless.evaluators.base import Evaluation, Evaluator
from painless.evaluators.entropic import Entropic
from painless.evaluators.evaluation_error import evaluation_error
from painless.evaluators.exact import ExactEvaluator, exact_evaluator
from painless.evaluators.least_squares import LeastSquares
from painless.evaluators.lstdq import LSTDQ
from painless.evaluators.monte_carlo import MonteCarlo
from painless.evaluators.registry import EVALUATORS
from painless.evaluators.swept import SweptEvaluator
from painless.evaluators.td import TemporalDifference
from painless.evaluators.trajectories import AnchoredLSTDQ, PlainLSTDQ

__all__ = [
    "EVALUATORS",
    "LSTDQ",
    "AnchoredLSTDQ",
    "AveragedLSTDQ",
    "Entropic",
    "Evaluation",
    "Evaluator",
    "ExactEvaluator",
    "LeastSquares",
    "MonteCarlo",
    "PlainLSTDQ",
    "SweptEvaluator",
    "TemporalDifference",
    "evaluation_error",
    "exact_evaluator",
]
