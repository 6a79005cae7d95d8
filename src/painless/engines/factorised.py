"""A model whose policies are evaluated by factorised systems, exact to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.bellman import (
    Resolvent,
    action_transition,
    action_value,
    policy_transition,
    policy_utility,
    reachable,
    resolvent,
)
from painless.common.arrays import Array, Mask
from painless.engines.base import BaseEngine
from painless.engines.engine import (
    UNIT_ROUNDOFF,
    Actions,
    Bracket,
    Response,
    as_table,
    value_rounding,
)
from painless.engines.policy_iteration import policy_iteration
from painless.problem import CMDP, Transition
from painless.problem.transitions import require_sound

STEPS = 8  # roundings of a residual beside those of its sums
REMEMBERED = 64  # best responses whose visits are kept
EXTENDED = 1 << 24  # products up to which residuals are computed in extended precision


class Factorised(BaseEngine):
    """Finds best responses by policy iteration."""

    exact = True

    def __init__(self, problem: CMDP) -> None:
        super().__init__(problem)
        if not isinstance(problem.transition, np.ndarray):
            require_sound(problem.transition)
        self.rounding = value_rounding(problem, problem.most_successors)
        self._last: NDArray[np.intp] | None = None
        self._visits: dict[bytes, Array] = {}  # of the latest best responses, which mixtures ask for again

    def continue_from(self, other: Any) -> None:
        """Start the next search from the last best response of another engine, if it has the same pairs."""
        if isinstance(other, Factorised) and np.array_equal(other.problem.actions, self.problem.actions):
            self._last = other._last

    def best(self, weight: Array, tolerance: float, precision: float) -> Response:
        """Return the best policy for weights (J,); the search starts from the last one."""
        del precision  # exact to rounding
        problem = self.problem
        utility = weight[0] * problem.reward + np.tensordot(weight[1:], problem.constraint_reward, 1)
        plan = policy_iteration(problem, utility, self._last, self._tick, tolerance)
        self._last = plan.actions
        actions = plan.actions.astype(self.compact)
        gain = policy_utility(problem.utility, as_table(actions, problem.shape[1]))
        visits = plan.resolvent.state_occupancy(problem.initial)
        value = bracket(problem, action_transition(problem, plan.actions), gain, plan.resolvent, visits)
        if len(self._visits) >= REMEMBERED:
            self._visits.clear()
        self._visits[actions.tobytes()] = visits
        return Response(
            actions,
            value.low,
            value.guess,
            plan.upper_bound,
            plan.value,
            plan.rounding,
            plan.evaluations,
            visits,
        )

    def values(self, policy: Array | Actions) -> Bracket:
        """Return proved bounds on V(ρ), of a policy (S, A) or actions (S,)."""
        self._tick()
        problem = self.problem
        table = as_table(policy, problem.shape[1])
        chain = policy_transition(problem, table)
        gain = policy_utility(problem.utility, table)
        inverse = resolvent(chain, problem.discount)
        visits, reached = inverse.state_occupancy(problem.initial), reachable(chain, problem.initial)
        return bracket(problem, chain, gain, inverse, visits, reached).within(self.extent)

    def visits(self, policy: Array | Actions, precision: float = 0.0) -> Array:
        """Return d = ρ (I − γ P_π)⁻¹, (S,)."""
        del precision  # exact to rounding
        if policy.ndim == 1:
            known = self._visits.get(policy.astype(self.compact).tobytes())
            if known is not None:
                return known
            chain = action_transition(self.problem, policy.astype(np.intp))
        else:
            chain = policy_transition(self.problem, np.asarray(policy, dtype=np.float64))
        return resolvent(chain, self.problem.discount).state_occupancy(self.problem.initial)

    def action_values(self, policy: Array, states: NDArray[np.intp], tolerance: float) -> Array:
        """Return Q of all utilities in some states, (J, n, A); −∞ where there is no action."""
        del tolerance  # exact to rounding
        problem = self.problem
        inverse = resolvent(policy_transition(problem, policy), problem.discount)
        value = inverse.state_value(policy_utility(problem.utility, policy))
        masked = np.where(problem.actions, problem.utility, -np.inf)
        return action_value(problem, masked, value)[:, states]


def bracket(
    problem: CMDP,
    chain: Transition,
    gain: Array,
    inverse: Resolvent,
    visits: Array,
    reached: Mask | None = None,
) -> Bracket:
    """Return proved bounds on V(ρ), (J,) each, for utilities `gain` (J, S) of a chain whose system is factorised, and its visits.

        V_π(ρ) − ρ·V = Σ_s d(s)·r(s),     r = u + γPV − V,          ‖d − d̂‖₁ ≤ ‖ρ + γd̂P − d̂‖₁/(1−γ)

    So errors count where the policy goes, not where values are large. Rounding errors of r and d̂ are included; states that
    are not `reached` do not count.
    """
    value = inverse.state_value(gain)
    visits = np.maximum(visits, 0.0)
    residual, terms = _residual(chain, problem.discount, gain, value)
    size = np.abs(value) + problem.discount * np.asarray((chain @ np.abs(value).T).T) + np.abs(gain)
    error = np.abs(residual) + (terms + problem.shape[1] + STEPS) * UNIT_ROUNDOFF * size
    unit, left = problem.unit, problem.initial + problem.discount * (chain.T @ visits) - visits
    missing = float(np.abs(left).sum()) + (terms + STEPS) * 4 * UNIT_ROUNDOFF * unit
    worst = error.max(1) if reached is None else error[:, reached].max(1)
    slip = (error @ visits) * (1 + len(visits) * UNIT_ROUNDOFF) + missing * unit * worst
    at_start = value @ problem.initial
    slip = slip + np.count_nonzero(problem.initial) * UNIT_ROUNDOFF * (np.abs(value) @ problem.initial)
    return Bracket(at_start - slip, at_start + slip, at_start)


def _residual(chain: Transition, discount: float, gain: Array, value: Array) -> tuple[Array, float]:
    """Return u + γPV − V, (J, S), and the roundings of its sums and of the rows; in extended precision where that costs little."""
    if not isinstance(chain, np.ndarray):
        terms = float(np.diff(chain.indptr).max(initial=1))
        return gain + discount * (chain @ value.T).T - value, 3 * terms
    kind: Any = np.float64 if chain.size * len(value) > EXTENDED else np.longdouble
    wide, rows = (part.astype(kind) for part in (value, chain.T))
    residual = gain + discount * (wide @ rows) - wide
    off = float(np.abs(rows.sum(0) - 1).max())
    return residual.astype(np.float64), (2 * len(chain) * float(np.finfo(kind).eps) + off) / UNIT_ROUNDOFF
