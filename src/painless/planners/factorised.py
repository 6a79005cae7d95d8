"""A model whose policies are evaluated by factorised systems, exact to rounding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from painless.arrays import Array
from painless.bellman import (
    action_transition,
    occupancy_value,
    policy_transition,
    policy_utility,
    policy_value,
    resolvent,
)
from painless.planners.engine import Actions, as_table
from painless.planners.policy_iteration import Plan, policy_iteration
from painless.problem import CMDP
from painless.validation import require_sound


@dataclass(frozen=True)
class Factorised:
    """Finds best responses by policy iteration."""

    problem: CMDP
    exact = True

    def __post_init__(self) -> None:
        require_sound(self.problem.transition)

    def best(
        self, weight: Array, tolerance: float, precision: float, start: Actions | None = None
    ) -> FactorisedResponse:
        """Return the best policy for weights (J,), found from the policy `start` if given."""
        del tolerance, precision  # exact to rounding
        problem = self.problem
        utility = weight[0] * problem.reward + np.tensordot(weight[1:], problem.constraint_reward, 1)
        first = None if start is None else start.astype(np.intp)
        return FactorisedResponse(problem, policy_iteration(problem, utility, first))

    def value(self, policy: Array | Actions) -> Array:
        """Return V(ρ) of all utilities, (J,)."""
        return policy_value(self.problem, as_table(policy, self.problem.shape[1]))

    def visits(self, policy: Array | Actions, precision: float = 0.0) -> Array:
        """Return d = ρ (I − γ P_π)⁻¹, (S,)."""
        del precision  # exact to rounding
        if policy.ndim == 1:
            chain = action_transition(self.problem, policy.astype(np.intp))
        else:
            chain = policy_transition(self.problem, np.asarray(policy, dtype=np.float64))
        return resolvent(chain, self.problem.discount).state_occupancy(self.problem.initial)

    def heed(self, tick: Callable[[], None]) -> None:
        """Do nothing: a factorisation is not to be interrupted."""

    def stored(self, actions: Actions) -> Array:
        """Return the table: it is small."""
        return as_table(actions, self.problem.shape[1])


@dataclass(frozen=True)
class FactorisedResponse:
    """A plan, evaluated for all utilities by the factors that it comes with."""

    problem: CMDP
    plan: Plan

    @cached_property
    def actions(self) -> Actions:
        """The policy, (S,)."""
        return self.plan.actions.astype(np.min_scalar_type(self.problem.shape[1] - 1))

    @property
    def evaluations(self) -> int:
        """How many policies were evaluated on the way."""
        return self.plan.evaluations

    @property
    def upper_bound(self) -> float:
        """Bounds Σ_j w_j V_j(ρ) of every policy."""
        return self.plan.upper_bound

    @property
    def weighted_value(self) -> float:
        """Σ_j w_j V_j(ρ) of this policy."""
        return self.plan.value

    @cached_property
    def value(self) -> Array:
        """V(ρ) of all utilities, (J,)."""
        gained = policy_utility(self.problem.utility, self.plan.policy(self.problem.shape[1]))
        return self.plan.resolvent.state_value(gained) @ self.problem.initial

    def value_and_visits(self) -> tuple[Array, Array]:
        """Return Σ d(s, a) u(s, a), (J,), and d(s), (S,)."""
        visits = self.plan.resolvent.state_occupancy(self.problem.initial)
        table = self.plan.policy(self.problem.shape[1])
        return occupancy_value(self.problem, visits[:, None] * table), visits
