"""The discounted visits of policies, by a factorised system or, in large models, by sweeps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from painless.arrays import Array
from painless.planners.engine import EXACT_STATES, Actions, engine_of
from painless.problem import CMDP

PRECISION = 1e-12  # of swept visits, relative to their sum


def visits(problem: CMDP, policy: Array | Actions) -> Array:
    """Return d = ρ (I − γ P_π)⁻¹, (S,), of a policy (S, A), or of the one that takes actions (S,).

    >>> import painless
    >>> round(float(visits(painless.gridworld(), np.zeros(25, dtype=np.uint8)).sum()), 9)
    10.0
    """
    return visitor(problem)(policy)


def visitor(problem: CMDP) -> Callable[[Array | Actions], Array]:
    """Return `visits` of one model, for many policies: what they share is computed once."""
    engine = engine_of(problem, EXACT_STATES)
    return lambda policy: np.maximum(engine.visits(policy, PRECISION), 0.0)
