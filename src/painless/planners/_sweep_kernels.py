"""The sweeps of the sparse planner, compiled. The equations are in `pricing` and `chain`.

Indices are unsigned, so that no kernel tests them for a negative sign. Kernels hold no lock: two threads
may work on two ranges of states. None of them allocates anything of the model's size.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from painless.arrays import Array

Indices = NDArray[np.uint32]


@njit(cache=True, nogil=True)
def improve(
    first: Indices,
    pointer: Indices,
    successor: Indices,
    probability: Array,
    utility: Array,
    discount: float,
    value: Array,
    margin: float,
    choice: Indices,
    updated: Array,
    start: int,
    stop: int,
) -> tuple[float, float, int]:
    """One Bellman sweep: `updated` = TV on states start..stop − 1, and the greedy pair where it gains.

    A state keeps its pair unless another is better by more than `margin`. Return the least and the largest of
    TV − V, and how many states changed.
    """
    low, high, changed = np.inf, -np.inf, 0
    for s in range(np.uint64(start), np.uint64(stop)):
        best, here, at = -np.inf, -np.inf, choice[s]
        current = at
        for pair in range(first[s], first[s + np.uint64(1)]):
            total = 0.0
            for k in range(pointer[pair], pointer[pair + np.uint64(1)]):
                total += probability[k] * value[successor[k]]
            q = utility[pair] + discount * total
            if pair == current:
                here = q
            if q > best:
                best, at = q, np.uint32(pair)
        updated[s] = best
        if best > here + margin:
            choice[s] = at
            changed += 1
        low, high = min(low, best - value[s]), max(high, best - value[s])
    return low, high, changed


@njit(cache=True, nogil=True)
def follow_flow(
    pointer: Indices,
    successor: Indices,
    probability: Array,
    utility: Array,
    discount: float,
    choice: Indices,
    order: Indices,
    value: Array,
) -> float:
    """One Gauss–Seidel sweep of the policy `choice`, for one utility, in place and in the given order.

    Return how wide the range of changes is, with 0 in it.
    """
    low, high = 0.0, 0.0
    for i in range(np.uint64(len(order))):
        s = order[i]
        pair = np.uint64(choice[s])
        total, stay = 0.0, 0.0
        for k in range(pointer[pair], pointer[pair + np.uint64(1)]):
            if successor[k] == s:
                stay += probability[k]
            else:
                total += probability[k] * value[successor[k]]
        total = (utility[pair] + discount * total) / (1.0 - discount * stay)
        low, high = min(low, total - value[s]), max(high, total - value[s])
        value[s] = total
    return high - low


@njit(cache=True, nogil=True)
def follow_evenly(
    pointer: Indices,
    successor: Indices,
    probability: Array,
    utility: Array,
    discount: float,
    choice: Indices,
    value: Array,
    updated: Array,
    start: int,
    stop: int,
) -> tuple[float, float]:
    """One Jacobi sweep of the policy `choice`, for one utility, on states start..stop − 1.

    Return the least and the largest change.
    """
    low, high = np.inf, -np.inf
    for s in range(np.uint64(start), np.uint64(stop)):
        pair = np.uint64(choice[s])
        total = 0.0
        for k in range(pointer[pair], pointer[pair + np.uint64(1)]):
            total += probability[k] * value[successor[k]]
        updated[s] = utility[pair] + discount * total
        low, high = min(low, updated[s] - value[s]), max(high, updated[s] - value[s])
    return low, high


@njit(cache=True, nogil=True)
def flow_order(pointer: Indices, successor: Indices, probability: Array, choice: Indices) -> Indices:
    """Order the states so that most probable successors come first, as far as they form no cycle.

    States are taken as they are numbered, each with the path ahead of it, so that neighbours stay together.
    """
    states = len(choice)
    main = np.empty(states, np.uint32)
    for s in range(states):
        best, likely = np.uint32(s), -1.0
        pair = np.uint64(choice[s])
        for k in range(pointer[pair], pointer[pair + np.uint64(1)]):
            if probability[k] > likely and successor[k] != s:
                best, likely = successor[k], probability[k]
        main[s] = best
    order = np.empty(states, np.uint32)
    path = np.empty(states, np.uint32)
    seen = np.zeros(states, np.bool_)
    done = 0
    for s in range(states):
        length, at = 0, np.uint32(s)
        while not seen[at]:
            seen[at] = True
            path[length] = at
            length += 1
            at = main[at]
        for i in range(length - 1, -1, -1):
            order[done] = path[i]
            done += 1
    return order


@njit(cache=True, nogil=True)
def chain_sizes(pointer: Indices, order: Indices, choices: Indices, shares: Array) -> Indices:
    """Return where the rows of a chain begin, (S + 1,), for policies `choices` (n, S) with `shares` (n, S)."""
    result = np.zeros(len(order) + 1, np.uint32)
    for i in range(len(order)):
        s = order[i]
        count = np.uint32(0)
        for n in range(len(choices)):
            if shares[n, s] > 0:
                pair = np.uint64(choices[n, s])
                count += pointer[pair + np.uint64(1)] - pointer[pair]
        result[i + 1] = result[i] + count
    return result


@njit(cache=True, nogil=True)
def chain_rows(
    pointer: Indices,
    successor: Indices,
    probability: Array,
    utility: Array,
    discount: float,
    order: Indices,
    choices: Indices,
    shares: Array,
    start: Indices,
    target: Indices,
    weight: Array,
    stay: Array,
    gain: Array,
) -> Indices:
    """Fill the rows of a chain: `target` and `weight` = γp, the self-loop γp in `stay`, and u_π in `gain`.

    Return where the rows end; self-loops are taken out, so that a row may be shorter than its room.
    """
    stop = np.empty(len(order), np.uint32)
    for i in range(len(order)):
        s = order[i]
        at = np.uint64(start[i])
        stay[i] = 0.0
        gain[i] = 0.0
        for n in range(len(choices)):
            share = shares[n, s]
            if share > 0:
                pair = np.uint64(choices[n, s])
                for j in range(len(utility)):
                    gain[i, j] += share * utility[j, pair]
                for k in range(pointer[pair], pointer[pair + np.uint64(1)]):
                    if successor[k] == s:
                        stay[i] += share * discount * probability[k]
                    else:
                        target[at] = successor[k]
                        weight[at] = share * discount * probability[k]
                        at += np.uint64(1)
        stop[i] = np.uint32(at)
    return stop


@njit(cache=True, nogil=True)
def flow_sweep(
    order: Indices,
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    stay: Array,
    gain: Array,
    value: Array,
    low: Array,
    high: Array,
) -> None:
    """One Gauss–Seidel sweep of V = u + γPV over all utilities, in place; `value` is (S, J).

    `low` and `high` (J,) receive the least and the largest change, and 0 where all have one sign. What is left of
    the residual at a state comes from successors that changed after it: it lies between γ·low and γ·high.
    """
    low[:] = 0.0
    high[:] = 0.0
    utilities = np.uint64(value.shape[1])
    for i in range(np.uint64(len(order))):
        s = np.uint64(order[i])
        scale = 1.0 / (1.0 - stay[i])
        for j in range(np.uint64(0), utilities, np.uint64(2)):
            h = min(
                j + np.uint64(1), utilities - np.uint64(1)
            )  # the other of two; the last one, if alone, is done twice
            total, other = gain[i, j], gain[i, h]
            for k in range(start[i], stop[i]):
                total += weight[k] * value[target[k], j]
                other += weight[k] * value[target[k], h]
            total, other = total * scale, other * scale
            change, second = total - value[s, j], other - value[s, h]
            value[s, j], value[s, h] = total, other
            low[j], high[j] = min(low[j], change), max(high[j], change)
            low[h], high[h] = min(low[h], second), max(high[h], second)


@njit(cache=True, nogil=True)
def even_sweep(
    order: Indices,
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    stay: Array,
    gain: Array,
    value: Array,
    low: Array,
    high: Array,
    updated: Array,
    begin: int,
    end: int,
) -> None:
    """One Jacobi sweep of the rows begin..end − 1: `updated` = u + γPV.

    `low` and `high` (J,) receive the least and the largest entry of u + γPV − V.
    """
    low[:] = np.inf
    high[:] = -np.inf
    utilities = np.uint64(value.shape[1])
    for i in range(np.uint64(begin), np.uint64(end)):
        s = np.uint64(order[i])
        for j in range(np.uint64(0), utilities, np.uint64(2)):
            h = min(j + np.uint64(1), utilities - np.uint64(1))
            total, other = gain[i, j] + stay[i] * value[s, j], gain[i, h] + stay[i] * value[s, h]
            for k in range(start[i], stop[i]):
                total += weight[k] * value[target[k], j]
                other += weight[k] * value[target[k], h]
            updated[s, j], updated[s, h] = total, other
            change, second = total - value[s, j], other - value[s, h]
            low[j], high[j] = min(low[j], change), max(high[j], change)
            low[h], high[h] = min(low[h], second), max(high[h], second)


@njit(cache=True, nogil=True)
def occupancy_sweep(
    order: Indices,
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    stay: Array,
    rest: Array,
    occupancy: Array,
) -> None:
    """One Gauss–Seidel sweep of d = ρ + γdP, in place: each state in turn passes its residual on."""
    for i in range(len(order) - 1, -1, -1):
        s = np.uint64(order[i])
        moved = rest[s] / (1.0 - stay[i])
        rest[s] = 0.0
        occupancy[s] += moved
        for k in range(start[i], stop[i]):
            rest[target[k]] += weight[k] * moved


@njit(cache=True, nogil=True)
def occupancy_rest(
    order: Indices,
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    stay: Array,
    occupancy: Array,
    rest: Array,
) -> None:
    """Add γdP − d to `rest`."""
    for i in range(len(order)):
        s = np.uint64(order[i])
        rest[s] -= (1.0 - stay[i]) * occupancy[s]
        for k in range(start[i], stop[i]):
            rest[target[k]] += weight[k] * occupancy[s]


@njit(cache=True, nogil=True)
def even_occupancy_sweep(
    order: Indices,
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    stay: Array,
    rest: Array,
    occupancy: Array,
    passed: Array,
) -> None:
    """One Jacobi sweep of d = ρ + γdP: all states pass their residual on at once, into `passed`."""
    passed[:] = 0.0
    for i in range(np.uint64(len(order))):
        s = np.uint64(order[i])
        occupancy[s] += rest[s]
        passed[s] += stay[i] * rest[s]
        for k in range(start[i], stop[i]):
            passed[target[k]] += weight[k] * rest[s]
