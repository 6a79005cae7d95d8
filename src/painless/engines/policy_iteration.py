"""Policy iteration for one utility: the best response to a multiplier, and a safe bound on its value.

    V* ≤ V + max_s w/(1−γ),     w = (TV − V)₊ + δ,     T the Bellman optimality operator, δ what rounding does to TV

Where γ is close to 1 and values differ much from state to state, the largest w may be at a state that hardly any policy comes to. Then W ≥ w + γPW
at every pair bounds the excess in place of max w/(1−γ): the best value of w itself, by policy iteration once more.

A state changes its action only for a strict improvement, and the iteration ends when the values no longer
rise: ties and rounding can neither cycle nor stall it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.bellman import Resolvent, action_transition, action_value, resolvent
from painless.common.arrays import Array
from painless.problem import CMDP

ROUNDING = 1e-14  # relative to the largest value; a smaller improvement is none
UNIT_ROUNDOFF = 2.0**-53
STEPS = 8  # roundings of TV beside those of its sum
CLOSE = 1e-12  # an excess that is smaller, relative to the value, is close enough


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
    actions, value, q, inverse, evaluations = _improved(problem, utility, start, tick)
    size = np.abs(q) + np.abs(value)[:, None]
    # Of the sums, and of rows that sum to about 1.
    roundings = (3 * problem.most_successors + STEPS) * UNIT_ROUNDOFF
    rounding = roundings * np.where(problem.actions, size, 0.0)
    gain = np.where(problem.actions, np.maximum(q - value[:, None], 0.0) + rounding, 0.0)
    at_start = float(value @ problem.initial)
    slip = len(value) * UNIT_ROUNDOFF * float(np.abs(value) @ problem.initial)
    excess = float(gain.max()) / (1 - problem.discount)
    if excess > max(tolerance, CLOSE * abs(at_start)):
        excess = min(excess, _weighed(problem, gain, actions, tick))
    lost = float(rounding.max()) / (1 - problem.discount)
    return Plan(actions, at_start, at_start + excess + slip, inverse, evaluations, min(lost, excess) + slip)


def _improved(
    problem: CMDP, utility: Array, start: NDArray[np.intp] | None, tick: Callable[[], None]
) -> tuple[NDArray[np.intp], Array, Array, Resolvent, int]:
    """Return an optimal policy, its values, action values (−∞ where there is no action), factors, and the evaluations it took."""
    states = np.arange(len(utility))
    masked = np.where(problem.actions, utility, -np.inf)
    actions = masked.argmax(1) if start is None else start
    best: tuple[NDArray[np.intp], Array, Array, Resolvent] | None = None
    evaluations = 0
    while True:
        evaluations += 1
        tick()
        inverse = resolvent(action_transition(problem, actions), problem.discount)
        value = inverse.state_value(utility[states, actions][None])[0]
        if best is not None and not value.sum() > best[1].sum():
            break
        q = action_value(problem, masked[None], value[None])[0]
        best = (actions, value, q, inverse)
        better = q.max(1) > q[states, actions] + ROUNDING * np.abs(value).max()
        if not better.any():
            break
        actions = np.where(better, q.argmax(1), actions)
    return (*best, evaluations)


def _weighed(problem: CMDP, gain: Array, start: NDArray[np.intp], tick: Callable[[], None]) -> float:
    """Return a bound on max_π Σ d(s, a)·w(s, a) for w ≥ 0: W(ρ), and twice what its own inexactness may add."""
    _, value, q, _, _ = _improved(problem, gain, start, tick)
    off = np.maximum(np.where(problem.actions, q - value[:, None], 0.0), 0.0).max()
    rounding = (3 * problem.most_successors + STEPS) * UNIT_ROUNDOFF * 2 * float(np.abs(value).max())
    return float(value @ problem.initial) + 2 * (float(off) + rounding) / (1 - problem.discount)
