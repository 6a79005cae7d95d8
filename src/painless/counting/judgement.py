"""Policies on a learned model: their values, with standard errors.

The standard error of a policy's value V_j(ρ), by the delta method, with d(s, a) its occupancy and n the number of episodes:

    s.e.² = Σ d(s, a)² Var[u_j + γ V_j(s')] / N(s, a) + Var[V_j(s_0)] / n

Horizons, totals until the end and long-run averages have the same with the occupancy of their own (see `evaluation`). Logs, of which there will be no more, are doubted further (see `log_doubt`).
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from painless.common.arrays import Array
from painless.counting.counted_pairs import EXPLAINED
from painless.counting.evaluation import Evaluated, chain_of, evaluated, half_range
from painless.counting.krylov import inverse_of
from painless.counting.learned_model import EXTRA, LearnedModel
from painless.counting.log_doubt import bent_error, log_pair_variance, single_doubt
from painless.problem import Criterion
from painless.simulation.confidence import RARE, weighted_events


class Judged(NamedTuple):
    """A policy on a learned model."""

    policy: Any  # (S, A); (H, S, A) over a horizon; a draw between several
    value: Array  # (J,) at the start
    error: Array  # (J,) standard errors
    full_value: Array  # (J, S + 2) of all states, the end and hell the last; with an axis of steps over a horizon; the bias on average
    occupancy: Array  # (S, A) of the states that were seen
    pair_variance: Array = np.zeros((0, 0))  # (J, S·A) what each pair adds to the variance of the value
    # (J, M) what the value changes by with the frequency of each transition
    influence: Array = np.zeros((0, 0))
    stages: Array | None = None  # (H, S, A) the occupancy of each step of a horizon
    visit_variance: Array | None = None  # (J, S·A) what each pair adds for each squared visit; not of a log
    start_variance: Array = np.zeros(0)  # (J,) what the first states add

    @property
    def state_value(self) -> Array:
        """The values of the states that were seen, (J, S)."""
        return self.full_value[..., :-EXTRA]


def judge(model: LearnedModel, policy: Any) -> Judged:
    """Evaluate a policy (S, A), with standard errors; untried pairs lead to hell."""
    found = evaluated(model, policy)
    weight = found.occupancy.reshape(-1)
    influence = weight[model.pairs] * model.outcome + found.following
    by_visit = None if model.logged else visit_variance(model, found.full_value)
    by_pair = _pair_variance(model, found, influence) if by_visit is None else weight**2 * by_visit
    start = _start_variance(model, found.first)
    shared = _shared_variance(model, found)
    error = np.sqrt(by_pair.sum(1) + start + shared)
    if model.logged:
        error[1:] = np.maximum(error[1:], single_doubt(model, found)[1:])
    if model.logged and model.criterion is Criterion.TOTAL:
        error[1:] = [bent_error(model, found, influence, float(error[j]), j) for j in range(1, len(error))]
    parts = (found.policy, found.value, error, found.full_value, found.occupancy)
    return Judged(*parts, by_pair, influence, found.stages, by_visit, start)


def return_deviation(model: LearnedModel, judged: Judged) -> Array:
    """Return the standard deviation of what one endless episode collects, discounted, by the model, (J,).

    The variance w of a state's return satisfies w(s) = Var[u + γ V(s')] + γ² E[w(s')].
    """
    _, _, chain = chain_of(model, judged.policy)
    initial = np.append(model.initial, np.zeros(EXTRA))
    visits = inverse_of(chain, model.discount**2, model.order).state_occupancy(initial)[: model.states]
    weight = (visits[:, None] * judged.policy).reshape(-1)  # (S·A,)
    target = model.outcome + model.discount * judged.full_value[:, model.successors]  # (J, M)
    square = model.per_pair(model.probability * target**2) + model.unexplained  # (J, S·A)
    first = judged.state_value  # (J, S)
    variance = square @ weight - first**2 @ visits
    return np.asarray(np.sqrt(np.maximum(variance + _first_variance(model, first), 0.0)))


def rare_margin(model: LearnedModel, judged: Judged, deviations: float) -> Array:
    """Return how far below its value each utility may be, (J,), by the number of events that were seen; 0 of utilities that are not rare.

    If few steps bring anything, and all of it is good or all is bad, V(ρ) = Σ d/N·u is a sum of events of different sizes (see `weighted_events`): a normal margin is too
    small for a few bad ones, and nothing for none. `deviations` are those of the level.
    """
    weight = judged.occupancy.reshape(-1) / np.maximum(model.visits, 1)  # (S·A,)
    tail = 1 - NormalDist().cdf(deviations)
    found = np.zeros(len(judged.value))
    by_step, memory = weight[model.pairs], model.memory
    totals, squares = by_step @ np.abs(memory.sums.sum(0)), by_step**2 @ memory.squares.sum(0)  # (J,)
    for j, (total, square) in enumerate(zip(totals.tolist(), squares.tolist(), strict=True)):
        good, bad = memory.low[j] >= 0, memory.high[j] <= 0
        if (good or bad) and total**2 <= RARE * square:
            low, high = weighted_events(total, square, float(weight.max() * model.size[j]), tail)
            found[j] = total - low if good else high - total
    return found


def exposure(model: LearnedModel, policy: Any) -> Array:
    """Return what each pair would add to the variance of V(ρ) if it were always taken where a policy comes, over those visits, (J, S, A)."""
    found = evaluated(model, policy, exposed=True)
    weight = found.occupancy.reshape(-1)
    by_pair = _pair_variance(model, found, weight[model.pairs] * model.outcome + found.following)
    part = np.where(weight > 0, by_pair / np.where(weight > 0, weight, 1.0), 0.0)
    return part.reshape(-1, *found.occupancy.shape)


def advantage(model: LearnedModel, judged: Judged) -> Array:
    """Return what taking an action once adds to going on with a policy, (J, S, A); (J, H, S, A) over a horizon."""
    problem, value = model.with_unknown, judged.full_value
    transition, utility, _ = model.nominal_parts
    if model.horizon is None:
        following = np.stack([np.asarray(transition @ one) for one in value]).reshape(utility.shape)
        base = value[:, :, None] + (judged.value[:, None, None] if model.average else 0.0)
        return np.asarray((utility + problem.discount * following - base)[:, : model.states])
    following = np.stack([[np.asarray(transition @ one) for one in steps[1:]] for steps in value])
    following = following.reshape(len(value), -1, *utility.shape[1:])
    found = utility[:, None] + model.discount * following - value[:, :-1, :, None]
    return np.asarray(found[:, :, : model.states])


def _start_variance(model: LearnedModel, first: Array) -> Array:
    """Return what the first states add to the variance of V(ρ), (J,), given their values (J, S).

    In a log one imaginary episode counts, which begins in a state as far off as half the range of those that were acted in.
    """
    variance = _first_variance(model, first)
    if not model.logged:
        return np.asarray(variance / model.known_episodes)
    doubt = half_range(model, first) ** 2
    return np.asarray((variance * model.episodes + doubt) / (model.episodes + 1) / model.episodes)


def _first_variance(model: LearnedModel, first: Array) -> Array:
    """Return the variance of the value of the first state of an episode, (J,), given the values of all (J, S)."""
    return np.asarray(np.maximum((model.initial * first**2).sum(1) - (first @ model.initial) ** 2, 0.0))


def _pair_variance(model: LearnedModel, found: Evaluated, influence: Array) -> Array:
    """Return what each pair adds to the variance of V(ρ), (J, S·A), given influences (J, M)."""
    if model.logged:
        return log_pair_variance(model, found, influence)
    return found.occupancy.reshape(-1) ** 2 * visit_variance(model, found.full_value)


def visit_variance(model: LearnedModel, value: Array) -> Array:
    """Return what each pair adds to the variance of V(ρ) for each squared visit, (J, S·A), given the values of all states, (J, S + 2).

    Every pair counts one imaginary observation (see `imaginary_variance`), so that a pair that was tried once is not taken for certain.
    """
    visits, known = np.maximum(model.visits, 1), np.maximum(model.alike.visits, 1)
    target = model.outcome + model.discount * value[:, model.successors]  # (J, M)
    variance = model.influence_variance(np.ones(len(visits)), target)
    imaginary = imaginary_variance(model, variance, 0.5 * (target.max(1) - target.min(1)))
    variance = variance + model.unexplained * (known / visits - 1)  # of which others know nothing
    return np.asarray((variance * known + imaginary[:, None]) / (known + 1) / known)


def _shared_variance(model: LearnedModel, found: Evaluated) -> Array:
    """Return what the errors of shapes, which all of their rows share, add at most to the variance of V(ρ), (J,)."""
    alike = model.alike
    if not alike.spread:
        return np.zeros(len(found.value))
    weight = found.occupancy.reshape(-1) * alike.share
    target = model.outcome + model.discount * found.full_value[:, model.successors]
    own = np.maximum(model.influence_variance(np.ones(len(weight)), target) - model.unexplained, 0.0)
    rows = alike.shape >= 0
    by_shape = np.array(
        [np.bincount(alike.shape[rows], each[rows], len(alike.spread)) for each in weight * np.sqrt(own)]
    )
    return np.asarray(by_shape**2 @ np.array(alike.spread))


def imaginary_variance(model: LearnedModel, variance: Array, doubt: Array) -> Array:
    """Return the variance of an imaginary observation, (J,), given those of all pairs (J, S·A).

    It lies half way, as a geometric mean, between that of an average pair, with one imaginary pair that is as far off as `doubt`, and that of the
    latter alone. In an environment without chance it is the former: what many pairs have not shown is hardly expected of another.
    """
    repeated = model.visits > 1
    visits = model.visits[repeated]
    own = (variance[:, repeated] * visits / (visits - 1)).sum(1)
    average = (own + doubt**2) / (len(visits) + 1)
    return np.asarray(np.sqrt(average * np.where(own > EXPLAINED * doubt**2, doubt**2, average)))
