"""Plans on a log whose margins are part of what is planned.

The margin of a utility is z·‖d·√q‖, with d(s, a) the occupancy and q(s, a) what a pair adds to the variance of a value (see `judgement`). For any e > 0 and
occupancies with d(s, a) ≤ D(s),

    z √(Σ d² q + q₀) ≤ z/2 · (e + q₀/e + Σ d·D·q / e),     q₀ from the first states

which is linear in d: utilities less z·D·q/(2e), limits beyond their curse by z/2·(e + q₀/e), make a problem like any other. Its plans avoid pairs that the log hardly has, since these
cost as much as if they were always taken where the plan comes. D and e are those of the plan before, beginning with what was done in the log; plans that
take turns are averaged. Where V changes, so does q: every plan is judged by its own margin in the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.common.clock import Clock
from painless.counting.completion import completed
from painless.counting.judgement import Judged, exposure, judge
from painless.counting.learned_model import LearnedModel
from painless.counting.safe_plan import (
    FINE,
    TOLERANCE,
    Candidate,
    Limits,
    allowed,
    candidate,
    plan,
)
from painless.counting.tightened_plan import tightened_plans
from painless.engines.drawn import Drawn
from painless.problem import CMDP

ROUNDS = 8  # plans, each with the margin of the one before
FLAT = 1e-3  # of the pessimistic reward: a smaller change ends the search
STEP = 2.0  # times as large or small as before an error may be
KEPT = 0.5  # of what pairs cost in the plan before, if they cost less now
UNUSED = 1e-12  # visits of a state that do not count


def careful_plan(
    model: LearnedModel, limits: Limits, tolerance: float = FINE, clock: Clock | None = None
) -> Candidate:
    """Return the best plan that is safe beyond its margins, or the one that comes closest."""
    return best_plan(careful_plans(model, limits, tolerance, clock), limits)


def best_plan(found: Iterable[Candidate], limits: Limits) -> Candidate:
    """Return the best safe plan; if there is none, the one that comes closest, of those that may meet the limits if there are any."""

    def rank(one: Candidate) -> tuple[bool, bool, float]:
        high = one.judged.value[1:] + limits.deviations * one.judged.error[1:]
        return one.safe, bool((high >= limits.threshold).all()), one.merit

    return max(found, key=rank)


def careful_plans(
    model: LearnedModel, limits: Limits, tolerance: float = FINE, clock: Clock | None = None
) -> list[Candidate]:
    """Return plans of which one is the best; the first is optimal on the model as it is. If none is safe, imaginary visits to the worst state may help."""
    found = _search(model, limits, tolerance, clock or Clock())
    if any(one.safe for one in found) or not len(limits.threshold):
        return found
    return found + tightened_plans(model, limits, tolerance, clock)


def curse(halves: tuple[LearnedModel, LearnedModel], limits: Limits, clock: Clock | None = None) -> Array:
    """Return half of what plans look better by on the half that they were made on than on the other, (J,), at least 0."""
    one, other = halves
    excess = np.zeros(1 + len(limits.threshold))
    for own, other_half in ((one, other), (other, one)):
        made = careful_plan(own, limits, TOLERANCE, clock).judged
        excess += made.value - judge(other_half, allowed(made.policy, other_half)).value
    return np.maximum(0.25 * excess, 0.0)


def _search(model: LearnedModel, limits: Limits, tolerance: float, clock: Clock) -> list[Candidate]:
    """Return the plans on the way; the first is optimal on the model as it is, the second what was done in the log."""
    optimum = plan(model.nominal(limits.threshold), tolerance, clock)
    found = [_judged(model, model.own(optimum.policy), limits, optimum.multiplier)]
    if optimum.stopped:
        return found
    now = candidate(model, model.behaviour, limits, np.zeros(len(limits.threshold)))
    found.append(now)
    error, cost = now.judged.error, np.zeros(())
    for k in range(ROUNDS):
        if not np.isfinite(now.judged.error).all():
            break
        last, z = now, limits.deviations
        error = np.clip(last.judged.error, error / STEP, error * STEP)
        error = np.maximum(error, 1e-9 * model.size)
        cost = np.maximum(exposure(model, last.judged.policy), KEPT * cost)
        beyond = z / 2 * (error + _of_first_states(last.judged) / error)
        make = partial(_reduced, model, slope=z * cost / (2 * error[:, None, None]))
        made = plan(make(limits.threshold + limits.curse + beyond[1:]), tolerance, clock)
        now = _judged(model, model.own(made.policy), limits, made.multiplier)
        found.append(now)
        if made.stopped:
            break
        if k or not np.isfinite(now.judged.error).all():
            now = _judged(model, _between(last.judged, now.judged), limits, made.multiplier)
            found.append(now)
        if last.safe and now.safe and abs(now.merit - last.merit) <= FLAT * abs(now.merit):
            break
    return found


def _reduced(model: LearnedModel, threshold: Array, slope: Array) -> CMDP:
    """Return the model as it is, with utilities less `slope` (J, S, A)."""
    transition, utility, actions = model.nominal_parts
    utility = utility.copy()
    utility[:, : model.states] -= slope
    return model.problem((transition, utility, actions), threshold)


def _judged(model: LearnedModel, policy: Any, limits: Limits, multiplier: Array) -> Candidate:
    """Judge a plan, with sensible actions where it does not expect to come."""
    return candidate(model, completed(model, policy), limits, multiplier)


def _of_first_states(judged: Judged) -> Array:
    """Return what the first states add to the variance of each value, (J,)."""
    return np.asarray(np.maximum(judged.error**2 - judged.pair_variance.sum(1), 0.0))


def _between(one: Judged, other: Judged) -> Any:
    """Return the policy whose occupancy is the average of two; of draws, the second."""
    if isinstance(one.policy, Drawn) or isinstance(other.policy, Drawn):
        return other.policy
    first, second = (judged.occupancy if judged.stages is None else judged.stages for judged in (one, other))
    total = (first + second).sum(-1, keepdims=True)
    return np.where(total > UNUSED, (first + second) / np.maximum(total, UNUSED), other.policy)
