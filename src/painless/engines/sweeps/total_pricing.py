"""Pricing of totals: the best policy for weights of the utilities on sparse rows without a discount, by modified policy iteration.

    max_π Σ_j w_j V_j(ρ),        V = u + PV

As in `pricing`, the values of the last policy are kept for all utilities, and each Bellman sweep is followed by sweeps of the greedy policy. There is
no contraction to tell how far off values are. The expected time to stop does, W = 1 + P_πW, which is swept for each policy, roughly: what is
left over, r = u + PV − V, changes V by at most max|r|·W.

Even sweeps lose the slowest part of an error little by little: a multiple of φ = Pφ/λ, which comes with it. Once it is known how much of a
change is φ, all that is to come of it is added at once, λ/(1−λ) times as much; with a discount this is the constant that is left at the end. If that
is slow, sweeps go along the flow, and if these are slow, too, on several levels. Nothing is proved here: whoever uses the answers checks them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array
from painless.engines.sweeps import _improve_kernels as kernels
from painless.engines.sweeps._total_kernels import add_the_rest
from painless.engines.sweeps.chain import Chain, ChangingChain, chain_of
from painless.engines.sweeps.chain_occupancy import chain_occupancy
from painless.engines.sweeps.chain_values import EPSILON, ChainValues
from painless.engines.sweeps.in_order import ATTEMPTS, OrderedRows
from painless.engines.sweeps.multilevel import Multilevel
from painless.engines.sweeps.sparse_rows import Indices, SparseRows
from painless.engines.sweeps.state_threads import PIECES, StateThreads

BURST = 4  # sweeps between two looks at what is left
SLUGGISH = 0.8  # a sweep that leaves more is a slow one
PATIENCE = 3  # slow bursts in a row, after which another kind of sweep is tried
MOST = 4000  # sweeps of one policy
ROUNDS = 400  # Bellman sweeps for one best response
FOLLOWED = 5  # sweeps of the greedy policy after a Bellman sweep
# If so many Bellman sweeps do not halve the improvement, policies are evaluated in between, to a share of it.
HALVED, STEPS, INEXACT = 0.5, 8, 0.02
GIVEN_UP = 60
QUASI_CLOSED = 1 - 1e-9  # a chain that stays with a larger probability is as good as closed
TINY = np.finfo(float).tiny
ROUGH = 0.05  # what may be left of the time to stop
# What may be left of values, relative to the largest utility, when the time to stop is looked for, if that costs hardly more, so that the first response needs no other search: of the best ones, and of the policy's.
FIRST, EXACTLY = 2e-4, 1e-9
LONG = 400  # sweeps after which the time to stop must be about right, or the chain may never stop
FINEST_VISITS = 1e-13  # what is left of the visits, at least
NOISE = 8 * EPSILON  # a residual that is rounding, relative to the largest value


class TotalPriced(NamedTuple):
    """A policy, its values in all nodes, and its expected time to stop there."""

    choice: Indices  # (S,)
    value: Array  # (S, J)
    time: Array  # (S,)
    sweeps: int


class Slowness(ChainValues):
    """How slowly a chain stops: the expected time W = 1 + PW, and the slowest part of an error, φ = Pφ/λ."""

    def __init__(self, states: int, tick: Callable[[int], None], threads: StateThreads):
        super().__init__(np.repeat([[0.0, 1.0]], states, 0), 1.0, tick, threads)
        self._gain = np.repeat([[1.0, 0.0]], states, 0)
        self.part, self.share = np.ones(states), 0.0  # φ, and λ

    @property
    def time(self) -> Array:
        """W, (S,)."""
        return self.value[:, 0]

    def find(self, chain: Chain) -> bool:
        """Bring both to a chain, roughly; return whether it stops soon enough."""
        chain = chain._replace(gain=self._gain)
        for spent in range(0, MOST, BURST):
            self.sweep(chain, BURST)
            before, self.part = self._spare[:, 1].copy(), self.value[:, 1].copy()
            norm = float(before @ before)
            self.share = float(self.part @ before) / norm if norm > 0 else 0.0
            left = max(-self._low[0], self._high[0])
            if left <= ROUGH:
                break
            if not np.isfinite(left) or (spent > LONG and left > 0.5):
                return False
            if 0 < self.share < QUASI_CLOSED:
                column = np.ascontiguousarray(self.value[:, :1])
                add_the_rest(np.ascontiguousarray(self._spare[:, :1]), column, before, self.share)
                self.value[:, 0] = column[:, 0]
            largest = float(np.abs(self.part).max())
            self.value[:, 1] = self.part / largest if largest > 0 else 1.0
        return True


class TotalValues(ChainValues):
    """The totals of one chain after another."""

    def __init__(self, value: Array, initial: Array, tick: Callable[[int], None], threads: StateThreads):
        super().__init__(value, 1.0, tick, threads)
        self.initial, self.slowness = initial, Slowness(len(initial), tick, threads)

    @property
    def time(self) -> float:
        """The expected time to stop, at ρ; at least 1."""
        return max(float(self.initial @ self.slowness.time), 1.0)

    def follow(self, chain: Chain, count: int) -> Array:
        """Sweep some times, and add what is to come; return what was left before that, at most, (J,)."""
        self.sweep(chain, count)
        if not self.along_flow and 0 < self.slowness.share < QUASI_CLOSED:
            add_the_rest(self._spare, self.value, self.slowness.part, self.slowness.share)
        return np.maximum(np.abs(self._low), np.abs(self._high))

    def solve(self, chain: Chain, tolerance: float) -> bool:  # type: ignore[override]
        """Bring the values at ρ to within about `tolerance`; return whether that was possible."""
        self.order, slow, spent = None, 0, 0
        if not self.slowness.find(chain):
            return False
        before = np.full(self.value.shape[1], np.inf)
        goal = np.maximum(tolerance / self.time, NOISE * np.abs(self.value).max(0))
        while True:
            left = self.follow(chain, BURST)
            spent += BURST
            if (left <= goal).all():
                return True
            if spent > MOST or not np.isfinite(left).all():
                return False
            if spent % (8 * BURST) == 0:
                goal = np.maximum(tolerance / self.time, NOISE * np.abs(self.value).max(0))
            shrunk = np.max(left / np.maximum(before, TINY), where=left > goal, initial=0.0)
            slow = slow + 1 if shrunk > SLUGGISH**BURST else 0
            before = left
            if slow == PATIENCE and self.along_flow:
                return self._on_all_levels(chain, goal)
            if slow == PATIENCE:
                self.along_flow, slow = True, 0

    def _on_all_levels(self, chain: Chain, goal: Array) -> bool:
        """Improve V on several levels, one utility after another."""
        levels = Multilevel.of(chain, self.tick)
        done = True
        for j in range(len(goal)):
            value = np.ascontiguousarray(self.value[:, j])
            left = levels.improve(np.ascontiguousarray(chain.gain[:, j]), value, _largest, 0.3 * goal[j])
            self.value[:, j] = value
            done &= left <= goal[j]
        return done


def _largest(residual: Array) -> float:
    return float(np.abs(residual).max())


def shares_of(weights: Array, often: Sequence[Array]) -> Array:
    """Return how often a mixture of policies with weights (n,) takes each of them in every state, (n, S), that each comes to so `often`, (S,); the first where none does.

    >>> shares_of(np.array([0.25, 0.75]), [np.array([1.0, 0.0]), np.array([1.0, 0.0])])
    array([[0.25, 1.  ],
           [0.75, 0.  ]])
    """
    shares = weights[:, None] * np.array(often)
    total = shares.sum(0)
    shares[0, total == 0] = 1.0
    shares /= np.where(total == 0, 1.0, total)
    return np.asarray(shares)


class TotalPricer:
    """Prices one weight vector after another, each from where the last one ended.

    Arguments:
        rows: with the utilities (J, N).
        initial: ρ.
        first: (S,) a policy that stops almost surely.
        tick: called between sweeps; it may raise.
        label: (S,) components, each numbered after those that it leads to, if they are known.
    """

    def __init__(
        self,
        rows: SparseRows,
        initial: Array,
        first: Indices,
        tick: Callable[[], None] = lambda: None,
        label: Indices | None = None,
    ) -> None:
        self._label = label
        self.rows = rows._replace(utility=np.ascontiguousarray(rows.utility))
        self.initial, self._choice, self._tick = initial, first.copy(), tick
        self.threads = StateThreads()
        self.values = TotalValues(
            np.zeros((len(initial), len(self.rows.utility))), initial, lambda _: self._tick(), self.threads
        )
        self._chain = ChangingChain(self.rows, 1.0, self.threads)
        self._known = np.zeros((len(initial), 1 + len(self.rows.utility)))  # values and times, in order
        # The last weights that were priced in order, and how precisely
        self._last: tuple[Array, float, float, TotalPriced] | None = None

    @cached_property
    def _ordered(self) -> list[OrderedRows]:
        """The rows in order; none once that is slow."""
        return [OrderedRows(self.rows, lambda: self._tick(), self._label)]

    @property
    def order(self) -> tuple[Indices, Indices] | None:
        """The states (S,) by components, each after those that it leads to, and where each begins; None if there is none."""
        return (self._ordered[0].order, self._ordered[0].bounds) if self._ordered else None

    def _in_order(
        self, weight: Array, tolerance: float, precision: float, roughly: bool = False
    ) -> TotalPriced | None:
        """Return what `price` does, component by component, or `roughly`, for a time to stop of 1; None if that is slow."""
        if not self._ordered:
            return None
        ordered, exact = self._ordered[0], (tolerance, precision)
        if not ordered.has_cycles:
            exact = (0.0, 0.0)  # one sweep is as precise as it gets
        last = self._last
        if (
            last is not None
            and np.array_equal(weight, last[0])
            and last[1] <= exact[0]
            and last[2] <= exact[1]
        ):
            return last[3]
        found = ordered.price(
            *(weight, tolerance, precision, self.initial, self._choice, self._chain, self._known),
            attempts=1 if roughly else ATTEMPTS,
        )
        if found is None:
            self._ordered.clear()
            return None
        self._choice, self._known = found.choice, found.known
        priced = TotalPriced(found.choice.copy(), found.value, found.time, 1)
        if (
            roughly and ordered.has_cycles
        ):  # what was left for a time of 1 is multiplied by the time that was found
            time = max(float(self.initial @ found.time), 1.0)
            exact = time * tolerance, time * precision
        self._last = (weight.copy(), *exact, priced)
        return priced

    def longest(self, steps: Array, change: float | None = None) -> Array | None:
        """Return the largest totals of `steps` (N,) of any policy, (S,), about, or to a `change` of a sweep; None if that is slow."""
        time = np.ascontiguousarray(self._known[:, -1])
        return self._ordered[0].longest(steps, self._choice, change, time) if self._ordered else None

    def rough_time(self, weight: Array) -> float:
        """Return about how long a good policy for `weight` (J,) takes to stop."""
        most = float(np.abs(weight @ self.rows.utility).max(initial=0.0))
        enough = (FIRST, EXACTLY) if self._ordered and self._ordered[0].is_even else (ROUGH, ROUGH)
        found = self._in_order(weight, enough[0] * most, enough[1] * most, roughly=True)
        if found is not None:
            return max(float(self.initial @ found.time), 1.0)
        utility, values = weight @ self.rows.utility, self.values
        for _ in range(STEPS):
            self._bellman(utility, values.value @ weight, 0.0)
            values.order = None
            chain = self._chain.follow(self._choice)
            values.follow(chain, FOLLOWED)
        return values.time if values.slowness.find(chain) else 1.0

    def price(self, weight: Array, tolerance: float, precision: float) -> TotalPriced | None:
        """Return a policy within about `tolerance` of the best for `weight` (J,), with values exact to about `precision`.

        None if sweeps do not find it: it may not exist.
        """
        found = self._in_order(weight, tolerance, precision)
        if found is not None:
            return found
        utility, values = weight @ self.rows.utility, self.values
        is_known, slow, least = False, 0, np.inf
        for sweeps in range(ROUNDS):
            value = values.value @ weight
            size = float(np.abs(value).max(initial=0.0))
            if not np.isfinite(size):
                break
            before = self._choice.copy()
            high, changed = self._bellman(utility, value, 4 * EPSILON * size)
            goal = max(tolerance / values.time, NOISE * size)
            if high <= goal:
                self._choice = before
                if is_known:
                    return TotalPriced(before, values.value.copy(), values.slowness.time.copy(), sweeps + 1)
            least, slow = (high, 0) if high < HALVED * least else (least, slow + 1)
            chain = self._chain.follow(self._choice)
            is_known = high <= goal or not changed
            if is_known:
                if not values.solve(chain, precision):
                    break
            elif slow < STEPS:
                values.order = None
                values.follow(chain, FOLLOWED)
            elif slow > GIVEN_UP or not values.solve(chain, INEXACT * high * values.time):
                break
        return None

    def mixed(self, choices: Indices, weights: Array, precision: float) -> tuple[Array, TotalPriced | None]:
        """Return how often a mixture of policies, each as its pairs (S,), takes each of them in every state, (n, S), and its values.

        The values are None if sweeps do not find them.
        """
        often = [self._visits(choice, precision) for choice in choices] if len(choices) > 1 else []
        shares = shares_of(weights, often) if often else np.ones(choices.shape)
        if self._ordered:
            found = self._known.copy()
            left = precision / max(float(self.initial @ found[:, -1]), 1.0)
            if self._ordered[0].evaluate(chain_of(self.rows, 1.0, choices, shares), left, found):
                return shares, TotalPriced(choices[0], found[:, :-1], found[:, -1], 0)
        values = TotalValues(self.values.value.copy(), self.initial, lambda _: self._tick(), self.threads)
        values.slowness.value[:] = self.values.slowness.value
        if not values.solve(chain_of(self.rows, 1.0, choices, shares), precision):
            return shares, None
        return shares, TotalPriced(choices[0], values.value, values.slowness.time, 0)

    def _visits(self, choice: Indices, precision: float) -> Array:
        """Return how often a policy comes to each state before it stops, (S,)."""
        chain = chain_of(self.rows, 1.0, choice)
        if self._ordered:
            return self._ordered[0].visits(chain, self.initial)
        tolerance = max(precision / max(self.values.time, 1.0), FINEST_VISITS)
        return chain_occupancy(
            *(chain, 1.0, self.initial, tolerance, lambda _: self._tick()),
            along_flow=self.values.along_flow,
            threads=self.threads,
        )

    def _bellman(self, utility: Array, value: Array, margin: float) -> tuple[float, int]:
        """Take the best pairs; return the largest improvement of a value, and how many states changed."""

        def part(begin: int, end: int) -> tuple[float, float, float, int]:
            return kernels.improve(
                *(*self.rows[:4], utility, 1.0, self.initial, value, margin, self._choice, begin, end)
            )

        self._tick()
        _, _, high, changed = zip(*self.threads.share(part, len(value), PIECES), strict=True)
        return max(high), sum(changed)
