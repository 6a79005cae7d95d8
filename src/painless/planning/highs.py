"""HiGHS with higher precision than by default."""

from __future__ import annotations

from typing import Any

import numpy as np

from painless.common.arrays import Array

PRECISION = 1e-10  # of primal and dual feasibility; the default of HiGHS is 1e-7
FAILED = 4  # status of a program that is neither solved nor infeasible, unbounded or out of time


def minimise(objective: Array, *, time_limit: float = np.inf, **program: Any) -> Any:
    """Solve a linear program in the form of SciPy's `linprog`; return SciPy's result, with status 1 if the time is up.

    >>> minimise(np.array([1.0]), bounds=[(2, None)]).fun
    2.0
    """
    from scipy import optimize

    solver: Any = optimize.linprog
    options: dict[str, float] = {
        "primal_feasibility_tolerance": PRECISION,
        "dual_feasibility_tolerance": PRECISION,
    }
    if np.isfinite(time_limit):
        options["time_limit"] = max(time_limit, 0.0)
    result = solver(objective, **program, method="highs", options=options)
    if result.status == FAILED:  # its presolve may give up where the program itself is easy
        result = solver(objective, **program, method="highs", options={**options, "presolve": False})
    return result
