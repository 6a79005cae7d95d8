"""Numba kernels of sweeps over a model given as functions: its rows are computed, never stored.

A sweep reads `old` and writes `new`. An even sweep (Jacobi) reads nothing else. Another (Gauss–Seidel) goes up or down through a range of
states, and takes from `new` what it has written itself; other ranges count with `old`, so that the order in which they are done does not
matter. A self-loop counts there as if it were taken until it is left.

Rows of arrays are those of a block: `place` says which state the first is, how many states follow, and which others stand behind them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.compiling import specialised
from painless.problem._callback_kernels import row

Actions = NDArray[np.unsignedinteger]
# How the model's utilities follow from the function's: which of them, sign, origin, 1/span and extra of a `Scale`.
Gains = tuple[NDArray[np.intp], Array, Array, Array, Array]
# Of a block: its first state, its number of states, and the states behind these, sorted.
Place = tuple[int, int, NDArray[np.int64]]
MODELS = 64  # whose compiled sweeps are kept


@specialised
def gain(u: float, origin: float, factor: float, extra: float) -> float:
    """Return a utility of the model from that of the function, with its sign."""
    return (u - origin) * factor + extra * abs(u)


@specialised
def fresh(s: int, begin: int, end: int, ascending: bool, even: bool) -> tuple[int, int]:
    """Return the range of states that a sweep has written when it comes to state s."""
    if even:
        return s, s
    return (begin, s) if ascending else (s + 1, end)


@specialised
def to_rows(
    target: NDArray[np.int64], count: int, origin: int, owned: int, fringe: NDArray[np.int64]
) -> None:
    """Replace states by their rows in a block."""
    for k in range(count):
        t = target[k] - origin
        target[k] = t if 0 <= t < owned else owned + np.searchsorted(fringe, target[k])


@specialised
def outside(
    successors: Any,
    actions: int,
    room: int,
    origin: int,
    owned: int,
    found: NDArray[np.int64],
    begin: int,
    end: int,
) -> int:
    """Write the successors of begin..end − 1 that are not in their block to `found`; return how many there are."""
    target, probability = np.empty(room, np.int64), np.empty(room)
    n = 0
    for s in range(begin, end):
        for a in range(actions):
            for k in range(successors(origin + s, a, target, probability)):
                if not 0 <= target[k] - origin < owned:
                    found[n] = target[k]
                    n += 1
    return n


class SweepKernels(NamedTuple):
    """The two sweeps over one model."""

    follow: Any
    improve: Any


@lru_cache(MODELS)
def sweep_kernels(successors: Any, write: Any) -> SweepKernels:
    """Return sweeps over the model with these functions, compiled with them.

    Arrays are neither passed on nor unpacked within the loops: counting references would take longer than the rest.
    """
    import numba

    def follow(
        gains: Gains,
        room: int,
        raw: int,
        discount: float,
        place: Place,
        ascending: bool,
        even: bool,
        choice: Actions,
        old: Array,
        new: Array,
        low: Array,
        high: Array,
        begin: int,
        end: int,
    ) -> None:
        """Sweep V = u + γPV of a policy over begin..end − 1, for all utilities at once; `old` and `new` are (S, J).

        `low` and `high` (J,) receive the least and the largest change.
        """
        target, probability, utility = np.empty(room, np.int64), np.empty(room), np.empty(raw)
        which, sign, base, factor, extra = gains
        origin, owned, fringe = place
        partial = origin > 0 or len(fringe) > 0
        utilities = old.shape[1]
        low[:], high[:] = np.inf, -np.inf
        for i in range(end - begin):
            s = begin + i if ascending else end - 1 - i
            first, last = fresh(s, begin, end, ascending, even)
            a = int(choice[s])
            count = row(successors, origin + s, a, target, probability)
            if partial:
                to_rows(target, count, origin, owned, fringe)
            write(origin + s, a, utility)
            for j in range(0, utilities, 2):
                h = min(j + 1, utilities - 1)  # the other of two; the last, if alone, is done twice
                total, other, stay = 0.0, 0.0, 0.0
                for k in range(count):
                    t = target[k]
                    if t == s:
                        stay += probability[k]
                    elif first <= t < last:
                        total += probability[k] * new[t, j]
                        other += probability[k] * new[t, h]
                    else:
                        total += probability[k] * old[t, j]
                        other += probability[k] * old[t, h]
                total = discount * total + gain(sign[j] * utility[which[j]], base[j], factor[j], extra[j])
                other = discount * other + gain(sign[h] * utility[which[h]], base[h], factor[h], extra[h])
                if even:
                    total += discount * stay * old[s, j]
                    other += discount * stay * old[s, h]
                elif stay > 0:
                    total /= 1.0 - discount * stay
                    other /= 1.0 - discount * stay
                change, second = total - old[s, j], other - old[s, h]
                new[s, j], new[s, h] = total, other
                if change < low[j]:
                    low[j] = change
                if change > high[j]:
                    high[j] = change
                if second < low[h]:
                    low[h] = second
                if second > high[h]:
                    high[h] = second

    def improve(
        gains: Gains,
        room: int,
        raw: int,
        discount: float,
        place: Place,
        ascending: bool,
        even: bool,
        choice: Actions,
        actions: int,
        weight: Array,
        margin: float,
        old: Array,
        new: Array,
        spread: Array,
        begin: int,
        end: int,
    ) -> int:
        """Sweep the Bellman equation of Σ_j w_j u_j over begin..end − 1; return how many states changed their action.

        `old` and `new` (S,) are weighted values, and `spread` (2,) receives the least and the largest change. A state changes its
        action only for a gain above `margin`.
        """
        target, probability, utility = np.empty(room, np.int64), np.empty(room), np.empty(raw)
        which, sign, base, factor, extra = gains
        origin, owned, fringe = place
        partial = origin > 0 or len(fringe) > 0
        least, most, changed = np.inf, -np.inf, 0
        for i in range(end - begin):
            s = begin + i if ascending else end - 1 - i
            first, last = fresh(s, begin, end, ascending, even)
            current = int(choice[s])
            best, here, at = -np.inf, -np.inf, current
            for a in range(actions):
                count = row(successors, origin + s, a, target, probability)
                if count == 0:
                    continue
                if partial:
                    to_rows(target, count, origin, owned, fringe)
                write(origin + s, a, utility)
                total, stay = 0.0, 0.0
                for k in range(count):
                    t = target[k]
                    if t == s:
                        stay += probability[k]
                    elif first <= t < last:
                        total += probability[k] * new[t]
                    else:
                        total += probability[k] * old[t]
                q = discount * total
                for j in range(len(weight)):
                    q += weight[j] * gain(sign[j] * utility[which[j]], base[j], factor[j], extra[j])
                if even:
                    q += discount * stay * old[s]
                elif stay > 0:
                    q /= 1.0 - discount * stay
                if a == current:
                    here = q
                if q > best:
                    best, at = q, a
            if best > here + margin:
                choice[s] = at
                changed += 1
            new[s] = best
            least, most = min(least, best - old[s]), max(most, best - old[s])
        spread[0], spread[1] = least, most
        return changed

    decorate: Any = numba.njit(nogil=True, error_model="numpy")
    return SweepKernels(decorate(follow), decorate(improve))
