"""Totals where no policy comes back to a state that it has left, compiled: one pass over the rows. `one_pass` has the equations.

Indices are unsigned, so that no kernel tests them for a negative sign.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask
from painless.common.compiling import inner, njit

Indices = NDArray[np.uint32]

PRECISE = 2e-15  # relative; a row that is better by no more than this is not taken in the place of another


@inner
def raised_by_stay(total: float, held: float, rounding: float) -> float:
    """Return at least total/(1 − q), of which 1 − q is `held` to within `rounding`; ∞ if it may be 0."""
    if not held > rounding:
        return np.inf
    most = total / (held - rounding if total > 0.0 else held + rounding)
    return most + rounding * abs(most)


@njit
def best_in_one_pass(
    first: Indices,
    pointer: Indices,
    successor: Indices,
    probability: Array,
    utility: Array,
    weight: Array,
    slip: float,
    rounding: float,
    stuck: float,
    order: Indices,
    best: Array,
    choice: Indices,
) -> bool:
    """Write the largest totals for weights (J,) and a bound on them, `best` (2S,) by turns, and the rows that are taken, (S,); return whether the bound is proved.

    A state keeps its row unless another is better by more than rounding. The weighted sum of utilities is rounded by `slip` of its terms. Rows that stay with a probability
    of `stuck` or more are not taken; there is no proof if the bound does not hold for them.
    """
    utilities, one, two = np.uint64(len(weight)), np.uint64(1), np.uint64(2)
    for i in range(np.uint64(len(order))):
        s = np.uint64(order[i])
        most, here, above, some_stuck = -np.inf, -np.inf, -np.inf, False
        current = taken = np.uint64(choice[s])
        for row in range(np.uint64(first[s]), np.uint64(first[s + one])):
            gain, terms = 0.0, 0.0
            for j in range(utilities):
                part = weight[j] * utility[j, row]
                gain += part
                terms += abs(part)
            total, upper, stay = gain, gain + slip * terms, 0.0
            terms = abs(upper)
            for k in range(pointer[row], pointer[row + one]):
                t, chance = np.uint64(successor[k]), probability[k]
                if t == s:
                    stay += chance
                else:
                    total += chance * best[two * t]
                    part = chance * best[two * t + one]
                    upper += part
                    terms += abs(part)
            upper += rounding * terms
            if stay > 0.0:
                if stay >= stuck:
                    some_stuck = True
                    continue
                total /= 1.0 - stay
                upper = raised_by_stay(upper, 1.0 - stay, rounding)
            if upper != upper:
                return False
            here = total if row == current else here
            taken = np.uint64(row) if total > most else taken
            most = max(most, total)
            above = max(above, upper)
        if most > here + PRECISE * abs(most):
            choice[s] = taken
        best[two * s], best[two * s + one] = most, above
        if some_stuck and not stuck_rows_hold(
            s, first, pointer, successor, probability, utility, weight, slip, rounding, stuck, best
        ):
            return False
    return True


@inner
def stuck_rows_hold(
    s: np.uint64,
    first: Indices,
    pointer: Indices,
    successor: Indices,
    probability: Array,
    utility: Array,
    weight: Array,
    slip: float,
    rounding: float,
    stuck: float,
    best: Array,
) -> bool:
    """Return whether no row of a state that stays with a probability of `stuck` or more improves the bound there."""
    for row in range(np.uint64(first[s]), np.uint64(first[s + np.uint64(1)])):
        above, stay = best[np.uint64(2) * s + np.uint64(1)], 0.0
        over, terms = -above, abs(above)
        for j in range(np.uint64(len(weight))):
            part = weight[j] * utility[j, row]
            over += part
            terms += (1.0 + slip / rounding) * abs(part)
        for k in range(pointer[row], pointer[row + np.uint64(1)]):
            part = probability[k] * best[np.uint64(2) * np.uint64(successor[k]) + np.uint64(1)]
            over += part
            terms += abs(part)
            if successor[k] == s:
                stay += probability[k]
        if stay >= stuck and not over + rounding * terms <= 0.0:
            return False
    return True


@inner
def mark_reached(
    pointer: Indices, successor: Indices, order: Indices, choices: Indices, shares: Array, reached: Mask
) -> None:
    """Mark the states that the policy of `values_in_one_pass` comes to from those that are marked, (S,)."""
    one, last = np.uint64(1), np.uint64(len(order) - 1)
    for place in range(np.uint64(len(order))):
        s = np.uint64(order[last - place])
        if reached[s]:
            for n in range(np.uint64(len(choices))):
                if not len(shares) or shares[n, s] > 0.0:
                    row = np.uint64(choices[n, s])
                    for k in range(pointer[row], pointer[row + one]):
                        reached[np.uint64(successor[k])] = True


@njit
def values_in_one_pass(
    pointer: Indices,
    successor: Indices,
    probability: Array,
    utility: Array,
    rounding: float,
    order: Indices,
    choices: Indices,
    shares: Array,
    reached: Mask,
    known: Array,
) -> None:
    """Write the values of a policy, each with its error, (S, 2J) by turns, where it comes to from the states in `reached` (S,).

    It takes the rows `choices` (m, S) with shares (m, S); without shares there is one row each.
    """
    mark_reached(pointer, successor, order, choices, shares, reached)
    one, two, count = np.uint64(1), np.uint64(2), np.uint64(len(utility))
    for place in range(np.uint64(len(order))):
        s = np.uint64(order[place])
        if not reached[s]:
            continue
        for j in range(np.uint64(0), count, two):
            i = min(j + one, count - one)  # two at a time; the last one is done again if there is no other
            stay, first, first_size, first_error = 0.0, 0.0, 0.0, 0.0
            second, second_size, second_error = 0.0, 0.0, 0.0
            for n in range(np.uint64(len(choices))):
                share, row = shares[n, s] if len(shares) else 1.0, np.uint64(choices[n, s])
                if share > 0.0:
                    part, other = share * utility[j, row], share * utility[i, row]
                    first, second = first + part, second + other
                    first_size, second_size = first_size + abs(part), second_size + abs(other)
                    for k in range(pointer[row], pointer[row + one]):
                        t, chance = np.uint64(successor[k]), share * probability[k]
                        if t == s:
                            stay += chance
                            continue
                        part, other = chance * known[t, two * j], chance * known[t, two * i]
                        first, second = first + part, second + other
                        first_size, second_size = first_size + abs(part), second_size + abs(other)
                        first_error += chance * known[t, two * j + one]
                        second_error += chance * known[t, two * i + one]
            first_error = (1.0 + rounding) * (first_error + rounding * first_size)
            second_error = (1.0 + rounding) * (second_error + rounding * second_size)
            if stay > 0.0:
                held, part, other = 1.0 - stay, first, second
                first, second = first / held, second / held
                first_error += abs(part + stay * first - first) + 3.0 * rounding * abs(first)
                second_error += abs(other + stay * second - second) + 3.0 * rounding * abs(second)
                first_error = raised_by_stay(first_error, held, rounding)
                second_error = raised_by_stay(second_error, held, rounding)
            known[s, two * j], known[s, two * j + one] = first, first_error
            known[s, two * i], known[s, two * i + one] = second, second_error


@njit
def times_in_one_pass(
    pointer: Indices, successor: Indices, probability: Array, order: Indices, choice: Indices, time: Array
) -> None:
    """Write how long the policy that takes the rows `choice` (S,) takes to stop, (S,)."""
    for i in range(np.uint64(len(order))):
        s = np.uint64(order[i])
        row, steps, stay = np.uint64(choice[s]), 1.0, 0.0
        for k in range(pointer[row], pointer[row + np.uint64(1)]):
            if successor[k] == s:
                stay += probability[k]
            else:
                steps += probability[k] * time[np.uint64(successor[k])]
        time[s] = steps / (1.0 - stay)


@njit
def is_in_order(first: Indices, pointer: Indices, successor: Indices, order: Indices, place: Indices) -> bool:
    """Return whether each state comes after those that its rows lead to, but for itself, in an order (S,), in which each has a `place` (S,)."""
    for i in range(np.uint64(len(order))):
        s = np.uint64(order[i])
        if place[s] != i:
            return False
        for k in range(pointer[first[s]], pointer[first[s + np.uint64(1)]]):
            if place[np.uint64(successor[k])] > i:
                return False
    return True


@njit
def visits_in_one_pass(
    pointer: Indices, successor: Indices, probability: Array, order: Indices, choice: Indices, visits: Array
) -> None:
    """Make of an initial distribution (S,) how often the policy that takes the rows `choice` (S,) comes to each state, in place."""
    for i in range(np.uint64(len(order))):
        s = np.uint64(order[np.uint64(len(order)) - np.uint64(1) - i])
        row, often, stay = np.uint64(choice[s]), visits[s], 0.0
        if often == 0.0:
            continue
        for k in range(pointer[row], pointer[row + np.uint64(1)]):
            if successor[k] == s:
                stay += probability[k]
        often /= 1.0 - stay
        visits[s] = often
        for k in range(pointer[row], pointer[row + np.uint64(1)]):
            if successor[k] != s:
                visits[np.uint64(successor[k])] += probability[k] * often
