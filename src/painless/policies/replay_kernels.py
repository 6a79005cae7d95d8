"""Coin betting folded over stored weights, compiled. The reference is `CoinBetting.update`."""

from __future__ import annotations

import math

import numpy as np

from painless.common.arrays import Array
from painless.common.compiling import inner, njit
from painless.features.base import Indices
from painless.learners.coin_betting import FLOOR, LOG_FLOOR

EXP_LOG_FLOOR = np.exp(LOG_FLOOR)


@njit
def replay(
    active: Indices,
    history: Array,
    updates: int,
    decision: Array,
    bet: Array,
    gain_sum: Array,
    wealth: Array,
    normaliser: float,
    entropy: float,
    first: float,
    gain: Array,
) -> None:
    """Fold the first `updates` weights (d, ·) over every cell (M,), in place; the prior is uniform.

    The bettors are (M, A) each. `first` is the denominator of the first update; `gain` (A,) is scratch space.
    """
    cells, actions, count = active.shape
    for n in range(cells):
        for t in range(updates):
            mean = 0.0
            for a in range(actions):
                total = 0.0
                for k in range(count):
                    total += history[active[n, a, k], t]
                if entropy > 0:
                    share = decision[n, a]
                    total -= entropy * math.log(share if share > EXP_LOG_FLOOR else EXP_LOG_FLOOR)
                gain[a] = total
                mean += total * decision[n, a]
            total = 0.0
            for a in range(actions):
                advantage = (gain[a] - mean) / normaliser
                advantage = 0.0 if abs(advantage) <= FLOOR else advantage
                advantage = advantage if advantage > -1.0 else -1.0
                advantage = advantage if advantage < 1.0 else 1.0
                if bet[n, a] <= 0:
                    advantage = advantage if advantage > 0.0 else 0.0
                gain_sum[n, a] += advantage
                wealth[n, a] += advantage * bet[n, a]
                stake = gain_sum[n, a] / (first + t) * wealth[n, a]
                bet[n, a] = stake
                gain[a] = stake if stake > 0.0 else 0.0
                total += gain[a]
            for a in range(actions):
                decision[n, a] = gain[a] / total if total > 0 else 1.0 / actions


@inner
def place_of(keys: Indices, cell: int) -> np.int64:
    """Return where a cell is in an open-addressing table, or where it would be: Fibonacci hashing."""
    mask = len(keys) - 1
    mixed = (np.uint64(cell) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)
    place = np.int64(mixed & np.uint64(mask))
    while keys[place] != -1 and keys[place] != cell:
        place = (place + 1) & mask
    return place


@njit
def find(keys: Indices, slots: Indices, cells: Indices, first: int, result: Indices) -> None:
    """Write the slot of each cell (n,) in the table to `result`, −1 where it has none.

    With `first` ≥ 0, a cell that has none gets the slot `first` + n.
    """
    for n in range(len(cells)):
        place = place_of(keys, cells[n])
        if keys[place] == -1 and first >= 0:
            keys[place] = cells[n]
            slots[place] = first + n
        result[n] = slots[place] if keys[place] != -1 else -1
