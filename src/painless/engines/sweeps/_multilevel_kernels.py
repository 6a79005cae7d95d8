"""Solving a chain on several levels, compiled. The equations are in `multilevel`.

A level is a system D x − W x = b with W ≥ 0 and no entry of W on the diagonal, in sparse rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.compiling import njit

Indices = NDArray[np.uint32]


@njit
def pair_up(
    start: Indices, stop: Indices, target: Indices, weight: Array, least: float, group: Indices, size: Indices
) -> int:
    """Put every state into a group with the one that it leads to most; return the number of groups.

    One that is left alone joins the group of the state that it leads to most, unless that has three already. Two whose
    weight is below `least` of the largest do not make a pair. `size` (S,) is scratch space.
    """
    states, count = len(start), np.uint32(0)
    none = np.uint32(2**32 - 1)
    for i in range(states):
        group[i] = none
    for i in range(states):
        if group[i] != none:
            continue
        largest, most, partner, at = 0.0, 0.0, none, none
        for k in range(start[i], stop[i]):
            if weight[k] > largest:
                largest, at = weight[k], target[k]
            if weight[k] > most and group[target[k]] == none:
                most, partner = weight[k], target[k]
        if partner != none and most >= least * largest:
            group[i] = group[partner] = count
            size[count] = 2
        elif at != none and group[at] != none and size[group[at]] < 3:
            group[i] = group[at]
            size[group[at]] += np.uint32(1)
            continue
        else:
            group[i] = count
            size[count] = 1
        count += np.uint32(1)
    return int(count)


@njit
def coarsen(
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    diagonal: Array,
    group: Indices,
    member: NDArray[np.intp],
    first: NDArray[np.intp],
    groups: tuple[Indices, Indices, Array, Array],
    mark: NDArray[np.intp],
) -> int:
    """Write the system of the groups, the sums of the entries of their members; return how many entries it has.

    The members of group g are member[first[g]..first[g + 1] − 1]; `mark` holds −1 for each group at first.
    """
    begin, to, mass, own = groups
    at = 0
    for g in range(len(own)):
        row, total = at, 0.0
        for q in range(first[g], first[g + 1]):
            i = member[q]
            total += diagonal[i]
            for k in range(start[i], stop[i]):
                h = group[target[k]]
                if h == g:
                    total -= weight[k]
                elif mark[h] >= row:
                    mass[mark[h]] += weight[k]
                else:
                    mark[h] = at
                    to[at], mass[at] = h, weight[k]
                    at += 1
        begin[g], own[g] = row, total
    begin[len(own)] = at
    return at


@njit
def count_successors(
    first: Indices, pointer: Indices, successor: Indices, mark: Indices, begin: Indices
) -> None:
    """Write where the successors of each state begin, (S + 1,), those of all its pairs together and each once.

    `mark` holds the number of states for each state at first.
    """
    begin[0] = 0
    for s in range(len(first) - 1):
        own = np.uint32(s)
        count = 0
        for k in range(pointer[first[s]], pointer[first[s + 1]]):
            t = successor[k]
            if t != own and mark[t] != own:
                mark[t] = own
                count += 1
        begin[s + 1] = begin[s] + count


@njit
def average_rows(
    first: Indices,
    pointer: Indices,
    successor: Indices,
    probability: Array,
    discount: float,
    begin: Indices,
    level: tuple[Indices, Array, Array],
    mark: NDArray[np.intp],
) -> None:
    """Write I − γP of the policy that takes all pairs of a state equally often: targets, weights, and the diagonal.

    `mark` holds −1 for each state at first.
    """
    to, mass, diagonal = level
    for s in range(len(first) - 1):
        row, stay = np.intp(begin[s]), 0.0
        at = row
        share = discount / (first[s + 1] - first[s])
        for k in range(pointer[first[s]], pointer[first[s + 1]]):
            t = successor[k]
            if t == s:
                stay += share * probability[k]
            elif mark[t] >= row:
                mass[mark[t]] += share * probability[k]
            else:
                mark[t] = at
                to[at], mass[at] = t, share * probability[k]
                at += 1
        diagonal[s] = 1.0 - stay


@njit
def sweep(
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    diagonal: Array,
    order: Indices,
    right: Array,
    x: Array,
    forward: bool,
) -> None:
    """One Gauss–Seidel sweep of D x = W x + b in an order, or backwards, in place.

    Each state waits for the one before it, so that the division is done beside that.
    """
    states = len(order)
    for n in range(states):
        i = np.uint64(order[n if forward else states - 1 - n])
        scale = 1.0 / diagonal[i]
        total = scale * right[i]
        for k in range(start[i], stop[i]):
            total += (scale * weight[k]) * x[target[k]]
        x[i] = total


@njit
def residual(
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    diagonal: Array,
    right: Array,
    x: Array,
    left: Array,
) -> None:
    """Write b − D x + W x."""
    for i in range(np.uint64(len(diagonal))):
        total = right[i] - diagonal[i] * x[i]
        for k in range(start[i], stop[i]):
            total += weight[k] * x[target[k]]
        left[i] = total


@njit
def restrict(
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    diagonal: Array,
    right: Array,
    x: Array,
    group: Indices,
    mass: Array,
    sums: Array,
) -> None:
    """Write the sum of b − D x + W x over the members of each group, times their mass; 1 each if `mass` is empty."""
    for g in range(len(sums)):
        sums[g] = 0.0
    for i in range(np.uint64(len(diagonal))):
        total = right[i] - diagonal[i] * x[i]
        for k in range(start[i], stop[i]):
            total += weight[k] * x[target[k]]
        sums[group[i]] += total * mass[i] if len(mass) else total


@njit
def prolong(x: Array, group: Indices, mass: Array, correction: Array) -> None:
    """Add the correction of its group to each state, times its mass; 1 each if `mass` is empty."""
    for i in range(np.uint64(len(x))):
        x[i] += mass[i] * correction[group[i]] if len(mass) else correction[group[i]]


@njit
def coarse_cycle(
    begin: NDArray[np.intp],
    start: Indices,
    stop: Indices,
    target: Indices,
    weight: Array,
    diagonal: Array,
    order: Indices,
    group: Indices,
    inverse: Array,
    right: Array,
    x: Array,
) -> None:
    """One cycle over levels that lie behind each other, level n at begin[n]..begin[n + 1] − 1: the first has a right side and is improved in place.

    Each is gone through, the next one twice, and each gone through backwards. The last one is solved by its inverse, given by columns, if that is not empty.
    """
    last, depth, down = len(begin) - 2, 0, True
    turns, even = np.zeros(len(begin), np.intp), np.empty(0)
    while True:
        low, high = begin[depth], begin[depth + 1]
        if down and depth == last and len(inverse):
            x[low:high] = 0.0
            for k in range(high - low):
                for i in range(high - low):
                    x[low + i] += inverse[k, i] * right[low + k]
            down = False
        elif down:
            rows = (start[low:high], stop[low:high], target, weight, diagonal[low:high])
            sweep(*rows, order[low:high], right[low:high], x[low:high], True)
            if depth == last:
                sweep(*rows, order[low:high], right[low:high], x[low:high], False)
                down = False
            else:
                end = begin[depth + 2]
                restrict(*rows, right[low:high], x[low:high], group[low:high], even, right[high:end])
                x[high:end] = 0.0
                turns[depth] = 0
                depth += 1
        elif depth == 0:
            break
        else:
            turns[depth - 1] += 1
            if turns[depth - 1] < 2 and depth < last:
                down = True
                continue
            first = begin[depth - 1]
            prolong(x[first:low], group[first:low], even, x[low:high])
            rows = (start[first:low], stop[first:low], target, weight, diagonal[first:low])
            sweep(*rows, order[first:low], right[first:low], x[first:low], False)
            depth -= 1


@njit
def scale(start: Indices, stop: Indices, weight: Array, mass: Array) -> None:
    """Multiply every row by its mass, in place."""
    for i in range(np.uint64(len(mass))):
        for k in range(start[i], stop[i]):
            weight[k] *= mass[i]
