"""The frontier of a log: for limits of one constraint, what a plan that holds on the truth would bring, as a band and not as a line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from painless.common.arrays import Array, one_thread
from painless.common.clock import Clock
from painless.common.render import SIGNS, number
from painless.counting.careful_plan import careful_plan
from painless.frontiers.curve import Frontier
from painless.logs.answer import claims, curse_of, intervals, limits_of
from painless.logs.check import interval_text
from painless.logs.logged_model import LoggedModel

POINTS = 9  # limits


@dataclass(frozen=True, eq=False)
class LoggedFrontier:
    """Plans for several limits of one constraint, in the user's terms."""

    limit: Array  # (n,)
    reward_value: Array  # (n,) of the plan for each limit
    low: Array  # (n,)
    high: Array  # (n,)
    constraint_value: Array  # (n,)
    verdict: tuple[str, ...]  # (n,) whether the limit is met
    estimate: Array  # (n,) the optimum of the estimate, as if it were true
    name: str
    sense: str
    minimise: bool
    confidence: float
    own: float  # the limit of the log itself
    seconds: float

    header = ("limit", "planned", "verdict", "estimate as if true")

    @property
    def status(self) -> str:
        """A sentence on what the frontier is."""
        met = sum(one == "met" for one in self.verdict)
        return (
            f"{met} of {len(self.limit)} limits on {self.name} would be met with confidence {self.confidence:.4g}. "
            "Beyond the band the estimate promises more than the log can show."
        )

    def rows(self) -> list[tuple[str, ...]]:
        """Return the rows of the printed table."""
        parts = zip(
            self.limit, self.reward_value, self.low, self.high, self.verdict, self.estimate, strict=True
        )
        return [
            (f"{SIGNS[self.sense]} {number(limit)}", interval_text(value, low, high), word, number(best))
            for limit, value, low, high, word, best in parts
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and text."""
        return {
            key: value.tolist() if isinstance(value, np.ndarray) else value
            for key, value in vars(self).items()
        }

    def __repr__(self) -> str:
        from painless.common.render import text_table

        return f"{text_table(self.header, self.rows())}\n{self.status}"


def logged_frontier(
    log: LoggedModel, curve: Frontier, index: int, confidence: float, clock: Clock
) -> LoggedFrontier:
    """Plan for limits of one constraint between the ends of the estimate's frontier; the curse is that at the log's own limits."""
    ends = float(curve.threshold.min()), float(curve.threshold.max())
    limits = np.linspace(*ends, POINTS)
    with one_thread():
        curse = curse_of(log, limits_of(log, confidence), clock)
        base = limits_of(log, confidence, curse)
        found = [_point(log, index, float(limit), base, curse, clock) for limit in limits]
    sign = log.sign
    value, low, high = (np.array([one[k][0] for one in found]) * sign[0] for k in range(3))
    return LoggedFrontier(
        limit=limits,
        reward_value=value + 0.0,
        low=np.minimum(low, high) + 0.0,
        high=np.maximum(low, high) + 0.0,
        constraint_value=np.array([one[0][1 + index] for one in found]) * sign[1 + index] + 0.0,
        verdict=tuple(one[3][index] for one in found),
        estimate=np.array([_optimum(curve, float(limit)) for limit in limits]),
        name=log.columns.constraint_names[index],
        sense=log.columns.sense[index],
        minimise=log.columns.reward is None,
        confidence=confidence,
        own=float(log.columns.limit[index]),
        seconds=clock.seconds,
    )


def _point(
    log: LoggedModel, index: int, limit: float, limits: Any, curse: Array, clock: Clock
) -> tuple[Array, Array, Array, tuple[str, ...]]:
    """Return values, the ends of their intervals, and the verdicts of the plan for one limit."""
    threshold = log.threshold.copy()
    threshold[index] = limit * log.sign[1 + index]
    limits = replace(limits, threshold=threshold)
    judged = careful_plan(log.model, limits, clock=clock).judged
    return judged.value, *intervals(judged, limits, curse), claims(log, judged, curse, limits)


def _optimum(curve: Frontier, limit: float) -> float:
    """Return the optimum of the estimate at a limit; rounding may put the ends beyond what it can do."""
    inner = float(np.clip(limit, curve.threshold.min(), curve.threshold.max()))
    try:
        return float(curve.at(inner).reward_value)
    except ValueError:
        return float("nan")
