"""What a run of networks found, in the user's terms: estimates of fresh episodes, verdicts, curves."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.loop.framework import Trace
from painless.policies import MixturePolicy
from painless.simulation.confidence import intervals
from painless.simulation.simulator import Specification
from painless.solving.status import Kind, Status
from painless.training.counted import Budget
from painless.training.deep.history import Record
from painless.training.deep.mixture_episodes import MixtureEpisodes
from painless.training.deep.run import DeepFound
from painless.training.evaluate import Estimate
from painless.training.linear import described
from painless.training.result import Training

POINTS = 400  # of the learning curves
SMALLEST = 0.01  # confidence of an interval whose two sides are used one at a time


def estimate_of(
    played: MixtureEpisodes,
    specification: Specification,
    episodic: Any,
    extremes: Array,
    confidence: float,
    steps: int,
) -> Estimate:
    """Judge fresh episodes of a mixture.

    The intervals hold at once and on both sides. A verdict is about one side: "met" is wrong with a probability of at most
    1 − confidence for all limits together, and so is "missed". A limit counts as met only if one more episode like the worst of them
    would not change that.
    """
    sizes = np.where(-extremes[0] > extremes[1], extremes[0], extremes[1])
    declared = specification.declared and not episodic.any()
    values, sign = played.episodes.chosen(episodic), specification.sign
    one_sided = max(2 * confidence - 1, SMALLEST)
    if declared:
        rows, (least, most) = played.as_drawn(values), specification.return_range
        low, high = intervals(rows, (least, most), confidence, sizes)
        surely, at_most = intervals(rows[:, 1:], (least[1:], most[1:]), one_sided, sizes[1:])
    else:
        low, high = played.intervals(values, confidence, sizes)
        surely, at_most = played.intervals(values[:, 1:], one_sided, sizes[1:])
        surely = np.minimum(surely, played.doubted(values[:, 1:], one_sided, sizes[1:]))
    ends = np.sort(np.stack([low * sign, high * sign]), 0)
    met = (surely >= specification.threshold) & (declared or played.enough)
    missed = at_most < specification.threshold
    return Estimate(
        mean=played.mean(values) * sign + 0.0,
        low=ends[0],
        high=ends[1],
        threshold=specification.limit,
        sense=specification.sense,
        confidence=confidence,
        episodes=played.count,
        steps=steps,
        words=tuple(
            "met" if yes else "missed" if no else "unclear" for yes, no in zip(met, missed, strict=True)
        ),
        exact=declared,
    )


def _unverified(found: DeepFound, specification: Specification, confidence: float) -> Estimate:
    """Return what training and selection say, where no fresh episode was possible: all limits are unclear."""
    return Estimate.unverified(
        found.told.value * specification.sign, 2.5 * found.told.error, specification, confidence
    )


def trace_of(history: list[Record], sign: Array) -> tuple[Trace, Array]:
    """Return the curves of at most some hundred points: what finished episodes collected, and the multipliers."""
    count = len(sign)
    parts = np.array_split(np.arange(len(history)), min(len(history), POINTS)) if history else []
    rows, errors, prices = [], [], []
    for part in parts:
        samples = np.concatenate([history[k].samples for k in part])
        if len(samples):
            rows.append(samples.mean(0) * sign)
            errors.append(samples.std(0) / np.sqrt(len(samples)))
            prices.append(np.mean([history[k].multiplier for k in part], axis=0))
    value = np.array(rows).reshape(-1, count)
    trace = Trace(value[:, 0], value[:, 1:], np.array(prices).reshape(len(value), count - 1), exact=False)
    return trace, np.array(errors).reshape(-1, count)


def training_of(found: DeepFound, simulator: Any, confidence: float, budget: Budget) -> Training:
    """Put together what a run found."""
    specification, sign = simulator.specification, simulator.specification.sign
    episodic = np.asarray(simulator.episodic, dtype=bool)
    played = found.returns
    verified = played.count > 1
    estimate = (
        estimate_of(played, specification, episodic, found.extremes, confidence, found.steps["verification"])
        if verified
        else _unverified(found, specification, confidence)
    )
    trace, error = trace_of(found.history, sign)
    price = trace.multiplier[-max(len(trace) // 4, 1) :].mean(0) if len(trace) else np.zeros(len(sign) - 1)
    return Training(
        policy=MixturePolicy(tuple(found.policies), found.weights),
        estimate=estimate,
        trace=trace,
        multiplier=price,
        multiplier_bound=np.full(len(sign) - 1, np.inf),
        status=_status(found, estimate, specification, getattr(simulator.interface, "left_out", [])),
        constraint_names=specification.constraint_names,
        minimise=specification.minimise,
        algorithm="deep",
        seconds=time.perf_counter() - budget.start,
        steps={
            "feasibility": 0,
            "training": found.steps["training"],
            "selection": found.steps["selection"],
            "evaluation": found.steps["verification"],
        },
        standard_error=error,
        total=played.mean(played.episodes.total) * sign + 0.0 if verified else None,
        discounted=played.mean(played.episodes.discounted) * sign + 0.0 if verified else None,
        interface=simulator.interface,
        source=described(simulator),
    )


def _status(
    found: DeepFound, estimate: Estimate, specification: Specification, left_out: list[str]
) -> Status:
    """Return how the run ended, and the verdicts."""
    words = zip(specification.constraint_names, estimate.verdict, strict=True)
    verdicts = ", ".join(f"{name} {word}" for name, word in words)
    start = f"Stopped: {found.stopped}; run it again for longer." if found.stopped else "Completed."
    count = len(found.policies)
    what = "One policy" if count == 1 else f"A mixture of {count} policies"
    advice = ""
    if "missed" in estimate.verdict:
        advice = "No policy that was found meets all limits: loosen them, or allow more steps."
    elif "unclear" in estimate.verdict:
        advice = "Allow more steps to know more."
    inside = (estimate.low[1:] <= estimate.threshold) & (estimate.threshold <= estimate.high[1:])
    near = any(word == "met" and within for word, within in zip(estimate.verdict, inside, strict=True))
    parts = [
        start,
        f"{what}, judged on {estimate.episodes:,} fresh episodes.",
        f"{verdicts[0].upper()}{verdicts[1:]}, with {estimate.certainty}." if verdicts else "",
        "A verdict is about one side of a limit; the intervals are wider, for both." if near else "",
        advice,
        f"{found.lost} open episodes could not be repeated, and were not counted." if found.lost else "",
        f"Not seen, since it is no number: {', '.join(left_out)}." if left_out else "",
    ]
    kind = Kind.STOPPED if found.stopped else Kind.COMPLETED
    return Status(kind, " ".join(part for part in parts if part))
