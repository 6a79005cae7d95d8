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
    initial: Array,
    value: Array,
    margin: float,
    choice: Indices,
    begin: int,
    end: int,
) -> tuple[float, float, float, int]:
    """One Bellman sweep: the greedy pair on states begin..end − 1, where it gains.

    A state keeps its pair unless another is better by more than `margin`. Return ρ·TV over these states, the
    least and the largest of TV − V, and how many states changed.
    """
    at_start, low, high, changed = 0.0, np.inf, -np.inf, 0
    for s in range(np.uint64(begin), np.uint64(end)):
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
        if best > here + margin:
            choice[s] = at
            changed += 1
        at_start += initial[s] * best
        low, high = min(low, best - value[s]), max(high, best - value[s])
    return at_start, low, high, changed


@njit(cache=True, nogil=True)
def improve_active(
    first: Indices,
    pointer: Indices,
    successor: Indices,
    probability: Array,
    utility: Array,
    discount: float,
    least: float,
    choice: Indices,
    value: Array,
    before: Array,
    origin: Indices,
    source: Indices,
    active: NDArray[np.bool_],
    crossing: NDArray[np.bool_],
    ascending: bool,
    begin: int,
    end: int,
) -> int:
    """Bellman's equation in every active state of begin..end − 1 in turn, in place, with the best pair as choice.

    Where that changes the value by more than `least`, the states it can come from, source[origin[s]..], become active: at once
    here, and by `crossing` elsewhere. Elsewhere the values `before` count. A self-loop counts as if it were taken until it
    is left. Return how many states were active.
    """
    work = 0
    low, high = np.uint64(begin), np.uint64(end)
    for i in range(low, high):
        s = i if ascending else low + high - np.uint64(1) - i
        if not active[s]:
            continue
        active[s] = False
        work += 1
        best, here, at = -np.inf, -np.inf, choice[s]
        current = at
        for pair in range(first[s], first[s + np.uint64(1)]):
            total, stay = 0.0, 0.0
            for k in range(pointer[pair], pointer[pair + np.uint64(1)]):
                t = np.uint64(successor[k])
                if t == s:
                    stay += probability[k]
                elif low <= t < high:
                    total += probability[k] * value[t]
                else:
                    total += probability[k] * before[t]
            q = utility[pair] + discount * total
            if stay > 0:
                q /= 1.0 - discount * stay
            if pair == current:
                here = q
            if q > best:
                best, at = q, np.uint32(pair)
        if best > here + 0.1 * least:
            choice[s] = at
        change = abs(best - value[s])
        value[s] = best
        if change > least:
            for k in range(origin[s], origin[s + np.uint64(1)]):
                t = np.uint64(source[k])
                if low <= t < high:
                    active[t] = True
                else:
                    crossing[t] = True
    return work


@njit(cache=True, nogil=True)
def sources(first: Indices, pointer: Indices, successor: Indices) -> tuple[Indices, Indices]:
    """Return the states from which some pair may lead to s, each once: source[origin[s]..origin[s + 1] − 1]."""
    states = np.uint32(len(first) - 1)
    origin = np.zeros(states + 1, np.uint32)
    last = np.full(states, states, np.uint32)
    for s in range(states):
        for k in range(pointer[first[s]], pointer[first[s + 1]]):
            t = successor[k]
            if t != s and last[t] != s:
                last[t] = s
                origin[t + 1] += 1
    for s in range(states):
        origin[s + 1] += origin[s]
    source, room = np.empty(origin[states], np.uint32), origin[:-1].copy()
    last[:] = states
    for s in range(states):
        for k in range(pointer[first[s]], pointer[first[s + 1]]):
            t = successor[k]
            if t != s and last[t] != s:
                last[t] = s
                source[room[t]] = s
                room[t] += 1
    return origin, source


@njit(cache=True, nogil=True)
def most_successors(first: Indices, pointer: Indices) -> Indices:
    """Return where rows begin that have room for any pair of their state, (S + 1,)."""
    result = np.zeros(len(first), np.uint32)
    for s in range(len(first) - 1):
        most = np.uint32(0)
        for pair in range(first[s], first[s + 1]):
            most = max(most, pointer[pair + np.uint64(1)] - pointer[pair])
        result[s + 1] = result[s] + most
    return result


@njit(cache=True, nogil=True)
def all_successors(pointer: Indices, choices: Indices, shares: Array) -> Indices:
    """Return where the rows of a mixed policy begin, (S + 1,); choices of share 0 are left out."""
    result = np.zeros(choices.shape[1] + 1, np.uint32)
    for s in range(choices.shape[1]):
        count = np.uint32(0)
        for n in range(len(choices)):
            if shares[n, s] > 0:
                pair = np.uint64(choices[n, s])
                count += pointer[pair + np.uint64(1)] - pointer[pair]
        result[s + 1] = result[s] + count
    return result


