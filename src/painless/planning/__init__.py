"""Planning: exact solutions of a known model. All planners share the loop in `game`.

To add a planner, write one file and add one line to `PLANNERS`.
"""

from painless.planning.column_generation import ColumnGeneration
from painless.planning.linear_program import LinearProgram
from painless.planning.planner import Planner

PLANNERS: dict[str, type[Planner]] = {"lp": LinearProgram, "column-generation": ColumnGeneration}


__all__ = ["PLANNERS", "ColumnGeneration", "LinearProgram", "Planner"]
