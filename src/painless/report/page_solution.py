"""The page of a solution: the answer with its proof, the frontier of every limit, the policy, and the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.engines.engine import visitor
from painless.frontiers import Frontier
from painless.frontiers.json_data import as_dict, grid_layout, limit_data, row_data
from painless.policies.table_mixture import TableMixture
from painless.policies.timed import TimedPolicy
from painless.problem import CMDP, Criterion
from painless.report.page_builder import about, build_page
from painless.report.page_frontiers import frontiers_of, shown_constraints
from painless.report.page_run import run_groups
from painless.solving.solution import Solution

HEADER = ("", "value", "bound", "shadow price")


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
    return visitor(problem)(policy.probabilities) if policy.visits is None else policy.visits


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