@njit(cache=True, nogil=True)
def write_rows(
    pointer: Indices,
    successor: Indices,
    probability: Array,
    utility: Array,
    discount: float,
    choices: Indices,
    shares: Array,
    stale: NDArray[np.bool_],
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    stay: Array,
    gain: Array,
    begin: int,
    end: int,
) -> None:
    """Write the stale rows of begin..end − 1: `target` and `weight` = γp, the self-loop γp in `stay`, u_π in `gain`.

    Self-loops are taken out, so that a row may be shorter than its room: it ends at `stop`. Without `shares` there is
    one policy.
    """
    for s in range(np.uint64(begin), np.uint64(end)):
        if not stale[s]:
            continue
        at = np.uint64(start[s])
        stay[s] = 0.0
        gain[s] = 0.0
        for n in range(len(choices)):
            share = shares[n, s] if len(shares) else 1.0
            if share > 0:
                pair = np.uint64(choices[n, s])
                for j in range(len(utility)):
                    gain[s, j] += share * utility[j, pair]
                for k in range(pointer[pair], pointer[pair + np.uint64(1)]):
                    if successor[k] == s:
                        stay[s] += share * discount * probability[k]
                    else:
                        target[at] = successor[k]
                        weight[at] = share * discount * probability[k]
                        at += np.uint64(1)
        stop[s] = np.uint32(at)


@njit(cache=True, nogil=True)
def flow_order(
    start: Indices, stop: Indices, target: Indices, weight: Array, order: Indices, begin: int, end: int
) -> None:
    """Order begin..end − 1 so that most probable successors come first, as far as they form no cycle.

    States are taken as they are numbered, each with the path ahead of it, so that neighbours stay together.
    """
    main = np.empty(end - begin, np.uint32)
    for s in range(begin, end):
        best, likely = np.uint32(s), -1.0
        for k in range(start[s], stop[s]):
            if weight[k] > likely:
                best, likely = target[k], weight[k]
        main[s - begin] = best
    path = np.empty(end - begin, np.uint32)
    seen = np.zeros(end - begin, np.bool_)
    done = begin
    for s in range(begin, end):
        length, at = 0, s
        while begin <= at < end and not seen[at - begin]:
            seen[at - begin] = True
            path[length] = at
            length += 1
            at = int(main[at - begin])
        for i in range(length - 1, -1, -1):
            order[done] = path[i]
            done += 1


@njit(cache=True, nogil=True)
def flow_sweep(
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    stay: Array,
    gain: Array,
    order: Indices,
    value: Array,
    before: Array,
    low: Array,
    high: Array,
    begin: int,
    end: int,
) -> None:
    """One Gauss–Seidel sweep of V = u + γPV over begin..end − 1 and all utilities, in place; `value` is (S, J).

    Other states count with the values `before`. `low` and `high` (J,) receive the least and the largest change, and 0 where
    all have one sign. What is left of the residual at a state comes from successors that changed after it, or elsewhere: it
    lies between γ·low and γ·high.
    """
    low[:] = 0.0
    high[:] = 0.0
    utilities = np.uint64(value.shape[1])
    least, most = np.uint64(begin), np.uint64(end)
    for i in range(least, most):
        s = np.uint64(order[i])
        scale = 1.0 / (1.0 - stay[s])
        for j in range(np.uint64(0), utilities, np.uint64(2)):
            h = min(
                j + np.uint64(1), utilities - np.uint64(1)
            )  # the other of two; the last, if alone, is done twice
            total, other = gain[s, j], gain[s, h]
            for k in range(start[s], stop[s]):
                t = np.uint64(target[k])
                if least <= t < most:
                    total += weight[k] * value[t, j]
                    other += weight[k] * value[t, h]
                else:
                    total += weight[k] * before[t, j]
                    other += weight[k] * before[t, h]
            total, other = total * scale, other * scale
            change, second = total - value[s, j], other - value[s, h]
            value[s, j], value[s, h] = total, other
            low[j], high[j] = min(low[j], change), max(high[j], change)
            low[h], high[h] = min(low[h], second), max(high[h], second)


@njit(cache=True, nogil=True)
def even_sweep(
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
    """One Jacobi sweep of begin..end − 1: `updated` = u + γPV.

    `low` and `high` (J,) receive the least and the largest entry of u + γPV − V.
    """
    low[:] = np.inf
    high[:] = -np.inf
    utilities = np.uint64(value.shape[1])
    for s in range(np.uint64(begin), np.uint64(end)):
        for j in range(np.uint64(0), utilities, np.uint64(2)):
            h = min(j + np.uint64(1), utilities - np.uint64(1))
            total, other = gain[s, j] + stay[s] * value[s, j], gain[s, h] + stay[s] * value[s, h]
            for k in range(start[s], stop[s]):
                t = np.uint64(target[k])
                total += weight[k] * value[t, j]
                other += weight[k] * value[t, h]
            updated[s, j], updated[s, h] = total, other
            change, second = total - value[s, j], other - value[s, h]
            low[j], high[j] = min(low[j], change), max(high[j], change)
            low[h], high[h] = min(low[h], second), max(high[h], second)


@njit(cache=True, nogil=True)
def occupancy_sweep(
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    stay: Array,
    order: Indices,
    rest: Array,
    occupancy: Array,
) -> None:
    """One Gauss–Seidel sweep of d = ρ + γdP, in place: each state in turn passes its residual on."""
    for i in range(len(order) - 1, -1, -1):
        s = np.uint64(order[i])
        moved = rest[s] / (1.0 - stay[s])
        rest[s] = 0.0
        occupancy[s] += moved
        for k in range(start[s], stop[s]):
            rest[target[k]] += weight[k] * moved


@njit(cache=True, nogil=True)
def pass_on(
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    stay: Array,
    moved: Array,
    begin: int,
    end: int,
) -> Array:
    """Return γdP, (S,), for what d = `moved` has on begin..end − 1."""
    received = np.zeros(len(stay))
    for s in range(np.uint64(begin), np.uint64(end)):
        received[s] += stay[s] * moved[s]
        for k in range(start[s], stop[s]):
            received[target[k]] += weight[k] * moved[s]
    return received
