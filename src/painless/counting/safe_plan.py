"""Plans on a learned model that hold on the truth.

A plan that is optimal for an estimate exploits the errors of the estimate: it breaks its limits nearly always. So a plan counts as safe if
its constraint values, by the model, keep a margin from the limits:

    V_c − (z·s.e. + curse) ≥ b,     z = Φ⁻¹(1 − (1 − confidence)/K)

The curse is what the search for the best plan gains by the errors: plans made on one half of the data are evaluated on the other, and half
of their mean excess counts, since the whole has twice the data. Candidates are planned on the model as it is and with imaginary visits to the worst
state, each again at limits that are tightened by its own margin. Logs have a search of their own (`careful_plan`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask
from painless.common.clock import Clock
from painless.counting.known_plans import Known
from painless.counting.learned_model import Judged, LearnedModel
from painless.engines.drawn import Drawn
from painless.engines.engine import FEW_STATES, engine_of
from painless.planning.column_generation import ColumnGeneration
from painless.planning.planner import Case, Task
from painless.policies.table import restricted
from painless.problem import CMDP

TOLERANCE = 1e-3  # of plans, relative to the value
FINE = 1e-4  # of the plans among which the answer is chosen
IMAGINARY = (0.0, 1.0, 0.1)  # visits to the worst state in each kind of candidate
ROUNDS = 5  # of tightening, and of loosening again
ROOM = 0.005  # of a limit that is worth no other plan
GAIN = 0.02  # of the reward: no other kind is tried if it could gain less
SEARCH = 4  # rounds if a limit is on what an episode collects without discounting
# Of the margin by which a limit is tightened further, since the next plan has an error of its own.
BEYOND = 0.02
REST = 1e-3  # the discount at the time limit above which episodes are evaluated as they are cut off


class Plan(NamedTuple):
    """A policy, and the price of each limit in it."""

    policy: Any  # (S, A), or as the criterion has it
    multiplier: Array  # (K,) 0 where no policy meets the limits
    stopped: bool = False  # by the time limit or an interrupt, before the tolerance was proved


class WarmPlanner:
    """Plans one problem after another, each from what the last plan found: the same model at other limits, or one that has changed a little."""

    def __init__(self) -> None:
        self.known: Known | None = None

    def __call__(self, problem: CMDP, tolerance: float = TOLERANCE, clock: Clock | None = None) -> Plan:
        """Return the optimal policy of a problem, or the one that comes closest to its limits."""
        case = Case.of(problem)
        task = Task(tolerance, clock or Clock())
        if self.known is not None:
            columns, engine = self.known.columns_for(case.normal), engine_of(case.normal, FEW_STATES)
            if self.known.engine is not None:
                engine.continue_from(self.known.engine)
            task = task._replace(columns=columns, before=engine)
        found = ColumnGeneration().answer(case, task)
        if found.certifier is not None:
            self.known = Known.of(found.certifier.game, case.normal)
        if found.answer is None:
            return Plan(found.case.slater.policy, np.zeros(len(problem.threshold)))
        multiplier = found.case.units.multiplier(found.answer.multiplier)
        return Plan(found.answer.policy, multiplier, found.ending.out_of_time)

    @property
    def policies(self) -> NDArray[np.int64]:
        """The actions of the policies in the latest answer, (n, S)."""
        used = () if self.known is None else self.known.used
        return np.array(used, dtype=np.int64) if used else np.empty((0, 0), dtype=np.int64)

    def start_from(self, policies: NDArray[np.int64]) -> None:
        """Begin with the policies of an earlier answer, (n, S)."""
        self.known = Known(None, (), tuple(policies), None) if len(policies) else None

    def keep_policies(self) -> None:
        """Forget all but the policies in the latest answer, which is what a checkpoint keeps."""
        self.start_from(self.policies)


def plan(problem: CMDP, tolerance: float = TOLERANCE, clock: Clock | None = None) -> Plan:
    """Return the optimal policy of a problem, or the one that comes closest to its limits."""
    return WarmPlanner()(problem, tolerance, clock)


class Collected(NamedTuple):
    """What an episode collects, in the constraint's own terms."""

    value: Array  # (K,)
    scale: Array  # (K,) by how much it changes with the discounted value


