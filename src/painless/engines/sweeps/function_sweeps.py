"""Sweeps over a model given as functions, and best responses by modified policy iteration on them.

All that is stored are the values of the current policy for all utilities, (S, J), room for the next ones, the weighted values and the
policy, an integer for each state. As in `pricing`, a sweep proves bounds on both sides, with V' the values after it:

    V'(ρ) + γ/(1−γ)·low ≤ V_π(ρ),        V*(ρ) ≤ V'(ρ) + γ/(1−γ)·high

Of an even sweep `low` and `high` are the least and the largest change. Of one in the order of the states they are taken together with 0: what is
left of the residual comes from successors that changed later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.threads import Threads, cores
from painless.engines.sweeps import _vector_kernels as vectors
from painless.engines.sweeps._function_kernels import sweep_kernels
from painless.problem.callbacks import PIECES
from painless.problem.function_model import FunctionModel, Scale

Actions = NDArray[np.unsignedinteger]
Result = TypeVar("Result")

EPSILON = float(np.finfo(np.float64).eps)
STEPS = 16  # roundings of a sweep beside those of its sums
MANY = 20_000  # states from which several threads pay
STATES = 5_000  # of a piece, at least


class Swept(NamedTuple):
    """What a sweep shows: values at ρ after it, and the range of the changes."""

    value: Array  # (J,) at ρ
    low: Array  # (J,) least change of each utility
    high: Array  # (J,)
    weighted: float = 0.0  # Σ_j w_j V_j at ρ, if the policy was improved
    least: float = 0.0  # change of that
    most: float = 0.0
    changed: int = 0  # states with another action than before


class FunctionSweeps:
    """The values and the policy of a model given as functions.

    Arguments:
        tick: called after each sweep; it may raise.
    """

    def __init__(self, problem: FunctionModel, tick: Callable[[], None] = lambda: None) -> None:
        self.problem, self.tick = problem, tick
        self.discount = problem.discount
        self.threads = Threads(cores(), MANY)
        states, self.actions, constraints = problem.shape
        self.value: Array = np.zeros((states, 1 + constraints))
        self.choice: Actions = problem.found.first.copy()
        self._pieces = min(max(states // STATES, 1), PIECES)
        self.sweeps = 0.0  # over all pairs of states and actions
        self._spare = np.empty_like(self.value)
        self._ascending = True
        callbacks = problem.callbacks
        self._model: tuple[Any, ...] = (
            *(_gains(problem.scale), callbacks.room, len(problem.found.low), self.discount),
        )
        nothing = tuple(0 * part for part in self._model[0])  # no utilities
        self._silent = (nothing, *self._model[1:])
        self._kernels = sweep_kernels(callbacks.successors, callbacks.write)
        # Of a sweep, relative to the values; of the sum over first states.
        self._roundings = (3 * callbacks.most + STEPS) * EPSILON / 2
        self._sum_roundings = (len(problem.start.state) / PIECES + PIECES + STEPS) * EPSILON / 2

    @property
    def tail(self) -> float:
        """γ/(1−γ): what a change in every state adds to the sum of all later ones."""
        return self.discount / (1 - self.discount)

    def follow(self, even: bool) -> Swept:
        """Sweep the current policy once, for all utilities."""

        def part(begin: int, end: int) -> tuple[Array, Array]:
            low, high = np.empty((2, self.value.shape[1]))
            self._kernels.follow(
                *(*self._model, self._ascending, even, self.choice, self.value, self._spare),
                *(low, high, begin, end),
            )
            return low, high

        low, high = (np.array(side) for side in zip(*self.share(part), strict=True))
        ends = low.min(0), high.max(0)
        self.value, self._spare = self._spare, self.value
        self._ascending = not self._ascending
        self.sweeps += 1 / self.actions
        self.tick()
        if not even:
            ends = np.minimum(ends[0], 0.0), np.maximum(ends[1], 0.0)
        return Swept(self._at_start(self.value), *ends)

    def improve(self, weight: Array, even: bool) -> Swept:
        """Sweep the Bellman equation for weights (J,) of the utilities once, and then the policy that it gives."""
        before, after = np.empty((2, len(self.value)))
        sizes = self.share(lambda *part: vectors.weighted(weight, self.value, before, *part))
        margin = 4 * EPSILON * max(sizes)

        def part(begin: int, end: int) -> tuple[float, float, int]:
            spread = np.empty(2)
            changed = self._kernels.improve(
                *(*self._model, self._ascending, even, self.choice, self.actions, weight, margin),
                *(before, after, spread, begin, end),
            )
            return float(spread[0]), float(spread[1]), changed

        least, most, changed = zip(*self.share(part), strict=True)
        self.sweeps += 1
        return self.follow(even)._replace(
            weighted=float(self._at_start(after)),
            least=min(least) if even else min(*least, 0.0),
            most=max(most) if even else max(*most, 0.0),
            changed=sum(changed),
        )

    def residual(self, out: Array) -> None:
        """Write u + γPV − V of the current policy to `out`, (S, J)."""
        self._follow_evenly(self._model, self.value, out)
        self.share(lambda begin, end: np.subtract(out[begin:end], self.value[begin:end], out[begin:end]))

    def apply(self, vector: Array, out: Array | None = None) -> Array:
        """Return (I − γP)x of the current policy for x (S, J), in `out` or else in the room for the next values."""
        found = self._spare if out is None else out
        self._follow_evenly(self._silent, vector, found)
        self.share(lambda begin, end: np.subtract(vector[begin:end], found[begin:end], found[begin:end]))
        return found

    def _follow_evenly(self, model: tuple[Any, ...], old: Array, new: Array) -> None:
        def part(begin: int, end: int) -> None:
            low, high = np.empty((2, old.shape[1]))
            self._kernels.follow(*(*model, True, True, self.choice, old, new, low, high, begin, end))

        self.share(part)
        self.sweeps += 1 / self.actions
        self.tick()

    def extrapolate(self, swept: Swept) -> None:
        """Move the values by what all states changed at least, in a sweep, and would in all later ones."""
        amount = self.tail * (np.maximum(swept.low, 0.0) + np.minimum(swept.high, 0.0))
        if amount.any():
            self.share(lambda *part: vectors.shift(amount, self.value, *part))

    def rounding(self, size: Array | float) -> Any:
        """Bound what rounding does to values of this size, as those at ρ that a sweep proves."""
        return ((self._roundings + 4 * EPSILON) / (1 - self.discount) + self._sum_roundings) * size

    def sizes(self) -> Array:
        """The largest absolute value of each utility, (J,)."""
        return np.abs(self.ends(self.value)).max(0)

    def ends(self, vector: Array) -> Array:
        """Return the least and the largest entries of a vector (S, J), (2, J)."""

        def part(begin: int, end: int) -> tuple[Array, Array]:
            low, high = np.full(vector.shape[1], np.inf), np.full(vector.shape[1], -np.inf)
            vectors.ends(vector, low, high, begin, end)
            return low, high

        low, high = zip(*self.share(part), strict=True)
        return np.array([np.min(low, 0), np.max(high, 0)])

    def share(self, part: Callable[[int, int], Result]) -> list[Result]:
        """Return the results of `part(begin, end)` over ranges of states, which do not depend on the number of threads."""
        return self.threads.share(part, len(self.value), self._pieces)

    def _at_start(self, value: Array) -> Any:
        """Return Σ_s ρ(s) V(s), of values (S,) or (S, J)."""
        state, probability = self.problem.start
        count = min(PIECES, len(state))
        parts = zip(np.array_split(state, count), np.array_split(probability, count), strict=True)
        return np.sum([p @ value[s] for s, p in parts], 0)


def _gains(scale: Scale) -> tuple[Any, ...]:
    """Return a scale as kernels take it."""
    return scale.which, scale.sign, scale.origin, 1 / scale.span, scale.extra
