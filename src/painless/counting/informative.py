"""How to spend steps so that they take most from the errors of some plans.

With q(s, a) what a pair adds to the variance of a limit's value after N visits, and n·x(s, a) visits more, the variance is

    Σ q·N/(N + n·x) + q₀·E/(E + n·x₀)

with q₀ from the first states of E episodes, and x₀ the episodes begun for each step. It is convex in the shares x of the steps, which policies attain in a process that begins again at
its end. Limits count by λ/s.e., since margins are numbers of standard errors, which cost their price λ. Starting with the plans themselves, each round adds the policy that takes
most from the sum (Frank & Wolfe 1956): one that passes what is in doubt as often as it can, where a plan comes by once in an episode. Where the first states are in doubt, it may
also be to begin an episode with every step, and to leave it at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy

from painless.bellman import policy_transition
from painless.common.arrays import Array
from painless.counting.elimination import uniform_order
from painless.counting.krylov import inverse_of
from painless.counting.learned_model import EXTRA, SMALL, LearnedModel
from painless.counting.safe_plan import Candidate, plan
from painless.engines.sweeps.elimination_order import EliminationOrder
from painless.problem import CMDP

PATIENCE = 0.99  # the discount of what is learned, so that whole episodes count
ROUNDS = 3  # policies that are added
# Share of the steps over which the gain of a visit counts, since the first one of many gains most.
AHEAD = 0.1
HALVINGS = 10  # of the interval in which the share of a new policy lies
WORTH = 0.02  # share of the steps below which a policy is not played
BEGINNING = 0.9  # share of the steps that may be spent on beginning episodes alone


class Doubt(NamedTuple):
    """What pairs, and the first states last, add to the weighted variance of plans, and how often they were seen: (S·A + 1,) each."""

    variance: Array
    visits: Array

    @classmethod
    def of(cls, model: LearnedModel, plans: Sequence[Candidate], price: Array) -> Doubt:
        """Add up plans; a limit counts by its price, over its error."""
        variance = np.zeros(len(model.visits) + 1)
        for one in plans:
            pairs = one.judged.pair_variance[1:]  # (K, S·A)
            first = one.judged.start_variance[1:]
            weight = price * one.scale / np.maximum(one.judged.error[1:], 1e-300)
            variance += weight @ np.column_stack([pairs, first])
        return cls(variance, np.append(np.maximum(model.visits, 1), model.episodes))

    def slope(self, more: Array, ahead: float = 0.0) -> Array:
        """Return what a visit takes from it after `more` visits, (S·A + 1,), as a mean over `ahead` visits."""
        now = self.visits + more
        return np.asarray(self.variance * self.visits / (now * (now + ahead)))


def informative_policies(
    model: LearnedModel, plans: Sequence[Candidate], price: Array, steps: float
) -> list[tuple[Array | None, float]]:
    """Return policies (S, A), with the share of the steps of each, that learn most about plans, which are among them if they are worth it.

    None in the place of a policy begins episodes and leaves them at once.

    Arguments:
        model: on which the plans were judged.
        plans: whose errors are to become smaller.
        price: of each limit, (K,).
        steps: to be spent.
    """
    doubt = Doubt.of(model, plans, price)
    policies: list[Array | None] = [one.judged.policy for one in plans]
    shares = np.full(len(policies), 1 / len(policies))
    problem = _restarting(model)
    order = uniform_order(problem.transition, problem.actions.shape, PATIENCE)
    used = np.array([_use(model, problem, one.judged.policy, order) for one in plans])
    begin = np.eye(1, used.shape[1], used.shape[1] - 1)[0]
    for _ in range(ROUNDS if doubt.variance.any() else 0):
        now = shares @ used
        slope = doubt.slope(steps * now, AHEAD * steps)
        response = _response(model, problem, slope)
        use = _use(model, problem, response, order)
        policy: Array | None = response
        if begin @ slope > use @ slope and not any(one is None for one in policies):
            policy, use = None, begin
        share = _share(doubt, steps * now, steps * use)
        share = min(share, BEGINNING) if policy is None else share
        if share < WORTH:
            break
        policies, used = [*policies, policy], np.vstack([used, use])
        shares = np.append((1 - share) * shares, share)
    return [(policy, share) for policy, share in zip(policies, shares, strict=True) if share >= WORTH]


def _share(doubt: Doubt, now: Array, other: Array) -> float:
    """Return the share of other visits at which the sum is least."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        better = doubt.slope(now + middle * (other - now)) @ (other - now) > 0
        low, high = (middle, high) if better else (low, middle)
    return low


def _use(model: LearnedModel, problem: CMDP, policy: Array, order: EliminationOrder) -> Array:
    """Return the share of the steps in which a policy (S, A) takes each pair, and begins an episode, (S·A + 1,)."""
    table = np.vstack([policy, np.full((EXTRA, policy.shape[1]), 1 / policy.shape[1])])
    inverse = inverse_of(policy_transition(problem, table), problem.discount, order)
    share = inverse.state_occupancy(problem.initial) * (1 - problem.discount)
    return np.append((share[: model.states, None] * policy).reshape(-1), share[model.states])


def _response(model: LearnedModel, problem: CMDP, gain: Array) -> Array:
    """Return the policy (S, A) that gains most."""
    utility = np.zeros(problem.actions.shape)
    utility[: model.states] = gain[:-1].reshape(model.states, -1)
    utility[model.states] = gain[-1]
    found = plan(_problem(model, problem.transition, utility / max(gain.max(), 1e-300)))
    return np.asarray(model.own(found.policy))


def _restarting(model: LearnedModel) -> CMDP:
    """Return the model as it is, which begins again after its end."""
    transition, _, actions = model.nominal_parts
    states, each = model.states, model.memory.actions
    first = scipy.sparse.csr_array(np.tile(np.append(model.initial, np.zeros(EXTRA)), (each, 1)))
    rows = scipy.sparse.vstack(
        [transition[: states * each], first, transition[(states + 1) * each :]], format="csr"
    )
    if rows.shape[0] * rows.shape[1] <= SMALL:
        rows = rows.toarray().reshape(*actions.shape, -1)
    return _problem(model, rows, np.zeros(actions.shape))


def _problem(model: LearnedModel, transition: Any, utility: Array) -> CMDP:
    return CMDP(
        transition,
        utility,
        initial=np.append(model.initial, np.zeros(EXTRA)),
        discount=PATIENCE,
        actions=model.nominal_parts[2],
        copy=False,
    )
