"""A large sparse model, solved by sweeps: nothing of size S × S is formed, and every error is proved.

Best responses come from one `Pricer`, each from where the last one ended. Values and visits start from the latest ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from painless.arrays import Array
from painless.planners.chain import Chain, chain_of
from painless.planners.chain_occupancy import chain_occupancy
from painless.planners.engine import PRECISION, Actions, Bracket, value_rounding
from painless.planners.pricing import Pricer
from painless.planners.sparse_rows import Indices
from painless.problem import CMDP

MIXED = 1e-6  # a smaller probability is none
MOST_MIXED = 100  # states that show prices; as many as there are constraints suffice
FINEST = 1e-13  # relative to 1/(1−γ); pricing is never asked for more


class Swept:
    """Finds best responses by modified policy iteration."""

    exact = False

    def __init__(self, problem: CMDP) -> None:
        self.problem = problem
        self.unit = 1 / (1 - problem.discount)
        self.compact = np.min_scalar_type(problem.shape[1] - 1)
        self._tick: Callable[[], None] = lambda: None
        self._visits: Array | None = None

    @cached_property
    def pricer(self) -> Pricer:
        """The pricer, made when it is first needed."""
        return Pricer(self.problem, lambda: self._tick())

    def heed(self, tick: Callable[[], None]) -> None:
        """Call `tick` between sweeps from now on; it may raise."""
        self._tick = tick

    def best(
        self, weight: Array, tolerance: float, precision: float, start: Actions | None = None
    ) -> SweptResponse:
        """Return a policy within `tolerance` of the best for `weight` (J,), its values exact to `precision`."""
        del start  # from where the last one ended
        scale = float(weight.sum())
        finest = FINEST * self.unit
        precision = max(precision, finest)
        priced = self.pricer.price(weight / scale, max(tolerance / scale, finest), precision)
        low = priced.value - priced.error
        return SweptResponse(
            actions=self.actions_of(priced.choice),
            value=low,
            middle=priced.value,
            upper_bound=priced.upper_bound * scale,
            weighted_value=float(weight @ low),
            rounding=self.pricer.rounding(weight),
        )

    def actions_of(self, choice: Actions) -> Actions:
        """Return the actions of a policy that is given by the numbers of its pairs among each state's own, (S,)."""
        action = self.pricer.rows.action
        chosen = choice if action is None else action[self.pricer.pairs(choice)]
        return chosen.astype(self.compact)

    def shown_prices(self, policy: Array, tolerance: float) -> Array | None:
        """Return the multipliers (K,) under which the actions that a policy (S, A) mixes are equally good, or nearly so.

            Q_r(s, a) + λ·Q_c(s, a) = Q_r(s, a') + λ·Q_c(s, a')     for a, a' with π(a|s), π(a'|s) > 0

        None where it mixes too few.
        """
        from scipy.optimize import nnls

        mixing = np.flatnonzero(policy.max(1) < 1 - MIXED)[:MOST_MIXED]
        constraints = self.problem.shape[2]
        if not constraints or len(mixing) < constraints:
            return None
        value, rows = self.pricer.values_of(self.chain(policy), tolerance), self.pricer.rows
        differences = []
        for s in mixing:
            taken = np.flatnonzero(policy[s] > MIXED)
            q = []
            for pair in self._pairs[taken, s]:
                part = slice(rows.pointer[pair], rows.pointer[pair + 1])
                ahead = rows.probability[part] @ value[rows.successor[part]]
                q.append(rows.utility[:, pair] + self.problem.discount * ahead)
            differences += [one - q[0] for one in q[1:]]
        gains = np.array(differences)
        try:
            multiplier, _ = nnls(gains[:, 1:], -gains[:, 0])
        except RuntimeError:  # too many iterations
            return None
        return np.asarray(multiplier)

    @cached_property
    def rounding(self) -> float:
        """What rounding may do to a value of this model, at most."""
        return value_rounding(self.problem, self.pricer.rows.most_successors)

    def values(self, policy: Array | Actions) -> Bracket:
        """Return what is proved of V(ρ), to full precision; to less where `tick` raises TimeoutError on the way."""
        low, error = self.pricer.value_of(self.chain(policy), PRECISION * self.unit)
        return Bracket(low, low + 2 * error, low + error).within(self.problem)

    def visits(self, policy: Array | Actions, precision: float = PRECISION) -> Array:
        """Return d = ρ (I − γ P_π)⁻¹, (S,), to `precision` relative to their sum."""
        self._visits = chain_occupancy(
            self.chain(policy),
            self.problem.discount,
            self.problem.initial,
            precision,
            self.pricer.count,
            self._visits,
            along_flow=self.pricer.along_flow,
            threads=self.pricer.threads,
        )
        return self._visits

    def stored(self, actions: Actions) -> Actions:
        """Return the actions as they are, a byte or so for each state."""
        return actions

    def chain(self, policy: Array | Actions) -> Chain:
        """Return the chain of a policy."""
        self._tick()
        if policy.ndim == 2:
            shares = np.ascontiguousarray(policy.T, dtype=np.float64)
            return chain_of(self.pricer.rows, self.problem.discount, self._pairs, shares)
        chosen = self._pairs[policy, np.arange(len(policy))]
        return chain_of(self.pricer.rows, self.problem.discount, chosen)

    @cached_property
    def _pairs(self) -> Indices:
        """The pair of every action in every state, (A, S); the state's first where it is not available."""
        first = self.pricer.rows.first[:-1]
        actions = self.problem.actions
        if self.pricer.rows.action is None:
            return first + np.arange(actions.shape[1], dtype=np.uint32)[:, None]
        rank = (actions.cumsum(1, dtype=np.uint32) - np.uint32(1)) * actions
        return np.ascontiguousarray(first + rank.T.astype(np.uint32))


@dataclass(frozen=True)
class SweptResponse:
    """A best response and what is proved of it."""

    actions: Actions  # (S,)
    value: Array  # (J,) at least
    middle: Array  # (J,)
    upper_bound: float
    weighted_value: float
    rounding: float
    evaluations: int = 1

    def value_and_visits(self) -> tuple[Array, None]:
        """Return the values alone: visits cost a solve of their own."""
        return self.value, None
