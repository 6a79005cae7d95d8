"""Tile coding: several displaced grids over a box, one feature for each tile (Sutton & Barto 2018, §9.5.4).

Each of m tilings cuts dimension i of the box into `tiles[i]` tiles. Tiling k is displaced in dimension i by
k·(1 + 2i) units of 1/m of a tile, as in Sutton's `tiles3`. In whole units:

    q_i = ⌊(x_i − lower_i)·tiles_i·m / (upper_i − lower_i)⌋            0 ≤ q_i < tiles_i·m
    tile_{k,i} = ⌊(q_i + (k·(1 + 2i) mod m)) / m⌋                      0 ≤ tile_{k,i} < radix_i

radix_i is tiles_i, and one more where tilings are displaced. A whole tile of displacement only renames
tiles; hence the mod. The tiles of tiling k in mixed radix, code = (…(tile_{k,0}·radix_1 + tile_{k,1})…), give

    index = (k·Π radix + code)·A + a                                   exact, d = m·Π radix·A
    index = (k·slots + slot(k·Π radix + code))·A + a                   hashed, d = size, slots = size/(m·A)

`slot` mixes the bits of the code and scales them down to 0..slots − 1, so that an index depends on nothing but
the state. Every tiling and action has its own slots: two tiles collide only within a tiling, and the m
features of a state differ.

All states with the same ⌊q_i / gcd(1 + 2i, m)⌋ in every dimension share their tiles, and no others do: that
is the cell. (Displacements in dimension i are multiples of the gcd. Powers of two make it 1: the finest cells.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from painless.common.arguments import as_floats, first
from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.features.base import Indices, scatter

INTEGERS = 2**63  # ids are 64-bit integers
SLOTS = 2**32 - 1  # the hash has 32 bits


class TileGrid(NamedTuple):
    """What a kernel needs to know of a tile coding: arrays over the D dimensions and m tilings."""

    lower: Array  # (D,)
    upper: Array  # (D,)
    units: Indices  # (D,) tiles·m
    offset: Indices  # (m, D) displacement in units
    radix: Indices  # (D,) tiles of one tiling
    common: Indices  # (D,) gcd of the displacements
    actions: int
    slots: int  # of a tiling and action; 0 where the index is exact


@dataclass(frozen=True)
class TileCoding:
    """Tile coding of a box. States outside the bounds count as the nearest point of the box.

    Arguments:
        lower, upper: the bounds, a number or one for each dimension.
        tiles: tiles of one tiling in each dimension; one number serves all.
        tilings: m. Powers of two displace every dimension by all fractions.
        actions: A.
        size: d where tiles are hashed, a multiple of m·A; None gives every tile its own index.

    >>> gridworld = TileCoding(0, 25, tiles=14, tilings=1, actions=4)
    >>> gridworld.dimension
    56
    >>> gridworld.active([0, 1, 2])[:, 0, 0]
    array([0, 0, 4])
    >>> bounds = np.array([4.8, 3.0, 0.25, 3.0])
    >>> cartpole = TileCoding(-bounds, bounds, tiles=4, tilings=8, actions=2, size=4096)
    >>> cartpole.active(np.zeros((1, 4))).shape
    (1, 2, 8)

    References:
        Sutton & Barto, "Reinforcement learning: an introduction", 2nd ed., 2018, §9.5.4.
        Steele, Lea & Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
    """

    lower: float | Sequence[float] | Array
    upper: float | Sequence[float] | Array
    tiles: int | Sequence[int]
    tilings: int
    actions: int
    size: int | None = None

    def __post_init__(self) -> None:
        lower, upper, tiles = (
            np.atleast_1d(as_floats(name, getattr(self, name))) for name in ("lower", "upper", "tiles")
        )
        if lower.ndim != 1 or lower.shape != upper.shape or tiles.shape not in ((1,), lower.shape):
            raise InputError(
                f"lower has shape {lower.shape}, upper {upper.shape} and tiles {tiles.shape}; "
                "give one entry for each dimension"
            )
        wrong = ~(np.isfinite(lower) & np.isfinite(upper) & (lower < upper))
        if wrong.any():
            raise InputError(
                f"lower{first(wrong)} is {lower[wrong][0]:g} and upper{first(wrong)} {upper[wrong][0]:g}; "
                "give finite bounds, the lower one below the upper one"
            )
        counts = np.array([*tiles, self.tilings, self.actions])
        if (counts < 1).any() or (counts % 1 != 0).any():
            raise InputError(
                f"tiles {self.tiles}, tilings {self.tilings} and actions {self.actions} "
                "must be whole numbers, 1 or more"
            )
        object.__setattr__(self, "lower", tuple(lower.tolist()))
        object.__setattr__(self, "upper", tuple(upper.tolist()))
        object.__setattr__(self, "tiles", tuple(int(count) for count in np.broadcast_to(tiles, lower.shape)))
        self._check_size()

    def _check_size(self) -> None:
        if max(self.cell_count, self._exact_dimension) >= INTEGERS:
            raise InputError(
                f"tiles {self.tiles} with {self.tilings} tilings make more than 2^63 cells; "
                "use fewer tiles, tilings or dimensions"
            )
        group = self.tilings * self.actions
        if self.size is not None and (self.size < group or self.size % group or self.size // group > SLOTS):
            raise InputError(
                f"size {self.size} is not a multiple of tilings × actions = {group}; "
                f"give {min(max(1, round(self.size / group)), SLOTS) * group}"
            )

    @cached_property
    def grid(self) -> TileGrid:
        """The settings as arrays, for kernels."""
        tiles = np.atleast_1d(np.array(self.tiles, dtype=np.int64))
        stride = 1 + 2 * np.arange(len(tiles))
        offset = np.arange(self.tilings)[:, None] * stride % self.tilings
        return TileGrid(
            lower=np.array(self.lower),
            upper=np.array(self.upper),
            units=tiles * self.tilings,
            offset=offset,
            radix=tiles + offset.any(0),
            common=np.gcd(stride, self.tilings),
            actions=self.actions,
            slots=0 if self.size is None else self.size // (self.tilings * self.actions),
        )

    @property
    def _exact_dimension(self) -> int:
        return self.tilings * prod(self.grid.radix.tolist()) * self.actions

    @property
    def dimension(self) -> int:
        """d: `size`, or m·Π radix·A."""
        return self._exact_dimension if self.size is None else self.size

    @property
    def active_count(self) -> int:
        """m, a feature for each tiling."""
        return self.tilings

    @property
    def cell_count(self) -> int:
        """Π tiles_i·m / gcd(1 + 2i, m)."""
        return prod((self.grid.units // self.grid.common).tolist())

    def active(self, states: ArrayLike) -> Indices:
        """Return the index of the tile in each tiling, (n, A, m)."""
        from painless.features import tile_kernels as _tile_kernels

        return _tile_kernels.active(self.grid, self._batch(states))

    def cells(self, states: ArrayLike) -> Indices:
        """Return an id of the states' tiles in all tilings, (n,)."""
        from painless.features import tile_kernels as _tile_kernels

        return _tile_kernels.cells(self.grid, self._batch(states))

    def at(self, states: ArrayLike) -> Array:
        """Return the features as dense vectors, (n, A, d)."""
        return scatter(self.active(states), self.dimension)

    def _batch(self, states: ArrayLike) -> Array:
        dimensions = len(self.grid.lower)
        if _is_plain(states, dimensions) and not np.isnan(states).any():
            return states
        batch = as_floats("states", states)
        batch = batch[:, None] if batch.ndim == 1 and dimensions == 1 else batch
        if batch.ndim != 2 or batch.shape[1] != dimensions:
            raise InputError(f"states have shape {batch.shape}, not (n, D) = (n, {dimensions})")
        if np.isnan(batch).any():
            raise InputError(
                f"states{first(np.isnan(batch))} is not a number; every state needs a place in the box"
            )
        return batch if batch.flags.writeable else batch.copy()  # kernels are compiled for writable arrays


