"""What makes a plan on a learned model safe: that it holds on the truth.

A plan that is optimal for an estimate exploits the errors of the estimate: it breaks its limits nearly always. So a plan counts as safe if
its constraint values, by the model, keep a margin from the limits:

    V_c − (z·s.e. + curse) ≥ b,     z = Φ⁻¹(1 − (1 − confidence)/K)

The curse is what the search for the best plan gains by the errors: plans made on one half of the data are evaluated on the other, and half
of their mean excess counts, since the whole has twice the data. `margin_plan` searches for such plans, `careful_plan` for those on a log.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask
from painless.common.clock import Clock
from painless.counting.judgement import Judged, judge
from painless.counting.known_plans import Known
from painless.counting.learned_model import LearnedModel
from painless.engines.drawn import Drawn
from painless.engines.engine import FEW_STATES, engine_of
from painless.planning.case import Case
from painless.planning.column_generation import ColumnGeneration
from painless.planning.planner import OUT_OF_TIME, Task
from painless.policies.table import restricted
from painless.problem import CMDP

TOLERANCE = 1e-3  # of plans, relative to the value
FINE = 1e-4  # of the plans among which the answer is chosen
# Of the margin by which a limit is tightened further, since the next plan has an error of its own.
BEYOND = 0.02
CLOSE = 0.05  # standard errors within which plans that are not safe come equally close
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
        return Plan(found.answer.policy, multiplier, found.ending in OUT_OF_TIME)

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
        endless value; of costs, which only add up, that is the latter.
        """
        value, scale = judged.value[1:], np.ones(len(self.threshold))
        adds_up = bool((model.memory.high[1:] <= 0).all()) or model.discount**self.time_limit <= REST
        if model.logged or (not self.episodic.any() and adds_up):
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

    @property
    def scales(self) -> Array:
        """What the model's discounted values are multiplied by, (J,): limits on whole episodes are undiscounted."""
        return np.append(1.0, self.scale)


def candidate(model: LearnedModel, policy: Any, limits: Limits, multiplier: Array) -> Candidate:
    """Judge a policy (S, A)."""
    return weighed(model, judge(model, policy), limits, multiplier)


def weighed(model: LearnedModel, judged: Judged, limits: Limits, multiplier: Array) -> Candidate:
    """Compare a policy that was judged with the limits."""
    slack, scale = limits.slack(model, judged)
    allowance = 1e-9 * np.abs(limits.threshold) + 1e-12
    safe = bool((slack >= -allowance).all())
    error = np.maximum(judged.error, 1e-12)
    size = model.size[1:] if model.logged else error[1:]
    merit = judged.value[0] - limits.deviations * error[0] if safe else (slack / (scale * size)).min()
    return Candidate(judged, slack, scale, safe, float(merit), multiplier)


def best_of(found: Iterable[Candidate]) -> Candidate:
    """Return the best safe candidate, or the one that comes closest; of those that come about as close, the one with the largest pessimistic reward.

    At a limit that none can keep a distance from, such as a cost of 0, all that keep the limit come equally close.
    """
    every = list(found)
    safe = [one for one in every if one.safe]
    if safe:
        return max(safe, key=lambda one: one.merit)
    closest = max(one.merit for one in every)
    near = [one for one in every if one.merit >= closest - CLOSE]
    return max(near, key=lambda one: one.judged.value[0] - one.judged.error[0])


def allowed(policy: Any, model: LearnedModel) -> Any:
    """Return a policy without actions that a model has no data of."""
    if isinstance(policy, Drawn):
        return Drawn(tuple(allowed(part, model) for part in policy.parts), policy.weights)
    return restricted(policy, model.tried_or_all)
