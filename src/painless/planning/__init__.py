"""Planning: exact answers from a known model. The game of `game` is its one loop.

A new planner is a file of its own and a line of `PLANNERS`.
"""

from painless.planning.column_generation import ColumnGeneration
from painless.planning.linear_program import LinearProgram
from painless.planning.planner import Planner

PLANNERS: dict[str, type[Planner]] = {"lp": LinearProgram, "column-generation": ColumnGeneration}

__all__ = ["PLANNERS", "ColumnGeneration", "LinearProgram", "Planner"]
