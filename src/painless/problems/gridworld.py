"""The gridworld of the paper (app. C.3), after Sutton & Barto, example 3.5.

A 5 × 5 grid, states row by row, four deterministic moves; a move off the grid stays. Every action in A
leads to A' with reward 1 and constraint reward 0.1, every action in B to B' with reward 0.5 and
constraint reward 1; everything else gives nothing. The start is uniform.

    .  A  .  B  .
    .  .  .  .  .
    .  .  .  B' .
    .  .  .  .  .
    .  A' .  .  .
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from painless.common import arguments
from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.problem import CMDP, validation
from painless.problem.names import Names

SIDE = 5
A, A_NEXT, B, B_NEXT = 1, 21, 3, 13
MOVES = {"left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0)}
THRESHOLDS = {0.9: 1.5, 0.85: 1.0, 0.8: 0.7, 0.75: 0.5, 0.7: 0.38}  # b for each γ of the experiments
THREE_THRESHOLDS = (1.5, 0.85, 2.7)
NAMES = {
    "states": Names.of("states", [f"({s // SIDE}, {s % SIDE})" for s in range(SIDE**2)]),
    "actions": Names.of("actions", MOVES),
}


def gridworld(
    discount: float = 0.9, threshold: float | Sequence[float] | None = None, constraints: int = 1
) -> CMDP:
    """Return the paper's gridworld, with one or three constraints.

    Without `threshold`, b is the paper's for the discount: 1.5 at 0.9, 1.0 at 0.85, 0.7 at 0.8, 0.5 at
    0.75 and 0.38 at 0.7. With three constraints it is (1.5, 0.85, 2.7), for 0.9.

    >>> gridworld()
    CMDP(25 states, 4 actions, 1 constraint, discount 0.9, dense)
    """
    if arguments.whole("constraints", constraints) not in (1, 3):
        raise InputError(f"the gridworld has 1 or 3 constraints, not {constraints}")
    utility = np.zeros((1 + constraints, SIDE**2, len(MOVES)))  # the reward first
    utility[0, A], utility[0, B] = 1.0, 0.5
    utility[1, A], utility[1, B] = 0.1, 1.0
    if constraints == 3:
        utility[2, 0], utility[2, 4] = 0.7, 0.2
        utility[3, A_NEXT], utility[3, B_NEXT] = 0.5, 1.5
    initial = np.full(SIDE**2, 1 / SIDE**2)
    if threshold is not None:
        return CMDP(
            *(_transition(), utility[0]),
            initial=initial,
            discount=discount,
            constraint_reward=utility[1:],
            threshold=threshold,
            names=NAMES,
            copy=False,
        )
    known = {0.9: THREE_THRESHOLDS} if constraints == 3 else THRESHOLDS
    of_the_paper = isinstance(discount, float) and discount in known  # which needs no check
    gamma = float(discount) if of_the_paper else validation.discount(discount)
    if gamma not in known:
        raise InputError(
            f"the paper gives no threshold for discount {discount:g} and {constraints} constraint(s), "
            f"only for {', '.join(f'{one:g}' for one in known)}; give threshold"
        )
    limits = np.array(known[gamma]).reshape(-1)
    return CMDP.of_valid(_transition(), utility, limits, initial=initial, discount=gamma, names=NAMES)


def _transition() -> Array:
    transition = np.zeros((SIDE**2, len(MOVES), SIDE**2))
    for state in range(SIDE**2):
        row, column = divmod(state, SIDE)
        for action, (down, right) in enumerate(MOVES.values()):
            to = (row + down, column + right)
            inside = min(to) >= 0 and max(to) < SIDE
            transition[state, action, to[0] * SIDE + to[1] if inside else state] = 1.0
    transition[[A, B]] = 0.0
    transition[A, :, A_NEXT] = transition[B, :, B_NEXT] = 1.0
    return transition
