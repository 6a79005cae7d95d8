"""Planners: exact answers from a known model. A new one is a file of its own and a line of `PLANNERS`."""

from collections.abc import Callable
from typing import Any

from painless.planners.column_generation import ColumnGeneration
from painless.planners.linear_program import LinearProgram
from painless.planners.policy_iteration import Plan, policy_iteration

PLANNERS: dict[str, Callable[..., Any]] = {"lp": LinearProgram, "column-generation": ColumnGeneration}

__all__ = ["PLANNERS", "ColumnGeneration", "LinearProgram", "Plan", "policy_iteration"]
