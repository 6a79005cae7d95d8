"""Pricing a small model, compiled as a whole: policy iteration with dense elimination. The equations are in `pricing`.

With a hundred states the calls between kernels would take longer than the kernels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from painless.arrays import Array
from painless.compiling import njit
from painless.planners._improve_kernels import improve

Indices = NDArray[np.uint32]

EPSILON = float(np.finfo(np.float64).eps)
TRIES = 1000  # policies; a handful is usual
ROUNDS = 8  # of value iteration between two of them


@njit(cache=True)
def price(
    first: Indices,
    pointer: Indices,
    successor: Indices,
    probability: Array,
    utility: Array,
    discount: float,
    initial: Array,
    weight: Array,
    tolerance: float,
    error: float,
    roundings: float,
    choice: Indices,
    value: Array,
) -> tuple[float, float, int, int]:
    """Improve the policy `choice` (S,) until it is within `tolerance` of the best for `weight` (J,), in place.

    `value` (S, J) has its values to within `error`, which is infinite where they are not known; `roundings` is the relative
    error of a Bellman sweep. Return the bound on all
    policies, the error of the values, and the numbers of evaluations and of Bellman sweeps.
    """
    states = len(choice)
    reward = weight @ utility
    tail = discount / (1 - discount)
    bound, evaluations, sweeps, tried = np.inf, 0, 0, choice.copy()
    while sweeps < TRIES:
        sweeps += 1
        if error == np.inf:
            error = evaluate(pointer, successor, probability, utility, discount, choice, value)
            evaluations += 1
        single = value @ weight
        margin = 4 * EPSILON * np.abs(single).max()
        at_start, _, high, changed = improve(
            first,
            pointer,
            successor,
            probability,
            reward,
            discount,
            initial,
            single,
            margin,
            tried,
            0,
            states,
        )
        rounding = roundings * (np.abs(single).max() + abs(high))
        bound = min(bound, at_start + tail * (high + rounding) + rounding + states * EPSILON * abs(at_start))
        goal = max(tolerance, 4 * rounding * (1 + tail))
        if not changed or bound - initial @ single + error <= goal:
            break
        iterate(first, pointer, successor, probability, reward, discount, margin, tried, single)
        choice[:] = tried
        error = np.inf
    if error == np.inf:  # out of tries: the values are still those of the policy
        error = evaluate(pointer, successor, probability, utility, discount, choice, value)
        evaluations += 1
    return bound, error, evaluations, sweeps


@njit(cache=True)
def iterate(
    first: Indices,
    pointer: Indices,
    successor: Indices,
    probability: Array,
    reward: Array,
    discount: float,
    margin: float,
    choice: Indices,
    value: Array,
) -> None:
    """Value iteration in place, up and down the states by turns, until a round leaves all choices as they are."""
    states = len(choice)
    for n in range(ROUNDS):
        changed = False
        for i in range(states):
            s = i if n % 2 else states - 1 - i
            best, at = -np.inf, choice[s]
            for pair in range(first[s], first[s + 1]):
                total = 0.0
                for k in range(pointer[pair], pointer[pair + np.uint64(1)]):
                    total += probability[k] * value[successor[k]]
                q = reward[pair] + discount * total
                if pair == choice[s]:
                    q += margin
                if q > best:
                    best, at = q, np.uint32(pair)
            changed |= at != choice[s]
            choice[s], value[s] = at, best
        if not changed:
            break


@njit(cache=True)
def evaluate(
    pointer: Indices,
    successor: Indices,
    probability: Array,
    utility: Array,
    discount: float,
    choice: Indices,
    value: Array,
) -> float:
    """Write the values of a policy, (S, J), and return how far they may be off."""
    states = len(choice)
    system, gain = np.eye(states), np.empty((states, len(utility)))
    for s in range(states):
        pair = np.uint64(choice[s])
        gain[s] = utility[:, pair]
        for k in range(pointer[pair], pointer[pair + np.uint64(1)]):
            system[s, successor[k]] -= discount * probability[k]
    value[:] = np.linalg.solve(system, gain)
    residual = np.abs(gain - system @ value).max()
    return (residual + (states + 4) * EPSILON * np.abs(value).max()) / (1 - discount)
