"""The exact optimum beside an answer, for those who compare: where it is proved already, or costs little to find."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from painless.arrays import Array
from painless.planning import LinearProgram
from painless.problem import CMDP
from painless.solution import Kind, Solution
from painless.solve import solve

EXACT_PAIRS = 2000  # up to this many pairs (s, a) the linear program costs less than a run,
EXACT_CONSTRAINTS = 60  # with up to this many constraints
EXACT = 1e-9  # the relative gap up to which an answer is called the optimum itself
PROVED = 1e-6  # the relative gap that the linear program has to prove


class Optimum(NamedTuple):
    """The optimal value and λ*, in the user's terms."""

    value: float
    multiplier: Array  # (K,)


def exact_optimum(problem: CMDP) -> Optimum | None:
    """Return the optimum of a small problem; None where it is not small, not feasible, or not proved.

    >>> import painless
    >>> round(exact_optimum(painless.gridworld()).value, 6)
    1.652722
    """
    if problem.actions.sum() > EXACT_PAIRS or problem.shape[2] > EXACT_CONSTRAINTS:
        return None
    found = solve(problem, LinearProgram(), tolerance=PROVED)
    solved = found.status.kind is Kind.SOLVED and found.feasible and np.isfinite(found.gap)
    return Optimum(found.reward_value, found.multiplier) if solved else None


def known_optimum(solution: Solution, problem: CMDP | None) -> Optimum | None:
    """Return the optimum of the problem that a solution is of: its own value if that is proved, else `exact_optimum`."""
    if solution.infeasibility is not None:
        return None
    if solution.feasible and np.isfinite(solution.gap) and solution.gap <= EXACT * abs(solution.upper_bound):
        return Optimum(solution.reward_value, solution.multiplier)
    return None if problem is None else exact_optimum(problem)
