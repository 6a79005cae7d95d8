"""One step of many carts, compiled. The equations and their reference are in `cartpole`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from painless.arrays import Array, Mask
from painless.compiling import njit
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


@njit
def step(states: Array, actions: NDArray[np.intp]) -> tuple[Array, Array, Mask]:
    """Return the next states (n, 4), the utilities (n, 3) and who fell (n,)."""
    count = len(states)
    following = np.empty((count, 4))
    utilities = np.zeros((count, 3))
    terminated = np.zeros(count, np.bool_)
    for n in range(count):
        x, speed, angle, turn = states[n, 0], states[n, 1], states[n, 2], states[n, 3]
        force = FORCE if actions[n] == 1 else -FORCE
        sine, cosine = np.sin(angle), np.cos(angle)
        push = (force + POLE_MOMENT * turn**2 * sine) / TOTAL_MASS
        bend = (GRAVITY * sine - cosine * push) / (HALF_LENGTH * (4 / 3 - POLE_MASS * cosine**2 / TOTAL_MASS))
        pull = push - POLE_MOMENT * bend * cosine / TOTAL_MASS
        following[n, 0] = x + SECONDS * speed
        following[n, 1] = speed + SECONDS * pull
        following[n, 2] = angle + SECONDS * turn
        following[n, 3] = turn + SECONDS * bend
        place, lean = abs(following[n, 0]), abs(following[n, 2])
        if place > FARTHEST or lean > STEEPEST:
            terminated[n] = True
            continue
        utilities[n, 0] = utilities[n, 1] = 1.0
        for low, high in ZONES:
            if low <= place <= high:
                utilities[n, 1] = 0.0
        if lean <= UPRIGHT:
            utilities[n, 2] = 1.0
    return following, utilities, terminated