@dataclass(frozen=True)
class Limits:
    """The limits as the user means them, in the internal sense.

    Arguments:
        threshold: b, (K,).
        episodic: which limits are on the undiscounted total of an episode, (K,).
        time_limit: of an episode.
        confidence: the probability with which each safe plan meets all limits.
        curse: (K,) in units of discounted values.
        selection: the same in standard errors.
    """

    threshold: Array
    episodic: Mask
    time_limit: int
    confidence: float = 0.95
    curse: Array | float = 0.0
    selection: float = 0.0

    @property
    def deviations(self) -> float:
        """The number of standard errors z in a margin."""
        return NormalDist().inv_cdf(1 - (1 - self.confidence) / max(len(self.threshold), 1))

    def discounted(self, discount: float, length: float) -> Array:
        """Return thresholds on discounted values, (K,), if what counts is spread evenly over episodes of some length."""
        steps = length * (1 - discount) / max(1 - discount**length, 1e-12)
        return np.where(self.episodic, self.threshold / max(steps, 1.0), self.threshold)

    def collected(self, model: LearnedModel, judged: Judged) -> Collected:
        """Return what episodes collect.

        Where a limit is on discounted values and the time limit matters, it is the worse of what an episode collects up to it and of the
        endless value.
        """
        value, scale = judged.value[1:], np.ones(len(self.threshold))
        if model.logged or (not self.episodic.any() and model.discount**self.time_limit <= REST):
            return Collected(value, scale)
        total, cut = model.episode_values(judged.policy, self.time_limit)
        sound = np.abs(value) > 1e-9 * np.abs(total[1:])
        ratio = total[1:] / np.where(sound, value, 1.0)
        scale = np.where(self.episodic & sound & (ratio > 0), ratio, scale)
        return Collected(np.where(self.episodic, total[1:], np.minimum(value, cut[1:])), scale)

    def slack(self, model: LearnedModel, judged: Judged) -> tuple[Array, Array]:
        """Return how far each constraint is met beyond its margin, (K,), and the scale of `collected`."""
        value, scale = self.collected(model, judged)
        margin = ((self.deviations + self.selection) * judged.error[1:] + self.curse) * scale
        return value - margin - self.threshold, scale


class Candidate(NamedTuple):
    """A plan, and by how much it meets the limits beyond its margins."""

    judged: Judged
    slack: Array  # (K,)
    scale: Array  # (K,)
    safe: bool
    merit: float  # the pessimistic reward of a safe plan; of others the least slack, in standard errors, or in a log's largest utilities
    multiplier: Array  # (K,)
    selection: float = 0.0  # standard errors in its margins for what the search gains by errors

    @property
    def scales(self) -> Array:
        """What the model's discounted values are multiplied by, (J,): limits on whole episodes are undiscounted."""
        return np.append(1.0, self.scale)


def candidate(model: LearnedModel, policy: Any, limits: Limits, multiplier: Array) -> Candidate:
    """Judge a policy (S, A)."""
    judged = model.judge(policy)
    slack, scale = limits.slack(model, judged)
    allowance = 1e-9 * np.abs(limits.threshold) + 1e-12
    safe = bool((slack >= -allowance).all())
    error = np.maximum(judged.error, 1e-12)
    size = model.size[1:] if model.logged else error[1:]
    merit = judged.value[0] - limits.deviations * error[0] if safe else (slack / (scale * size)).min()
    return Candidate(judged, slack, scale, safe, float(merit), multiplier, limits.selection)


