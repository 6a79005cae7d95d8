"""A discounted problem that ends: where γ is close to 1, it is a total with a chance of 1 − γ to end in every step.

With a discount, an error r of a Bellman equation counts up to r/(1−γ), as if the process went on for ever. A trip that arrives after 200 steps ends long
before that, in states that are never left and pay the same c whatever one does. So the problem is solved as a total until there, whose proof
rests on the time to stop:

    V = c/(1−γ) + V',      V' = (u − c) + γP V',      V' = 0 after the arrival
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask
from painless.engines.engine import UNIT_ROUNDOFF, BaseEngine, Bracket, Response
from painless.engines.sweeps.elimination_order import fills_in_little
from painless.engines.sweeps.policy_steps import uniform_chain
from painless.engines.sweeps.sparse_rows import sparse_rows
from painless.engines.total import Total
from painless.problem import CMDP, Criterion

CLOSE = 0.9995  # the discount from which on it matters; at 0.999 sweeps of mazes with a discount are three to five times faster
ELIMINATED = 0.9999  # up to which mazes and others that are eliminated are four to nine times faster with their discount
SHORT = 1 - 2e-8  # up to which rows that sum to γ are told from those that sum to 1


class Arrival(NamedTuple):
    """The states that are never left, and what every step there pays."""

    states: Mask  # (S,)
    pays: Array  # (J,)


def arrival_of(problem: CMDP) -> Arrival | None:
    """Return where a process arrives for ever; None if nowhere."""
    actions = problem.shape[1]
    arrows = scipy.sparse.coo_array(problem.transition)
    pair, target = arrows.coords
    leaves = np.zeros(problem.actions.size, dtype=bool)
    leaves[pair[(pair // actions != target) & (arrows.data > 0)]] = True
    never_left = ~(leaves.reshape(problem.actions.shape) & problem.actions).any(1)
    if not never_left.any():
        return None
    first = int(np.argmax(never_left))
    pays = problem.utility[:, first, problem.actions[first]][:, 0]
    same = (problem.utility == pays[:, None, None]).all(0) | ~problem.actions
    states = never_left & same.all(1)
    return Arrival(states, pays) if states.any() else None


def ending_soon(problem: CMDP) -> EndingSoon | None:
    """Return the engine of a discounted problem that is better solved as a total: γ is close to 1, and the process arrives somewhere."""
    close = problem.criterion is Criterion.DISCOUNTED and CLOSE <= problem.discount <= SHORT
    arrival = arrival_of(problem) if close and problem.is_sparse else None
    if arrival is None or (problem.discount <= ELIMINATED and _fills_in_little(problem)):
        return None
    return EndingSoon(problem, arrival)


def _fills_in_little(problem: CMDP) -> bool:
    """Whether policies are evaluated by elimination, which is exact and takes a fraction of the time."""
    return fills_in_little(uniform_chain(sparse_rows(problem))[0])


class EndingSoon(BaseEngine):
    """Solves a discounted problem as a total."""

    exact = False
    rounding = np.inf  # depends on the policy: `values` bounds it

    def __init__(self, problem: CMDP, arrival: Arrival) -> None:
        super().__init__(problem)
        kernel: Any = problem.transition
        shrunk = scipy.sparse.csr_array(
            (problem.discount * kernel.data, kernel.indices, kernel.indptr), shape=kernel.shape
        )
        utility = np.where(problem.actions, problem.utility - arrival.pays[:, None, None], 0.0)
        utility[:, arrival.states] = 0.0
        self._shift = arrival.pays * problem.unit  # (J,)
        self._slip = 8 * UNIT_ROUNDOFF * np.abs(self._shift)
        self._arrived = arrival.states
        self.total = Total(
            CMDP(
                shrunk,
                utility[0],
                initial=problem.initial,
                discount=1.0,
                end=arrival.states,
                constraint_reward=utility[1:],
                threshold=problem.threshold - self._shift[1:],
                actions=problem.actions,
                copy=False,
            )
        )

    @cached_property
    def unit(self) -> float:
        """The scale of values: the time to arrive."""
        return self.total.unit

    def call_between_steps(self, tick: Callable[[], None]) -> None:
        """Call `tick` between steps from now on; it may raise."""
        super().call_between_steps(tick)
        self.total.call_between_steps(tick)

    def best(self, weight: Array, tolerance: float, precision: float) -> Response:
        """Return a policy within `tolerance` of the best for `weight` (J,), its values exact to `precision`."""
        found = self.total.best(weight, tolerance, precision)
        shift, slip = float(weight @ self._shift), float(weight @ self._slip)
        return found._replace(
            value=found.value + self._shift - self._slip,
            middle=found.middle + self._shift,
            upper_bound=found.upper_bound + shift + slip,
            weighted_value=found.weighted_value + shift - slip,
            rounding=found.rounding + 2 * slip,
            visits=None,
        )

    def values(self, policy: Any) -> Bracket:
        """Return proved bounds on V(ρ)."""
        return self._shifted(self.total.values(policy))

    def _shifted(self, found: Bracket) -> Bracket:
        low, high, guess = (side + self._shift for side in found)
        return Bracket(low - self._slip, high + self._slip, guess).within(self.extent)

    def visits(self, policy: Any, precision: float = 0.0) -> Array:
        """Return d = ρ (I − γ P_π)⁻¹, (S,)."""
        visits = self.total.visits(policy, precision)
        return np.where(self._arrived, visits * self.problem.unit, visits)

    def action_values(self, policy: Array, states: NDArray[np.intp], tolerance: float) -> Array:
        """Return Q of all utilities in some states, (J, n, A); −∞ where there is no action."""
        return self.total.action_values(policy, states, tolerance) + self._shift[:, None, None]

    def mixed(self, policies: Sequence[Any], weights: Array, precision: float = 0.0) -> tuple[Any, Bracket]:
        """Return a policy with the averaged values of some policies, and proved bounds on its values."""
        policy, found = self.total.mixed(policies, weights, precision)
        return policy, self._shifted(found)
