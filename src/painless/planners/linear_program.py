"""The linear program over occupancy measures, solved by HiGHS.

max Σ d·r   subject to   Σ_a d(s', a) − γ Σ_{s,a} P(s'|s, a) d(s, a) = ρ(s'),   Σ d·c_i ≥ b_i,   d ≥ 0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from painless.arrays import Array
from painless.planners import highs
from painless.problem import CMDP
from painless.validation import require_sound

# The seconds that HiGHS takes before it looks at the clock: about this for each transition, and more from so many on.
SETUP, LARGE = 3e-6, 100_000


class OptimalOccupancy(NamedTuple):
    """An optimal occupancy measure (S, A) and the constraints' multipliers (K,)."""

    occupancy: Array
    multiplier: Array


@dataclass(frozen=True)
class LinearProgram:
    """The exact planner for models of up to a few thousand states.

    It goes through the same verb as the algorithms: `solve(problem, LinearProgram())`.
    """

    @property
    def name(self) -> str:
        """The name on the command line."""
        return "lp"

    def plan(self, problem: CMDP, time_limit: float = np.inf) -> OptimalOccupancy | None:
        """Return an optimal occupancy, or None where the constraints cannot be met; TimeoutError after so many seconds."""
        states, actions, constraints = problem.shape
        require_sound(problem.transition)
        pairs = np.flatnonzero(problem.actions)
        transitions = problem.most_successors * len(pairs)
        if SETUP * transitions * (1 + transitions / LARGE) > time_limit:
            raise TimeoutError  # HiGHS looks at the clock only between steps, of which the first ones are long
        kernel = (
            problem.transition
            if not isinstance(problem.transition, np.ndarray)
            else scipy.sparse.csr_array(problem.transition.reshape(-1, states))
        )
        chosen = scipy.sparse.csr_array(kernel[pairs])
        stay = scipy.sparse.csr_array(
            (np.ones(len(pairs)), (np.arange(len(pairs)), pairs // actions)), chosen.shape
        )
        result = highs.minimise(
            -problem.reward.reshape(-1)[pairs],
            A_ub=-problem.constraint_reward.reshape(constraints, -1)[:, pairs] if constraints else None,
            b_ub=-problem.threshold if constraints else None,
            A_eq=scipy.sparse.csc_array((stay - problem.discount * chosen).T),
            b_eq=problem.initial,
            time_limit=time_limit,
        )
        if result.status == 1 and np.isfinite(time_limit):
            raise TimeoutError
        if result.status == 2:
            return None
        if result.status != 0:
            raise RuntimeError(
                f"HiGHS gave up on the linear program: {result.message}; try another algorithm"
            )
        occupancy = np.zeros(states * actions)
        occupancy[pairs] = np.maximum(result.x, 0.0)
        multiplier = np.maximum(-result.ineqlin.marginals, 0.0) if constraints else np.empty(0)
        return OptimalOccupancy(occupancy.reshape(states, actions), multiplier)
