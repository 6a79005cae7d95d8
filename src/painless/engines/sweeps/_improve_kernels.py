"""Improving a policy of a swept model, compiled. The equations are in `pricing` and `active_states`.

Indices are unsigned, so that no kernel tests them for a negative sign. Kernels hold no lock: several threads
may work on a range of states each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.compiling import njit

Indices = NDArray[np.uint32]


@njit
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


@njit
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


@njit
def sources(
    first: Indices, pointer: Indices, successor: Indices, last: Indices, room: Indices, source: Indices
) -> None:
    """Write to source[room[t]] on, for every state t, the states from which some pair may lead to it, each once.

    `room` moves on by one with each of them, and without room in `source` that is all. `last` (S,) holds no state at first.
    """
    for s in range(np.uint32(len(first) - 1)):
        for k in range(pointer[first[s]], pointer[first[s + np.uint64(1)]]):
            t = successor[k]
            if t != s and last[t] != s:
                last[t] = s
                if len(source) > 0:
                    source[room[t]] = s
                room[t] += np.uint32(1)


@njit
def first_gains(
    first: Indices,
    pointer: Indices,
    successor: Indices,
    probability: Array,
    reward: Array,
    missed: Array,
    discount: float,
    value: Array,
    visits: Array,
    price: Array,
    gain: Array,
) -> None:
    """Write what the missed utilities gain, Σ_s d(s) A_m(s, a), if every state takes its best pair for A_r + λ·A_m, for each price λ.

    `value` (S, 2) has those of a policy, for the reward and what it misses; `visits` are its own.
    """
    gain[:] = 0.0
    best, found = np.empty_like(price), np.empty_like(price)
    for s in range(np.uint64(len(visits))):
        if visits[s] <= 0.0:
            continue
        best[:], found[:] = -np.inf, 0.0
        for pair in range(first[s], first[s + np.uint64(1)]):
            own, other = 0.0, 0.0
            for k in range(pointer[pair], pointer[pair + np.uint64(1)]):
                own += probability[k] * value[successor[k], 0]
                other += probability[k] * value[successor[k], 1]
            own = reward[pair] + discount * own - value[s, 0]
            other = missed[pair] + discount * other - value[s, 1]
            for n in range(len(price)):
                q = own + price[n] * other
                if q > best[n]:
                    best[n], found[n] = q, other
        for n in range(len(price)):
            gain[n] += visits[s] * found[n]


@njit
def exchanges(
    first: Indices,
    pointer: Indices,
    successor: Indices,
    probability: Array,
    reward: Array,
    held: Array,
    discount: float,
    value: Array,
    choice: Indices,
    price: float,
    side: float,
    at: Array,
    gain: Array,
    exchanged: Indices,
) -> None:
    """Write which pair each state takes next as the price of the held utility rises (`side` 1) or falls (−1), at which price, and what it gains of that utility; ∞ if none.

    `value` (S, 2) has those of a policy that is the best at `price`.
    """
    for s in range(np.uint64(len(choice))):
        at[s], gain[s], exchanged[s] = np.inf, 0.0, choice[s]
        own, other = 0.0, 0.0
        for turn in range(2):
            for pair in range(first[s], first[s + np.uint64(1)]):
                if (pair == choice[s]) != (turn == 0):
                    continue
                reached, kept = 0.0, 0.0
                for k in range(pointer[pair], pointer[pair + np.uint64(1)]):
                    reached += probability[k] * value[successor[k], 0]
                    kept += probability[k] * value[successor[k], 1]
                reached, kept = reward[pair] + discount * reached, held[pair] + discount * kept
                if turn == 0:
                    own, other = reached, kept
                elif side * (kept - other) > 0.0:
                    tied = side * max(side * (own - reached) / (kept - other), side * price)
                    if side * tied < side * at[s] or at[s] == np.inf:
                        at[s], gain[s], exchanged[s] = tied, kept - other, pair
