"""What the engines share: the model, how policies are stored, interruptions, and mixtures of policies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from painless.bellman import occupancy_policy, policy_transition, reachable
from painless.common.arrays import Array, Mask
from painless.engines.drawn import Drawn
from painless.engines.engine import UNIT_ROUNDOFF, Actions, Bracket, Engine, as_table, occupancy
from painless.policies.table import uniform_policy
from painless.problem import CMDP


class BaseEngine:
    """The part of an engine that is the same for every criterion."""

    draws = False
    refines = True
    # States in which the best mixture does one thing for a while, and then another.
    remembered: tuple[int, ...] = ()

    def __init__(self, problem: CMDP) -> None:
        self.problem = problem
        self.compact = np.min_scalar_type(problem.shape[1] - 1)  # the type of actions
        self._tick: Callable[[], None] = lambda: None

    @cached_property
    def unit(self) -> float:
        """The scale of values."""
        return self.problem.unit

    @cached_property
    def extent(self) -> tuple[Array, Array]:
        """Min u/(1−γ) and max u/(1−γ), or the same with another unit, (J,) each, rounded outwards."""
        least, most = (side * self.unit for side in self.problem.utility_range)
        return least - 4 * UNIT_ROUNDOFF * np.abs(least), most + 4 * UNIT_ROUNDOFF * np.abs(most)

    def call_between_steps(self, tick: Callable[[], None]) -> None:
        """Call `tick` between steps from now on; it may raise."""
        self._tick = tick

    def continue_from(self, other: Any) -> None:
        """Start the next search from where that of another engine ended, where that is possible; here it is not."""

    def reachable(self, policy: Array) -> Mask:
        """Return which states a policy (S, A) may come to, (S,)."""
        if (self.problem.initial > 0).all():
            return np.ones(len(self.problem.initial), dtype=bool)
        return reachable(
            policy_transition(self.problem, (policy > 0).astype(np.float64)), self.problem.initial
        )

    def everywhere(self, actions: Actions, weight: Array) -> Actions:
        """Return a best response to weights (J,) in all states; here `best` leaves none out."""
        del weight
        return actions

    @property
    def allowed(self) -> Mask:
        """The pairs that learners may take, (S, A)."""
        return self.problem.actions

    def playable(self, policy: Array) -> Array:
        """Return a table (S, A) as it is evaluated; here as it is."""
        return policy

    def shown(self, policy: Any) -> Any:
        """Return a policy, actions (S,) or a table, as an answer has it: a table (S, A), or a draw."""
        return policy if isinstance(policy, Drawn) else as_table(policy, self.problem.shape[1])

    def any_policy(self) -> Any:
        """Return some policy, as an answer has it: the uniform one."""
        return uniform_policy(self.problem.actions)

    def mixed(
        self: Engine, policies: Sequence[Array | Actions], weights: Array, precision: float = 0.0
    ) -> tuple[Array, Bracket]:
        """Return the policy (S, A) with the averaged values of some policies, and proved bounds on its values.

        π(a|s) = d(s, a)/d(s) with d = Σ_k w_k d_k.
        """
        del precision  # as precise as visits are
        largest = as_table(policies[int(weights.argmax())], self.problem.shape[1])
        used = np.flatnonzero(weights).tolist()
        if len(used) > 1:
            total = sum(weights[k] * occupancy(self, policies[k]) for k in used)
            largest = occupancy_policy(np.asarray(total), largest)
        return largest, self.values(largest)
