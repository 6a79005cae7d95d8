"""Exact evaluation of all J utilities, with one factorisation for each policy of the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from painless.bellman import (
    action_value,
    batch_state_value,
    policy_transition,
    policy_utility,
    resolvent,
)
from painless.common.arrays import Array
from painless.engines.average import Average
from painless.engines.engine import Engine, engine_of
from painless.engines.finite_horizon import action_values as backward_action_values
from painless.engines.total import Total
from painless.evaluators.base import Evaluation, Evaluator
from painless.policies.learning_table import Policy, TabularQ
from painless.problem import CMDP
from painless.problem.transitions import require_sound

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
        table, problem = policy.probabilities, self.problem
        require_sound(problem.transition)
        chunk = 1 if problem.is_sparse else max(1, CACHED // table.shape[1] ** 2)
        if len(table) <= chunk:
            return Evaluation(*self._evaluate(table))
        parts = [self._evaluate(table[start : start + chunk]) for start in range(0, len(table), chunk)]
        q = np.concatenate([q.values for q, _ in parts])
        return Evaluation(TabularQ(q), np.concatenate([value for _, value in parts]))

    def _evaluate(self, table: Array) -> tuple[TabularQ, Array]:
        problem = self.problem
        utility = policy_utility(problem.utility, table)
        if problem.is_sparse:
            inverse = resolvent(policy_transition(problem, table[0]), problem.discount)
            value = inverse.state_value(utility[0])
            q = action_value(problem, problem.utility, value)[None]
            return TabularQ(q), (value @ problem.initial)[None]
        value = batch_state_value(problem, table, utility)
        return TabularQ(action_value(problem, problem.utility, value)), value @ problem.initial


@dataclass(frozen=True)
class BackwardEvaluator:
    """Evaluates policies over a finite horizon, from the last step to the first."""

    problem: CMDP

    def evaluate(self, policy: TablePolicy, rngs: Sequence[np.random.Generator] = ()) -> Evaluation:
        """Evaluate all J utilities of every run; nothing is drawn."""
        del rngs
        table = policy.probabilities
        q = backward_action_values(self.problem, table)
        return Evaluation(TabularQ(q), (q * table[:, None]).sum(-1) @ self.problem.initial)


@dataclass(frozen=True)
class AverageEvaluator:
    """Evaluates policies in the long run: gains at ρ, and action values relative to them."""

    problem: CMDP
    engine: Average

    def evaluate(self, policy: TablePolicy, rngs: Sequence[np.random.Generator] = ()) -> Evaluation:
        """Evaluate all J utilities of every run; nothing is drawn."""
        del rngs
        found = [self.engine.action_values_and_gain(table) for table in policy.probabilities]
        return Evaluation(TabularQ(np.array([q for q, _ in found])), np.array([gain for _, gain in found]))


@dataclass(frozen=True)
class TotalEvaluator:
    """Evaluates policies until the end; one that would not stop has a share of the uniform policy."""

    problem: CMDP
    engine: Total

    def evaluate(self, policy: TablePolicy, rngs: Sequence[np.random.Generator] = ()) -> Evaluation:
        """Evaluate all J utilities of every run; nothing is drawn."""
        del rngs
        tables = np.array([self.engine.playable(table) for table in policy.probabilities])
        q = np.array([self.engine.all_action_values(table) for table in tables])
        return Evaluation(TabularQ(q), (q * tables[:, None]).sum(-1) @ self.problem.initial)


def exact_evaluator(problem: CMDP, engine: Engine | None = None) -> Evaluator[TablePolicy]:
    """Return the evaluator of a known model, by its kind and size: large sparse models are swept.

    >>> import painless
    >>> exact_evaluator(painless.gridworld())
    ExactEvaluator(problem=CMDP(25 states, 4 actions, 1 constraint, discount 0.9, dense))
    """
    if problem.horizon is not None:
        return BackwardEvaluator(problem)
    engine = engine or engine_of(problem)
    if isinstance(engine, Average):
        return AverageEvaluator(problem, engine)
    if isinstance(engine, Total):
        return TotalEvaluator(problem, engine)
    if engine.exact:
        return ExactEvaluator(problem)
    from painless.engines.swept import Swept
    from painless.evaluators.swept import SweptEvaluator

    return SweptEvaluator(problem, engine=engine if isinstance(engine, Swept) else None)
