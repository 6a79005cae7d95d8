"""Planners: exact answers from a known model."""

from painless.planners.column_generation import ColumnGeneration
from painless.planners.linear_program import LinearProgram
from painless.planners.policy_iteration import Plan, policy_iteration

__all__ = ["ColumnGeneration", "LinearProgram", "Plan", "policy_iteration"]
