"""Evaluators: the action values and the values at ρ of a batch of policies."""

from painless.evaluators.base import Evaluation, Evaluator
from painless.evaluators.exact import ExactEvaluator

__all__ = ["Evaluation", "Evaluator", "ExactEvaluator"]
