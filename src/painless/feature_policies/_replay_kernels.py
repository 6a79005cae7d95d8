"""Coin betting folded over stored weights, compiled. The reference is `CoinBetting.update`."""

from __future__ import annotations

import numpy as np

from painless.arrays import Array
from painless.compiling import njit
from painless.features.base import Indices
from painless.learners.coin_betting import FLOOR, LOG_FLOOR

EXP_LOG_FLOOR = np.exp(LOG_FLOOR)


@njit
def bet_once(
    gain: Array,
    decision: Array,
    bet: Array,
    gain_sum: Array,
    wealth: Array,
    normaliser: float,
    entropy: float,
    denominator: float,
) -> None:
    """Pay out and place the bets of one cell, in place; the prior is uniform. All arrays are (A,)."""
    actions = len(gain)
    if entropy > 0:
        for a in range(actions):
            gain[a] -= entropy * np.log(max(decision[a], EXP_LOG_FLOOR))
    inner = 0.0
    for a in range(actions):
        inner += gain[a] * decision[a]
    total = 0.0
    for a in range(actions):
        advantage = (gain[a] - inner) / normaliser
        if abs(advantage) <= FLOOR:
            advantage = 0.0
        advantage = min(max(advantage, -1.0), 1.0)
        if bet[a] <= 0:
            advantage = max(advantage, 0.0)
        gain_sum[a] += advantage
        wealth[a] += advantage * bet[a]
        bet[a] = gain_sum[a] / denominator * wealth[a]
        total += max(bet[a], 0.0)
    for a in range(actions):
        decision[a] = max(bet[a], 0.0) / total if total > 0 else 1.0 / actions


@njit
def advance(
    active: Indices,
    decision: Array,
    bet: Array,
    gain_sum: Array,
    wealth: Array,
    weight: Array,
    normaliser: float,
    entropy: float,
    denominator: float,
) -> None:
    """Update every cell (M,) by one weight (d,), in place."""
    cells, actions, count = active.shape
    gain = np.empty(actions)
    for n in range(cells):
        for a in range(actions):
            total = 0.0
            for k in range(count):
                total += weight[active[n, a, k]]
            gain[a] = total
        bet_once(gain, decision[n], bet[n], gain_sum[n], wealth[n], normaliser, entropy, denominator)


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
) -> None:
    """Start every cell (M,) and fold the first `updates` weights (d, ·) over it; `first` is the denominator at 1."""
    cells, actions, count = active.shape
    gains = np.empty((actions, updates))
    gain = np.empty(actions)
    for n in range(cells):
        for a in range(actions):
            gains[a] = 0.0
            for k in range(count):
                row = history[active[n, a, k]]
                for t in range(updates):
                    gains[a, t] += row[t]
            decision[n, a] = 1.0 / actions
            bet[n, a] = gain_sum[n, a] = 0.0
            wealth[n, a] = 1.0
        for t in range(updates):
            for a in range(actions):
                gain[a] = gains[a, t]
            bet_once(gain, decision[n], bet[n], gain_sum[n], wealth[n], normaliser, entropy, first + t)


@njit
def find(keys: Indices, slots: Indices, cells: Indices) -> Indices:
    """Return the slot of each cell (n,) in an open-addressing table, −1 where it has none."""
    mask = len(keys) - 1
    result = np.empty(len(cells), np.int64)
    for n in range(len(cells)):
        place = place_of(cells[n], mask)
        while keys[place] != -1 and keys[place] != cells[n]:
            place = (place + 1) & mask
        result[n] = slots[place] if keys[place] != -1 else -1
    return result


@njit
def insert(keys: Indices, slots: Indices, cells: Indices, first: int) -> None:
    """Give new cells (n,) the slots `first`, `first` + 1, …; none of them is in the table yet."""
    mask = len(keys) - 1
    for n in range(len(cells)):
        place = place_of(cells[n], mask)
        while keys[place] != -1:
            place = (place + 1) & mask
        keys[place] = cells[n]
        slots[place] = first + n


@njit
def place_of(cell: int, mask: int) -> np.int64:
    """Return where the search for a cell begins: Fibonacci hashing."""
    mixed = (np.uint64(cell) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)
    return np.int64(mixed & np.uint64(mask))
