"""The verdict on an answer: fresh episodes first, and the learned model where they leave it open.

If the interval of the fresh episodes holds the limit, it counts as met if the plan kept its margin (see `safe_plan`), it still meets the limit with the same
confidence on the model of all steps, the fresh ones included, and the fresh episodes agree with the model, as closely as their number allows by their own
deviation or by that of the model, whichever is larger: a few episodes may all lack what is rare. It counts as missed if that model misses it with this confidence, and they agree.

Intervals of fresh episodes hold with the stated confidence only if the range of a step is declared (see `confidence.py`). Otherwise they are
about right: from the normal distribution, and for rare events from their number and sizes. The margin on the model of rare events is that of their number as well.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array
from painless.counting.judgement import Judged, rare_margin, return_deviation
from painless.counting.safe_plan import candidate
from painless.simulation.confidence import FEW, intervals
from painless.simulation.simulator import Specification
from painless.training.counted import Found
from painless.training.evaluate import Estimate

AGREEMENT = 3.0  # standard errors within which fresh episodes agree with the model


class Verified(NamedTuple):
    """What is known of an answer, in the user's terms."""

    estimate: Estimate  # discounted; limits on whole episodes undiscounted
    total: Array  # (J,) the mean undiscounted total of an episode
    discounted: Array  # (J,) the mean discounted one
    judged: Judged  # the answer on the model of all steps, in the internal sense


def verified(found: Found, specification: Specification, confidence: float) -> Verified:
    """Judge what a run found by its fresh episodes, and by the model of all steps where they leave it open."""
    limits, sign = found.limits, specification.sign
    judged, scale = _pooled(found)
    utilities = len(sign)
    discounted = np.array([one.discounted for one in found.returns]).reshape(-1, utilities)
    total = np.array([one.total for one in found.returns]).reshape(-1, utilities)
    if not len(discounted):
        return _unverified(found, specification, confidence, judged, np.append(1.0, scale))
    episodic = np.append(False, limits.episodic)
    samples = np.where(episodic, total, discounted)
    memory = found.pooled.memory
    sizes = np.where(np.abs(memory.low) > np.abs(memory.high), memory.low, memory.high)
    extent = specification.return_range if specification.declared else None
    low, high = intervals(samples, extent, confidence, sizes)
    deviation = np.maximum(samples.std(0), return_deviation(found.pooled, judged) * np.append(1.0, scale))
    enough = specification.declared or len(samples) >= FEW
    if not enough:
        width = NormalDist().inv_cdf(1 - (1 - confidence) / 2 / utilities) * deviation / np.sqrt(len(samples))
        low, high = np.minimum(low, samples.mean(0) - width), np.maximum(high, samples.mean(0) + width)
    expected = limits.collected(found.pooled, judged).value
    margin = limits.deviations * judged.error[1:]  # the fresh ones were not selected
    margin = np.maximum(margin, rare_margin(found.pooled, judged, limits.deviations)[1:]) * scale
    spread = deviation[1:] / np.sqrt(len(samples)) + judged.error[1:] * scale
    agrees = np.abs(samples.mean(0)[1:] - expected) <= AGREEMENT * spread
    verdict = []
    for k, threshold in enumerate(limits.threshold):
        safe = found.answer.slack[k] >= 0 and expected[k] - margin[k] >= threshold and agrees[k]
        hopeless = expected[k] + margin[k] < threshold and agrees[k]
        if (low[1 + k] >= threshold and enough) or (high[1 + k] >= threshold and safe):
            verdict.append("met")
        else:
            verdict.append("missed" if high[1 + k] < threshold or hopeless else "unclear")
    ends = np.sort(np.stack([low * sign, high * sign]), 0)
    estimate = Estimate(
        mean=samples.mean(0) * sign + 0.0,  # no negative zeros
        low=ends[0],
        high=ends[1],
        threshold=specification.limit,
        sense=specification.sense,
        confidence=confidence,
        episodes=len(samples),
        steps=found.verification_steps,
        words=tuple(verdict),
        exact=specification.declared,
    )
    return Verified(estimate, total.mean(0) * sign + 0.0, discounted.mean(0) * sign + 0.0, judged)


def _pooled(found: Found) -> tuple[Judged, Array]:
    """Return the answer on the model of all steps, and the scales of what is collected."""
    model, policy = found.pooled, found.answer.judged.policy
    actions = policy.shape[1]
    rest = np.full((model.states - len(policy), actions), 1 / actions)
    one = candidate(model, np.vstack([policy, rest]), found.limits, found.answer.multiplier)
    return one.judged, one.scale


def _unverified(
    found: Found, specification: Specification, confidence: float, judged: Judged, scales: Array
) -> Verified:
    """Return what the model says, where no fresh episode was possible: all limits are unclear."""
    sign = specification.sign
    width = NormalDist().inv_cdf(1 - (1 - confidence) / 2 / len(sign)) * judged.error * scales
    total, cut = found.pooled.episode_values(judged.policy, found.limits.time_limit)
    value = np.where(np.append(False, found.limits.episodic), total, judged.value)
    estimate = Estimate.unverified(value * sign, width, specification, confidence)
    return Verified(estimate, total * sign, cut * sign, judged)
