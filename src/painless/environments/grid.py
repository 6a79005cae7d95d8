"""Grids as text and as pictures. A table is a grid where its states are named "(row, column)"."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from painless.problem import CMDP
from painless.problem.names import Names

CELL = 24  # pixels of a cell's side
Picture = NDArray[np.uint8]


def places(problem: CMDP) -> NDArray[np.intp] | None:
    """Return the row and column of each state, (S, 2); None if states are not named so.

    >>> import painless
    >>> places(painless.gridworld())[7]
    array([1, 2])
    """
    names = problem.names.get("states", Names())
    found = [re.fullmatch(r"\((\d+), (\d+)\)", name) for name in names.texts]
    if not found or not all(found):
        return None
    return np.array([[int(match[1]), int(match[2])] for match in found if match])


def grid_text(problem: CMDP, state: int) -> str:
    """Return the grid with the agent as "@", states that pay as "+", and others as "."; or the state's name."""
    where = places(problem)
    if where is None:
        return f"state {problem.name('states', state)}\n"
    rows = np.full(where.max(0) + 1, " ")
    pays = problem.reward.max(1) > 0
    for index, (row, column) in enumerate(where):
        rows[row, column] = "@" if index == state else "+" if pays[index] else "."
    return "\n".join(" ".join(row) for row in rows) + "\n"


def grid_image(problem: CMDP, state: int) -> Picture:
    """Return a picture: cells shaded by what they pay at best, the agent as a disc; (H, W, 3)."""
    where = places(problem)
    if where is None:
        where = np.stack([np.zeros(problem.shape[0], np.intp), np.arange(problem.shape[0])], 1)
    height, width = where.max(0) + 1
    picture = np.full((height * CELL, width * CELL, 3), 255, np.uint8)
    best = np.where(problem.actions, problem.reward, -np.inf).max(1)
    share = (best - best.min()) / (np.ptp(best) or 1.0)
    for (row, column), pay in zip(where, share, strict=True):
        colour = np.array([235, 235, 235]) * (1 - pay) + np.array([0, 114, 178]) * pay
        picture[row * CELL + 1 : (row + 1) * CELL - 1, column * CELL + 1 : (column + 1) * CELL - 1] = colour
    row, column = where[state] * CELL + CELL // 2
    y, x = np.ogrid[: height * CELL, : width * CELL]
    picture[(y - row) ** 2 + (x - column) ** 2 <= (CELL // 3) ** 2] = (213, 94, 0)
    return picture
