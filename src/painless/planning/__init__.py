"""Planning: exact solutions of a known model. All planners share the loop in `game`.

To add a planner, write one file and add one line to `PLANNERS`.
"""

from painless.common.render import counted
from painless.engines.engine import FEW_STATES
from painless.engines.iterated import FACTORISED
from painless.planning.column_generation import ColumnGeneration
from painless.planning.linear_program import LinearProgram
from painless.planning.planner import Planner
from painless.problem import CMDP, Criterion
from painless.problem.function_model import FunctionModel

PLANNERS: dict[str, type[Planner]] = {"lp": LinearProgram, "column-generation": ColumnGeneration}

MANY = 100  # with more constraints the linear program is faster on a small model
SMALL_PAIRS = 2000  # state-action pairs of a small model

__all__ = ["PLANNERS", "ColumnGeneration", "LinearProgram", "Planner"]


def choose(problem: CMDP) -> tuple[Planner, str]:
    """Return the planner that is expected to be the fastest, and the reason.

    >>> import painless
    >>> choose(painless.gridworld())
    (ColumnGeneration(smoothing=None, rounds=1000), 'Column generation is the fastest planner for 25 states: it factorises systems of this size.')
    """
    states, _, constraints = problem.shape
    if isinstance(problem, FunctionModel):
        size = counted(states, "state")
        return (
            ColumnGeneration(),
            f"Column generation sweeps a model of {size} whose transitions are not stored.",
        )
    if constraints > MANY and problem.actions.sum() <= SMALL_PAIRS:
        why = f"The linear program is the fastest planner for {constraints} constraints on a small model."
        return LinearProgram(), why
    if problem.horizon is not None:
        steps = counted(problem.horizon, "step")
        return ColumnGeneration(), f"Column generation solves a horizon of {steps} by backward induction."
    if problem.criterion is Criterion.AVERAGE:
        size = counted(states, "state")
        return (
            ColumnGeneration(),
            f"Column generation solves the average over {size} by policy iteration in end components.",
        )
    if problem.criterion is Criterion.TOTAL:
        size = counted(states, "state")
        way = "factorises" if states <= FACTORISED else "sweeps"
        return (
            ColumnGeneration(),
            f"Column generation solves totals over {size} by policy iteration, which {way} the chain of each policy.",
        )
    way = "factorises systems of this size" if states <= FEW_STATES else "sweeps a model of this size"
    size = counted(states, "state")
    return ColumnGeneration(), f"Column generation is the fastest planner for {size}: it {way}."
