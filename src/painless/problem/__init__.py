"""The problem: its arrays and units, where it comes from, and its files."""

from painless.problem.cmdp import CMDP, Transition, load, require_problem

__all__ = ["CMDP", "Transition", "load", "require_problem"]
