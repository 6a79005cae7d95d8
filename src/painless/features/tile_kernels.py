"""The tile coding of a batch of states, compiled. The equations and their reference are in `tile_coding`."""

from __future__ import annotations

import numpy as np

from painless.common.arrays import Array
from painless.common.compiling import inner, njit
from painless.features.base import Indices
from painless.features.tile_coding import TileGrid


@inner
def locate(
    lower: Array,
    upper: Array,
    units: Indices,
    tilings: int,
    states: Array,
    n: int,
    whole: Indices,
    part: Indices,
) -> None:
    """Write q of state n by its whole tiles and the rest, (D,) each."""
    for i in range(len(whole)):
        inside = states[n, i]
        inside = inside if inside > lower[i] else lower[i]
        inside = inside if inside < upper[i] else upper[i]
        q = np.int64((inside - lower[i]) * units[i] / (upper[i] - lower[i]))
        if q >= units[i]:
            q = units[i] - 1
        whole[i] = q // tilings
        part[i] = q - whole[i] * tilings


@inner
def tile(offset: Indices, radix: Indices, slots: int, whole: Indices, part: Indices, k: int) -> np.int64:
    """Return the number of the tile in tiling k."""
    code = np.int64(k)
    for i in range(len(whole)):
        code = code * radix[i] + whole[i] + (part[i] + offset[k, i] >= len(offset))
    if slots == 0:
        return code
    bits = np.uint64(code) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    upper = (bits ^ (bits >> np.uint64(31))) >> np.uint64(32)
    return k * slots + np.int64((upper * np.uint64(slots)) >> np.uint64(32))


@inner
def cell(units: Indices, common: Indices, tilings: int, whole: Indices, part: Indices) -> int:
    """Return the id of the cell."""
    number = 0
    for i in range(len(whole)):
        digit = (whole[i] * tilings + part[i]) // common[i]
        number = number * (units[i] // common[i]) + digit
    return number


@njit
def write_tiles(
    lower: Array,
    upper: Array,
    units: Indices,
    offset: Indices,
    radix: Indices,
    common: Indices,
    actions: int,
    slots: int,
    states: Array,
    whole: Indices,
    part: Indices,
    cells: Indices,
    active: Indices,
) -> None:
    """Write the ids of the cells (n,) of states (n, D), or their active indices (n, A, m): whichever there is room for."""
    tilings = len(offset)
    for n in range(len(states)):
        locate(lower, upper, units, tilings, states, n, whole, part)
        if len(cells) > 0:
            cells[n] = cell(units, common, tilings, whole, part)
        if len(active) > 0:
            for k in range(tilings):
                first = tile(offset, radix, slots, whole, part, k) * actions
                for a in range(actions):
                    active[n, a, k] = first + a


def scratch(grid: TileGrid) -> tuple[Indices, Indices]:
    """Return room for a located state."""
    return np.empty(len(grid.lower), np.int64), np.empty(len(grid.lower), np.int64)


def active(grid: TileGrid, states: Array) -> Indices:
    """Return the active indices of states (n, D): (n, A, m)."""
    result = np.empty((len(states), grid.actions, len(grid.offset)), np.int64)
    write_tiles(*grid, states, *scratch(grid), np.empty(0, np.int64), result)
    return result


def cells(grid: TileGrid, states: Array) -> Indices:
    """Return the ids of the cells of states (n, D): (n,)."""
    result = np.empty(len(states), np.int64)
    write_tiles(*grid, states, *scratch(grid), result, np.empty((0, 0, 0), np.int64))
    return result
