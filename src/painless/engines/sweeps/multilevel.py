"""The system (I − γP)V = u of a slowly mixing chain, by Krylov steps on groups of states (aggregation multigrid).

Sweeps smooth what is wrong with V between neighbours, and hardly touch what is the same over long distances. That is found
on groups: states are paired with the one that they lead to most, pairs with pairs, and the groups' own system, the sums of
their members' rows weighted by how often the chain is there (mass m), is solved in the same way, down to a hundred groups, which are solved directly:

    x ← sweep along the flow;   x_i ← x_i + e_g(i),  A_G e = Σ_{i in g} m_i (b − Ax)_i  (twice around);   x ← sweep backwards

(Notay, ETNA 2010: the sums of an M-matrix are an M-matrix). One such cycle M⁻¹ is the preconditioner of GMRES, A M⁻¹ y = b (Saad & Schultz 1986).
The transposed system, for visits, has the transposed cycle. Whoever asks proves the error of what is found.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.engines.sweeps import _multilevel_kernels as kernels
from painless.engines.sweeps._chain_kernels import flow_order, occupancy_sweep
from painless.engines.sweeps.chain import Chain, transitions
from painless.engines.sweeps.sparse_rows import Indices

DIRECT = 100  # groups that are solved directly,
MOST_DIRECT = 1200  # and more where no level has fewer
ALONE = 0.8  # a level with more groups than this share of its states is the last
WEAK = 0.25  # pairs with a smaller share of a state's largest weight are none
PUSHED = 4  # sweeps that carry mass to where the chain stays
LEAST_MASS = 1e-3  # of a state, relative to the mean
NO_MASS: Array = np.empty(0)  # stands for 1 everywhere
NEARLY = 0.8  # share of what is asked for at which a start of GMRES ends: rounding leaves more
RESTART = 20  # steps of GMRES from one start
ALIKE = 0.03  # share of the states in which a policy may differ from the one whose groups it has
DEEP = 1e-5  # share of the residual's norm below which rounding spoils a basis that is made orthogonal once
DEPENDENT = (
    1e-13  # entry on the diagonal of a triangle, relative to its largest, with which rows count as dependent
)
SLOW = 0.9  # a start that leaves more than this share of the residual's norm is the last


def width_of(residual: Array) -> float:
    """Return the width of the range of a residual, which decides how exact values are (MacQueen 1966)."""
    return float(residual.max() - residual.min())


class Level(NamedTuple):
    """The system D x − W x = b of one level, the order of its sweeps, and the group of each of its states."""

    start: Indices
    stop: Indices
    target: Indices
    weight: Array
    diagonal: Array
    order: Indices
    group: Indices  # empty on the last level

    @property
    def rows(self) -> tuple[Indices, Indices, Indices, Array, Array]:
        """The system alone."""
        return self[:5]

    def transposed(self) -> Level:
        """Return the level of the transposed system."""
        size, weight, target = len(self.diagonal), self.weight, self.target
        length = self.stop - self.start
        pointer = np.zeros(size + 1, np.int32)
        np.cumsum(length, out=pointer[1:])
        if not np.array_equal(self.stop, pointer[1:]):  # there is room between the rows
            place = np.repeat(self.start - pointer[:-1], length) + np.arange(pointer[-1])
            weight, target = weight[place], target[place]
        own = weight[: pointer[-1]], target[: pointer[-1]].astype(np.int32), pointer
        matrix = scipy.sparse.csr_array(scipy.sparse.csc_array(own, shape=(size, size)))
        begin = matrix.indptr.astype(np.uint32)
        return Level(
            *(begin[:-1], begin[1:], matrix.indices.astype(np.uint32), matrix.data),
            *(self.diagonal, self.order, self.group),
        )


class Coarse(NamedTuple):
    """The levels below the first, behind each other in the same arrays."""

    begin: NDArray[np.intp]  # where each level begins, and where the last one ends
    start: Indices
    stop: Indices
    target: Indices
    weight: Array
    diagonal: Array
    order: Indices
    group: Indices

    @classmethod
    def of(cls, levels: list[Level]) -> Coarse:
        """Lay levels behind each other; those that have room between their rows keep it."""
        begin = np.cumsum([0, *(len(level.diagonal) for level in levels)])
        before = np.cumsum([0, *(len(level.target) for level in levels)]).astype(np.uint32)
        start, stop = (
            _joined([level[side] + first for level, first in zip(levels, before, strict=False)])
            for side in (0, 1)
        )
        # The last level has no groups.
        parts = (_joined([level[part] for level in levels]) for part in (2, 3, 4, 5, 6))
        return cls(begin, start, stop, *parts)

    def levels(self) -> list[Level]:
        """Return the levels, which share these arrays."""
        parts = [slice(low, high) for low, high in itertools.pairwise(self.begin)]
        return [
            Level(
                *(self.start[own], self.stop[own], self.target, self.weight),
                *(self.diagonal[own], self.order[own], self.group[own]),
            )
            for own in parts
        ]


def _joined(parts: list[Any]) -> Any:
    return np.concatenate(parts) if parts else np.empty(0)


class Multilevel:
    """Solves the system of one chain, or of its transpose, for one right side after another."""

    def __init__(
        self, levels: list[Level], mass: Array, tick: Callable[[int], None], is_transposed: bool = False
    ) -> None:
        self.mass, self.tick, self.is_transposed = mass, tick, is_transposed
        self._coarse = Coarse.of(levels[1:]) if len(levels) > 1 else None
        self.levels = [levels[0], *(self._coarse.levels() if self._coarse else [])]
        below = 0 if self._coarse is None else len(self._coarse.diagonal)
        self._x, self._below, self._right = (
            np.empty(len(levels[0].diagonal)),
            np.empty(below),
            np.empty(below),
        )

    @classmethod
    def of(cls, chain: Chain, tick: Callable[[int], None] = lambda _: None) -> Multilevel:
        """Return the levels of a chain."""
        return cls.from_level(ordered_level(*chain[:4], 1.0 - chain.stay), tick)

    @classmethod
    def from_level(cls, level: Level, tick: Callable[[int], None]) -> Multilevel:
        """Return the levels below a first one."""
        levels: list[Level] = []
        first, mass = level, _mass(level)
        level = _times_mass(level, mass)
        while len(level.diagonal) > DIRECT:
            group, pairs = _grouped(level)
            once, groups = _grouped(pairs)
            group = once[group]
            if len(groups.diagonal) > ALONE * len(level.diagonal):
                break
            levels.append((level if levels else first)._replace(group=group))
            level = ordered_level(*groups.rows)
        return cls([*levels, level if levels else first], mass, tick)

    def transposed(self) -> Multilevel:
        """Return the levels of the transposed system."""
        return Multilevel([level.transposed() for level in self.levels], self.mass, self.tick, True)

    @cached_property
    def _inverse(self) -> Array:
        """The inverse of the last level by columns, empty if it is large."""
        last = self.levels[-1]
        if len(last.diagonal) > MOST_DIRECT:
            return np.empty((0, 0))
        return np.asarray(np.linalg.inv(_dense(last).T), dtype=np.float64)

    def follow(self, chain: Chain) -> None:
        """Solve the system of another chain from now on, with the groups of the one before."""
        self.levels[0] = self.levels[0]._replace(
            start=chain.start,
            stop=chain.stop,
            target=chain.target,
            weight=chain.weight,
            diagonal=1.0 - chain.stay,
        )

    def improve(self, right: Array, x: Array, measure: Callable[[Array], float], goal: float) -> float:
        """Improve x (S,), in place, until `measure` of the residual is at most `goal`; return the measure that is reached."""
        left = np.empty_like(right)
        kernels.residual(*self.levels[0].rows, right, x, left)
        norm, reached = float(np.sqrt(left @ left)), measure(left)
        while reached > goal and norm > 0:
            step = self._krylov(left, measure, NEARLY * goal)
            x += step
            kernels.residual(*self.levels[0].rows, right, x, left)
            before, norm = norm, float(np.sqrt(left @ left))
            if not norm < before:
                x -= step
                break
            reached = measure(left)
            if norm > SLOW * before:
                break
        return reached

    def _krylov(self, right: Array, measure: Callable[[Array], float], goal: float) -> Array:
        """Return an approximate solution, by one start of GMRES; it ends when `measure` of the residual is at most `goal`."""
        size, count = len(right), 0
        basis, triangle = np.empty((RESTART + 1, size)), np.zeros((RESTART + 1, RESTART))
        norm = float(np.sqrt(right @ right))
        basis[0] = right / norm
        left = basis[0].copy()  # the residual, relative to its norm
        zero, turns, aims = np.zeros(size), list[tuple[float, float]](), [norm]
        for n in range(RESTART):
            new = basis[n + 1]
            kernels.residual(*self.levels[0].rows, zero, self.cycle(basis[n]), new)
            np.negative(new, out=new)
            count = n + 1
            column = _taken_out(basis[:count], new, twice=abs(aims[n]) < DEEP * norm)
            length = float(np.sqrt(new @ new))
            self.tick(2)
            turn = _turned(column, turns, length)
            triangle[:count, n] = column
            turns.append(turn)
            aims[n:] = [turn[0] * aims[n], -turn[1] * aims[n]]
            if length <= 1e-14 * norm:
                break
            new /= length
            left *= -turn[1]
            left += turn[0] * new
            if abs(aims[count]) * measure(left) <= goal:
                break
        weights = _solved(triangle[:count, :count], np.array(aims[:count]))
        return self.cycle(weights @ basis[:count]).copy()

    def cycle(self, right: Array) -> Array:
        """Return M⁻¹b by one cycle, in scratch space that the next one overwrites."""
        x, first, coarse = self._x, self.levels[0], self._coarse
        if coarse is None and len(self._inverse):
            np.dot(right, self._inverse, out=x)
            return x
        x.fill(0.0)
        kernels.sweep(*first[:6], right, x, True)
        if coarse is not None:
            sums, correction = (array[: coarse.begin[1]] for array in (self._right, self._below))
            by_mass, even = (NO_MASS, self.mass) if self.is_transposed else (self.mass, NO_MASS)
            kernels.restrict(*first.rows, right, x, first.group, by_mass, sums)
            correction.fill(0.0)
            for _ in range(min(len(self.levels) - 1, 2)):
                kernels.coarse_cycle(*coarse, self._inverse, self._right, self._below)
            kernels.prolong(x, first.group, even, correction)
        kernels.sweep(*first[:6], right, x, False)
        return x


class KeptLevels:
    """The levels of one policy after another; the groups of a policy that differs in few states serve as well."""

    def __init__(self, tick: Callable[[int], None]) -> None:
        self.tick = tick
        self._levels: Multilevel | None = None
        self._choice: Indices = np.empty(0, np.uint32)

    def of(self, chain: Chain, choice: Indices) -> Multilevel:
        """Return the levels of the chain of the policy that takes pair choice[s]."""
        if self._levels is None or np.count_nonzero(choice != self._choice) > ALIKE * len(choice):
            self._levels, self._choice = Multilevel.of(chain, self.tick), choice.copy()
        else:
            self._levels.follow(chain)
        return self._levels


def _taken_out(basis: Array, new: Array, twice: bool) -> list[float]:
    """Take out of a vector (S,), in place, what lies along an orthonormal basis (n, S); return how much, (n,)."""
    column = basis @ new
    new -= column @ basis
    if twice:
        more = basis @ new
        new -= more @ basis
        column += more
    return [float(part) for part in column]


def _turned(column: list[float], turns: list[tuple[float, float]], length: float) -> tuple[float, float]:
    """Turn a new column of GMRES, whose last entry is `length`, as those before it, in place; return the turn (Givens) that makes that entry 0."""
    for k, (cosine, sine) in enumerate(turns):
        below = column[k + 1]
        column[k + 1] = cosine * below - sine * column[k]
        column[k] = cosine * column[k] + sine * below
    whole = math.hypot(column[-1], length)
    turn = (column[-1] / whole, length / whole) if whole > 0 else (1.0, 0.0)
    column[-1] = whole
    return turn


def _solved(triangle: Array, right: Array) -> Array:
    """Return the solution of an upper triangular system, or the shortest of those that come closest if rows depend on each other."""
    if np.abs(triangle.diagonal()).min() <= DEPENDENT * np.abs(triangle).max():
        return np.asarray(np.linalg.lstsq(triangle, right, rcond=None)[0], dtype=np.float64)
    found = right.copy()
    for n in range(len(found) - 1, -1, -1):
        found[n] = (found[n] - triangle[n, n + 1 :] @ found[n + 1 :]) / triangle[n, n]
    return found


def ordered_level(start: Indices, stop: Indices, target: Indices, weight: Array, diagonal: Array) -> Level:
    """Return a level whose sweeps go along the flow."""
    states = len(diagonal)
    order, path, seen = np.empty(states, np.uint32), np.empty(states, np.uint32), np.zeros(states, bool)
    flow_order(start, stop, target, weight, path, seen, order, 0, states)
    return Level(start, stop, target, weight, diagonal, order, np.empty(0, np.uint32))


def _mass(level: Level) -> Array:
    """Return how much of a uniform start is seen in each state within a few sweeps, (S,): what decides about the value of a group."""
    states = len(level.diagonal)
    rest, held = np.full(states, 1.0 / states), np.zeros(states)
    for _ in range(PUSHED):
        occupancy_sweep(*level[:4], 1.0 - level.diagonal, level.order, rest, held)
    return np.asarray(np.maximum(held / held.mean(), LEAST_MASS))


def _times_mass(level: Level, mass: Array) -> Level:
    """Return a level with every row times its mass."""
    weight = level.weight.copy()
    kernels.scale(level.start, level.stop, weight, mass)
    return level._replace(weight=weight, diagonal=level.diagonal * mass)


def _grouped(level: Level) -> tuple[Indices, Level]:
    """Return the pair of each state, and the system of the pairs."""
    states, entries = len(level.diagonal), len(level.target)
    group, size = np.empty(states, np.uint32), np.empty(states, np.uint32)
    count = kernels.pair_up(*level[:4], WEAK, group, size)
    member = np.argsort(group, kind="stable")
    first = np.zeros(count + 1, np.intp)
    np.cumsum(np.bincount(group, minlength=count), out=first[1:])
    begin, own = np.empty(count + 1, np.uint32), np.empty(count)
    to, mass = np.empty(entries, np.uint32), np.empty(entries)
    mark = np.full(count, -1, np.intp)
    used = kernels.coarsen(*level.rows, group, member, first, (begin, to, mass, own), mark)
    nothing = np.empty(0, np.uint32)
    return group, Level(begin[:-1], begin[1:], to[:used].copy(), mass[:used].copy(), own, nothing, nothing)


def _dense(level: Level) -> Array:
    """Return the system of a level as a matrix."""
    origin, target, weight = transitions(
        Chain(*level[:4], 1.0 - level.diagonal, np.empty((len(level.diagonal), 0)))
    )
    system = np.diag(level.diagonal)
    np.subtract.at(system, (origin, target), weight)
    return system
