"""Planning: exact answers from a known model. The game of `game` is its one loop."""

from painless.planning.column_generation import ColumnGeneration
from painless.planning.linear_program import LinearProgram

__all__ = ["ColumnGeneration", "LinearProgram"]
