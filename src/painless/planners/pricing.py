"""Pricing: the best policy for weights of the utilities, by modified policy iteration on sparse rows.

    max_π Σ_j w_j V_j(ρ),        T the Bellman optimality operator of u = Σ_j w_j u_j

The values V_j of the last policy are kept for all utilities, so that Σ_j w_j V_j is its exact value under any
new weights: a warm start that is already good. A sweep TV gives bounds on both sides, however inexact V is
(MacQueen 1966; Puterman, Markov Decision Processes, th. 6.6.6), of the optimum and of the greedy policy π:

    ρ·TV + γ/(1−γ) min(TV − V) ≤ V_π(ρ) ≤ V*(ρ) ≤ ρ·TV + γ/(1−γ) max(TV − V)

Between two such sweeps the greedy policy is followed for a few sweeps of its own, which cost a fraction. A state
changes its action only for a gain above rounding; if the bounds do not close in, the policy is followed for
twice as long each time: in the limit this is policy iteration, which cannot cycle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.arrays import Array
from painless.planners import _sweep_kernels as kernels
from painless.planners.chain import EPSILON, Chain, Values, chain_of
from painless.planners.sparse_rows import Indices, SparseRows, sparse_rows
from painless.planners.two_threads import TwoThreads
from painless.problem import CMDP

FOLLOWED = 5  # sweeps of the greedy policy after a Bellman sweep, at first
STALLED = 0.3  # a range that shrinks by less, while the policy stays the same, doubles them
UNTRIED = 0.7  # even sweeps that shrink the error by less are worth comparing with the other kind
PATIENCE = 50  # Bellman sweeps after which they are doubled anyway
LONGEST = 100_000  # sweeps in a row; who needs more is at the limits of rounding


class Priced(NamedTuple):
    """A best response, its values (J,), and the bound on every policy."""

    choice: NDArray[np.unsignedinteger]  # (S,) the number of the pair among the state's own
    value: Array  # (J,)
    upper_bound: float  # of Σ_j w_j V_j(ρ), for every policy


class Pricer:
    """Prices one weight vector after another, each from where the last one ended."""

    def __init__(self, problem: CMDP, tick: Callable[[], None] = lambda: None) -> None:
        self.rows: SparseRows = sparse_rows(problem)
        self.initial, self.discount = problem.initial, problem.discount
        self.sweeps, self.bellman_sweeps, self.solves = 0, 0, 0
        self._tick = tick
        self.threads = TwoThreads()
        states = len(self.rows.first) - 1
        self._choice: Indices = self.rows.first[:-1].copy()
        self.values = Values(
            np.zeros((states, len(self.rows.utility))), self.discount, self.count, self.threads
        )
        self._fresh, self._error = True, np.inf
        self._rate = {False: 0.0, True: UNTRIED}  # by which a sweep shrinks the error, by its kind
        most = int(np.diff(self.rows.first).max())
        self._compact = np.min_scalar_type(most - 1)

    def price(self, weight: Array, tolerance: float, value_tolerance: float) -> Priced:
        """Return a policy within `tolerance` of the best for `weight` (J,), which sums to at most 1.

        Its values are exact to `value_tolerance`.
        """
        self.solves += 1
        utility = weight @ self.rows.utility
        value = self.values.value @ weight
        updated = np.empty_like(value)
        bound, last, order, rounds, ever = np.inf, np.inf, None, 0, False
        count = base = FOLLOWED
        while True:
            size = float(max(abs(value.max()), abs(value.min())))
            low, high, changed = self._bellman(utility, value, updated, 4 * EPSILON * size)
            above, width, rounding = self._macqueen(updated, low, high, 4 * EPSILON * (size + high))
            bound, ever, rounds = min(bound, above), ever or changed > 0, rounds + 1
            if width <= max(tolerance, rounding) or max(count, base) > LONGEST:
                break
            base = 2 * base if rounds % PATIENCE == 0 else base
            stalled = width > STALLED * last and not changed
            count = max(base, self._needed(count, width / max(tolerance, rounding)) if stalled else 0)
            last = width
            if self.along_flow and (order is None or changed > len(value) // 50):
                order = kernels.flow_order(*self.rows[1:4], self._choice)
            value, updated = self._follow(utility, updated, value, order, count)
        if ever or self._fresh or self._error > value_tolerance:
            self.evaluate(value_tolerance)
        return Priced(self.compact(), self.initial @ self.values.value, bound)

    def _macqueen(
        self, updated: Array, low: float, high: float, rounding: float
    ) -> tuple[float, float, float]:
        """Return the upper bound at ρ, its distance from the lower one, and what of that is rounding."""
        tail = self.discount / (1 - self.discount)
        bound = float(self.initial @ updated) + tail * (high + rounding) + rounding
        return bound, tail * (high - low), 4 * rounding * (1 + tail)

    @property
    def along_flow(self) -> bool:
        """Which kind of sweep has served better of late (see `chain`)."""
        return self._rate[True] < self._rate[False]

    def _needed(self, count: int, excess: float) -> int:
        """Return how long to follow a policy that stays the same: what its rate asks for, or twice as long."""
        needed = np.log(max(excess, 2.0)) / -np.log(min(max(self._rate[self.along_flow], 0.1), 0.999))
        return int(max(2 * count, min(needed, 64)))

    def _follow(
        self, utility: Array, value: Array, spare: Array, order: Indices | None, count: int
    ) -> tuple[Array, Array]:
        """Follow the current policy for some sweeps; return its values and the other array."""
        kind = self.along_flow
        widths = np.empty(count)
        for i in range(count):
            if kind and order is not None:
                widths[i] = kernels.follow_flow(
                    *self.rows[1:4], utility, self.discount, self._choice, order, value
                )
            else:
                widths[i] = self._follow_evenly(utility, value, spare)
                value, spare = spare, value
        self.count(count)
        if widths.min() > 0:
            self._rate[kind] = float((widths[-1] / widths[1]) ** (1 / (count - 2)))
        return value, spare

    def _follow_evenly(self, utility: Array, value: Array, updated: Array) -> float:
        def part(start: int, stop: int) -> tuple[float, float]:
            return kernels.follow_evenly(
                *self.rows[1:4], utility, self.discount, self._choice, value, updated, start, stop
            )

        low, high = zip(*self.threads.share(part, len(value)), strict=True)
        return max(high) - min(low)

    def evaluate(self, tolerance: float) -> None:
        """Evaluate the current policy for all utilities."""
        self.values.along_flow = self.along_flow
        self._error = float(self.values.solve(self.chain(self._choice), tolerance).max())
        self._fresh = False

    def chain(self, choices: Indices, shares: Array | None = None) -> Chain:
        """Return the chain of a policy, deterministic or mixed by state."""
        self._tick()
        return chain_of(self.rows, self.discount, choices, shares)

    def count(self, sweeps: int) -> None:
        """Count sweeps of one policy, and stop where it is time."""
        self.sweeps += sweeps
        self._tick()

    def never_stop(self) -> None:
        """Heed no deadline any more: what is left is to finish."""
        self._tick = lambda: None

    def compact(self) -> NDArray[np.unsignedinteger]:
        """Return the current policy in as few bytes as it takes."""
        return (self._choice - self.rows.first[:-1]).astype(self._compact)

    def pairs(self, compact: NDArray[np.unsignedinteger]) -> Indices:
        """Return a policy as the pairs that it takes, (S,)."""
        return self.rows.first[:-1] + compact.astype(np.uint32)

    def _bellman(
        self, utility: Array, value: Array, updated: Array, margin: float
    ) -> tuple[float, float, int]:
        def part(start: int, stop: int) -> tuple[float, float, int]:
            return kernels.improve(
                *(*self.rows[:4], utility, self.discount),
                *(value, margin, self._choice, updated, start, stop),
            )

        self._tick()
        self.bellman_sweeps += 1
        low, high, changed = zip(*self.threads.share(part, len(value)), strict=True)
        return min(low), max(high), sum(changed)
