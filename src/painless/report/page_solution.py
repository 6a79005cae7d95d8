"""The page of a solution: the answer with its proof, the frontier of every limit, the policy, and the run."""

from __future__ import annotations

from typing import Any

import numpy as np

from painless.arrays import Array
from painless.optimum import known_optimum
from painless.pages.build import about, build
from painless.planners.visits import visits
from painless.problem import CMDP
from painless.report.page_frontiers import Frontiers, frontiers_of, shown_constraints
from painless.report.page_run import run_group
from painless.solution import Solution
from painless.trade_off.layout import grid_layout

HEADER = ("", "value", "bound", "shadow price")


def solution_page(solution: Solution, problem: CMDP | None, title: str) -> str:
    """Return the page of a solution; without its problem there are no frontiers and no occupancy."""
    fixed = policy_data(solution, problem)
    known = Frontiers([], "") if problem is None else frontiers_of(problem, solution)
    frontiers = [curve.as_dict() for curve in known.found]
    return build(
        title,
        about({**fixed, "constraints": solution.threshold}),
        summary={
            "title": f"Solved by {solution.algorithm}"
            if solution.feasible
            else f"Answer of {solution.algorithm}",
            "status": str(solution.status),
            "note": known.note,
            "header": HEADER,
            "rows": solution.rows(),
        },
        frontiers=frontiers,
        fixed=None if frontiers else fixed,
        groups=run_groups(solution, problem),
    )


def run_groups(solution: Solution, problem: CMDP | None) -> list[dict[str, Any]]:
    """Return the curves of the run that led to a solution, if there was one."""
    if solution.trace is None or not len(solution.trace):
        return []
    optimum = known_optimum(solution, problem)
    return [
        run_group(
            solution.trace,
            names=solution.constraint_names,
            limit=solution.threshold,
            sense=solution.sense,
            minimise=solution.minimise,
            shown=shown_constraints(solution),
            optimum=np.nan if optimum is None else optimum.value,
            multiplier=None if optimum is None else optimum.multiplier,
        )
    ]


def policy_data(solution: Solution, problem: CMDP | None) -> dict[str, Any]:
    """Return one policy in the form of a frontier with a single vertex."""
    table, names = solution.policy.probabilities, solution.policy.names
    visited = [None] * len(table) if problem is None else visits(problem, table).tolist()
    layout = None if problem is None else grid_layout(problem)
    constraints = zip(solution.constraint_names, solution.sense, solution.threshold, strict=True)
    return {
        "objective": "minimise" if solution.minimise else "maximise",
        "states": table.shape[0],
        "actions": table.shape[1],
        "discount": np.nan if problem is None else problem.discount,
        "state_names": names.get("states"),
        "action_names": names.get("actions"),
        "constraint": 0,
        "constraints": [
            {"name": n, "sense": s, "limit": float(b) if np.isfinite(b) else None} for n, s, b in constraints
        ]
        or [{"name": "", "sense": ">=", "limit": 0.0}],
        "vertices": [{"threshold": 0.0, "reward_value": solution.reward_value, "multiplier": [0.0, None]}],
        "policy": {"first": [_row(row) for row in table], "changes": []},
        "occupancy": {"vertices": [0], "visits": [visited]},
        "layout": None if layout is None else vars(layout),
        "marks": {"objective": [], "constraints": []},
    }


def _row(probabilities: Array) -> int | list[list[float]]:
    taken = np.flatnonzero(probabilities > 1e-12)
    if len(taken) == 1:
        return int(taken[0])
    return [[int(action), float(probabilities[action])] for action in taken]