def _is_plain(states: ArrayLike, dimensions: int) -> TypeGuard[Array]:
    """Whether kernels can use the array of states directly, without a copy, as is usual."""
    return (
        isinstance(states, np.ndarray)
        and states.dtype == np.float64
        and states.ndim == 2
        and states.shape[1] == dimensions
        and states.flags.c_contiguous
        and states.flags.writeable
    )


def reference_active(grid: TileGrid, states: Array) -> Indices:
    """Return the active indices, (n, A, m): the equations above, the reference for the kernel."""
    tilings, per_tiling = len(grid.offset), int(grid.radix.prod())
    tile = (_units(grid, states)[:, None, :] + grid.offset) // tilings  # (n, m, D)
    code = np.arange(tilings) * per_tiling + _mixed_radix(tile, grid.radix)  # (n, m)
    if grid.slots:
        code = np.arange(tilings) * grid.slots + slot(code, grid.slots)
    return code[:, None, :] * grid.actions + np.arange(grid.actions)[:, None]


def reference_cells(grid: TileGrid, states: Array) -> Indices:
    """Return the ids of the cells, (n,): the equations above, the reference for the kernel."""
    return _mixed_radix(_units(grid, states) // grid.common, grid.units // grid.common)


def _units(grid: TileGrid, states: Array) -> Indices:
    """q_i = ⌊(x_i − lower_i)·tiles_i·m / (upper_i − lower_i)⌋, (n, D)."""
    inside = np.clip(states, grid.lower, grid.upper)
    scaled = (inside - grid.lower) * grid.units / (grid.upper - grid.lower)
    return np.minimum(scaled.astype(np.int64), grid.units - 1)


def _mixed_radix(digits: Indices, radix: Indices) -> Indices:
    """(…(digit_0·radix_1 + digit_1)·radix_2 + …) over the last axis."""
    number = digits[..., 0]
    for i in range(1, len(radix)):
        number = number * radix[i] + digits[..., i]
    return number


def slot(code: Indices, slots: int) -> Indices:
    """Hash numbers into 0..slots − 1: the upper 32 bits of SplitMix64's finaliser, times slots / 2³².

    >>> slot(np.arange(5), 100)
    array([88, 56, 59, 11, 43])
    """
    bits = code.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    upper = (bits ^ (bits >> np.uint64(31))) >> np.uint64(32)
    return ((upper * np.uint64(slots)) >> np.uint64(32)).astype(np.int64)
