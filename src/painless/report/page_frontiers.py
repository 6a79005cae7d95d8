"""The frontiers of a page: those of the constraints that matter most, in a bounded time, and a sentence on the others."""

from __future__ import annotations

import time
from contextlib import suppress

import numpy as np

from painless.frontiers import Frontier
from painless.frontiers.frontier import Infeasible, frontier
from painless.problem import CMDP
from painless.solving.solution import Solution

PAIRS = 10_000  # up to this many pairs (s, a) a page has frontiers
HELD = 60  # and up to this many constraints, all but one of which are held
MOST = 8  # frontiers and curves of constraints on a page
SECONDS = 20.0  # for all frontiers of a page
TOLERANCE = 1e-12  # of those frontiers, so fine that every displayed digit is that of the linear program


def shown_constraints(solution: Solution) -> list[int]:
    """Return which constraints a page draws: all if they are few, else those that cost most, then the tightest."""
    count = len(solution.threshold)
    if count <= MOST:
        return list(range(count))
    price = np.nan_to_num(solution.multiplier)
    slack = np.abs(solution.constraint_value - solution.threshold) / np.maximum(
        1.0, np.abs(solution.threshold)
    )
    return sorted(int(i) for i in np.lexsort((slack, -price))[:MOST])


def frontiers_of(problem: CMDP, solution: Solution) -> tuple[list[Frontier], str]:
    """Return the frontiers of the shown constraints of a problem that is small enough, as far as time allows, and a sentence on those left out."""
    count = problem.shape[2]
    if not count or problem.actions.sum() > PAIRS:
        return [], ""
    if count > HELD:
        return [], _note(0, count)
    found: list[Frontier] = []
    deadline, left_out = time.perf_counter() + SECONDS, count > MOST
    for index in shown_constraints(solution):
        try:
            with suppress(Infeasible):  # the other constraints cannot be met
                left = deadline - time.perf_counter()
                if left <= 0:
                    raise TimeoutError
                curve = frontier(problem, index, tolerance=TOLERANCE, time_limit=left)
                if time.perf_counter() > deadline:  # it is not whole
                    raise TimeoutError
                found.append(curve)
        except TimeoutError:
            left_out = True
            break
    return found, _note(len(found), count) if left_out else ""


def _note(shown: int, count: int) -> str:
    """Return what is left out, why, and how to get it.

    >>> print(_note(8, 20))
    To keep this page small and quick to make, its slider moves the limits of 8 of 20 constraints; painless frontier PROBLEM --constraint NAME --report FILE.html makes the page of any other.
    """
    what = f"its slider moves the limits of {shown} of {count} constraints" if shown else "it has no slider"
    return (
        f"To keep this page small and quick to make, {what}; "
        "painless frontier PROBLEM --constraint NAME --report FILE.html makes the page of any other."
    )
