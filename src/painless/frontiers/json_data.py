"""A frontier as JSON, and the grid that its states lie in, for pages and other programs: compact, and enough to mix any two neighbouring vertices.

The policy of the first vertex is given for every state, those of the others by what changes from the one before. A
change carries the visits of both vertices to its state, so that the mixture between them is known in full; the
format is described in the documentation of frontiers.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.problem import CMDP, Criterion
from painless.problem.names import Names
from painless.storage import results

if TYPE_CHECKING:
    from painless.frontiers.curve import Frontier

NUMBERS = 100_000  # of visits that are listed in all; of a large model only some vertices have theirs listed
DIGITS, FINE_DIGITS = 4, 9  # significant digits of visits, and of those that a change carries
FAINT = 1e-6  # visits below this share of the most visited state are listed as 0
CELL = re.compile(r"\(\s*(\d+)\s*,\s*(\d+)\s*\)")
MOVES = {"left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0), "stay": (0, 0)}
CERTAIN = 1e-12  # a smaller probability is none


def as_dict(frontier: Frontier) -> dict[str, Any]:
    """Return a frontier as plain numbers, lists and text."""
    problem = frontier.problem
    layout = grid_layout(problem)
    names = {
        kind: list(problem.names[kind].texts) if kind in problem.names else None
        for kind in ("states", "actions")
    }
    if problem.stages is not None:
        names["states"] = [problem.name("states", i) for i in range(problem.shape[0])]
    limits, gaps = frontier.threshold.tolist(), [*(float(gap) for gap in frontier.gap), None]
    columns = (limits, frontier.reward_value, frontier.constraint_value, frontier.multiplier, gaps)
    vertices = [
        {
            "threshold": limit,
            "reward_value": float(value),
            "constraint_value": [float(one) for one in values],
            "multiplier": [float(low), float(high) if np.isfinite(high) else None],
            "gap": gap,
        }
        for limit, value, values, (low, high), gap in zip(*columns, strict=True)
    ]
    return {
        "format": "painless-frontier",
        "version": results.VERSIONS["frontier"],
        "objective": "minimise" if problem.minimise else "maximise",
        "discount": problem.discount,
        "horizon": problem.horizon,
        "average": problem.criterion is Criterion.AVERAGE,
        "states": problem.shape[0],
        "actions": problem.shape[1],
        "state_names": names["states"],
        "action_names": names["actions"],
        "constraints": [
            limit_data(*one)
            for one in zip(problem.constraint_names, problem.sense, problem.limit, strict=True)
        ],
        "constraint": frontier.constraint,
        "slack_from": limits[0],
        "feasible_to": limits[-1],
        "error": frontier.error,
        "status": frontier.status,
        "solves": frontier.solves,
        "seconds": frontier.seconds,
        "vertices": vertices,
        **_policies(frontier),
        "initial": [[int(s), float(problem.initial[s])] for s in np.flatnonzero(problem.initial)],
        "layout": None if layout is None else asdict(layout),
        "marks": {
            "objective": _marks(problem, 0),
            "constraints": [_marks(problem, 1 + i) for i in range(problem.shape[2])],
        },
    }


def to_json(frontier: Frontier) -> str:
    """Return a frontier as one line of JSON, with its checksum."""
    return json.dumps(results.sealed("frontier", as_dict(frontier)), separators=(",", ":"), allow_nan=False)


def limit_data(name: str, sense: str, limit: float) -> dict[str, Any]:
    """Return a constraint with its limit, which is None if there is none."""
    return {"name": name, "sense": sense, "limit": float(limit) if np.isfinite(limit) else None}


def _marks(problem: CMDP, utility: int) -> list[list[float]]:
    """Return the states whose utility is not that of most states, and the best that each offers, by size."""
    offered = problem.sign[utility] * np.where(problem.actions, problem.utility[utility], 0.0)
    largest = np.take_along_axis(offered, np.abs(offered).argmax(1)[:, None], 1)[:, 0]
    values, counts = np.unique(largest, return_counts=True)
    if 2 * counts.max() <= len(largest):
        return []
    return [[int(s), float(largest[s])] for s in np.flatnonzero(largest != values[counts.argmax()])]


def _policies(frontier: Frontier) -> dict[str, Any]:
    """Return the policies of all vertices and the visits of as many as there is room for: all, or some that lie evenly along the frontier."""
    count, vertices = max(2, NUMBERS // frontier.problem.shape[0]), len(frontier.threshold)
    listed = list(range(vertices))
    if vertices > count:
        steps = [np.abs(np.diff(values)) for values in (frontier.threshold, frontier.reward_value)]
        length = np.cumsum(np.concatenate([[0.0], sum(step / step.sum() for step in steps)]))
        chosen: NDArray[np.intp] = np.searchsorted(length, np.linspace(0, length[-1], count) * (1 - 1e-12))
        listed = sorted({int(i) for i in chosen} | {0, vertices - 1})
    visits: list[list[float]] = []
    first: list[Any] = []
    changes: list[list[list[Any]]] = []
    before: tuple[Array, Array] | None = None
    for vertex, (table, occupancy) in enumerate(frontier.tables()):
        visited = occupancy.sum(1)
        if vertex in listed:
            visits.append(_rounded(np.where(visited < FAINT * visited.max(), 0.0, visited), DIGITS))
        if before is None:
            first = [row_data(row) for row in table]
        else:
            changed = np.flatnonzero((table != before[0]).any(1))
            parts = (_rounded(held[changed], FINE_DIGITS) for held in (before[1], visited))
            changes.append(
                [[int(s), row_data(table[s]), old, new] for s, old, new in zip(changed, *parts, strict=True)]
            )
        before = (table, visited)
    return {
        "policy": {"first": first, "changes": changes},
        "occupancy": {"vertices": listed, "visits": visits},
    }


def row_data(probabilities: Array) -> int | list[list[float]]:
    """Return the one action that a state takes, or pairs of actions and probabilities."""
    taken = np.flatnonzero(probabilities > CERTAIN)
    if len(taken) == 1:
        return int(taken[0])
    return [[int(a), float(probabilities[a])] for a in taken]


def _rounded(values: Array, digits: int) -> list[float]:
    """Return numbers with some significant digits; whole ones without a point, which is shorter."""
    rounded = (float(f"{value:.{digits}g}") for value in values)
    return [int(value) if value == int(value) else value for value in rounded]


@dataclass(frozen=True)
class Layout:
    """The cells of a grid: (row, column) for each state and (down, right) for each action, None if unknown."""

    rows: int
    columns: int
    cells: tuple[tuple[int, int] | None, ...]  # (S,)
    moves: tuple[tuple[int, int] | None, ...]  # (A,)


def grid_layout(problem: CMDP) -> Layout | None:
    """Return the layout of a problem whose states are mostly named "(row, column)", each cell once.

    Actions named left, right, up, down and stay are moves. With a horizon, all steps share the layout.

    >>> import painless
    >>> layout = grid_layout(painless.gridworld())
    >>> layout.rows, layout.columns, layout.cells[7], layout.moves[0]
    (5, 5, (1, 2), (0, -1))
    """
    names = problem.names.get("states", Names())
    found = [CELL.fullmatch(name) for name in names.texts]
    cells = tuple(None if cell is None else (int(cell[1]), int(cell[2])) for cell in found)
    placed = [cell for cell in cells if cell is not None]
    if 2 * len(placed) <= problem.transition.shape[-1] or len(set(placed)) < len(placed):
        return None
    rows, columns = (1 + max(cell[i] for cell in placed) for i in range(2))
    named = problem.names["actions"].texts if "actions" in problem.names else [""] * problem.shape[1]
    moves = tuple(map(MOVES.get, named))
    return Layout(rows, columns, cells, moves)
