"""The values of a policy on a learned model by each criterion, and how they depend on the model's transitions.

A small change of the frequencies of a pair (s, a) changes a value at the start by Σ_s' δP(s'|s, a)·(d(s, a)·u + w(s')), with d the occupancy and

    w(s') = d(s, a) γ V(s')             discounted, and for totals with γ = 1
    w(s') = Σ_t d_t(s, a) γ V_{t+1}(s')  over a horizon, since all steps share the estimate
    w(s') = d(s, a) h(s') + d'(s, a) g(s')   on average: shares of time d, bias h, visits d' before the process settles, gain g

These are what the delta method needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from painless.bellman import policy_transition, policy_utility, reachable
from painless.common.arrays import Array
from painless.counting.krylov import inverse_of
from painless.engines.chain_gains import RecurrentChain
from painless.engines.drawn import Drawn
from painless.engines.transient import TransientChain
from painless.policies.table import uniform_policy
from painless.problem import CMDP, Criterion

if TYPE_CHECKING:
    from painless.counting.learned_model import LearnedModel

RESTS = 1e-12  # long-run share of the time in a pair above which a policy rests there
EQUAL = 1e-9  # by which gains may differ and count as equal, relative to the largest utility


class Evaluated(NamedTuple):
    """The values of a policy, and what they depend on."""

    policy: Any  # as it was evaluated
    value: Array  # (J,) at the start
    full_value: Array  # (J, S + 2) of all states; (J, H + 1, S + 2) over a horizon; the bias on average
    first: Array  # (J, S) the value of each first state
    occupancy: Array  # (S, A)
    following: Array  # (J, M) w(s') of each transition that was seen
    reach: Array  # (J, S·A) half the range of w over the states that were acted in
    stages: Array | None = None  # (H, S, A) the occupancy of each step


def evaluated(model: LearnedModel, policy: Any, *, exposed: bool = False) -> Evaluated:
    """Evaluate a policy (S, A), (H, S, A) over a horizon, or a draw between several.

    With `exposed` the occupancy, and what follows from it, is that of every action alone: as if it were always taken where the policy comes.
    """
    if isinstance(policy, Drawn):
        return _drawn(policy, [evaluated(model, part, exposed=exposed) for part in policy.parts])
    return {
        Criterion.DISCOUNTED: _discounted,
        Criterion.HORIZON: _horizon,
        Criterion.TOTAL: _total,
        Criterion.AVERAGE: _average,
    }[model.criterion](model, policy, exposed)


def _drawn(policy: Drawn, parts: list[Evaluated]) -> Evaluated:
    """Return averages; the errors of the parts come from the same data, and add up."""

    def mean(name: str) -> Array:
        return np.asarray(np.tensordot(policy.weights, np.stack([getattr(one, name) for one in parts]), 1))

    found = Drawn(tuple(one.policy for one in parts), policy.weights)
    names = ("value", "full_value", "first", "occupancy", "following", "reach")
    return Evaluated(found, *(mean(name) for name in names))


def chain_of(model: LearnedModel, policy: Array) -> tuple[CMDP, Array, Any]:
    """Return the model, a policy (S, A) with rows for the states added, and the chain of the two."""
    problem = model.with_unknown
    table = np.vstack([policy, np.full((2, policy.shape[1]), 1 / policy.shape[1])])
    return problem, table, policy_transition(problem, table)


def half_range(model: LearnedModel, value: Array, typical: Array | None = None) -> Array:
    """Return half the range of values (…, S + 2) over the states that were acted in, (…,); −∞ and nothing count as no value.

    A state that nobody saw may be as bad as what the data themselves achieved, `typical` (…,), on which a plan does not depend.
    """
    live = value[..., : model.states][..., model.tried.any(1)]
    live = live if typical is None else np.concatenate([live, typical[..., None]], -1)
    known = np.where(np.isfinite(live), live, np.nan)
    with np.errstate(invalid="ignore"):
        return np.asarray(0.5 * np.nan_to_num(np.nanmax(known, -1) - np.nanmin(known, -1)))


def _stationary(model: LearnedModel, policy: Array, value: Array, visits: Array, exposed: bool) -> Evaluated:
    """Return what V (J, S + 2) and the visits (S,) say."""
    occupancy = visits[:, None] * _taken(policy, exposed)
    weight, ahead = occupancy.reshape(-1), model.discount * value
    first = value[:, : model.states]
    return Evaluated(
        policy,
        first @ model.initial,
        value,
        first,
        occupancy,
        weight[model.pairs] * ahead[:, model.successors],
        weight * half_range(model, ahead, model.typical_ahead)[:, None],
    )


def _taken(policy: Array, exposed: bool) -> Array:
    return np.ones_like(policy) if exposed else policy


def _discounted(model: LearnedModel, policy: Array, exposed: bool) -> Evaluated:
    problem, table, chain = chain_of(model, policy)
    inverse = inverse_of(chain, model.discount, model.order)
    value = inverse.state_value(policy_utility(problem.utility, table))  # (J, S + 2)
    visits = inverse.state_occupancy(problem.initial)[: model.states]
    return _stationary(model, policy, value, visits, exposed)


def _horizon(model: LearnedModel, policy: Array, exposed: bool) -> Evaluated:
    transition, utility, _ = model.nominal_parts
    states, gamma = model.states, model.discount
    added = np.full((len(policy), 2, policy.shape[-1]), 1 / policy.shape[-1])
    table = np.concatenate([policy, added], 1)  # (H, S + 2, A)
    value = np.zeros((len(utility), len(table) + 1, utility.shape[1]))
    for t in reversed(range(len(table))):
        ahead = np.stack([(transition @ one).reshape(utility.shape[1:]) for one in value[:, t + 1]])
        value[:, t] = ((utility + gamma * ahead) * table[t]).sum(-1)
    stages = np.zeros(table.shape)
    here = np.append(model.initial, [0.0, 0.0])
    for t in range(len(table)):
        stages[t] = here[:, None] * table[t]
        here = gamma * (transition.T @ stages[t].reshape(-1))
    stages = stages.sum(-1, keepdims=True)[:, :states] * _taken(policy, exposed)
    weight = stages.reshape(len(table), -1)  # (H, S·A)
    following = np.zeros((len(utility), len(model.pairs)))
    for t in range(len(table)):
        following += gamma * weight[t][model.pairs] * value[:, t + 1][:, model.successors]
    reach = half_range(model, gamma * value[:, 1:], model.typical_ahead) @ weight
    first = value[:, 0, :states]
    return Evaluated(
        policy, first @ model.initial, value, first, stages.sum(0), following, reach, stages=stages
    )


def _sensible(model: LearnedModel, policy: Array) -> Array:
    """Return a policy that takes what was tried in states that it does not come to, of which a plan says nothing."""
    _, _, chain = chain_of(model, policy)
    reached = reachable(chain, np.append(model.initial, [0.0, 0.0]))[: model.states]
    return np.where(reached[:, None], policy, uniform_policy(model.tried_or_all))


def _total(model: LearnedModel, policy: Array, exposed: bool) -> Evaluated:
    """Evaluate a policy until the end; one that never stops is worth −∞ by every utility.

    Where it rests for ever at no cost, a transition that was never seen would come in the end, so that nothing can be said.
    """
    policy = _sensible(model, policy)
    problem, table, chain = chain_of(model, policy)
    gain = policy_utility(problem.utility, table)
    pays = ((problem.utility != 0).any(0) & (table > 0)).any(1)
    nowhere = np.zeros(len(table), dtype=bool)
    spread = np.full(len(table), 1 / len(table))
    everywhere = TransientChain(chain, spread, nowhere, gain, pays, problem.shape[1])
    found = TransientChain(chain, problem.initial, nowhere, gain, pays, problem.shape[1])
    visits = np.where(np.isfinite(found.visits), found.visits, 0.0)
    value = np.nan_to_num(everywhere.state_values)
    result = _stationary(model, policy, value, visits[: model.states], exposed)
    if found.loops:
        return result._replace(value=np.full(len(value), -np.inf))
    shares = RecurrentChain(chain, problem.initial).visits()[0][: model.states]
    rests = ((shares[:, None] * policy) > RESTS).reshape(-1)
    return result._replace(reach=np.where(rests, np.inf, result.reach)) if model.logged else result


def _average(model: LearnedModel, policy: Array, exposed: bool) -> Evaluated:
    """Evaluate a policy in the long run.

    Where states that were acted in have a smaller gain than the policy, one transition that was never seen may lead there for good, so that nothing
    can be said.
    """
    policy = _sensible(model, policy)
    problem, table, chain = chain_of(model, policy)
    everywhere = RecurrentChain(chain, np.full(len(table), 1 / len(table)))
    gain, bias = (
        np.asarray(part) for part in everywhere.gain_and_bias(policy_utility(problem.utility, table))
    )
    shares, way = (part[: model.states] for part in RecurrentChain(chain, problem.initial).visits())
    taken = _taken(policy, exposed)
    settled, before = ((part[:, None] * taken).reshape(-1) for part in (shares, way))
    first = gain[:, : model.states]
    value = first @ model.initial
    least = first[:, model.tried.any(1)].min(1)
    trapped = least < value - EQUAL * model.size
    reach = settled * half_range(model, bias)[:, None] + before * half_range(model, gain)[:, None]
    reach = np.where(trapped[:, None] & (settled > 0), np.inf, reach)
    following = (
        settled[model.pairs] * bias[:, model.successors] + before[model.pairs] * gain[:, model.successors]
    )
    occupancy = shares[:, None] * taken
    return Evaluated(policy, value, bias, first, occupancy, following, reach)
