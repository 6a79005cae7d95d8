"""Elimination in an order that fills in little, compiled. The equations are in `elimination_order`.

Entries of the factors lie where the graph of the model puts them, whatever the policy. The matrix is dominated by its diagonal, so that no pivots are sought.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.compiling import njit

Indices = NDArray[np.uint32]
Places = NDArray[np.intp]
Places32 = NDArray[np.int32]


@njit
def neighbourhood(
    pointer: Places32, neighbour: Places32, alone: int, seen: NDArray[np.bool_], found: Places
) -> tuple[int, int]:
    """Write states around found[0], the nearest first, without those that have more than `alone` neighbours; return how many, and how many steps away."""
    seen[found[0]] = True
    count, at, steps = 1, 0, 0
    while at < count < len(found):
        steps, last = steps + 1, count
        for place in range(at, last):
            s = found[place]
            for k in range(pointer[s], pointer[s + 1]):
                t = neighbour[k]
                if count < len(found) and not seen[t] and pointer[t + 1] - pointer[t] <= alone:
                    seen[t], found[count] = True, t
                    count += 1
        at = last
    return count, steps


@njit
def order_by_degree(
    pointer: Places32,
    neighbour: Places32,
    alone: int,
    pool: Places32,
    scratch: Places32,
    order: Places32,
    begin: Places,
    below: Places32,
) -> bool:
    """Eliminate one state after another, one with the fewest neighbours each time, and connect its neighbours; return whether there is room for that.

    `neighbour` (edges,) of a symmetric graph; states with more than `alone` of them go last, and count as neighbours of all. `pool` is room for lists that
    grow, `scratch` (8, S + 1) holds −1. Write the `order`, and for its n-th state the neighbours that are left when it goes to below[begin[n]..begin[n + 1] − 1].
    """
    states, used, hubs = len(pointer) - 1, 0, 0
    first, size, room, head, after, ahead, mark, hub = scratch
    for s in range(states):
        if pointer[s + 1] - pointer[s] > alone:
            hub[hubs], mark[s] = s, -2
            hubs += 1
    for s in range(states):
        if mark[s] == -2:
            continue
        first[s], count = used, 0
        for k in range(pointer[s], pointer[s + 1]):
            if mark[neighbour[k]] != -2:
                if used + count + 8 > len(pool):
                    return False
                pool[used + count] = neighbour[k]
                count += 1
        size[s], room[s] = count, count + 4
        used += room[s]
        after[s] = head[count]
        if after[s] >= 0:
            ahead[after[s]] = s
        head[count] = s
    n, end, least, stamp = 0, 0, 0, 0
    begin[0] = 0
    while n < states - hubs:
        while head[least] < 0:
            least += 1
        gone = head[least]
        head[least] = after[gone]
        if after[gone] >= 0:
            ahead[after[gone]] = -1
        count, row, from_ = size[gone], end, first[gone]
        if end + count + hubs > len(below):
            return False
        for k in range(count):
            below[row + k] = pool[from_ + k]
        for k in range(hubs):
            below[row + count + k] = hub[k]
        order[n], end = gone, row + count + hubs
        n += 1
        begin[n] = end
        same = 0  # neighbours that have no other ones left than each of the others has: they go with it
        for place in range(row, row + count):
            s = below[place]
            old, kept, stamp = size[s], 0, stamp + 1
            if ahead[s] >= 0:
                after[ahead[s]] = after[s]
            else:
                head[old] = after[s]
            if after[s] >= 0:
                ahead[after[s]] = ahead[s]
            mark[s] = stamp
            for k in range(first[s], first[s] + old):
                t = pool[k]
                mark[t] = stamp
                if t != gone:
                    pool[first[s] + kept] = t
                    kept += 1
            for k in range(row, row + count):
                t = below[k]
                if mark[t] == stamp:
                    continue
                if kept == room[s]:
                    if used + 2 * room[s] + count > len(pool):
                        return False
                    for m in range(kept):
                        pool[used + m] = pool[first[s] + m]
                    first[s], room[s] = used, 2 * room[s] + count
                    used += room[s]
                pool[first[s] + kept] = t
                kept += 1
            size[s] = kept
            if kept == count - 1:
                below[place], below[row + same] = below[row + same], s
                same += 1
        stamp += 1
        for k in range(row, row + same):
            mark[below[k]] = stamp
            if end + count + hubs - (k - row) - 1 > len(below):
                return False
            order[n] = below[k]
            for m in range(k + 1, row + count + hubs):
                below[end] = below[m]
                end += 1
            n += 1
            begin[n] = end
        for place in range(row + same, row + count):
            s = below[place]
            if same > 0:
                kept = 0
                for k in range(first[s], first[s] + size[s]):
                    if mark[pool[k]] != stamp:
                        pool[first[s] + kept] = pool[k]
                        kept += 1
                size[s] = kept
            after[s], ahead[s] = head[size[s]], -1
            if after[s] >= 0:
                ahead[after[s]] = s
            head[size[s]] = s
            least = min(least, size[s])
    for k in range(hubs):
        if end + hubs > len(below):
            return False
        order[n] = hub[k]
        for m in range(k + 1, hubs):
            below[end] = hub[m]
            end += 1
        n += 1
        begin[n] = end
    return True


@njit
def rows_below(begin: Places, below: Places32, pointer: Places, column: Indices) -> None:
    """Write where the rows of the lower factor have entries, in ascending order, from where its columns have them."""
    states = len(begin) - 1
    for k in range(begin[states]):
        pointer[below[k] + 1] += 1
    for s in range(states):
        pointer[s + 1] += pointer[s]
    place = pointer.copy()
    for s in range(states):
        for k in range(begin[s], begin[s + 1]):
            column[place[below[k]]] = s
            place[below[k]] += 1


@njit
def factorise(
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    stay: Array,
    order: Indices,
    rank: Indices,
    lower_at: Places,
    lower_column: Indices,
    upper_at: Places,
    upper_column: Indices,
    lower: Array,
    upper: Array,
    diagonal: Array,
) -> None:
    """Write the factors of I − γP, row by row: entries of `lower`, of `upper` and of its diagonal, by their rank."""
    row = np.zeros(len(order))
    for i in range(np.uint64(len(order))):
        s = order[i]
        row[i] = 1.0 - stay[s]
        for k in range(start[s], stop[s]):
            row[rank[target[k]]] -= weight[k]
        for k in range(lower_at[i], lower_at[i + np.uint64(1)]):
            j = np.uint64(lower_column[k])
            lower[k] = 0.0
            if row[j] != 0.0:
                share = row[j] / diagonal[j]
                lower[k] = share
                row[j] = 0.0
                for m in range(upper_at[j], upper_at[j + np.uint64(1)]):
                    row[upper_column[m]] -= share * upper[m]
        diagonal[i] = row[i]
        row[i] = 0.0
        for k in range(upper_at[i], upper_at[i + np.uint64(1)]):
            upper[k] = row[upper_column[k]]
            row[upper_column[k]] = 0.0


@njit
def substitute(
    order: Indices,
    lower_at: Places,
    lower_column: Indices,
    upper_at: Places,
    upper_column: Indices,
    lower: Array,
    upper: Array,
    diagonal: Array,
    right: Array,
    x: Array,
) -> None:
    """Write the solution (S, n) for right sides (S, n)."""
    states, columns = right.shape
    found = np.empty((states, columns))
    for i in range(states):
        for c in range(columns):
            found[i, c] = right[order[i], c]
        for k in range(lower_at[i], lower_at[i + 1]):
            for c in range(columns):
                found[i, c] -= lower[k] * found[lower_column[k], c]
    for i in range(states - 1, -1, -1):
        for k in range(upper_at[i], upper_at[i + 1]):
            for c in range(columns):
                found[i, c] -= upper[k] * found[upper_column[k], c]
        for c in range(columns):
            found[i, c] /= diagonal[i]
            x[order[i], c] = found[i, c]


@njit
def substitute_transposed(
    order: Indices,
    lower_at: Places,
    lower_column: Indices,
    upper_at: Places,
    upper_column: Indices,
    lower: Array,
    upper: Array,
    diagonal: Array,
    right: Array,
    x: Array,
) -> None:
    """Write the solution (S, n) of the transposed system for right sides (S, n)."""
    states, columns = right.shape
    found = np.empty((states, columns))
    for i in range(states):
        found[i] = right[order[i]]
    for i in range(states):
        for c in range(columns):
            found[i, c] /= diagonal[i]
        for k in range(upper_at[i], upper_at[i + 1]):
            for c in range(columns):
                found[upper_column[k], c] -= upper[k] * found[i, c]
    for i in range(states - 1, -1, -1):
        for k in range(lower_at[i], lower_at[i + 1]):
            for c in range(columns):
                found[lower_column[k], c] -= lower[k] * found[i, c]
        x[order[i]] = found[i]
