"""The plan for a log that holds on the truth, and what can be claimed of it.

A limit counts as met if the interval of its value lies on the right side of it, the curse of optimisation added on the wrong one (see
`counting/careful_plan.py`); as missed if it lies on the other side; else it is unclear. Intervals hold together with the stated confidence:

    V_c ± z·s.e.,     z = Φ⁻¹(1 − (1 − confidence)/(2K))
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from painless.common.arrays import Array, one_thread
from painless.common.clock import Clock
from painless.common.errors import InputError
from painless.counting.careful_plan import best_plan, careful_plans, curse
from painless.counting.drawn_halves import drawn_halves
from painless.counting.learned_model import Judged
from painless.counting.safe_plan import FINE, Candidate, Limits
from painless.logs.logged_model import LoggedModel

ENDLESS = 10**9  # steps of an episode, which has no time limit here
MET, MISSED, UNCLEAR = "met", "missed", "unclear"
ALLOWANCE = 1e-9  # by which a limit may be missed, relative to it, for rounding


@dataclass(frozen=True)
class Answered:
    """A plan on a log, and what is known of it, in the internal sense."""

    candidate: Candidate
    limits: Limits
    curse: Array  # (J,)
    optimum: Judged  # of the estimate, as if it were true

    @property
    def judged(self) -> Judged:
        """The policy with its values."""
        return self.candidate.judged


def limits_of(log: LoggedModel, confidence: float) -> Limits:
    """Return the limits with the margins of two-sided intervals."""
    count = len(log.threshold)
    return Limits(log.threshold, np.zeros(count, dtype=bool), ENDLESS, (1 + confidence) / 2)


def curse_of(log: LoggedModel, limits: Limits, clock: Clock | None = None) -> Array:
    """Return what the search for the best plan gains by errors, (J,), from two halves that are drawn."""
    halves = drawn_halves(log.memory)
    one, other = (log.model_of(halves.half(i)) for i in range(2))
    if not all(half.memory.steps and half.episodes for half in (one, other)):
        return np.zeros(1 + len(log.threshold))
    try:
        return curse((one, other), limits, clock)
    except InputError:  # half of a log may go round for ever where the whole log ends
        return np.full(1 + len(log.threshold), np.inf)


def answer(log: LoggedModel, confidence: float, clock: Clock, tolerance: float = FINE) -> Answered:
    """Plan on a log."""
    with one_thread(), clock.interruptible():
        limits = limits_of(log, confidence)
        found = curse_of(log, limits, clock)
        limits = replace(limits, curse=found[1:])
        plans = careful_plans(log.model, limits, tolerance, clock)
    return Answered(best_plan(plans, limits), limits, found, plans[0].judged)


def intervals(judged: Judged, limits: Limits, curse: Array | float = 0.0) -> tuple[Array, Array]:
    """Return the ends of the intervals of all values, (J,) each, in the internal sense."""
    width = limits.deviations * judged.error
    return judged.value - width - curse, judged.value + width


def verdicts(low: Array, high: Array, threshold: Array) -> tuple[str, ...]:
    """Return what each interval says of its limit, (K,).

    >>> verdicts(np.array([1.0, 1.0, 1.0]), np.array([2.0, 2.0, 2.0]), np.array([0.5, 1.5, 2.5]))
    ('met', 'unclear', 'missed')
    """
    allowance = ALLOWANCE * np.abs(threshold) + 1e-12
    known = np.isfinite(high)
    met, missed = known & (low + allowance >= threshold), known & (high + allowance < threshold)
    return tuple(MET if one else MISSED if other else UNCLEAR for one, other in zip(met, missed, strict=True))


def feasible(words: tuple[str, ...]) -> bool | None:
    """Return whether all limits are met; None where that is unclear."""
    if MISSED in words:
        return False
    return None if UNCLEAR in words else True


def checked_confidence(confidence: Any) -> float:
    """Reject what is no confidence."""
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence}; it must lie between 0 and 1, such as 0.95")
    return float(confidence)
