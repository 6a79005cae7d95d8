"""Plans whose margins are part of what is planned.

With d(s, a) the occupancy of a plan, q_k(s, a) what a visit of a pair adds to the variance of limit k, and q₀ what the first states add,

    maximise u_0·d subject to f_k(d) = u_k·d − z √(Σ q_k d² + q₀) ≥ b_k

is a convex problem over occupancies. It is solved on mixtures of policies: a small program finds the best mixture (`pessimistic_mixture`), and the policy that is best for the
slope of u_0·d + Σ λ_k f_k joins it (von Hohenbalken 1977), until it gains little. Such plans take ways that are well known, where limits that are tightened by the margin of one plan
know nothing of the margin of the next. Variances depend on the values of the plan, and are those of the one before; every plan is judged by its own in the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.bellman import Resolvent, action_value, occupancy_policy, policy_transition
from painless.common.arrays import Array
from painless.counting.judgement import visit_variance
from painless.counting.known_plans import extended
from painless.counting.krylov import inverse_of
from painless.counting.learned_model import LearnedModel
from painless.counting.pessimistic_mixture import Mixture, best_mixture
from painless.counting.safe_plan import BEYOND, FINE, Candidate, Limits, WarmPlanner, candidate
from painless.problem import CMDP

ROUNDS = 4  # plans, each with the variances of the one before
POLICIES = 30  # that join a mixture in one round, at most
GAP = 3e-3  # of the reward that a plan may lose
FLAT = 0.1  # of the gap: a policy that gains less is the last one
MIXED = 0.3  # of the gap that the program for a mixture may leave
IMPROVEMENTS = 50  # of a policy, at most
STRICT = 1e-9  # by which an action must be better, relative to the largest value
USED = 1e-3  # weight above which a policy is kept for the next round
SMALLEST = 1e-100  # scale of a utility that is always 0
TINY = 1e-6  # error that is added, in units of the scale, so that no root is of 0

Actions = NDArray[np.intp]


class Column(NamedTuple):
    """A deterministic policy."""

    actions: Actions  # (S + 2,)
    value: Array  # (J,)
    occupancy: Array  # (S·A,)


class Pessimist(NamedTuple):
    """The pessimistic values of occupancies, as they are about one plan."""

    deviations: Array  # z, (J,); 0 of the reward
    variance: Array  # q, (J, S·A)
    first: Array  # q₀, (J,)
    threshold: Array  # b, (K,) on discounted values
    scale: Array  # (J,) the units of values

    @classmethod
    def about(cls, model: LearnedModel, one: Candidate, limits: Limits, beyond: Array) -> Pessimist:
        """Return what a candidate knows; limits are tightened by `beyond`, (K,)."""
        judged, z = one.judged, limits.deviations + limits.selection
        least = np.maximum(model.size / (1 - model.discount), np.append(0.0, np.abs(limits.threshold)))
        scale = np.maximum(np.maximum(judged.error, TINY * least), SMALLEST)
        first = np.maximum(judged.error**2 - judged.pair_variance.sum(1), 0.0) + (TINY * scale) ** 2
        margin = z * judged.error[1:] + limits.curse
        threshold = judged.value[1:] - margin - one.slack / one.scale
        tightened = threshold + limits.curse + BEYOND * margin + beyond
        return cls(
            np.append(0.0, np.full(len(margin), z)),
            visit_variance(model, judged.full_value)
            if judged.visit_variance is None
            else judged.visit_variance,
            first,
            tightened,
            scale,
        )

    @property
    def limit(self) -> Array:
        """The thresholds in units of the scale, (K,)."""
        return self.threshold / self.scale[1:]

    def mixture(self, columns: Sequence[Column], start: Array, gap: float) -> Mixture:
        """Return the best mixture, in units of the scale, to a gap relative to the largest reward."""
        unit = (self.deviations / self.scale) ** 2
        value = np.array([one.value for one in columns]).T / self.scale[:, None]  # (J, n)
        occupancy = np.array([one.occupancy for one in columns])  # (n, S·A)
        weighed = occupancy * (unit[:, None] * self.variance)[:, None]  # (J, n, S·A)
        size = max(float(np.abs(value[0]).max()), 1.0)
        constant = unit * self.first + TINY**2
        return best_mixture(value, weighed @ occupancy.T, constant, self.limit, start, gap * size)

    def slope(self, model: LearnedModel, occupancy: Array, multiplier: Array) -> Array:
        """Return the slope of Σ λ_j f_j at an occupancy (S·A,), as a utility (S + 2, A)."""
        error = np.sqrt(self.variance @ occupancy**2 + self.first)
        price = multiplier / self.scale
        utility = np.tensordot(price, model.nominal_parts[1], 1)
        margin = (self.deviations * price / error) @ (self.variance * occupancy)
        utility[: model.states] -= margin.reshape(model.states, -1)
        return np.asarray(utility)


def safe_plans(
    model: LearnedModel, limits: Limits, planner: WarmPlanner, tolerance: float = FINE
) -> list[Candidate]:
    """Return the plan that is optimal on the model as it is, and, if it is not safe, plans that keep their margins.

    A limit on what an episode collects without discounting is planned for at a discounted one that is a guess, so that a safe plan may be too careful.
    """
    made = planner(model.nominal(model.threshold), tolerance)
    nominal = candidate(model, model.own(made.policy), limits, made.multiplier)
    if nominal.safe and not limits.episodic.any():
        return [nominal]
    return [nominal, *margin_plans(model, limits, nominal, planner.policies)]


def margin_plans(
    model: LearnedModel, limits: Limits, start: Candidate, policies: Iterable[NDArray[Any]]
) -> list[Candidate]:
    """Return plans that keep their margins, each with the variances of the one before.

    Arguments:
        model: on which to plan.
        limits: with the margins.
        start: a plan of which the variances are the first.
        policies: to begin with, actions (S + 2,) each, or of the states that an earlier model had.
    """
    problem = model.nominal(model.threshold)
    columns = [_column(model, problem, extended(one, problem).astype(np.intp)) for one in policies]
    columns = columns or [_response(model, problem, problem.reward, None)]
    weight = np.full(len(columns), 1 / len(columns))
    now, found, beyond = start, list[Candidate](), np.zeros(len(limits.threshold))
    for k in range(ROUNDS):
        if not np.isfinite(now.judged.error).all():
            break
        last, pessimist = now, Pessimist.about(model, now, limits, beyond)
        columns, mixture = _mixed(model, problem, pessimist, columns, weight)
        price = mixture.multiplier[0] * mixture.multiplier[1:] * pessimist.scale[0] / pessimist.scale[1:]
        now = candidate(model, _policy(model, columns, mixture.weight), limits, price)
        found.append(now)
        if last.safe and now.safe and abs(now.merit - last.merit) <= GAP * abs(now.merit):
            break
        beyond = beyond + np.maximum(-now.slack / now.scale, 0.0) * (k > 0)
        used = mixture.weight > USED
        columns = [one for one, kept in zip(columns, used, strict=True) if kept]
        weight = mixture.weight[used] / mixture.weight[used].sum()
    return found


def _mixed(
    model: LearnedModel, problem: CMDP, pessimist: Pessimist, columns: list[Column], weight: Array
) -> tuple[list[Column], Mixture]:
    """Add policies until they gain little; return them all, and their best mixture."""
    actions, before = columns[int(weight.argmax())].actions, -np.inf
    for _ in range(POLICIES):
        found = pessimist.mixture(columns, weight, MIXED * GAP)
        occupancy = found.weight @ np.array([one.occupancy for one in columns])
        utility = pessimist.slope(model, occupancy, found.multiplier)
        new = _response(model, problem, utility, actions)
        gain = float(utility[: model.states].reshape(-1) @ (new.occupancy - occupancy))
        enough = GAP * max(abs(float(found.value[0])), 1.0)
        safe, least = bool(found.multiplier[0]), float((found.value[1:] - pessimist.limit).min(initial=0.0))
        merit = float(found.value[0]) if safe else least
        if gain <= enough or 0 <= merit - before <= FLAT * enough:
            break
        before, actions = merit, new.actions
        columns, weight = [*columns, new], np.append(found.weight, 0.0)
    return columns[: len(found.weight)], found


def _policy(model: LearnedModel, columns: Sequence[Column], weight: Array) -> Array:
    """Return the stationary policy (S, A) of a mixture; where it never is, that of its largest part."""
    occupancy = weight @ np.array([one.occupancy for one in columns])
    largest = columns[int(weight.argmax())].actions[: model.states]
    each = np.eye(model.memory.actions)[largest]
    return occupancy_policy(occupancy.reshape(each.shape), each)


def _response(model: LearnedModel, problem: CMDP, utility: Array, actions: Actions | None) -> Column:
    """Return the policy that is best for a utility (S + 2, A), by policy iteration."""
    states = np.arange(len(utility))
    masked = np.where(problem.actions, utility, -np.inf)
    actions = masked.argmax(1) if actions is None else actions
    for _ in range(IMPROVEMENTS):
        inverse = inverse_of(policy_transition(problem, actions), problem.discount, model.order)
        value = inverse.state_value(utility[states, actions][None])[0]
        q = action_value(problem, masked[None], value[None])[0]
        better = q.max(1) > q[states, actions] + STRICT * np.abs(value).max()
        if not better.any():
            return _column(model, problem, actions, inverse)
        actions = np.where(better, q.argmax(1), actions)
    return _column(model, problem, actions)


def _column(model: LearnedModel, problem: CMDP, actions: Actions, inverse: Resolvent | None = None) -> Column:
    """Evaluate a deterministic policy."""
    inverse = inverse or inverse_of(policy_transition(problem, actions), problem.discount, model.order)
    visits = inverse.state_occupancy(problem.initial)
    occupancy = visits[:, None] * np.eye(model.memory.actions)[actions]
    value = np.tensordot(problem.utility, occupancy, 2)
    return Column(actions, np.asarray(value), occupancy[: model.states].reshape(-1))
