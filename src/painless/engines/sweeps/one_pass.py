"""Totals on rows of which no policy comes back to a state that it has left: one pass finds the best policy, its values, and proofs of both.

Each state comes after those that its rows lead to, but for itself. With q the probability of staying there,

    B = max (u·w + Σ p B)/(1 − q),        V_j = (u_j + Σ p V_j)/(1 − q)

with sums over the other states. Beside B a bound U ≥ B is carried on, rounded up, that no row exceeds; beside the values of the chosen rows their errors,

    E_j ≥ (|u_j + P V_j − V_j| + Σ p E_j)/(1 − q),

rounded up, too. So a best response needs no other pass for its proof.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.engines.sweeps import _one_pass_kernels as kernels
from painless.engines.sweeps.sparse_rows import Indices, inverse

UNIT_ROUNDOFF = 2.0**-53
ALONE = np.empty((0, 0))  # the shares of one row in each state
STEPS = 16  # roundings of a sum beside those of its terms


class InOnePass(NamedTuple):
    """The values (J,) of a policy at ρ, and their errors (J,)."""

    value: Array
    error: Array


class BestInOnePass(NamedTuple):
    """The best policy for some weights."""

    choice: Indices  # (S,) its rows
    found: InOnePass
    bound: float  # on every policy at ρ; ∞ if none is proved


class OnePass:
    """Best policies, values and visits, each in one pass.

    Arguments:
        arrays: where the rows of each state begin, (S + 1,), where the successors of each row begin, (n + 1,), the successors and their probabilities.
        utility: of the rows, (J, n).
        terms: the largest number of successors of a row.
        order: the states, each after those that its rows lead to, (S,).
        initial: ρ.
        first: (S,) the rows that are taken at first.
        stuck: rows that stay with this probability or more are not taken.
    """

    def __init__(
        self,
        arrays: tuple[Indices, Indices, Indices, Array],
        utility: Array,
        terms: int,
        order: Indices,
        initial: Array,
        first: NDArray[np.integer],
        stuck: float,
    ) -> None:
        self.arrays, self.utility, self.terms, self.order = arrays, utility, terms, order
        self.initial, self.stuck = initial, stuck
        self.is_in_order = kernels.is_in_order(*arrays[:3], order, inverse(order))
        self._start = np.flatnonzero(initial)
        self._choice = first.astype(np.uint32)
        self._best, self._known = np.empty(2 * len(first)), np.empty((len(first), 2 * len(utility)))
        self._last: tuple[Array, BestInOnePass] | None = None  # the last weights, and what was found

    def best(self, weight: Array) -> BestInOnePass:
        """Return the best policy for weights (J,), which keeps the rows of the last one where others are not better."""
        if self._last is not None and np.array_equal(weight, self._last[0]):
            return self._last[1]
        slip = (len(weight) + 2) * UNIT_ROUNDOFF
        given = (*self.arrays, self.utility, weight, slip, self._rounding(1), self.stuck, self.order)
        proved = self.is_in_order and kernels.best_in_one_pass(*given, self._best, self._choice)
        share, at_start = self.initial[self._start], self._best[2 * self._start + 1]
        bound = float(share @ at_start + self._summed() * (share @ np.abs(at_start))) if proved else np.inf
        choice = self._choice.copy()
        found = BestInOnePass(choice, self.values(choice[None], ALONE), bound)
        self._last = weight.copy(), found
        return found

    def values(self, choices: Indices, shares: Array) -> InOnePass:
        """Return the values of the policy that takes the rows `choices` (m, S) with shares (m, S), or one row each if they are empty."""
        if not self.is_in_order:
            return InOnePass(np.zeros(len(self.utility)), np.full(len(self.utility), np.inf))
        _, pointer, successor, probability = self.arrays
        given = (pointer, successor, probability, self.utility, self._rounding(len(choices)), self.order)
        kernels.values_in_one_pass(*given, choices, shares, self.initial > 0, self._known)
        share, here = self.initial[self._start], self._known[self._start]
        value, error = share @ here[:, ::2], share @ here[:, 1::2]
        error = error * (1 + 1e-9) + self._summed() * (share @ np.abs(here[:, ::2]))
        return InOnePass(value, error)

    def time(self, choice: Indices) -> float:
        """Return how long the policy that takes the rows `choice` (S,) takes to stop, from ρ."""
        time = np.empty(len(choice))
        kernels.times_in_one_pass(*self.arrays[1:], self.order, choice, time)
        return float(self.initial[self._start] @ time[self._start])

    def visits(self, choice: Indices) -> Array:
        """Return how often the policy that takes the rows `choice` (S,) comes to each state, (S,)."""
        visits = self.initial.copy()
        kernels.visits_in_one_pass(*self.arrays[1:], self.order, choice, visits)
        return visits

    def _rounding(self, parts: int) -> float:
        """Return the roundings of a sum over the successors of so many rows, relative to the sum of its absolute terms."""
        return (3 * parts * (self.terms + 1) + STEPS) * UNIT_ROUNDOFF

    def _summed(self) -> float:
        """Return the same for a sum over the initial states."""
        return 3 * (len(self._start) + STEPS) * UNIT_ROUNDOFF
