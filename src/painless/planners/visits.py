"""The discounted visits of a deterministic policy, by a factorised system or, in large models, by sweeps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from painless.arrays import Array
from painless.bellman import action_transition, resolvent
from painless.planners.pool import EXACT_STATES
from painless.problem import CMDP

PRECISION = 1e-12  # of swept visits, relative to their sum


def visits(problem: CMDP, actions: NDArray[np.unsignedinteger]) -> Array:
    """Return d = ρ (I − γ P_π)⁻¹, (S,), of the policy that takes `actions` (S,).

    >>> import painless
    >>> round(float(visits(painless.gridworld(), np.zeros(25, dtype=np.uint8)).sum()), 9)
    10.0
    """
    taken = actions.astype(np.intp)
    if len(taken) <= EXACT_STATES:
        found = resolvent(action_transition(problem, taken), problem.discount).state_occupancy(
            problem.initial
        )
        return np.maximum(found, 0.0)
    from painless.planners.chain import chain_of, occupancy
    from painless.planners.sparse_rows import sparse_rows

    rows = sparse_rows(problem)
    rank = problem.actions.cumsum(1)[np.arange(len(taken)), taken] - 1
    chain = chain_of(rows, problem.discount, (rows.first[:-1] + rank).astype(np.uint32))
    return occupancy(chain, problem.discount, problem.initial, PRECISION, lambda _: None)