def candidates(
    model: LearnedModel,
    limits: Limits,
    threshold: Array,
    imaginary: tuple[float, ...] = IMAGINARY,
    tolerance: float = FINE,
    clock: Clock | None = None,
    rounds: int = ROUNDS,
    planner: WarmPlanner | None = None,
) -> list[Candidate]:
    """Return plans of all kinds, at limits that are tightened until they are safe; the first is optimal on the model as it is.

    Arguments:
        threshold: on discounted values, (K,), to begin with.
        imaginary: visits to the worst state, one kind of candidate for each.
        clock: when its time is up, or on Ctrl-C, the candidates so far are returned.
        rounds: plans at other limits, for each kind of candidate.
        planner: that has planned on similar models.
    """
    found: list[Candidate] = []
    planner = planner or WarmPlanner()

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
            if is_near(best_of(found), nominal):
                break
            at = plain if not visits else kind(model.cautious(threshold, nominal.judged, visits))
            now = nominal if not visits else at(threshold)
            bracket = Bracket(threshold)
            for _ in range(SEARCH if limits.episodic.any() else rounds):
                limit = bracket.next(now, limits)
                if limit is None:
                    break
                now = at(limit)

    with suppress(_Stopped):
        search()
    return found


def safe_plan(
    model: LearnedModel,
    limits: Limits,
    threshold: Array,
    imaginary: tuple[float, ...] = IMAGINARY,
    **options: Any,
) -> Candidate:
    """Return the best safe candidate, or the one that comes closest; the arguments are those of `candidates`."""
    return best_of(candidates(model, limits, threshold, imaginary, **options))


def is_near(best: Candidate, nominal: Candidate) -> bool:
    """Whether a safe plan has nearly the reward of what is optimal on the model as it is, its error included."""
    optimum = float(nominal.judged.value[0])
    return best.safe and best.merit >= optimum - GAIN * abs(optimum)


def best_of(found: Iterable[Candidate]) -> Candidate:
    """Return the best safe candidate, or the one that comes closest."""
    return max(found, key=lambda one: (one.safe, one.merit))


class _Stopped(Exception):
    """The time is up, and what was found so far counts."""


@dataclass
class Bracket:
    """The thresholds on discounted values between which plans begin to be safe."""

    limit: Array  # (K,) of the latest plan
    unsafe: Array | None = None  # the tightest at which a plan was not safe
    safe: Array | None = None  # the loosest at which a plan was safe
    slack: Array | None = None  # (K,) of the latest plan that was not safe

    def next(self, now: Candidate, limits: Limits) -> Array | None:
        """Return the thresholds of the next plan, given the latest; none if that one leaves no room."""
        if not np.isfinite(now.slack).all():
            return None
        if limits.episodic.any():
            if now.safe and not _too_tight(now, limits):
                return None
            self.limit = _moved(now, limits, self.limit)
            return self.limit
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
    margin = one.judged.value[1:] * one.scale - one.slack - limits.threshold
    return bool((one.slack > np.maximum(0.1 * margin, ROOM * np.abs(limits.threshold))).any())


def _too_tight(one: Candidate, limits: Limits) -> bool:
    """Whether an undiscounted limit leaves room: the plan for it was made at a discounted limit that was a guess."""
    room = one.slack > 0.02 * np.abs(limits.threshold)
    return bool((limits.episodic & room).any())


def _moved(one: Candidate, limits: Limits, threshold: Array) -> Array:
    """Return thresholds on discounted values at which the next plan should be just safe, (K,)."""
    value, need = one.judged.value[1:], -one.slack / one.scale
    margin = value + need - limits.threshold / one.scale
    moved = value + need + np.where(need > 0, BEYOND * np.maximum(margin, need), 0.0)
    tightened = np.where(need > 0, np.maximum(moved, threshold + 0.02 * need), threshold)
    return np.where(limits.episodic, moved, tightened)


def allowed(policy: Any, model: LearnedModel) -> Any:
    """Return a policy without actions that a model has no data of."""
    if isinstance(policy, Drawn):
        return Drawn(tuple(allowed(part, model) for part in policy.parts), policy.weights)
    return restricted(policy, model.tried_or_all)
