"""Deep Sea Treasure: the deeper the treasure, the longer the dive (Vamplew et al. 2011).

A submarine starts at the top left of an 11 × 11 map, `deep-sea-treasure-v0` of MO-Gymnasium with the
treasures of Yang et al. (2019). It moves up, down, left or right; a move into rock or off the map stays.
Reaching a treasure pays its value and ends the dive.

    maximise E Σ γᵗ treasure   subject to   E Σ γᵗ·(−1 until the end) ≥ threshold

    .     .   .    .    .    .    .    .    .    .    .
    0.7   .   .    .    .    .    .    .    .    .    .
    #    8.2  .    .    .    .    .    .    .    .    .
    #     #  11.5  .    .    .    .    .    .    .    .
    #     #   #   14   15.1 16.1  .    .    .    .    .
    #     #   #    #    #    #    .    .    .    .    .
    #     #   #    #    #    #    .    .    .    .    .
    #     #   #    #    #    #   19.6 20.3  .    .    .
    #     #   #    #    #    #    #    #    .    .    .
    #     #   #    #    #    #    #    #   22.4  .    .
    #     #   #    #    #    #    #    #    #   23.7  .

A treasure v that lies n cells down and right is n steps away, and the dive to it is worth γⁿ⁻¹·v at
−(1 − γⁿ)/(1 − γ). The optimal value as a function of the threshold is the concave hull of these points.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from painless.common import arguments
from painless.common.errors import InputError
from painless.problem import CMDP

SIDE = 11
DEPTHS = (1, 2, 3, 4, 4, 4, 7, 7, 9, 10)  # the row of the treasure in each column; the last column has none
TREASURES = (0.7, 8.2, 11.5, 14.0, 15.1, 16.1, 19.6, 20.3, 22.4, 23.7)
CONCAVE_TREASURES = (1.0, 2.0, 3.0, 5.0, 8.0, 16.0, 24.0, 50.0, 74.0, 124.0)  # deep-sea-treasure-concave-v0
MOVES = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


def deep_sea_treasure(
    discount: float = 0.99, threshold: float = -2.9701, treasures: Sequence[float] = TREASURES
) -> CMDP:
    """Return Deep Sea Treasure: a state for each cell of water, row by row, and one for the end.

    The default threshold allows three steps, 1 + γ + γ² of them discounted with 0.99. `treasures` holds
    the values from left to right; with `CONCAVE_TREASURES` no single dive but the two at the ends is best.

    >>> deep_sea_treasure()
    CMDP(63 states, 4 actions, 1 constraint, discount 0.99, dense)
    """
    values = arguments.as_floats("treasures", treasures)
    if values.shape != (len(DEPTHS),):
        raise InputError(f"treasures has shape {values.shape}; give {len(DEPTHS)} values, left to right")
    floor = np.array([*DEPTHS, SIDE])  # the first row of each column that is not water
    row, column = np.nonzero(np.arange(SIDE)[:, None] < floor)
    end, water = len(row), np.arange(len(row))[:, None]
    down, right = np.array(list(MOVES.values())).T
    rows, columns = row[:, None] + down, column[:, None] + right
    inside = (rows >= 0) & (rows < SIDE) & (columns >= 0) & (columns < SIDE)
    depth = floor[columns * inside]
    found = inside & (rows == depth)
    cell = np.zeros((SIDE, SIDE), dtype=np.intp)
    cell[row, column] = water[:, 0]
    successor = np.where(inside & (rows < depth), cell[rows * inside, columns * inside], water)
    transition = np.zeros((end + 1, len(MOVES), end + 1))
    transition[water, np.arange(len(MOVES)), np.where(found, end, successor)] = 1.0
    transition[end, :, end] = 1.0
    reward, steps = np.zeros((2, end + 1, len(MOVES)))
    reward[:end][found] = values[columns[found]]
    steps[:end] = -1.0
    return CMDP(
        transition,
        reward,
        initial=np.eye(end + 1)[0],
        discount=discount,
        constraint_reward=steps,
        threshold=threshold,
        names={
            "states": [*(f"({r}, {c})" for r, c in zip(row, column, strict=True)), "end"],
            "actions": list(MOVES),
            "constraints": ["steps"],
        },
        copy=False,
    )
