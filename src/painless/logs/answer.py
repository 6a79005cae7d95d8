"""The plan for a log that holds on the truth, and what can be claimed of it.

A limit counts as met if the interval of its value lies on the right side of it, the curse of optimisation added on the wrong one (see
`counting/careful_plan.py`); as missed if it lies on the other side; else it is unclear. Intervals hold together with the stated confidence:

    V_c ± z·s.e.,     z = Φ⁻¹(1 − (1 − confidence)/(2K))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from painless.common.arrays import Array, Mask, one_thread
from painless.common.clock import Clock
from painless.common.errors import InputError
from painless.counting.careful_plan import best_plan, careful_plans, curse
from painless.counting.drawn_halves import drawn_halves
from painless.counting.judgement import Judged
from painless.counting.safe_plan import FINE, Candidate, Limits
from painless.logs.extrapolation import FEW
from painless.logs.logged_model import LoggedModel

ENDLESS = 10**9  # steps of an episode, which has no time limit here
FEWEST = 5  # rows of most choices of a policy below which nothing is claimed of it
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


def limits_of(log: LoggedModel, confidence: float, curse: Array | None = None) -> Limits:
    """Return the limits with the margins of two-sided intervals, and the curse (J,) where it is known."""
    count = len(log.threshold)
    known = 0.0 if curse is None else np.where(np.isfinite(curse), curse, 0.0)[1:]
    return Limits(log.threshold, np.zeros(count, dtype=bool), ENDLESS, (1 + confidence) / 2, known)


def curse_of(log: LoggedModel, limits: Limits, clock: Clock | None = None) -> Array:
    """Return what the search for the best plan gains by errors, (J,), from two halves that are drawn; ∞ where these do not tell."""
    halves = drawn_halves(log.memory)
    if not halves.starts.any(1).all():  # there are too few episodes to draw from
        halves.starts = np.stack([log.memory.starts.sum(0)] * 2)
    one, other = (log.model_of(halves.half(i)) for i in range(2))
    if not (one.memory.steps and other.memory.steps):
        return np.full(1 + len(log.threshold), np.inf)
    try:
        return curse((one, other), limits, clock)
    except InputError:  # half of a log may go round for ever where the whole log ends
        return np.full(1 + len(log.threshold), np.inf)


def answer(log: LoggedModel, confidence: float, clock: Clock, tolerance: float = FINE) -> Answered:
    """Plan on a log."""
    with one_thread(), clock.interruptible():
        found = curse_of(log, limits_of(log, confidence), clock)
        limits = limits_of(log, confidence, found)
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


def claims(log: LoggedModel, judged: Judged, curse: Array | float, limits: Limits) -> tuple[str, ...]:
    """Return what a log says of the limits under a policy that was judged on it, (K,).

    It says nothing of columns with nothing but zeros, and nothing at all with fewer than `FEW` rows or of a policy whose choices it hardly has.
    """
    low, high = intervals(judged, limits, curse)
    words = verdicts(low[1:], high[1:], limits.threshold)
    known = ~unseen(log) & (log.rows >= FEW and not hardly_known(log, judged))
    return tuple(word if one else UNCLEAR for one, word in zip(known, words, strict=True))


def unseen(log: LoggedModel) -> Mask:
    """Return the constraints of which every row of a log has 0, (K,)."""
    return np.asarray((log.memory.low[1:] == 0) & (log.memory.high[1:] == 0))


def hardly_known(log: LoggedModel, judged: Judged) -> bool:
    """Return whether a policy spends more than half of its time on pairs with fewer than `FEWEST` rows."""
    time = judged.occupancy
    return bool(time[log.memory.visits < FEWEST].sum() > 0.5 * time.sum())


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
