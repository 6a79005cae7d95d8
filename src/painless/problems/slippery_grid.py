"""A slippery gridworld with walls, goals and hazards, drawn as text or at random, of any size.

    S..H.G      .  free        #  wall
    .#.H..      H  hazard      S  start; one of them at random
    ......                     G  goal, where it ends

A move goes ahead with probability 1 − slip, and to either side with slip/2; into a wall or off the grid it
stays.

    maximise E Σ γᵗ [a goal is reached]   subject to   E Σ γᵗ [in a hazard] ≤ budget

Slips are those of the 4 × 3 world of Russell & Norvig, *Artificial Intelligence: A Modern Approach*, ch. 17.
"""

from __future__ import annotations

from textwrap import dedent

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common import arguments
from painless.common.arrays import Array, Mask
from painless.common.errors import InputError
from painless.problem import CMDP

MOVES = {"left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0)}
SIDES = ((2, 3), (2, 3), (0, 1), (0, 1))  # the two moves into which each of them slips
FREE, WALL, START, GOAL, HAZARD = CHARACTERS = ".#SGH"
DENSE_STATES = 500  # up to which the model is stored dense, by default
NAMED_STATES = 10_000  # up to which states have names


def slippery_grid(
    text: str | None = None,
    *,
    height: int = 12,
    width: int = 12,
    seed: int = 0,
    walls: float = 0.15,
    hazards: float = 0.1,
    slip: float = 0.2,
    stay: bool = False,
    discount: float = 0.99,
    budget: float = 0.5,
    dense: bool | None = None,
) -> CMDP:
    r"""Return a slippery gridworld, drawn as `text`, or else at random by `random_map`.

    There is a state for each cell that is not a wall, row by row. `stay` adds a fifth action, which never
    slips. `budget` limits the discounted number of visits to hazards. Up to 500 states are stored dense
    and more sparse, unless `dense` is given.

    >>> slippery_grid("SHG\n...", budget=0.5)
    CMDP(6 states, 4 actions, 1 constraint, discount 0.99, dense)
    >>> slippery_grid(height=100, width=100)  # doctest: +ELLIPSIS
    CMDP(8... states, 4 actions, 1 constraint, discount 0.99, sparse)
    """
    arguments.probability("slip", slip)
    cells = _cells(random_map(height, width, seed, walls=walls, hazards=hazards) if text is None else text)
    free = cells != ord(WALL)
    kind = cells[free]  # of each state
    successor, probability = _outcomes(free, kind == ord(GOAL), slip, stay)
    arrives = (kind == ord(GOAL))[successor] & (kind != ord(GOAL))[:, None, None]
    kernel = _transition(successor, probability)
    states, actions = successor.shape[:2]
    dense = states <= DENSE_STATES if dense is None else dense
    start = kind == ord(START)
    return CMDP(
        kernel.toarray().reshape(states, actions, states) if dense else kernel,
        arrives @ probability,
        initial=start / start.sum(),
        discount=discount,
        constraint_cost=np.broadcast_to((kind == ord(HAZARD))[:, None], (states, actions)),
        budget=budget,
        names=_names(free, stay),
        copy=False,
    )


def random_map(height: int, width: int, seed: int = 0, *, walls: float = 0.15, hazards: float = 0.1) -> str:
    """Return a random map from a start at the top left to a goal at the bottom right.

    Cells are walls and hazards with the given probabilities, but for a path from start to goal, down and
    right at random, that has no walls.

    >>> print(random_map(3, 12))
    S.##.H...H.#
    ............
    ..HH....#..G
    """
    for name, size in {"height": height, "width": width}.items():
        arguments.whole(name, size, most=arguments.LISTED)
    if height * width < 2:
        raise InputError("a map of one cell has no room for a start and a goal; give a larger one")
    advice = "give a probability"
    shares = [arguments.number(name, x, advice) for name, x in (("walls", walls), ("hazards", hazards))]
    if not (min(shares) >= 0 and sum(shares) <= 1):
        raise InputError(
            f"walls is {shares[0]:g} and hazards is {shares[1]:g}; give probabilities with a sum of at most 1"
        )
    rng = np.random.default_rng(arguments.seed(seed))
    draw = rng.random((height, width))
    cells = np.where(draw < walls, WALL, np.where(draw >= 1 - hazards, HAZARD, FREE))
    down = rng.permutation(np.arange(height + width - 2) < height - 1)  # at each step of the path
    row, column = np.cumsum(down), np.cumsum(~down)
    path = cells[row, column]
    cells[row, column] = np.where(path == WALL, FREE, path)
    cells[0, 0], cells[-1, -1] = START, GOAL
    return "\n".join(cells.view(f"U{width}").ravel())


def _cells(text: str) -> NDArray[np.uint32]:
    """Return the characters of a map as numbers, (height, width)."""
    if not isinstance(text, str):
        raise InputError(f"text is {text!r}; give one text, with a line for each row of the map")
    lines = dedent(text).strip("\r\n").splitlines() or [""]
    for number, line in enumerate(lines, 1):
        if len(line) != len(lines[0]) or not line:
            raise InputError(
                f"line {number} of the map has {len(line)} characters and line 1 has {len(lines[0])}; "
                f"make all lines equally long, with {WALL} where there is nothing"
            )
    cells = np.frombuffer("".join(lines).encode("utf-32-le"), dtype="<u4").reshape(len(lines), -1)
    wrong = ~np.isin(cells, [ord(character) for character in CHARACTERS])
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InputError(
            f"line {row + 1}, column {column + 1} of the map is {lines[row][column]!r}; "
            f"use {FREE} for free cells, {WALL} walls, {START} starts, {GOAL} goals and {HAZARD} hazards"
        )
    for name, character in {"start": START, "goal": GOAL}.items():
        if not (cells == ord(character)).any():
            raise InputError(f"the map has no {name}; mark at least one cell with {character}")
    return cells


def _outcomes(free: Mask, goal: Mask, slip: float, stay: bool) -> tuple[NDArray[np.int32], Array]:
    """Return the three successors of each pair, ahead and to both sides, (S, A, 3), and their probabilities."""
    own = np.arange(len(goal), dtype=np.int32)
    number = np.full((free.shape[0] + 2, free.shape[1] + 2), -1, dtype=np.int32)  # with a wall all around
    number[1:-1, 1:-1][free] = own
    row, column = np.nonzero(free)
    ahead = np.stack([number[row + 1 + down, column + 1 + right] for down, right in MOVES.values()], 1)
    ahead = np.where((ahead < 0) | goal[:, None], own[:, None], ahead)  # (S, 4)
    successor = ahead[:, [(move, *sides) for move, sides in enumerate(SIDES)]]
    if stay:
        successor = np.concatenate([successor, np.broadcast_to(own[:, None, None], (len(own), 1, 3))], 1)
    return successor, np.array([1 - slip, slip / 2, slip / 2])


def _transition(successor: NDArray[np.int32], probability: Array) -> scipy.sparse.csr_array[np.float64]:
    states, actions, branches = successor.shape
    pairs = states * actions
    dtype = scipy.sparse.get_index_dtype(maxval=pairs * branches)
    pointer = np.arange(0, pairs * branches + 1, branches, dtype=dtype)
    entries = (np.tile(probability, pairs), successor.reshape(-1), pointer)
    kernel = scipy.sparse.csr_array(entries, shape=(pairs, states))
    kernel.sum_duplicates()
    kernel.eliminate_zeros()
    return kernel


def _names(free: Mask, stay: bool) -> dict[str, list[str]]:
    names = {"actions": [*MOVES, *(["stay"] if stay else [])], "constraints": ["visits to hazards"]}
    if free.sum() <= NAMED_STATES:
        names["states"] = [f"({row}, {column})" for row, column in np.argwhere(free)]
    return names
