"""Rows of nodes that are single states, and the pairs s·A + a of a model that they are, compiled. `reduction` says what they are for.

Indices are unsigned, so that no kernel tests them for a negative sign. A row that stops is pair −1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask
from painless.common.compiling import njit

Indices = NDArray[np.uint32]
Pairs = NDArray[np.int64]


@njit
def rows_of_states(
    pointer: Indices,
    successor: Indices,
    probability: Array,
    pairs: Mask,
    stops: Mask,
    order: Indices,
    number: Indices,
) -> tuple[Indices, Pairs, Indices, Indices, Array]:
    """Return the rows of some states in an `order` (N,): where those of each begin, their pairs s·A + a, and their successors by the `number` (S,) of the states.

    Its rows are `pairs` (S·A,) of its own, after one without successors, as pair −1, if it `stops`, (S,).
    """
    actions, one = np.uint64(len(pairs) // len(stops)), np.uint64(1)
    rows, entries = 0, 0
    for i in range(np.uint64(len(order))):
        s = np.uint64(order[i])
        rows += stops[s]
        for old in range(s * actions, (s + one) * actions):
            if pairs[old]:
                rows += 1
                entries += pointer[old + one] - pointer[old]
    first, row = np.empty(len(order) + 1, np.uint32), np.empty(rows, np.int64)
    begin = np.empty(rows + 1, np.uint32)
    target, chance = np.empty(entries, np.uint32), np.empty(entries)
    n, k = np.uint64(0), np.uint64(0)
    begin[0] = 0
    for i in range(np.uint64(len(order))):
        s = np.uint64(order[i])
        first[i] = n
        if stops[s]:
            row[n] = -1
            n += one
            begin[n] = k
        for old in range(s * actions, (s + one) * actions):
            if pairs[old]:
                row[n] = old
                for m in range(np.uint64(pointer[old]), np.uint64(pointer[old + one])):
                    target[k] = number[successor[m]]
                    chance[k] = probability[m]
                    k += one
                n += one
                begin[n] = k
    first[len(order)] = n
    return first, row, begin, target, chance


@njit
def utilities_of_rows(
    utilities: tuple[Array, Array, NDArray[np.intp], Array, Array], pair: Pairs, found: Array
) -> None:
    """Write the utilities (J, n) of rows by their pairs (n,), from those of `PairUtilities`; stopping is worth 0."""
    reward, constraint_reward, place, origin, span = utilities
    for j in range(np.uint64(len(place))):
        stored = constraint_reward[place[j] - 1] if place[j] > 0 else reward
        for row in range(np.uint64(len(pair))):
            found[j, row] = (stored[np.uint64(pair[row])] - origin[j]) / span[j] if pair[row] >= 0 else 0.0


@njit
def actions_of_rows(choice: Any, pair: Pairs, state: Indices, rests: Mask, found: Any) -> None:
    """Write the actions of the states (N,) of nodes that take the rows `choice` (N,), of all states (S,); of one that stops, the first with which it rests, (S, A)."""
    actions = np.uint64(rests.shape[1])
    for n in range(np.uint64(len(choice))):
        s, taken = np.uint64(state[n]), pair[np.uint64(choice[n])]
        if taken >= 0:
            found[s] = np.uint64(taken) - s * actions
            continue
        found[s] = 0
        for a in range(actions):
            if rests[s, a]:
                found[s] = a
                break


@njit
def rows_of_actions(
    first: Indices, pair: Pairs, state: Indices, policy: Any, actions: int, choice: Any
) -> None:
    """Write the rows (N,) that nodes take whose states (N,) do what a policy (S,) does; of one that may stop, it is the row with which it stops, and −1 where there is none."""
    for n in range(np.uint64(len(choice))):
        s = np.uint64(state[n])
        taken, choice[n] = s * np.uint64(actions) + np.uint64(policy[s]), -1
        for row in range(np.uint64(first[n]), np.uint64(first[n + np.uint64(1)])):
            if pair[row] < 0 or np.uint64(pair[row]) == taken:
                choice[n] = row
                break


@njit
def write_table(policies: Any, shares: Array, node: NDArray[np.intp], table: Array) -> None:
    """Write the table (S, A) that takes what each policy (m, S) does with its share in each node, (m, N); the first one alone in states that are no node, of which `node` (S,) is −1."""
    for s in range(np.uint64(len(table))):
        table[s, :] = 0.0
        if node[s] < 0:
            table[s, np.uint64(policies[0, s])] = 1.0
            continue
        whole, n = 0.0, np.uint64(node[s])
        for k in range(np.uint64(len(policies))):
            table[s, np.uint64(policies[k, s])] += shares[k, n]
        for a in range(np.uint64(table.shape[1])):
            whole += table[s, a]
        for a in range(np.uint64(table.shape[1])):
            table[s, a] /= whole
