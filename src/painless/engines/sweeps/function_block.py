"""A range of the states of a model given as functions: their values and actions, and sweeps over them.

All states are one block, or several blocks on several machines. A block has rows for its own states, then one for every state outside to which
they lead, its *fringe*. States are divided into pieces, the same ones whatever the number of blocks and threads; a block has some
pieces in a row, and every result is one for each of them. A sweep reads of other pieces only what was there before it, and
so gives the same bits wherever these are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.threads import Threads, cores
from painless.engines.sweeps import _vector_kernels as vectors
from painless.engines.sweeps._function_kernels import outside, sweep_kernels
from painless.problem.callbacks import PIECES
from painless.problem.function_model import FunctionModel, Scale, Start

Actions = NDArray[np.unsignedinteger]
States = NDArray[np.intp]
Result = TypeVar("Result")

MANY = 20_000  # states from which several threads pay
STATES = 5_000  # of a piece, at least
TOGETHER = 2**22  # successors that are gathered before they are sorted, to find a fringe


def pieces_of(states: int) -> States:
    """Return where each piece of the states begins, and where the last one ends.

    >>> pieces_of(20_000)
    array([    0,  5000, 10000, 15000, 20000])
    """
    count = min(max(states // STATES, 1), PIECES)
    return np.arange(count + 1) * states // count


class Followed(NamedTuple):
    """What a sweep of the policy shows in a piece."""

    low: Array  # (J,) least change of each utility
    high: Array  # (J,)
    start: Array  # (J,) share of the values at ρ


class Improved(NamedTuple):
    """What a sweep of the Bellman equation shows in a piece."""

    low: float  # least change
    high: float
    changed: int  # states with another action than before
    start: float  # share of the value at ρ
    followed: Followed  # then


class Block:
    """The values and the policy of some pieces of the states.

    Arguments:
        problem: the model; of the first states and actions, those of the block are enough.
        first: the first action of each of its states, (n,).
        pieces: where each of its pieces begins, and where the last one ends.
    """

    def __init__(self, problem: FunctionModel, first: Actions, pieces: States) -> None:
        states, self.actions, constraints = problem.shape
        self.pieces, self.states = pieces, int(pieces[-1] - pieces[0])
        callbacks, self.origin = problem.callbacks, int(pieces[0])
        self.threads = Threads(cores(), MANY)
        self._kernels = sweep_kernels(callbacks.successors, callbacks.write)
        self.choice: Actions = first.copy()
        self.fringe = np.empty(0, np.int64) if self.states == states else self._found_fringe(callbacks)
        place = self.origin, self.states, self.fringe
        gains = _gains(problem.scale)
        self._model = gains, callbacks.room, len(problem.found.low), problem.discount, place
        self._silent = (tuple(0 * part for part in gains), *self._model[1:])  # no utilities
        shape = self.states + len(self.fringe), 1 + constraints
        self.vectors = {name: np.zeros(shape) for name in ("value", "spare")}
        self._start = self._started(problem.start)
        self._needed: States = np.empty(0, np.intp)  # rows that are in the fringe of another block

    def run(
        self, method: str, arguments: Sequence[Any], borrowed: tuple[str, Array] | None, lends: str
    ) -> tuple[list[Any], Array | None]:
        """Take borrowed rows of a vector, (n, J), and call a method; return what it says of each piece, and the rows of a vector that others need."""
        if borrowed is not None:
            name, rows = borrowed
            self.vectors[name][self.states :] = rows
        found = getattr(self, method)(*arguments)
        return found or [], self.lent(lends) if lends else None

    def follow(self, even: bool, ascending: bool) -> list[Followed]:
        """Sweep the policy once, for all utilities."""
        old, new = self.vectors["value"], self.vectors["spare"]

        def part(begin: int, end: int) -> Followed:
            low, high = np.empty((2, old.shape[1]))
            self._kernels.follow(
                *(*self._model, ascending, even, self.choice, old, new, low, high, begin, end)
            )
            return Followed(low, high, self._at_start(new, begin))

        found = self._share(part)
        self.vectors["value"], self.vectors["spare"] = new, old
        return found

    def improve(self, weight: Array, margin: float, even: bool, ascending: bool) -> list[Improved]:
        """Sweep the Bellman equation for weights (J,) of the utilities once, and then the policy that it gives."""
        value, after = self.vectors["value"], np.empty(self.states)
        before = np.empty(len(value))
        self._share(lambda *part: vectors.weighted(weight, value, before, *part))
        vectors.weighted(weight, value, before, self.states, len(value))

        def part(begin: int, end: int) -> tuple[float, float, int, float]:
            spread = np.empty(2)
            changed = self._kernels.improve(
                *(*self._model, ascending, even, self.choice, self.actions, weight, margin),
                *(before, after, spread, begin, end),
            )
            return float(spread[0]), float(spread[1]), changed, float(self._at_start(after, begin))

        improved = self._share(part)
        followed = self.follow(even, ascending)
        return [Improved(*one, then) for one, then in zip(improved, followed, strict=True)]

    def shift(self, amount: Array) -> None:
        """V += amount, with an amount for each utility, (J,)."""
        value = self.vectors["value"]
        self._share(lambda *part: vectors.shift(amount, value, *part))

    def ends(self, name: str) -> list[tuple[Array, Array]]:
        """The least and the largest entry of a vector, (J,) each."""
        vector = self.vectors[name]

        def part(begin: int, end: int) -> tuple[Array, Array]:
            low, high = np.full(vector.shape[1], np.inf), np.full(vector.shape[1], -np.inf)
            vectors.ends(vector, low, high, begin, end)
            return low, high

        return self._share(part)

    def begin(self) -> list[Array]:
        """Begin with Krylov's method: the residual r = u + γPV − V of the policy, its shadow, which is the same, and p and v, which are 0; r·r."""
        value = self.vectors["value"]
        for name in ("residual", "shadow", "along", "moved"):
            self.vectors.setdefault(name, np.zeros_like(value))
        out = self.vectors["residual"]
        self._follow_evenly(self._model, value, out)
        self._share(lambda begin, end: np.subtract(out[begin:end], value[begin:end], out[begin:end]))
        self.vectors["shadow"][:] = out
        self.vectors["along"][:], self.vectors["moved"][:] = 0.0, 0.0
        return self._dots("shadow", "residual")

    def turn(self, beta: Array, omega: Array) -> None:
        """P = r + β(p − ωv), with a factor for each utility."""
        along, residual, moved = (self.vectors[name] for name in ("along", "residual", "moved"))
        self._share(lambda *part: vectors.turn(beta, omega, along, residual, moved, *part))

    def apply(self, source: str, target: str, *others: str) -> list[Array]:
        """Write y = (I − γP)x of the policy to a vector; the products of y with other vectors, (n, J)."""
        vector, out = self.vectors[source], self.vectors[target]
        self._follow_evenly(self._silent, vector, out)
        self._share(lambda begin, end: np.subtract(vector[begin:end], out[begin:end], out[begin:end]))
        return [np.array(dots) for dots in zip(*(self._dots(target, one) for one in others), strict=True)]

    def step(self, size: Array, along: str, product: str) -> list[tuple[Array, Array, Array]]:
        """V += size·along and r −= size·product, with a size for each utility; the least and the largest entry of r, and its product with its shadow."""
        p, v, value, residual = (self.vectors[name] for name in (along, product, "value", "residual"))
        self._share(lambda *part: vectors.step(size, p, v, value, residual, *part))
        dots = self._dots("shadow", "residual")
        return [(*pair, dot) for pair, dot in zip(self.ends("residual"), dots, strict=True)]

    def policy(self) -> Actions:
        """The action of each state, (n,)."""
        return self.choice

    def take_policy(self, actions: Actions) -> None:
        """Take the action of each state, (n,)."""
        self.choice[:] = actions

    def values(self) -> Array:
        """The values of the block's states, (n, J)."""
        return self.vectors["value"][: self.states]

    def fringe_states(self) -> States:
        """The states outside to which the block leads."""
        return self.fringe

    def lend(self, states: States) -> None:
        """Remember the states of this block that are in the fringe of another."""
        self._needed = states - self.origin

    def lent(self, name: str) -> Array:
        """The rows of a vector that others need, (n, J)."""
        return self.vectors[name][self._needed]

    def _follow_evenly(self, model: tuple[Any, ...], old: Array, new: Array) -> None:
        def part(begin: int, end: int) -> None:
            low, high = np.empty((2, old.shape[1]))
            self._kernels.follow(*(*model, True, True, self.choice, old, new, low, high, begin, end))

        self._share(part)

    def _dots(self, one: str, other: str) -> list[Array]:
        """Σ_s x(s)·y(s) for each utility, (J,)."""

        def part(begin: int, end: int) -> Array:
            found = np.empty(self.vectors[one].shape[1])
            vectors.dot(self.vectors[one], self.vectors[other], found, begin, end)
            return found

        return self._share(part)

    def _started(self, start: Start) -> dict[int, Start]:
        """Return the first states of each piece, by the row where it begins."""
        order = np.argsort(start.state, kind="stable")
        state, probability = start.state[order], start.probability[order]
        ends = zip(self.pieces[:-1] - self.origin, np.searchsorted(state, self.pieces[1:]), strict=True)
        found, done = {}, 0
        for begin, end in ends:
            found[int(begin)] = Start(state[done:end] - self.origin, probability[done:end])
            done = end
        return found

    def _at_start(self, value: Array, begin: int) -> Any:
        """Return Σ_s ρ(s) V(s) over the piece that begins at a row, of values (S,) or (S, J)."""
        state, probability = self._start[begin]
        return probability @ value[state]

    def _share(self, part: Callable[[int, int], Result]) -> list[Result]:
        """Return the results of `part(begin, end)` for every piece."""
        own = (self.pieces - self.origin).tolist()
        return self.threads.over(part, list(pairwise(own)))

    def _found_fringe(self, callbacks: Any) -> States:
        """Return the states outside to which the block's states lead, sorted."""
        many = max(TOGETHER // (self.actions * callbacks.most), 1)
        found, known = np.empty(many * self.actions * callbacks.most, np.int64), np.empty(0, np.int64)
        place = callbacks.successors, self.actions, callbacks.room, self.origin, self.states
        for start in range(0, self.states, many):
            count = outside(*place, found, start, min(start + many, self.states))
            known = np.union1d(known, found[:count])
        return known


def _gains(scale: Scale) -> tuple[Any, ...]:
    """Return a scale as kernels take it."""
    return scale.which, scale.sign, scale.origin, 1 / scale.span, scale.extra
