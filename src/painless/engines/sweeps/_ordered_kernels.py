"""An order of the states in which each comes after those that it leads to, and proofs in that order, compiled. The equations are in `in_order` and `total_iteration`.

Indices are unsigned, so that no kernel tests them for a negative sign.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask
from painless.common.compiling import njit

Indices = NDArray[np.uint32]


@njit
def states_in_order(
    first: Indices, pointer: Indices, successor: Indices, label: Indices, components: int
) -> tuple[Indices, Indices]:
    """Return the states of each component, those that they lead to first as far as there is no cycle, (S,), and where each component begins.

    Each is where a depth-first search leaves it, from the state with the lowest number on.
    """
    states = len(label)
    bounds = np.zeros(components + 1, np.uint32)
    for n in range(states):
        bounds[label[n] + np.uint32(1)] += np.uint32(1)
    for c in range(components):
        bounds[c + 1] += bounds[c]
    place, order = bounds[:components].copy(), np.empty(states, np.uint32)
    seen, path = np.zeros(states, np.bool_), np.empty(states, np.uint32)
    following = np.empty(states, np.uint32)
    for root in range(states):
        if seen[root]:
            continue
        path[0], seen[root], following[root], depth = root, True, pointer[first[root]], 1
        while depth > 0:
            s = np.uint64(path[depth - 1])
            end, deeper = pointer[first[s + np.uint64(1)]], False
            while following[s] < end:
                t = np.uint64(successor[following[s]])
                following[s] += np.uint32(1)
                if not seen[t]:
                    seen[t] = True
                    following[t] = pointer[first[t]]
                    path[depth] = t
                    depth += 1
                    deeper = True
                    break
            if not deeper:
                depth -= 1
                order[place[label[s]]] = s
                place[label[s]] += np.uint32(1)
    return order, bounds


@njit
def share_behind(
    first: Indices,
    pointer: Indices,
    successor: Indices,
    probability: Array,
    label: Indices,
    place: Indices,
) -> tuple[float, float]:
    """Return how much of all that leads to another state of the same component leads to one with a larger number, and to a later place (S,)."""
    whole, upward, behind = 0.0, 0.0, 0.0
    for s in range(np.uint64(len(label))):
        for k in range(pointer[first[s]], pointer[first[s + np.uint64(1)]]):
            t = np.uint64(successor[k])
            if t != s and label[t] == label[s]:
                whole += probability[k]
                if t > s:
                    upward += probability[k]
                if place[t] > place[s]:
                    behind += probability[k]
    return (upward / whole, behind / whole) if whole > 0.0 else (0.0, 0.0)


@njit
def rows_in_order(
    first: Indices,
    pointer: Indices,
    successor: Indices,
    probability: Array,
    order: Indices,
    number: Indices,
    row: Indices,
    begin: Indices,
    target: Indices,
    chance: Array,
) -> None:
    """Write the rows (n,) of the states in another order (S,), where the rows begin, and their successors by the new numbers (S,) of the states."""
    n, k = np.uint64(0), np.uint32(0)
    begin[0] = 0
    for i in range(np.uint64(len(order))):
        s = np.uint64(order[i])
        for old in range(np.uint64(first[s]), np.uint64(first[s + np.uint64(1)])):
            row[n] = old
            for m in range(pointer[old], pointer[old + np.uint64(1)]):
                target[k] = number[successor[m]]
                chance[k] = probability[m]
                k += np.uint32(1)
            n += np.uint64(1)
            begin[n] = k


@njit
def mean_reach(
    first: Indices,
    pointer: Indices,
    successor: Indices,
    probability: Array,
    label: Indices,
    place: Indices,
    components: int,
) -> Array:
    """Return how far the transitions within each component lead in the places (S,) of its states, (C,): ahead on average, or back at most; at least 1."""
    whole, ahead, reach = np.zeros(components), np.zeros(components), np.ones(components)
    for s in range(np.uint64(len(label))):
        for k in range(pointer[first[s]], pointer[first[s + np.uint64(1)]]):
            t, c = np.uint64(successor[k]), label[s]
            if label[t] == c:
                far = float(place[s]) - float(place[t])
                if far > 0.0:
                    whole[c] += probability[k]
                    ahead[c] += probability[k] * far
                else:
                    reach[c] = max(reach[c], -far)
    for c in range(components):
        if whole[c] > 0.0:
            reach[c] = max(reach[c], ahead[c] / whole[c])
    return reach


@njit
def leading_rows(
    first: Indices, pointer: Indices, successor: Indices, probability: Array, targets: Mask
) -> NDArray[np.int64]:
    """Return for each state the row that most probably leads closer to the targets (S,), and −1 where there is none, or no need."""
    states, one = len(targets), np.uint64(1)
    begin = np.zeros(states + 1, np.uint32)  # of what leads to each state
    for k in range(len(successor)):
        begin[np.uint64(successor[k]) + one] += np.uint32(1)
    for n in range(states):
        begin[n + 1] += begin[n]
    place, source = begin[:-1].copy(), np.empty(len(successor), np.uint32)
    for s in range(np.uint64(states)):
        for k in range(pointer[first[s]], pointer[first[s + one]]):
            if probability[k] > 0.0:
                t = np.uint64(successor[k])
                source[place[t]] = s
                place[t] += np.uint32(1)
    steps, todo, end = np.full(states, states + 1, np.int64), np.empty(states, np.uint32), 0
    for n in range(states):
        if targets[n]:
            steps[n] = 0
            todo[end] = n
            end += 1
    done = 0
    while done < end:
        here = np.uint64(todo[done])
        done += 1
        for k in range(begin[here], place[here]):
            before = np.uint64(source[k])
            if steps[before] > states:
                steps[before] = steps[here] + 1
                todo[end] = before
                end += 1
    choice = np.full(states, -1, np.int64)
    for s in range(np.uint64(states)):
        most = 0.0
        for row in range(np.uint64(first[s]), np.uint64(first[s + one])):
            chance = 0.0
            for k in range(pointer[row], pointer[row + one]):
                if steps[successor[k]] < steps[s]:
                    chance += probability[k]
            if chance > 0.0 and chance >= most and not targets[s]:
                most, choice[s] = chance, row
    return choice


@njit
def largest_stay(first: Indices, pointer: Indices, successor: Indices, probability: Array) -> float:
    """Return the largest probability with which a row stays in its state."""
    most = 0.0
    for s in range(np.uint64(len(first) - 1)):
        for row in range(np.uint64(first[s]), np.uint64(first[s + np.uint64(1)])):
            stay = 0.0
            for k in range(pointer[row], pointer[row + np.uint64(1)]):
                if successor[k] == s:
                    stay += probability[k]
            most = max(most, stay)
    return most


@njit
def raised_in_order(
    first: Indices,
    pointer: Indices,
    successor: Indices,
    probability: Array,
    is_stop: Mask,
    utility: Array,
    weight: Array,
    slip: float,
    rounding: float,
    order: Indices,
    bounds: Indices,
    value: Array,
    time: Array,
    spare: float,
    attempts: int,
    raised: Array,
) -> bool:
    """Write a function above the values (N,) that no row (n,) improves for weights (J,) of the utilities (J, n), (N,); return whether that is proved, as by `largest_excess`.

    The weighted sum of utilities is rounded up by `slip` of the sum of its sizes.

    A single state is raised by what its own rows ask for, given those that come before it: a row that exceeds its value by at most x, and stays with probability q, does so by at most x − (1 − q)δ once it
    is raised by δ. A larger component is raised as much as those that it leads to, and by a multiple of the times (N,), and every row is then checked with what is written. What comes later is no number yet, which is
    refused.
    """
    raised[:] = np.nan
    utilities = np.uint64(len(weight))
    for c in range(len(bounds) - 1):
        low, high = np.uint64(bounds[c]), np.uint64(bounds[c + 1])
        single, raise_by, shift, missing = high - low == np.uint64(1), 0.0, 0.0, 0.0
        if not single:  # as much as what it leads to
            for i in range(low, high):
                s = np.uint64(order[i])
                for k in range(pointer[first[s]], pointer[first[s + np.uint64(1)]]):
                    shift = max(shift, raised[successor[k]] - value[successor[k]])
        for i in range(low, high):
            raised[order[i]] = value[order[i]] + shift
        for _ in range(attempts):
            missing, needed = 0.0, 0.0
            for i in range(low, high):
                s = np.uint64(order[i])
                here = raised[s]
                for row in range(np.uint64(first[s]), np.uint64(first[s + np.uint64(1)])):
                    over, stay = -here, 0.0
                    if not is_stop[row]:
                        gain, ahead, size = 0.0, 0.0, 0.0
                        for j in range(utilities):
                            part = weight[j] * utility[j, row]
                            gain += part
                            size += abs(part)
                        gain += slip * size
                        size = abs(gain)
                        for k in range(pointer[row], pointer[row + np.uint64(1)]):
                            t = np.uint64(successor[k])
                            part = probability[k] * raised[t]
                            ahead += part
                            size += abs(part)
                            if t == s:
                                stay += probability[k]
                        over = gain + ahead - here + rounding * (size + abs(here))
                    if over != over:
                        return False
                    if over > 0.0:
                        missing, held = max(missing, over), 1.0 - stay - 4.0 * rounding
                        asked = (1.0 + 8.0 * rounding) * (over + 2.0 * rounding * abs(here)) / held
                        needed = max(needed, asked if held > 0.0 else np.inf)
            if missing == 0.0:
                break
            raise_by += needed if single else spare * missing
            if not raise_by < np.inf:
                return False
            for i in range(low, high):
                s = np.uint64(order[i])
                raised[s] = value[s] + shift + raise_by * (1.0 if single else time[s])
            if single:
                missing = 0.0
                break
        if missing != 0.0:
            return False
    return True
