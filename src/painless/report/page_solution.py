"""The page of a solution: the answer with its proof, the frontiers of the limits that matter most, in a bounded time, the policy, and the run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.engines.engine import EXACT_STATES, FINEST_VISITS, engine_of
from painless.frontiers import Frontier
from painless.frontiers.frontier import Infeasible, frontier
from painless.frontiers.json_data import as_dict, grid_layout, limit_data, row_data
from painless.policies.table_mixture import TableMixture
from painless.policies.timed import TimedPolicy
from painless.problem import CMDP, Criterion
from painless.report.html import about, build_page
from painless.report.page_run import run_groups
from painless.solving.solution import Solution

HEADER = ("", "value", "bound", "shadow price")
PAIRS = 10_000  # up to this many pairs (s, a) a page has frontiers
HELD = 60  # and up to this many constraints, all but one of which are held
MOST = 8  # frontiers and curves of constraints on a page
SECONDS = 20.0  # for all frontiers of a page
TOLERANCE = 1e-12  # of those frontiers, so fine that every displayed digit is that of the linear program


def solution_page(solution: Solution, problem: CMDP | None, title: str) -> str:
    """Return the page of a solution; without its problem there are no frontiers and no map."""
    curves, note = ([], "") if problem is None else frontiers_of(problem, solution)
    return build_page(
        title,
        about(_size(solution, problem)),
        summary={
            "title": f"Solved by {solution.algorithm}"
            if solution.feasible
            else f"Answer of {solution.algorithm}",
            "status": solution.status.sentence,
            "note": note,
            "header": HEADER,
            "rows": solution.rows(),
        },
        frontiers=[as_dict(curve) for curve in curves],
        fixed=None if curves else policy_data(solution, problem),
        groups=[] if solution.trace is None else solution_groups(solution, problem, curves),
    )


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


def solution_groups(
    solution: Solution, problem: CMDP | None, frontiers: Sequence[Frontier]
) -> list[dict[str, Any]]:
    """Return the curves of the run that led to a solution, if there was one."""
    if solution.trace is None:
        return []
    from painless.solving.optimum import known_optimum

    optimum = known_optimum(solution, problem, frontiers)
    return run_groups(
        solution.trace,
        names=solution.constraint_names,
        limit=solution.threshold,
        sense=solution.sense,
        minimise=solution.minimise,
        shown=shown_constraints(solution),
        optimum=np.nan if optimum is None else optimum.value,
        multiplier=None if optimum is None else optimum.multiplier,
    )


def visits_of(solution: Solution, problem: CMDP) -> Array:
    """Return the discounted visits of a solution's policy, (S,), which are usually stored with it."""
    policy = solution.table
    if policy.visits is not None:
        return policy.visits
    engine = engine_of(problem, EXACT_STATES)
    return np.maximum(engine.visits(policy.probabilities, FINEST_VISITS), 0.0)


def _size(solution: Solution, problem: CMDP | None) -> dict[str, Any]:
    states, actions = solution.table.probabilities.shape
    if isinstance(solution.policy, TableMixture):
        states //= len(solution.policy.policies)
    discount = np.nan if problem is None else problem.discount
    horizon = len(solution.policy) if isinstance(solution.policy, TimedPolicy) else None
    return {
        "states": states,
        "actions": actions,
        "discount": discount,
        "horizon": horizon,
        "average": problem is not None and problem.criterion is Criterion.AVERAGE,
        "constraints": solution.threshold,
    }


def policy_data(solution: Solution, problem: CMDP | None) -> dict[str, Any]:
    """Return one policy in the form of a frontier with a single vertex."""
    table = solution.table.probabilities
    names = {kind: given.texts for kind, given in solution.table.names.items()}
    visited = [None] * len(table) if problem is None else visits_of(solution, problem).tolist()
    drawn = isinstance(solution.policy, TableMixture)
    layout = None if problem is None or drawn else grid_layout(problem)
    constraints = zip(solution.constraint_names, solution.sense, solution.threshold, strict=True)
    return {
        **_size(solution, problem),
        "states": len(table),
        "objective": "minimise" if solution.minimise else "maximise",
        "state_names": names.get("states"),
        "action_names": names.get("actions"),
        "constraint": 0,
        "constraints": [limit_data(*one) for one in constraints] or [limit_data("", ">=", 0.0)],
        "vertices": [{"threshold": 0.0, "reward_value": solution.reward_value, "multiplier": [0.0, None]}],
        "policy": {"first": [row_data(row) for row in table], "changes": []},
        "occupancy": {"vertices": [0], "visits": [visited]},
        "layout": None if layout is None else vars(layout),
        "marks": {"objective": [], "constraints": []},
    }
