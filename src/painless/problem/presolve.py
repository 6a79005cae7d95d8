"""Presolve of extreme limits, such as a budget of 0 on a cost that is never negative.

If a threshold is the largest value that a constraint can have, max c/(1−γ), only pairs with c = max c may be taken. The others are
removed, as are states without any pair left, the pairs that may lead there, and so on, unless γ = 0, when only the first step counts. Every policy of the rest meets the limit
exactly, and the constraint is removed. Without this, such a problem would be dominated by rounding: it has no Slater point.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common.arrays import Mask
from painless.problem import CMDP, Criterion
from painless.problem.function_model import FunctionModel


def presolve(problem: CMDP) -> tuple[CMDP, NDArray[np.intp]]:
    """Return the problem without pairs that no feasible policy takes, and the constraints that it then meets.

    If nothing would be left, the problem is returned unchanged.

    >>> import painless
    >>> problem = painless.CMDP(np.ones((1, 3, 1)), [[1.0, 2.0, 3.0]], initial=[1.0], discount=0.5,
    ...     constraint_cost=[[0.0, 0.0, 5.0]], budget=0.0)
    >>> smaller, met = presolve(problem)
    >>> smaller.actions, met
    (array([[ True,  True, False]]), array([0]))
    """
    # On average, what is done on the way does not count; the pairs of functions are not stored.
    if problem.criterion is Criterion.AVERAGE or isinstance(problem, FunctionModel):
        return problem, np.empty(0, dtype=np.intp)
    low, high = problem.utility_range
    extreme = []  # b = max c/(1−γ) exactly; of totals, 0 is the largest only if no pair has more
    for i in np.flatnonzero(low[1:] < high[1:]).tolist():
        limit, most = float(problem.threshold[i]), float(high[1 + i])
        if problem.criterion is Criterion.TOTAL:
            is_extreme = limit == 0 == most
        else:
            is_extreme = np.isfinite(limit) and Fraction(limit) == Fraction(most) * problem.exact_unit
        if is_extreme:
            extreme.append(i)
    met = np.array(extreme, dtype=np.intp)
    if not len(met):
        return problem, met
    allowed = problem.actions & (problem.constraint_reward[met] == high[1 + met][:, None, None]).all(0)
    safe = _closed(problem, allowed)
    if safe is None:
        return problem, met[:0]
    return problem._replace(actions=safe), met


def _closed(problem: CMDP, allowed: Mask) -> Mask | None:
    """Return the allowed pairs that never lead out of them; None if the initial states have none.

    States that are left without a pair cannot be reached any more, and get their own back.
    """
    states, actions = allowed.shape
    kernel: Any = problem.transition
    if problem.stages is not None:
        kernel = problem.stages.matrix()
    flat = kernel.reshape(-1, states) if isinstance(kernel, np.ndarray) else kernel
    reached = scipy.sparse.csr_array((flat > 0).astype(np.float64))
    allowed = allowed.copy()
    while problem.discount:  # a discount of 0 has no future
        lost: NDArray[np.float64] = np.where(allowed.any(1), 0.0, 1.0)
        leads_there = (reached @ lost).reshape(states, actions) > 0
        if not (allowed & leads_there).any():
            break
        allowed &= ~leads_there
    dead = ~allowed.any(1)
    if (problem.initial[dead] > 0).any():
        return None
    allowed[dead] = problem.actions[dead]
    return allowed
