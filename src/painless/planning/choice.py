"""Which planner is the fastest for a model, and why."""

from __future__ import annotations

from painless.planning.column_generation import ColumnGeneration
from painless.planning.linear_program import LinearProgram
from painless.planning.planner import Planner
from painless.problem import CMDP


def choose(problem: CMDP) -> tuple[Planner, str]:
    """Return the planner that is expected to be the fastest, and a sentence on why."""
    return ColumnGeneration(), "Column generation is the fastest planner for models of this size."


__all__ = ["ColumnGeneration", "LinearProgram", "choose"]
