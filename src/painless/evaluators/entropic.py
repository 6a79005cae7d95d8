"""Action values that count the entropy of later steps as reward, for a discounted model that is known.

    V_H = (I − γP_π)⁻¹ h,     h(s) = −Σ_a π log π
    Q + τ γ P V_H

With the −τ log π of the step itself, which learners add, these are the action values of r + λ·c − τ log π.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.bellman import action_value, batch_state_value, policy_transition, resolvent
from painless.common.arrays import Array, Setting, per_run
from painless.evaluators.base import Evaluation, Evaluator
from painless.evaluators.exact import TablePolicy
from painless.policies.learning_table import QFunction
from painless.problem import CMDP


@dataclass(frozen=True)
class EntropicQ:
    """Action values, and what to add to their combination, (B, S, A)."""

    inner: QFunction
    bonus: Array

    def at(self, states: NDArray[Any]) -> Array:
        """Return the action values of some states without the entropy, (B, J, n, A)."""
        return self.inner.at(states)

    def combine(self, weight: Array) -> Array:
        """Return Σ_j weight_j·Q_j plus the value of later entropy, (B, S, A)."""
        return self.inner.combine(weight) + self.bonus


@dataclass(frozen=True)
class Entropic:
    """An evaluator whose action values count the entropy of later steps; the values at ρ stay as they are.

    Arguments:
        evaluator: the evaluator inside.
        problem: a discounted model.
        strength: τ, one number or one for each run.
    """

    evaluator: Evaluator[TablePolicy]
    problem: CMDP
    strength: Setting

    def evaluate(self, policy: TablePolicy, rngs: Sequence[np.random.Generator] = ()) -> Evaluation:
        """Evaluate all J utilities, and the entropy."""
        found = self.evaluator.evaluate(policy, rngs)
        bonus = per_run(self.strength, 3) * later_entropy(self.problem, policy.probabilities)
        return Evaluation(EntropicQ(found.q, bonus), found.value, found.standard_error, found.steps)


def later_entropy(problem: CMDP, policies: Array) -> Array:
    """γ P V_H of policies (B, S, A): the discounted entropy after the present step.

    >>> import painless
    >>> world = painless.gridworld(discount=0.5, threshold=[0.1])
    >>> uniform = np.full((1, 25, 4), 0.25)
    >>> bool(np.allclose(later_entropy(world, uniform), 2 * 0.5 * np.log(4)))
    True
    """
    positive = np.where(policies > 0, policies, 1.0)
    entropy = -(positive * np.log(positive)).sum(-1)[:, None]  # (B, 1, S)
    if problem.is_sparse:
        value = np.array(
            [
                resolvent(policy_transition(problem, table), problem.discount).state_value(one)
                for table, one in zip(policies, entropy, strict=True)
            ]
        )
    else:
        value = batch_state_value(problem, policies, entropy)
    nothing = np.zeros((1, *problem.actions.shape))
    return np.array([action_value(problem, nothing, one)[0] for one in value])
