"""A model whose policies are evaluated by factorised systems, exact to rounding.

Policy iteration for one utility: the best response to a multiplier, and a safe bound on its value.

    V* ≤ V + max_s w/(1−γ),     w = (TV − V)₊ + δ,     T the Bellman optimality operator, δ what rounding does to TV

Where γ is close to 1 and values differ much from state to state, the largest w may be at a state that hardly any policy comes to. Then W ≥ w + γPW
at every pair bounds the excess in place of max w/(1−γ): the best value of w itself, by policy iteration once more.

A state changes its action only for a strict improvement, and the iteration ends when the values no longer
rise: ties and rounding can neither cycle nor stall it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.bellman import (
    Resolvent,
    action_value,
    policy_transition,
    policy_utility,
    reachable,
    resolvent,
)
from painless.common.arrays import Array, Mask
from painless.engines.engine import (
    UNIT_ROUNDOFF,
    Actions,
    BaseEngine,
    Bracket,
    Response,
    as_table,
    value_rounding,
)
from painless.problem import CMDP, Transition
from painless.problem.transitions import require_sound

STEPS = 8  # roundings of a residual, or of TV, beside those of its sums
ROUNDING = 1e-14  # relative to the largest value; a smaller improvement is none
CLOSE = 1e-12  # an excess that is smaller, relative to the value, is close enough
REMEMBERED = 64  # best responses whose visits are kept
EXTENDED = 1 << 24  # products up to which residuals are computed in extended precision


class Factorised(BaseEngine):
    """Finds best responses by policy iteration."""

    exact = True

    def __init__(self, problem: CMDP) -> None:
        super().__init__(problem)
        if not isinstance(problem.transition, np.ndarray):
            require_sound(problem.transition)
        self.unit = problem.unit
        self._last: NDArray[np.intp] | None = None
        self._visits: dict[bytes, Array] = {}  # of the latest best responses, which mixtures ask for again

    @property
    def rounding(self) -> float:
        """A bound on the rounding error of a value of this model."""
        return value_rounding(self.problem, self.problem.most_successors)

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
        value = bracket(problem, policy_transition(problem, plan.actions), gain, plan.resolvent, visits)
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
        visits = inverse.state_occupancy(problem.initial)
        reached = None if (problem.initial > 0).all() else reachable(chain, problem.initial)
        return bracket(problem, chain, gain, inverse, visits, reached).within(self.extent)

    def visits(self, policy: Array | Actions, precision: float = 0.0) -> Array:
        """Return d = ρ (I − γ P_π)⁻¹, (S,)."""
        del precision  # exact to rounding
        if policy.ndim == 1:
            known = self._visits.get(policy.astype(self.compact).tobytes())
            if known is not None:
                return known
        chain = policy_transition(self.problem, policy)
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
    value, gamma, visits = inverse.state_value(gain), problem.discount, np.maximum(visits, 0.0)
    # The residual, and the roundings of its sums and of the rows; in extended precision where that costs little.
    if isinstance(chain, np.ndarray):
        kind: Any = np.float64 if chain.size * len(value) > EXTENDED else np.longdouble
        wide, rows = value.astype(kind), chain.T.astype(kind)
        residual = (gain + gamma * (wide @ rows) - wide).astype(np.float64)
        off = float(np.abs(rows.sum(0) - 1).max())
        terms = (2 * len(chain) * float(np.finfo(kind).eps) + off) / UNIT_ROUNDOFF
    else:
        residual = gain + gamma * (chain @ value.T).T - value
        terms = 3 * float(np.diff(chain.indptr).max(initial=1))
    size = np.abs(value) + gamma * np.asarray((chain @ np.abs(value).T).T) + np.abs(gain)
    error = np.abs(residual) + (terms + problem.shape[1] + STEPS) * UNIT_ROUNDOFF * size
    unit, left = problem.unit, problem.initial + gamma * (chain.T @ visits) - visits
    missing = float(np.abs(left).sum()) + (terms + STEPS) * 4 * UNIT_ROUNDOFF * unit
    worst = error.max(1) if reached is None else error[:, reached].max(1)
    slip = (error @ visits) * (1 + len(visits) * UNIT_ROUNDOFF) + missing * unit * worst
    at_start = value @ problem.initial
    slip = slip + np.count_nonzero(problem.initial) * UNIT_ROUNDOFF * (np.abs(value) @ problem.initial)
    return Bracket(at_start - slip, at_start + slip, at_start)


class Plan(NamedTuple):
    """An optimal deterministic policy of one utility."""

    actions: NDArray[np.intp]  # (S,)
    value: float  # of the policy, at ρ
    upper_bound: float  # of every policy, at ρ
    resolvent: Resolvent
    evaluations: int = 1  # of policies that it took
    rounding: float = 0.0  # what of the bound's excess is rounding

    def policy(self, n_actions: int) -> Array:
        """Return the policy as a table of probabilities, (S, A)."""
        return np.eye(n_actions)[self.actions]


def policy_iteration(
    problem: CMDP,
    utility: Array,
    start: NDArray[np.intp] | None = None,
    tick: Callable[[], None] = lambda: None,
    tolerance: float = np.inf,
) -> Plan:
    """Maximise the value of one utility (S, A), from the deterministic policy `start` if given.

    `tick` is called before every factorisation; it may raise. An excess of the bound beyond `tolerance` is worth a closer look.

    >>> from painless import CMDP
    >>> two = CMDP([[[1.0], [1.0]]], [[0.0, 1.0]], initial=[1.0], discount=0.5)
    >>> policy_iteration(two, two.reward).value
    2.0
    """
    states = np.arange(len(utility))
    masked = np.where(problem.actions, utility, -np.inf)
    proposed, evaluations, most = masked.argmax(1) if start is None else start, 0, -np.inf
    while True:
        evaluations += 1
        tick()
        factors = resolvent(policy_transition(problem, proposed), problem.discount)
        found = factors.state_value(utility[states, proposed][None])[0]
        if evaluations > 1 and not found.sum() > most:
            break
        actions, value, inverse, most = proposed, found, factors, found.sum()
        q = action_value(problem, masked[None], value[None])[0]  # −∞ where there is no action
        better = q.max(1) > q[states, actions] + ROUNDING * np.abs(value).max()
        if not better.any():
            break
        proposed = np.where(better, q.argmax(1), actions)
    size = np.abs(q) + np.abs(value)[:, None]
    # Of the sums, and of rows that sum to about 1.
    roundings = (3 * problem.most_successors + STEPS) * UNIT_ROUNDOFF
    rounding = roundings * np.where(problem.actions, size, 0.0)
    gain = np.where(problem.actions, np.maximum(q - value[:, None], 0.0) + rounding, 0.0)
    at_start = float(value @ problem.initial)
    slip = len(value) * UNIT_ROUNDOFF * float(np.abs(value) @ problem.initial)
    excess = float(gain.max()) / (1 - problem.discount)
    if excess > max(tolerance, CLOSE * abs(at_start)):
        excess = min(excess, policy_iteration(problem, gain, actions, tick).upper_bound)
    lost = float(rounding.max()) / (1 - problem.discount)
    return Plan(actions, at_start, at_start + excess + slip, inverse, evaluations, min(lost, excess) + slip)
