"""The exact optimum for comparisons, if it is known already or cheap to find."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array
from painless.frontiers import Frontier
from painless.planning import LinearProgram
from painless.problem import CMDP
from painless.solving.solution import Solution
from painless.solving.solve import solve
from painless.solving.status import Kind

EXACT_PAIRS = 2000  # pairs (s, a) up to which the linear program costs less than a run,
EXACT_CONSTRAINTS = 60  # with up to this many constraints
EXACT = 1e-9  # the relative gap up to which an answer counts as the optimum
PROVED = 1e-6  # the relative gap that the linear program must prove


class Optimum(NamedTuple):
    """The optimal value and λ*, in the user's terms."""

    value: float
    multiplier: Array  # (K,)


def exact_optimum(problem: CMDP) -> Optimum | None:
    """Return the optimum of a small problem; None if the problem is large or infeasible, or the optimum not proved.

    >>> import painless
    >>> round(exact_optimum(painless.gridworld()).value, 6)
    1.652722
    """
    if problem.actions.sum() > EXACT_PAIRS or problem.shape[2] > EXACT_CONSTRAINTS:
        return None
    found = solve(problem, LinearProgram(), tolerance=PROVED)
    solved = found.status.kind is Kind.SOLVED and found.feasible and np.isfinite(found.gap)
    return Optimum(found.reward_value, found.multiplier) if solved else None


def known_optimum(
    solution: Solution, problem: CMDP | None, frontiers: Sequence[Frontier] = ()
) -> Optimum | None:
    """Return the optimum of a solution's problem.

    It is the solution's own value if that is proved, else the value on `frontiers` of the problem, else `exact_optimum`.
    """
    if solution.infeasibility is not None:
        return None
    if solution.feasible and np.isfinite(solution.gap) and solution.gap <= EXACT * abs(solution.upper_bound):
        return Optimum(solution.reward_value, solution.multiplier)
    return None if problem is None else _shown_optimum(problem, frontiers) or exact_optimum(problem)


def _shown_optimum(problem: CMDP, frontiers: Sequence[Frontier]) -> Optimum | None:
    """Return the optimum if the frontiers of all constraints, each at its own limit, agree on value and price."""
    limits = {curve.constraint: float(problem.limit[curve.constraint]) for curve in frontiers}
    values = [float(curve.value(limits[curve.constraint])) for curve in frontiers]
    if not frontiers or len(limits) < problem.shape[2] or not np.isfinite(values).all():
        return None
    prices = np.full((problem.shape[2], 2), np.nan)
    for curve in frontiers:
        prices[curve.constraint] = curve.price(limits[curve.constraint])
    unique = (prices[:, 0] == prices[:, 1]).all()
    return Optimum(values[0], prices[:, 0]) if unique else None
