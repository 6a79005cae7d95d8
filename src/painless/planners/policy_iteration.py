"""Policy iteration for one utility: the best response to a multiplier, and a safe bound on its value.

    V* ≤ V + max_s (TV − V)₊/(1−γ),     T the Bellman optimality operator

A state changes its action only for a strict improvement, and the iteration ends when the values no longer
rise: ties and rounding can neither cycle nor stall it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.arrays import Array
from painless.bellman import Resolvent, action_transition, action_value, resolvent
from painless.problem import CMDP

ROUNDING = 1e-14  # relative to the largest value; a smaller improvement is none


class Plan(NamedTuple):
    """An optimal deterministic policy of one utility."""

    actions: NDArray[np.intp]  # (S,)
    value: float  # of the policy, at ρ
    upper_bound: float  # of every policy, at ρ
    resolvent: Resolvent
    evaluations: int = 1  # of policies that it took

    def policy(self, n_actions: int) -> Array:
        """Return the policy as a table of probabilities, (S, A)."""
        return np.eye(n_actions)[self.actions]


def policy_iteration(problem: CMDP, utility: Array, start: NDArray[np.intp] | None = None) -> Plan:
    """Maximise the value of one utility (S, A), from the deterministic policy `start` if given.

    >>> from painless import CMDP
    >>> two = CMDP([[[1.0], [1.0]]], [[0.0, 1.0]], initial=[1.0], discount=0.5)
    >>> policy_iteration(two, two.reward).value
    2.0
    """
    states = np.arange(len(utility))
    masked = np.where(problem.actions, utility, -np.inf)
    actions = masked.argmax(1) if start is None else start
    best: tuple[NDArray[np.intp], Array, Array, Resolvent] | None = None
    evaluations = 0
    while True:
        evaluations += 1
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
    actions, value, q, inverse = best
    excess = max(float((q.max(1) - value).max()), 0.0) / (1 - problem.discount)
    at_start = float(value @ problem.initial)
    return Plan(actions, at_start, at_start + excess, inverse, evaluations)
