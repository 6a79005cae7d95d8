"""Following a policy of a swept model, compiled: its chain, and sweeps of it. The equations are in `chain_values`.

Indices are unsigned, so that no kernel tests them for a negative sign. Kernels hold no lock: several threads
may work on a range of states each. None of them allocates anything of the model's size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.compiling import njit

Indices = NDArray[np.uint32]


@njit
def write_rows(
    pointer: Indices,
    successor: Indices,
    probability: Array,
    utilities: tuple[Array, Array, NDArray[np.intp], Array, Array],
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
    one policy. `utilities` are those of `PairUtilities`.
    """
    reward, constraint_reward, place, origin, span = utilities
    for s in range(np.uint64(begin), np.uint64(end)):
        if not stale[s]:
            continue
        at = np.uint64(start[s])
        stay[s] = 0.0
        for j in range(len(place)):
            gain[s, j] = 0.0
        for n in range(len(choices)):
            share = shares[n, s] if len(shares) else 1.0
            if share > 0:
                pair = np.uint64(choices[n, s])
                for j in range(len(place)):
                    stored = constraint_reward[place[j] - 1, pair] if place[j] > 0 else reward[pair]
                    gain[s, j] += share * ((stored - origin[j]) / span[j])
                for k in range(pointer[pair], pointer[pair + np.uint64(1)]):
                    if successor[k] == s:
                        stay[s] += share * discount * probability[k]
                    else:
                        target[at] = successor[k]
                        weight[at] = share * discount * probability[k]
                        at += np.uint64(1)
        stop[s] = np.uint32(at)


@njit
def flow_order(
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    path: Indices,
    seen: NDArray[np.bool_],
    order: Indices,
    begin: int,
    end: int,
) -> None:
    """Order begin..end − 1 so that most probable successors come first, as far as they form no cycle.

    States are taken as they are numbered, each with the path ahead of it, so that neighbours stay together. `path` (S,) and
    `seen` (S,), all false, are scratch space.
    """
    low, high = np.uint64(begin), np.uint64(end)
    done = low
    for state in range(low, high):
        length, at = np.uint64(0), np.uint64(state)
        while low <= at < high and not seen[at]:
            seen[at] = True
            path[low + length] = at
            length += np.uint64(1)
            ahead, likely = at, -1.0
            for k in range(start[at], stop[at]):
                if weight[k] > likely:
                    ahead, likely = np.uint64(target[k]), weight[k]
            at = ahead
        for i in range(length):
            order[done + i] = path[low + length - np.uint64(1) - i]
        done += length


@njit
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
    utilities = np.uint64(value.shape[1])
    for j in range(utilities):
        low[j] = high[j] = 0.0
    least, most = np.uint64(begin), np.uint64(end)
    for i in range(least, most):
        s = np.uint64(order[i])
        scale = 1.0 / (1.0 - stay[s])
        for j in range(np.uint64(0), utilities, np.uint64(2)):
            # The other of two; the last, if alone, is done twice
            h = min(j + np.uint64(1), utilities - np.uint64(1))
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


@njit
def even_sweeps(
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    stay: Array,
    gain: Array,
    value: Array,
    updated: Array,
    count: int,
    begin: int,
    end: int,
) -> None:
    """Jacobi sweeps of begin..end − 1: `updated` = u + γPV, then V from that, and so on by turns.

    They keep no account of the changes, which would take longer than the rest: see `change`.
    """
    utilities = np.uint64(value.shape[1])
    for _ in range(count):
        for s in range(np.uint64(begin), np.uint64(end)):
            for j in range(np.uint64(0), utilities, np.uint64(2)):
                h = min(j + np.uint64(1), utilities - np.uint64(1))
                total, other = gain[s, j] + stay[s] * value[s, j], gain[s, h] + stay[s] * value[s, h]
                for k in range(start[s], stop[s]):
                    t = np.uint64(target[k])
                    total += weight[k] * value[t, j]
                    other += weight[k] * value[t, h]
                updated[s, j], updated[s, h] = total, other
        value, updated = updated, value


@njit
def change(value: Array, updated: Array, low: Array, high: Array, begin: int, end: int) -> None:
    """Write the least and the largest entry of `updated` − V over begin..end − 1 to `low` and `high`, (J,)."""
    for j in range(value.shape[1]):
        least, most = np.inf, -np.inf
        for s in range(np.uint64(begin), np.uint64(end)):
            moved = updated[s, j] - value[s, j]
            least, most = min(least, moved), max(most, moved)
        low[j], high[j] = least, most


@njit
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


@njit
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
    """Add γdP to `received`, (S,), for what d = `moved` has on begin..end − 1."""
    for s in range(np.uint64(begin), np.uint64(end)):
        received[s] += stay[s] * moved[s]
        for k in range(start[s], stop[s]):
            received[target[k]] += weight[k] * moved[s]


@njit
def weigh_residual(
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    stay: Array,
    gain: Array,
    value: Array,
    visits: Array,
    found: Array,
) -> None:
    """Write the least and the largest entry of r = u + γPV − V, and d·r for `visits` d, to `found`, (3, J)."""
    for j in range(value.shape[1]):
        least, most, weighed = np.inf, -np.inf, 0.0
        for s in range(np.uint64(len(stay))):
            left = gain[s, j] + stay[s] * value[s, j]
            for k in range(start[s], stop[s]):
                left += weight[k] * value[target[k], j]
            left -= value[s, j]
            least, most = min(least, left), max(most, left)
            weighed += visits[s] * left
        found[0, j], found[1, j], found[2, j] = least, most, weighed


@njit
def reach(
    first: Indices,
    pointer: Indices,
    successor: Indices,
    probability: Array,
    action: NDArray[np.intp],
    policy: Array,
    seen: NDArray[np.bool_],
    waiting: Indices,
    count: int,
) -> None:
    """Mark the states that a policy (S, A) comes to from the first `count` of those `waiting`, (S,), which are marked as seen.

    `action` (N,) is the column of each pair; it is empty if no action is masked.
    """
    while count > 0:
        count -= 1
        s = np.uint64(waiting[count])
        for pair in range(first[s], first[s + np.uint64(1)]):
            column = np.intp(action[pair] if len(action) else pair - first[s])
            if not policy[s, column] > 0:
                continue
            for k in range(pointer[pair], pointer[pair + 1]):
                t = np.uint64(successor[k])
                if probability[k] > 0 and not seen[t]:
                    seen[t], waiting[count] = True, t
                    count += 1
