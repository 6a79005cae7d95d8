"""Following a policy of the sparse planner, compiled: its chain, and sweeps of it. The equations are in `chain`.

Indices are unsigned, so that no kernel tests them for a negative sign. Kernels hold no lock: two threads
may work on two ranges of states. None of them allocates anything of the model's size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from painless.arrays import Array
from painless.compiling import njit

Indices = NDArray[np.uint32]


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
    updated: Array,
    begin: int,
    end: int,
) -> None:
    """One Jacobi sweep of begin..end − 1: `updated` = u + γPV.

    It keeps no account of the changes, which would take longer than the rest: see `change`.
    """
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


@njit(cache=True, nogil=True)
def change(value: Array, updated: Array, low: Array, high: Array, begin: int, end: int) -> None:
    """Write the least and the largest entry of `updated` − V over begin..end − 1 to `low` and `high`, (J,)."""
    for j in range(value.shape[1]):
        least, most = np.inf, -np.inf
        for s in range(np.uint64(begin), np.uint64(end)):
            moved = updated[s, j] - value[s, j]
            least, most = min(least, moved), max(most, moved)
        low[j], high[j] = least, most


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
    received: Array,
    begin: int,
    end: int,
) -> None:
    """Write γdP to `received`, (S,), for what d = `moved` has on begin..end − 1."""
    received[:] = 0.0
    for s in range(np.uint64(begin), np.uint64(end)):
        received[s] += stay[s] * moved[s]
        for k in range(start[s], stop[s]):
            received[target[k]] += weight[k] * moved[s]


@njit(cache=True, nogil=True)
def extrapolate(
    moved: Array, received: Array, discount: float, left: Array, begin: int, end: int
) -> tuple[float, float]:
    """Write `left` = (γdP − γd)/(1−γ) on begin..end − 1, with d = `moved` and γdP the sum of `received` (n, S).

    That sum is written to its first row. Return Σ|γdP| and Σ|left|.
    """
    plain, extrapolated = 0.0, 0.0
    scale = 1.0 / (1.0 - discount)
    for s in range(np.uint64(begin), np.uint64(end)):
        passed = 0.0
        for i in range(len(received)):
            passed += received[i, s]
        received[0, s] = passed
        left[s] = (passed - discount * moved[s]) * scale
        plain += abs(passed)
        extrapolated += abs(left[s])
    return plain, extrapolated
