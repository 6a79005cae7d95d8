"""The tile coding of a batch of states, compiled. The equations and their reference are in `tile_coding`."""

from __future__ import annotations

import numpy as np

from painless.arrays import Array
from painless.compiling import njit
from painless.features.base import Indices
from painless.features.tile_coding import TileGrid


@njit
def slot(code: int, slots: int) -> np.int64:
    """Hash a number into 0..slots − 1."""
    bits = np.uint64(code) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    upper = (bits ^ (bits >> np.uint64(31))) >> np.uint64(32)
    return np.int64((upper * np.uint64(slots)) >> np.uint64(32))


@njit
def unit(x: float, lower: float, upper: float, units: int) -> np.int64:
    """Return q of one coordinate."""
    inside = min(max(x, lower), upper)
    return np.int64(min((inside - lower) * units / (upper - lower), units - 1))


@njit
def active(grid: TileGrid, states: Array) -> Indices:
    """Return the active indices of states (n, D): (n, A, m)."""
    lower, upper, units, offset, radix = grid.lower, grid.upper, grid.units, grid.offset, grid.radix
    tilings, dimensions, actions, slots = len(offset), len(radix), grid.actions, grid.slots
    result = np.empty((len(states), actions, tilings), np.int64)
    whole = np.empty(dimensions, np.int64)
    part = np.empty(dimensions, np.int64)
    for n in range(len(states)):
        for i in range(dimensions):
            q = unit(states[n, i], lower[i], upper[i], units[i])
            whole[i] = q // tilings
            part[i] = q - whole[i] * tilings
        for k in range(tilings):
            code = k
            for i in range(dimensions):
                carry = part[i] + offset[k, i] >= tilings
                code = code * radix[i] + whole[i] + carry
            if slots > 0:
                code = k * slots + int(slot(code, slots))
            for a in range(actions):
                result[n, a, k] = code * actions + a
    return result


@njit
def cells(grid: TileGrid, states: Array) -> Indices:
    """Return the ids of the cells of states (n, D): (n,)."""
    lower, upper, units, common = grid.lower, grid.upper, grid.units, grid.common
    result = np.empty(len(states), np.int64)
    for n in range(len(states)):
        number = 0
        for i in range(len(common)):
            digit = unit(states[n, i], lower[i], upper[i], units[i]) // common[i]
            number = number * (units[i] // common[i]) + digit
        result[n] = number
    return result
