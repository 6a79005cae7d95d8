"""Best responses, mixtures and values of large totals with proved bounds: in one pass where no policy comes back (see `one_pass`), else by sweeps (see `total_pricing`).

Nothing of what sweeps find is trusted. A bound on every policy is a function that no row improves, and the values of a policy have errors of at
most max|u + PV̂ − V̂|·E for any E with E ≥ 1 + PE; both are checked with outward rounding. If sweeps do not find an answer, as there is none if a loop pays at
the given weights, `Total` goes on by policy iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.bellman import Resolvent
from painless.common.arrays import Array
from painless.engines.engine import UNIT_ROUNDOFF, Bracket
from painless.engines.pair_rows import Places
from painless.engines.reduction import Quotient
from painless.engines.row_sweeps import STUCK, KeptRows
from painless.engines.sweeps._ordered_kernels import raised_in_order
from painless.engines.sweeps._proof_kernels import policy_residuals
from painless.engines.sweeps._row_kernels import write_table
from painless.engines.sweeps.one_pass import InOnePass, OnePass
from painless.engines.sweeps.sparse_rows import Indices, inverse
from painless.engines.sweeps.total_pricing import TotalPriced, TotalPricer, shares_of
from painless.engines.total_iteration import RAISES, SPARE, Factorise, Improved, at_start, upper_bound
from painless.engines.total_iteration import STEPS as SUMS
from painless.problem import CMDP

STEPS = 16  # roundings of a sum beside those of its terms
# The error of what is found, relative to what is asked for: bounds are twice as wide as what is left.
SWEPT = 0.2
FINE = 1e-4  # the highest precision of values, relative to the tolerance of the response
FINEST = 1e-11  # the highest precision of a mixture's values, relative to the time to stop


class SweptBest(NamedTuple):
    """A best response on the nodes of a quotient."""

    choice: NDArray[np.integer]  # (N,) the row of each node
    value: Bracket
    bound: float  # on every policy
    sweeps: int


class SweptTotal:
    """Sweeps the nodes of one quotient."""

    def __init__(self, problem: CMDP, quotient: Quotient, start: Places, tick: Callable[[], None]) -> None:
        self.problem, self.quotient, self._tick = problem, quotient, tick
        self.utility = quotient.utilities  # (J, n)
        self._first = start
        self._slowest: Array | None = None  # the largest times to stop (N,) of rows that were nearly best
        self.one_pass: OnePass | None = None  # if one is enough for everything
        if quotient.is_plain and not quotient.has_cycles:
            rows = quotient.rows
            order, arrays = inverse(rows.label), (rows.begin, *rows.arrays)
            self.one_pass = OnePass(arrays, self.utility, rows.terms, order, quotient.initial, start, STUCK)
        self.serves = self.one_pass is not None or self._can_sweep  # until it does not find something

    @property
    def _can_sweep(self) -> bool:
        return bool(self.quotient.is_plain and (self._known.place[self._first] >= 0).all())

    @cached_property
    def _known(self) -> KeptRows:
        return self.quotient.sweeps.known

    @cached_property
    def pricer(self) -> TotalPricer:
        """Sweeps over the rows that are kept."""
        known, quotient = self._known, self.quotient
        every = len(known.kept) == len(known.place)
        rows = known.sparse._replace(utility=self.utility if every else self.utility[:, known.kept])
        label = quotient.rows.__dict__.get("label")  # if it is known
        first = known.place[self._first].astype(np.uint32)
        return TotalPricer(rows, quotient.initial, first, self._tick, label)

    def rough_time(self, weight: Array) -> float:
        """Return about how long a good policy for `weight` (J,) takes to stop."""
        if self.one_pass is not None:
            return max(self.one_pass.time(self.one_pass.best(weight).choice), 1.0)
        return self.pricer.rough_time(weight)

    def best(
        self, weight: Array, tolerance: float, precision: float, factorise: Factorise
    ) -> SweptBest | None:
        """Return a policy within `tolerance` of the best for weights (J,); None if sweeps do not find it."""
        if not self.serves:
            return None
        found_at_once = self._best_in_one_pass(weight)
        if found_at_once is not None or not self.serves:
            return found_at_once
        precision = max(precision, FINE * tolerance / float(weight.sum()))
        priced = self.pricer.price(weight, SWEPT * tolerance, SWEPT * precision)
        if priced is None:
            self.serves = False
            return None
        choice = self._known.kept[priced.choice.astype(np.intp)]
        inverse: Resolvent = _Time(priced.time)
        found = Improved(choice, priced.value @ weight, inverse, priced.sweeps, [])
        slip = (len(weight) + 2) * UNIT_ROUNDOFF  # the weighted sum is rounded, too
        bound = self._bound_by_times(weight, slip, found.value, priced.time, tolerance)
        if bound is None:
            rounded = weight @ self.utility + slip * (weight @ np.abs(self.utility))
            bound = upper_bound(self.quotient, rounded, found, self._tick, factorise, self._longest)
        value = self._proved_values(choice[None], np.ones((1, len(choice))), priced)
        return SweptBest(choice, value, bound, priced.sweeps) if np.isfinite(bound) else None

    def _best_in_one_pass(self, weight: Array) -> SweptBest | None:
        """Return the best policy for weights (J,); None if one pass does not prove it."""
        if self.one_pass is None:
            return None
        self._tick()
        best = self.one_pass.best(weight)
        value = _around(best.found)
        if not (np.isfinite(best.bound) and np.isfinite(value.low).all()):
            self.one_pass, self.serves = None, self._can_sweep
            return None
        return SweptBest(best.choice, value, best.bound, 1)

    def _bound_by_times(
        self, weight: Array, slip: float, value: Array, time: Array, tolerance: float
    ) -> float | None:
        """Return a bound as `_bound_in_order` does, within `tolerance` of the values if it can: by the times (N,) of the policy, or those of slow rows, first if they were needed before."""
        best = float(value @ self.quotient.initial)
        bound, others = None, [self._slowest] if self._slowest is not None else []
        for times in (*others, time):
            one = self._bound_in_order(weight, slip, value, times)
            bound = one if bound is None or (one is not None and one < bound) else bound
            if bound is not None and bound <= best + tolerance:
                break
        return bound

    def _longest(self, steps: Array) -> Array | None:
        """Return the largest totals of `steps` (n,) that any policy makes, (N,), about; None if that is slow. They are kept for other weights, for which they often are enough, too."""
        self._slowest = self.pricer.longest(steps[self._known.kept])
        return self._slowest

    def _bound_in_order(self, weight: Array, slip: float, value: Array, time: Array) -> float | None:
        """Return a bound at ρ on every policy for weights (J,), whose sums are rounded by `slip`, from values and times (N,) that are raised in order; None if there is no order, or no proof."""
        rows, order = self.quotient.rows, self.pricer.order
        if order is None:
            return None
        rounding, raised = (3 * rows.terms + SUMS) * UNIT_ROUNDOFF, np.empty(len(value))
        arrays = (rows.begin, *rows.arrays, self.quotient.is_stop, self.utility, weight, slip, rounding)
        proved = raised_in_order(*arrays, *order, value, time, SPARE, RAISES, raised)
        return at_start(self.quotient, raised) if proved else None

    def _proved_values(self, choices: Places, shares: Array, found: TotalPriced) -> Bracket:
        """Return proved bounds on V(ρ) of the policy that takes the rows `choices` (n, N) with shares (n, N).

        The values and times that were found may be wrong; they decide how wide the bounds are.
        """
        rows, start = self.quotient.rows, self.quotient.initial
        terms = 3 * len(choices) * (rows.terms + 1) + STEPS
        value, time = np.ascontiguousarray(found.value), np.maximum(found.time, 0.0)
        arrays, left = (*rows.arrays, self.utility, choices, shares, value, time), np.empty(len(self.utility))
        held = policy_residuals(*arrays, terms * UNIT_ROUNDOFF, left)
        return _bracket(value.T, start, left, time, held)

    def mixed(
        self, policies: Sequence[NDArray[np.integer]], weights: Array, precision: float
    ) -> tuple[Array, Bracket] | None:
        """Return the table of a mixture of policies (S,), the heaviest first, and its values; None if sweeps do not find it.

        Nobody rests where another goes on if there is no other way on than to rest.
        """
        if not self.serves or self.quotient.has_choice_to_rest:
            return None
        choices, weights = np.array([self.quotient.rows_of(one) for one in policies]), weights / weights.sum()
        if (choices < 0).any():
            return None
        if self.one_pass is not None:
            return self._mixed_in_one_pass(self.one_pass, policies, choices.astype(np.uint32), weights)
        place = self._known.place[choices]
        if (place < 0).any() or not all(self.quotient.stops_surely(choice).all() for choice in choices):
            return None
        exact = max(precision, FINEST * self.pricer.values.time)
        shares, values = self.pricer.mixed(place.astype(np.uint32), weights, exact)
        if values is None:
            return None
        value = self._proved_values(choices, shares, values)
        # No more is claimed than is proved
        return self._table(policies, shares), value._replace(guess=value.low)

    def _mixed_in_one_pass(
        self, one_pass: OnePass, policies: Sequence[NDArray[np.integer]], choices: Indices, weights: Array
    ) -> tuple[Array, Bracket] | None:
        """Return the same from the rows that the policies take, (n, N); None if they stay for ever."""
        self._tick()
        shares = np.ones(choices.shape)
        if len(choices) > 1:
            often = [one_pass.visits(choice) for choice in choices]
            if not np.isfinite(often).all():
                return None
            shares = shares_of(weights, often)
        value = _around(one_pass.values(choices, shares))
        if not np.isfinite(value.low).all():
            return None
        # No more is claimed than is proved
        return self._table(policies, shares), value._replace(guess=value.low)

    def _table(self, policies: Sequence[NDArray[np.integer]], shares: Array) -> Array:
        """Return the table (S, A) that takes what each policy does with its share in each node, (n, N)."""
        table = np.empty(self.problem.actions.shape)
        write_table(np.array(policies), shares, self.quotient.node, table)
        return table


def _around(found: InOnePass) -> Bracket:
    """Return the values (J,) of a policy at ρ with their errors."""
    return Bracket(found.value - found.error, found.value + found.error, found.value)


class _Time(NamedTuple):
    """The time to stop of a policy, in the place of the inverse that would tell it."""

    time: Array  # (N,)

    def state_value(self, utility: Array) -> Array:
        """Return the time to stop, for a utility of 1 in every step, (1, N)."""
        assert (utility == 1).all()
        return self.time[None]

    def state_occupancy(self, initial: Array) -> Array:
        """It does not tell."""
        raise NotImplementedError


def _bracket(value: Array, start: Array, left: Array, time: Array, held: float) -> Bracket:
    """Return values (J, N) at ρ and their errors: what is `left` of each, (J,), in all steps W, (N,), of which W − PW is at least `held`."""
    guess = value @ start
    error = left * float(time @ start) / held if held > 0 else np.full(len(guess), np.inf)
    error = error * (1 + 1e-9) + 3 * (len(start) + STEPS) * UNIT_ROUNDOFF * (np.abs(value) @ start)
    return Bracket(guess - error, guess + error, guess)
