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
def count_neighbours(start: Indices, stop: Indices, target: Indices, room: Places32) -> None:
    """Count the transitions from and to each state, (S,)."""
    for s in range(len(start)):
        for k in range(start[s], stop[s]):
            room[s] += 1
            room[target[k]] += 1


@njit
def write_neighbours(
    start: Indices,
    stop: Indices,
    target: Indices,
    first: Places32,
    size: Places32,
    lists: Places32,
    mark: Places32,
) -> None:
    """Write the states that lead to each state, or that it leads to, each once, to lists[first[s]..first[s] + size[s] − 1].

    `size` holds 0 for each state at first, and `mark` −1.
    """
    states = len(start)
    for s in range(states):
        for k in range(start[s], stop[s]):
            lists[first[s] + size[s]] = target[k]
            size[s] += 1
    for s in range(states):
        for k in range(start[s], stop[s]):
            t = target[k]
            lists[first[t] + size[t]] = s
            size[t] += 1
    for s in range(states):
        count = 0
        for k in range(first[s], first[s] + size[s]):
            t = lists[k]
            if mark[t] != s:
                mark[t] = s
                lists[first[s] + count] = t
                count += 1
        size[s] = count
        for k in range(count // 2):  # the last ones first
            low, high = first[s] + k, first[s] + count - 1 - k
            lists[low], lists[high] = lists[high], lists[low]


@njit
def neighbourhood(
    first: Places32, size: Places32, lists: Places32, alone: int, seen: NDArray[np.bool_], found: Places
) -> tuple[int, int]:
    """Write states around found[0], the nearest first, without those that have more than `alone` neighbours; return how many, and how many steps away."""
    seen[found[0]] = True
    count, at, steps = 1, 0, 0
    while at < count < len(found):
        steps, last = steps + 1, count
        for place in range(at, last):
            s = found[place]
            for k in range(first[s], first[s] + size[s]):
                t = lists[k]
                if count < len(found) and not seen[t] and size[t] <= alone:
                    seen[t], found[count] = True, t
                    count += 1
        at = last
    return count, steps


@njit
def link_by_size(first: Places32, size: Places32, lists: Places32, links: Places32, hub: Places32) -> None:
    """Take the states of `hub` out of the lists of all others, and link states with lists of the same size.

    `links` (4, S + 1) holds −1: the first state with so many neighbours, the next and the last one with as many, and a mark of each state.
    """
    head, after, ahead, mark = links
    for s in hub:
        mark[s] = -2
    for s in range(len(first)):
        if mark[s] == -2:
            continue
        count = 0
        for k in range(first[s], first[s] + size[s]):
            if mark[lists[k]] != -2:
                lists[first[s] + count] = lists[k]
                count += 1
        size[s] = count
        after[s] = head[count]
        if after[s] >= 0:
            ahead[after[s]] = s
        head[count] = s


@njit
def order_by_degree(
    first: Places32,
    size: Places32,
    room: Places32,
    pool: Places32,
    links: Places32,
    hub: Places32,
    order: Places32,
    begin: Places32,
    below: Places32,
    most: tuple[int, int],
    progress: Places,
) -> int:
    """Eliminate one state after another, one with the fewest neighbours each time, and connect its neighbours.

    The neighbours of s are pool[first[s]..first[s] + size[s] − 1], with room for room[s] of them; states of `hub` go last, and count as neighbours of all.
    Write the `order`, and for its n-th state the neighbours that are left when it goes to below[begin[n]..begin[n + 1] − 1].

    Return 0 when all are done; 1 if `pool` is too small, or 2 if `below` is: to go on from `progress` (5,) with more room, up to `most` of each; −1 if that is not enough.
    """
    head, after, ahead, mark = links
    states, hubs = len(first), len(hub)
    n, end, least, stamp, used = progress
    begin[0] = 0
    while n < states - hubs:
        while head[least] < 0:
            least += 1
        gone = head[least]
        if len(pool) < most[0] or len(below) < most[1]:
            grown = 0
            for k in range(first[gone], first[gone] + size[gone]):
                grown += 2 * room[pool[k]] + size[gone]
            progress[0], progress[1], progress[2], progress[3], progress[4] = n, end, least, stamp, used
            if used + grown > len(pool) and len(pool) < most[0]:
                return 1
            if end + (size[gone] + 1) * (size[gone] + hubs) > len(below) and len(below) < most[1]:
                return 2
        head[least] = after[gone]
        if after[gone] >= 0:
            ahead[after[gone]] = -1
        count, row, from_ = size[gone], end, first[gone]
        if end + count + hubs > len(below):
            return -1
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
                        return -1
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
                return -1
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
    if end + hubs * hubs > len(below) and len(below) < most[1]:
        progress[0], progress[1], progress[2], progress[3], progress[4] = n, end, least, stamp, used
        return 2
    for k in range(hubs):
        if end + hubs > len(below):
            return -1
        order[n] = hub[k]
        for m in range(k + 1, hubs):
            below[end] = hub[m]
            end += 1
        n += 1
        begin[n] = end
    return 0


@njit
def rows_below(begin: Indices, below: Indices, pointer: Indices, column: Indices) -> None:
    """Write where the rows of the lower factor have entries, in ascending order, from where its columns have them."""
    states = len(begin) - 1
    for k in range(begin[states]):
        pointer[below[k] + 1] += np.uint32(1)
    for s in range(states):
        pointer[s + 1] += pointer[s]
    place = pointer.copy()
    for s in range(states):
        for k in range(begin[s], begin[s + 1]):
            column[place[below[k]]] = s
            place[below[k]] += np.uint32(1)


@njit
def factorise(
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    stay: Array,
    order: Indices,
    lower_at: Indices,
    lower_column: Indices,
    upper_at: Indices,
    upper_column: Indices,
    rank: Indices,
    lower: Array,
    upper: Array,
    diagonal: Array,
    x: Array,
) -> None:
    """Write the factors of I − γP, row by row: entries of `lower`, of `upper` and of its diagonal, by their rank.

    Right sides `x` (S, n) become L⁻¹x, for which the lower factor need not be kept: if `lower` is empty it is not.
    """
    row, columns = np.zeros(len(order)), x.shape[1]
    for i in range(np.uint64(len(order))):
        s = order[i]
        row[i] = 1.0 - stay[s]
        for k in range(start[s], stop[s]):
            row[rank[target[k]]] -= weight[k]
        for k in range(lower_at[i], lower_at[i + np.uint64(1)]):
            j = np.uint64(lower_column[k])
            share = 0.0
            if row[j] != 0.0:
                share = row[j] / diagonal[j]
                row[j] = 0.0
                for m in range(upper_at[j], upper_at[j + np.uint64(1)]):
                    row[upper_column[m]] -= share * upper[m]
                for c in range(columns):
                    x[s, c] -= share * x[order[j], c]
            if len(lower):
                lower[k] = share
        diagonal[i] = row[i]
        row[i] = 0.0
        for k in range(upper_at[i], upper_at[i + np.uint64(1)]):
            upper[k] = row[upper_column[k]]
            row[upper_column[k]] = 0.0


@njit
def substitute(
    order: Indices, upper_at: Indices, upper_column: Indices, upper: Array, diagonal: Array, x: Array
) -> None:
    """Turn right sides (S, n) into U⁻¹ of them."""
    states, columns = x.shape
    for i in range(states - 1, -1, -1):
        s = order[i]
        for k in range(upper_at[i], upper_at[i + 1]):
            t = order[upper_column[k]]
            for c in range(columns):
                x[s, c] -= upper[k] * x[t, c]
        for c in range(columns):
            x[s, c] /= diagonal[i]


@njit
def substitute_transposed(
    order: Indices,
    lower_at: Indices,
    lower_column: Indices,
    upper_at: Indices,
    upper_column: Indices,
    lower: Array,
    upper: Array,
    diagonal: Array,
    x: Array,
) -> None:
    """Turn right sides (S, n) into the solutions of the transposed system."""
    states, columns = x.shape
    for i in range(states):
        s = order[i]
        for c in range(columns):
            x[s, c] /= diagonal[i]
        for k in range(upper_at[i], upper_at[i + 1]):
            t = order[upper_column[k]]
            for c in range(columns):
                x[t, c] -= upper[k] * x[s, c]
    for i in range(states - 1, -1, -1):
        s = order[i]
        for k in range(lower_at[i], lower_at[i + 1]):
            t = order[lower_column[k]]
            for c in range(columns):
                x[t, c] -= lower[k] * x[s, c]
