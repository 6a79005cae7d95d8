"""Exact evaluation of all J utilities, with one factorisation for each policy of the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from painless.arrays import Array
from painless.bellman import Resolvent, action_value, policy_transition, policy_utility, resolvent
from painless.evaluators.base import Evaluation
from painless.policy import Policy, TabularQ
from painless.problem import CMDP

CACHED = 1 << 18  # doubles of P_π formed at once, so that a chunk of the batch stays in cache


class TablePolicy(Policy, Protocol):
    """A policy that knows its probabilities at every state."""

    @property
    def probabilities(self) -> Array:
        """The probabilities of all actions in all states, (B, S, A)."""


@dataclass(frozen=True)
class ExactEvaluator:
    """Solves the Bellman equation of a known model.

    Cost of one policy: O(S³ + S²A) dense; sparse, that of a sparse LU. Each run of a batch is solved by
    itself, so that its bits do not depend on its neighbours.
    """

    problem: CMDP

    def evaluate(self, policy: TablePolicy, rngs: Sequence[np.random.Generator] = ()) -> Evaluation:
        """Evaluate all J utilities of every run; nothing is drawn."""
        del rngs
        problem, table = self.problem, policy.probabilities
        inverses = self._resolvents(table)
        utility = policy_utility(problem.utility, table)
        values = [inverse.state_value(one) for inverse, one in zip(inverses, utility, strict=True)]
        if problem.is_sparse:
            q = np.array([action_value(problem, problem.utility, one) for one in values])
        else:
            q = action_value(problem, problem.utility, np.array(values))
        value = np.array([one @ problem.initial for one in values])
        return Evaluation(TabularQ(q), value, resolvents=tuple(inverses))

    def _resolvents(self, table: Array) -> list[Resolvent]:
        chunk = 1 if self.problem.is_sparse else max(1, CACHED // table.shape[1] ** 2)
        inverses: list[Resolvent] = []
        for start in range(0, len(table), chunk):
            rows = table[start] if chunk == 1 else table[start : start + chunk]
            kernel: Any = policy_transition(self.problem, rows)
            kernels = [kernel] if chunk == 1 else kernel
            inverses += [resolvent(one, self.problem.discount) for one in kernels]
        return inverses
