"""How far an evaluator is from the truth: ε̃ of the paper's theorems, measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from painless.common.arrays import Array
from painless.evaluators.base import Evaluator
from painless.evaluators.exact import ExactEvaluator, TablePolicy
from painless.problem import CMDP


def evaluation_error(
    evaluator: Evaluator[TablePolicy],
    problem: CMDP,
    policy: TablePolicy,
    rngs: Sequence[np.random.Generator],
) -> Array:
    """Return max |Q̂ − Q| over all runs and available pairs against exact values, (J,).

    >>> import painless
    >>> from painless.evaluators.monte_carlo import MonteCarlo
    >>> from painless.learners import CoinBetting
    >>> from painless.policies.table import uniform_policy
    >>> from painless.policies.learning_table import LearningTable
    >>> world = painless.gridworld()
    >>> policy = LearningTable.start(CoinBetting(), uniform_policy(world.actions)[None])
    >>> evaluator = MonteCarlo(world, rollouts=1000)
    >>> evaluation_error(evaluator, world, policy, [np.random.default_rng(0)]) < 0.1
    array([ True,  True])
    """
    states = np.arange(problem.shape[0])
    estimate = evaluator.evaluate(policy, rngs).q.at(states)  # (B, J, S, A)
    exact = ExactEvaluator(problem).evaluate(policy).q.at(states)
    return np.abs(estimate - exact)[:, :, problem.actions].max((0, 2))
