"""Plans at limits that are tightened until they are safe, for logs on which no other plan is.

Plans are made on the model as it is and with imaginary visits to the worst state, each again at limits that are tightened by the margin of the one before. They know nothing of the margin
of the next, so that they lose much where margins differ; but the worst state keeps them from what was hardly tried.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from painless.common.arrays import Array
from painless.common.clock import Clock
from painless.counting.judgement import Judged
from painless.counting.learned_model import LearnedModel
from painless.counting.safe_plan import BEYOND, FINE, Candidate, Limits, WarmPlanner, best_of, candidate
from painless.problem import CMDP

IMAGINARY = (0.0, 1.0, 0.1)  # visits to the worst state in each kind of candidate
ROUNDS = 5  # of tightening, and of loosening again
ROOM = 0.005  # of a limit that is worth no other plan
GAIN = 0.02  # of the reward: no other kind is tried if it could gain less


def tightened_plans(
    model: LearnedModel,
    limits: Limits,
    tolerance: float = FINE,
    clock: Clock | None = None,
    imaginary: tuple[float, ...] = IMAGINARY,
) -> list[Candidate]:
    """Return plans of all kinds, at limits that are tightened until they are safe; the first is optimal on the model as it is.

    Arguments:
        model: of a log.
        limits: with the margins.
        tolerance: of each plan.
        clock: when its time is up, or on Ctrl-C, the plans so far are returned.
        imaginary: visits to the worst state, one kind of plan for each.
    """
    found: list[Candidate] = []
    planner, threshold = WarmPlanner(), limits.threshold

    def kind(problem: CMDP) -> Callable[[Array], Candidate]:
        def at(limit: Array) -> Candidate:
            made = planner(problem.with_limits(limit), tolerance, clock)
            found.append(candidate(model, model.own(made.policy), limits, made.multiplier))
            if made.stopped:
                raise _Stopped
            return found[-1]

        return at

    def search() -> None:
        plain = kind(model.nominal(threshold))
        nominal = plain(threshold)
        for visits in imaginary:
            if _is_near(best_of(found), nominal):
                break
            at = plain if not visits else kind(_cautious(model, threshold, nominal.judged, visits))
            now = nominal if not visits else at(threshold)
            bracket = Bracket(threshold)
            for _ in range(ROUNDS):
                limit = bracket.next(now, limits)
                if limit is None:
                    break
                now = at(limit)

    with suppress(_Stopped):
        search()
    return found


def _cautious(model: LearnedModel, threshold: Array, judged: Judged, visits: float) -> CMDP:
    """Return the model with `visits` imaginary ones to every tried pair, which end as badly as the worst state does.

    How badly that is, a policy that was judged says. On average they come to the worst state, and the process goes on from there.
    """
    share = np.where(model.visits > 0, visits / (visits + model.visits), 0.0)  # (S·A,)
    extreme = (~model.tried).reshape(-1).astype(float)
    value = judged.state_value[..., model.tried.any(1)]
    value = np.where(np.isfinite(value), value, 0.0).min(-1)  # (J,), or (J, H + 1)
    if model.average:
        ahead = model.per_pair(model.probability * judged.full_value[:, model.successors])
        utility = (1 - share) * model.utility + share * ((judged.value + value)[:, None] - ahead)
        parts = model.assemble(model.probability, extreme, utility, model.worst, model.tried_or_all)
        return model.problem(parts, threshold)
    worst = model.discount * (value if model.horizon is None else value[:, 1:].T[..., None])
    utility = (1 - share) * model.utility + share * (worst[:, None] if model.horizon is None else worst)
    probability = (1 - share)[model.pairs] * model.probability
    stages = [utility] if model.horizon is None else [*utility]
    each = [model.assemble(probability, extreme, one, model.worst, model.tried_or_all) for one in stages]
    if model.horizon is None:
        return model.problem(each[0], threshold)
    return model.problem((each[0][0], np.stack([one[1] for one in each], 1), each[0][2]), threshold)


def _is_near(best: Candidate, nominal: Candidate) -> bool:
    """Whether a safe plan has nearly the reward of what is optimal on the model as it is, its error included."""
    optimum = float(nominal.judged.value[0])
    return best.safe and best.merit >= optimum - GAIN * abs(optimum)


class _Stopped(Exception):
    """The time is up, and what was found so far counts."""


@dataclass
class Bracket:
    """The thresholds between which plans begin to be safe."""

    limit: Array  # (K,) of the latest plan
    unsafe: Array | None = None  # the tightest at which a plan was not safe
    safe: Array | None = None  # the loosest at which a plan was safe
    slack: Array | None = None  # (K,) of the latest plan that was not safe

    def next(self, now: Candidate, limits: Limits) -> Array | None:
        """Return the thresholds of the next plan, given the latest; none if that one leaves no room."""
        if not np.isfinite(now.slack).all():
            return None
        if now.safe:
            self.safe = self.limit
        else:
            if self.slack is not None and (now.slack <= self.slack + 1e-9 * np.abs(limits.threshold)).all():
                return None  # tighter limits do not make it safer
            self.unsafe, self.slack = self.limit, now.slack
        if self.unsafe is None or (now.safe and not _roomy(now, limits)):
            return None
        if self.safe is None:
            self.limit = _moved(now, limits, self.limit)
        else:
            self.limit = (self.unsafe + self.safe) / 2
        return self.limit


def _roomy(one: Candidate, limits: Limits) -> bool:
    """Whether a safe plan was made at limits so tight that it leaves a tenth of its margin, and of the limit."""
    margin = one.judged.value[1:] - one.slack - limits.threshold
    return bool((one.slack > np.maximum(0.1 * margin, ROOM * np.abs(limits.threshold))).any())


def _moved(one: Candidate, limits: Limits, threshold: Array) -> Array:
    """Return thresholds at which the next plan should be just safe, (K,)."""
    value, need = one.judged.value[1:], -one.slack
    margin = value + need - limits.threshold
    moved = value + need + BEYOND * np.maximum(margin, need)
    return np.where(need > 0, np.maximum(moved, threshold + 0.02 * need), threshold)
