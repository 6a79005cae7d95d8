"""Sensible actions where a plan does not expect to come.

A plan says nothing of states that it does not reach by the estimate. A transition that was never seen may lead there all the same, so that what one would do there
decides how bad it can be: what is best for the limits, while the plan stays as it is where it does go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from painless.bellman import policy_utility
from painless.common.arrays import Array
from painless.counting.evaluation import chain_of
from painless.counting.krylov import inverse_of
from painless.problem import Criterion

if TYPE_CHECKING:
    from painless.counting.learned_model import LearnedModel

RARE = 1e-6  # share of the time below which a plan does not expect to be in a state
REWARD = 1e-3  # the weight of the reward beside the limits there, in units of the largest step
IMPROVEMENTS = 30  # of the actions there, at most
STRICT = 1e-9  # by which an action must be better, relative to the largest value


def completed(model: LearnedModel, policy: Any) -> Any:
    """Return a policy (S, A) that takes, where it rarely is, what is best for the limits; other criteria than a discount leave it as it is."""
    if model.criterion is not Criterion.DISCOUNTED:
        return policy
    utility = np.tensordot(_weight(model), model.nominal_parts[1], 1)  # (S + 2, A)
    problem, table, chain = chain_of(model, policy)
    inverse = inverse_of(chain, model.discount, model.order)
    visits = inverse.state_occupancy(problem.initial)[: model.states]
    rare = visits < RARE * visits.sum()
    for _ in range(IMPROVEMENTS if rare.any() else 0):
        value = inverse.state_value(policy_utility(utility[None], table))[0]
        following = np.asarray(model.nominal_parts[0] @ value).reshape(utility.shape)
        q = (utility + model.discount * following)[: model.states]
        best = np.where(model.tried_or_all, q, -np.inf)
        better = rare & (best.max(1) > (policy * q).sum(1) + STRICT * np.abs(value).max())
        if not better.any():
            break
        policy = np.where(better[:, None], np.eye(policy.shape[1])[best.argmax(1)], policy)
        _, table, chain = chain_of(model, policy)
        inverse = inverse_of(chain, model.discount, model.order)
    return policy


def _weight(model: LearnedModel) -> Array:
    """Return the weight of each utility, (J,)."""
    return np.append(REWARD, np.ones(len(model.threshold))) / model.size
