"""The answer of a run by counting, in the user's terms."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from painless.common.render import number as rounded
from painless.counting.safe_plan import REST
from painless.loop.framework import Trace
from painless.policies import MixturePolicy
from painless.policies.observed import ObservedPolicy
from painless.solving.status import Kind, Status
from painless.training.counted import Budget, Found
from painless.training.linear import described
from painless.training.result import Training
from painless.training.verification import Verified, verified

LONGEST = 80  # characters of the name of a state
NOTICED = 0.01  # relative difference between episodes with and without their time limit that is told


def training_of_counts(found: Found, simulator: Any, confidence: float, budget: Budget) -> Training:
    """Put together what a run by counting found, in the user's terms."""
    specification = simulator.specification
    judged = verified(found, specification, confidence)
    interface = getattr(simulator, "interface", None)
    sign = specification.sign
    values = np.array([one.value for one in found.trace]) * sign
    policy = ObservedPolicy(found.observations, found.answer.judged.policy)
    model = found.nominal
    names = _names(found, interface)
    unique = names if len({*names}) == len(names) else [f"{k}: {name}" for k, name in enumerate(names)]
    return Training(
        policy=MixturePolicy.uniform((policy,)),
        estimate=judged.estimate,
        trace=Trace(
            values[:, 0], values[:, 1:], np.array([one.multiplier for one in found.trace]), exact=False
        ),
        multiplier=found.answer.multiplier,
        multiplier_bound=np.full(len(specification.threshold), np.inf),
        status=_status(found, judged, specification, getattr(interface, "left_out", [])),
        constraint_names=specification.constraint_names,
        minimise=specification.minimise,
        algorithm="counted",
        seconds=time.perf_counter() - budget.start,
        steps={
            "feasibility": 0,
            "training": found.training_steps,
            "evaluation": found.verification_steps,
        },
        standard_error=np.array([one.error for one in found.trace]),
        total=judged.total,
        discounted=judged.discounted,
        model=model.table(unique, specification.sense, specification.constraint_names),
        visits=model.memory.visits,
        hoped=float(found.hoped * sign[0]),
        interface=interface,
        source=described(simulator),
    )


def _names(found: Found, interface: Any) -> list[str]:
    """Return the observations as text."""
    rows = found.observations
    if rows.shape[1] == 1:
        start = 0 if interface is None or not interface.discrete else interface.observation["start"]
        return [f"{value + start:g}" for value in rows[:, 0]]
    return [f"({', '.join(f'{value:g}' for value in row)})"[:LONGEST] for row in rows]


def _status(found: Found, judged: Verified, specification: Any, left_out: list[str]) -> Status:
    """Return how the run ended, the verdicts, and what the learned model says."""
    estimate = judged.estimate
    alone = replace(estimate, words=None).verdict  # by the fresh episodes alone
    words = zip(specification.constraint_names, estimate.verdict, alone, strict=True)
    verdicts = ", ".join(
        f"{name} {word}{'' if word == own else ' by the learned model'}" for name, word, own in words
    )
    scale = found.answer.scales
    value, error = judged.judged.value * scale * specification.sign, judged.judged.error * scale
    known = ", ".join(
        f"{name} {rounded(float(mean))} ± {rounded(float(width))}"
        for name, mean, width in zip(("reward", *specification.constraint_names), value, error, strict=True)
    )
    hope = rounded(float(found.hoped * specification.sign[0]))
    start = f"Stopped: {found.stopped}." if found.stopped else "Completed."
    parts = [
        start,
        f"{verdicts[0].upper()}{verdicts[1:]}, with {estimate.certainty}." if verdicts else "",
        f"The learned model of {found.nominal.states} states says {known}; an optimist could hope for {hope}.",
        _cut_off(found, judged, specification),
        ""
        if estimate.episodes or found.stopped
        else "No fresh episode ended within the budget: allow more seconds.",
        f"Not seen, since it is no number: {', '.join(left_out)}." if left_out else "",
        ""
        if found.answer.safe
        else "No plan keeps a safe margin from the limits: loosen them, or allow more steps.",
    ]
    kind = Kind.STOPPED if found.stopped else Kind.COMPLETED
    return Status(kind, " ".join(part for part in parts if part))


def _cut_off(found: Found, judged: Verified, specification: Any) -> str:
    """Return what episodes collect until they are cut off, if the learned model, which has no time limit, says something else."""
    limit, endless = found.limits.time_limit, judged.judged.value[0]
    episodic = [False, *found.limits.episodic.tolist()]
    if found.pooled.discount**limit <= REST:
        return ""
    _, collected = found.pooled.episode_values(judged.judged.policy, limit)
    if abs(collected[0] - endless) <= max(judged.judged.error[0], NOTICED * abs(endless)):
        return ""
    names = ("a reward of", *specification.constraint_names)
    shown = [
        f"{name} {rounded(float(value))}"
        for name, value, one in zip(names, collected * specification.sign, episodic, strict=True)
        if not one
    ]
    text = f"That is without a time limit: cut off after {limit} steps, episodes collect {', '.join(shown)}."
    if len(shown) == 1:
        return text
    return f"{text} Limits are kept with and without it; 'episode …' in front of a limit asks for episodes alone."
