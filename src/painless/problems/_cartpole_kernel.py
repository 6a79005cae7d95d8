"""One step of many carts, compiled. The equations and their reference are in `cartpole`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask
from painless.common.compiling import inner, njit
from painless.problems.cartpole import (
    FARTHEST,
    FORCE,
    GRAVITY,
    HALF_LENGTH,
    POLE_MASS,
    POLE_MOMENT,
    SECONDS,
    STEEPEST,
    TOTAL_MASS,
    UPRIGHT,
    ZONES,
)

BOUNDS = np.array(ZONES)


@inner
def move(states: Array, n: int, action: int, successors: Array, utilities: Array, m: int) -> bool:
    """Write the successor of state n (4,) and the utilities (3,) to the rows m; return whether it fell."""
    x, speed, angle, turn = states[n, 0], states[n, 1], states[n, 2], states[n, 3]
    force = FORCE if action == 1 else -FORCE
    sine, cosine = math.sin(angle), math.cos(angle)
    push = (force + POLE_MOMENT * (turn * turn) * sine) / TOTAL_MASS
    bend = (GRAVITY * sine - cosine * push) / (
        HALF_LENGTH * (4 / 3 - POLE_MASS * (cosine * cosine) / TOTAL_MASS)
    )
    pull = push - POLE_MOMENT * bend * cosine / TOTAL_MASS
    successors[m, 0] = x + SECONDS * speed
    successors[m, 1] = speed + SECONDS * pull
    successors[m, 2] = angle + SECONDS * turn
    successors[m, 3] = turn + SECONDS * bend
    place, lean = abs(successors[m, 0]), abs(successors[m, 2])
    fell = place > FARTHEST or lean > STEEPEST
    utilities[m, 0] = utilities[m, 1] = 0.0 if fell else 1.0
    utilities[m, 2] = 1.0 if lean <= UPRIGHT and not fell else 0.0
    for z in range(len(BOUNDS)):
        if BOUNDS[z, 0] <= place <= BOUNDS[z, 1]:
            utilities[m, 1] = 0.0
    return fell


@njit
def write_steps(
    states: Array, actions: NDArray[np.intp], following: Array, utilities: Array, fell: Mask
) -> None:
    """Write the next states (n, 4), the utilities (n, 3) and who fell (n,)."""
    for n in range(len(states)):
        fell[n] = move(states, n, actions[n], following, utilities, n)


def step(states: Array, actions: NDArray[np.intp]) -> tuple[Array, Array, Mask]:
    """Return the next states (n, 4), the utilities (n, 3) and who fell (n,)."""
    count = len(states)
    result = np.empty((count, 4)), np.empty((count, 3)), np.empty(count, np.bool_)
    write_steps(states, actions, *result)
    return result
