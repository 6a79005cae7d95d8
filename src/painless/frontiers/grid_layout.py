"""Where the states of a grid lie, read from their names: "(row, column)"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from painless.problem import CMDP
from painless.problem.names import Names

CELL = re.compile(r"\(\s*(\d+)\s*,\s*(\d+)\s*\)")
MOVES = {"left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0), "stay": (0, 0)}


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
    moves = tuple(MOVES.get(problem.name("actions", a)) for a in range(problem.shape[1]))
    return Layout(rows, columns, cells, moves)
