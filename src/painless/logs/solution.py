"""The result of `solve` on a log: a policy, what can be claimed of it, and what the claim rests on, all in the user's terms."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from painless.common import arguments, render
from painless.common.arrays import Array, one_thread
from painless.common.clock import Clock
from painless.common.frames import to_frame
from painless.logs.answer import Answered, answer, checked_confidence, claims, feasible, intervals
from painless.logs.assumptions import Assumption, markov, stationary
from painless.logs.behaviour import Behaviour, behaviour, judged_behaviour
from painless.logs.check import Check, check, interval_text
from painless.logs.extrapolation import Extrapolation, extrapolation
from painless.logs.logged_model import LoggedModel
from painless.logs.sentences import conclusion
from painless.policies.table import TabularPolicy
from painless.policies.table_mixture import TableMixture
from painless.policies.timed import TimedPolicy
from painless.storage import files, results

HEADER = ("", "planned", "limit", "verdict", "in the log")


@dataclass(frozen=True, eq=False)
class LoggedSolution:
    """A policy planned on a log, and how far it can be trusted.

    `feasible` is True if every limit is met with the stated confidence, False if one is missed, and None if the log does not tell. Intervals hold
    together with that confidence; on the side of the limit they include the curse of optimisation.
    """

    policy: TabularPolicy | TimedPolicy | TableMixture
    reward_value: float
    reward_interval: Array  # (2,)
    constraint_value: Array  # (K,)
    constraint_interval: Array  # (K, 2)
    verdict: tuple[str, ...]  # (K,) "met", "missed" or "unclear"
    feasible: bool | None
    confidence: float
    multiplier: Array  # (K,) shadow prices on the estimate
    threshold: Array  # (K,)
    sense: tuple[str, ...]
    minimise: bool
    constraint_names: tuple[str, ...]
    behaviour: Behaviour
    extrapolation: Extrapolation
    assumptions: tuple[Assumption, ...]
    status: str  # sentences on what can be claimed
    rows_used: int
    seconds: float
    log: LoggedModel = field(repr=False)

    def check(self, other: LoggedModel) -> Check:
        """Evaluate the policy on data that were kept aside, by their model and by weighting their episodes."""
        return check(self.policy, other, self.log, self.confidence)

    def rows(self) -> list[tuple[str, ...]]:
        """Return the rows of the printed table: the objective, then each constraint."""
        was = self.behaviour
        in_log = [
            interval_text(*one) if np.isfinite(one[1]) else interval_text(*other)
            for one, other in zip(
                zip(was.mean, was.low, was.high, strict=True),
                zip(was.model_value, was.model_low, was.model_high, strict=True),
                strict=True,
            )
        ]
        objective = "cost" if self.minimise else "reward"
        found: list[tuple[str, ...]] = [
            (objective, interval_text(self.reward_value, *self.reward_interval), "", "", in_log[0])
        ]
        parts = zip(self.constraint_names, self.constraint_value, self.constraint_interval, strict=True)
        for k, (name, value, (low, high)) in enumerate(parts):
            sign = "≥" if self.sense[k] == ">=" else "≤"
            limit = f"{sign} {render.number(self.threshold[k])}"
            found.append((name, interval_text(value, low, high), limit, self.verdict[k], in_log[1 + k]))
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the policy as plain numbers, lists and text."""
        plain = {
            "kind": "log",
            "feasible": self.feasible,
            "verdict": list(self.verdict),
            "status": self.status,
            "confidence": self.confidence,
            "objective": "minimise" if self.minimise else "maximise",
            "rows": self.rows_used,
            "seconds": self.seconds,
            "sense": list(self.sense),
            "constraint_names": list(self.constraint_names),
            "reward_value": self.reward_value,
        }
        for name in ("reward_interval", "constraint_value", "constraint_interval", "multiplier", "threshold"):
            plain[name] = getattr(self, name).tolist()
        plain["behaviour"] = _plain(vars(self.behaviour))
        plain["extrapolation"] = _plain(vars(self.extrapolation))
        plain["assumptions"] = [_plain(vars(one)) | {"holds": one.holds} for one in self.assumptions]
        return plain

    def to_frame(self, make: Callable[[Any], Any] | None = None) -> Any:
        """Return the objective and each constraint as the rows of a DataFrame: value, interval, limit, verdict, and what the log achieved."""
        was = self.behaviour
        columns: dict[str, Any] = {
            "name": ["cost" if self.minimise else "reward", *self.constraint_names],
            "value": np.append(self.reward_value, self.constraint_value),
            "low": np.append(self.reward_interval[0], self.constraint_interval[:, 0]),
            "high": np.append(self.reward_interval[1], self.constraint_interval[:, 1]),
            "limit": np.append(np.nan, self.threshold),
            "verdict": ["", *self.verdict],
            "log_value": was.mean,
            "log_low": was.low,
            "log_high": was.high,
        }
        return to_frame(columns, make)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `policy.csv`, the estimated `problem.npz`, the `counts.npz` of the log and finally `log.json` into a folder."""
        from painless.logs.saved_counts import COUNTS, about, save_counts

        place = files.require_folder(folder)
        self.policy.to_csv(place / "policy.csv")
        self.log.problem.save(place / "problem.npz")
        save_counts(place, self.log)
        content = _plain(self.as_dict() | {"table": self.rows(), "log": about(self.log)})
        results.write(place / "log.json", "log", content, ["policy.csv", "problem.npz", COUNTS])

    def __repr__(self) -> str:
        title = f"Solution of a log ({render.counted(self.rows_used, 'row')}, {self.seconds:.2f} s)"
        return f"{title}\n{render.text_table(HEADER, self.rows())}\n{self.status}"

    def _repr_html_(self) -> str:
        return render.html_summary(self.status, HEADER, self.rows())


def solve_log(
    log: LoggedModel, *, confidence: float = 0.95, time_limit: float | None = None
) -> LoggedSolution:
    """Plan on a log; see `painless.solve`."""
    confidence, clock = checked_confidence(confidence), Clock(arguments.seconds(time_limit))
    found = answer(log, confidence, clock)
    return logged_solution(log, found, confidence, clock)


def logged_solution(log: LoggedModel, found: Answered, confidence: float, clock: Clock) -> LoggedSolution:
    """Return an answer in the user's terms."""
    judged, sign = found.judged, log.sign
    low, high = intervals(judged, found.limits, found.curse)
    words = claims(log, judged, found.curse, found.limits)
    ends = np.sort(np.stack([low * sign, high * sign], 1), 1) + 0.0  # (J, 2)
    value = judged.value * sign + 0.0
    with one_thread():
        logged = judged_behaviour(log)
        was = behaviour(log, logged, found.limits, confidence)
        beyond = extrapolation(log, judged, found.optimum, logged, found.limits, found.candidate.multiplier)
    assumptions = (stationary(log), markov(log))
    solution = {
        "policy": log.policy(judged),
        "reward_value": float(value[0]),
        "reward_interval": ends[0],
        "constraint_value": value[1:],
        "constraint_interval": ends[1:],
        "verdict": words,
        "feasible": feasible(words),
        "confidence": confidence,
        "multiplier": found.candidate.multiplier,
        "threshold": log.columns.limit,
        "sense": log.columns.sense,
        "minimise": log.columns.reward is None,
        "constraint_names": log.columns.constraint_names,
        "behaviour": was,
        "extrapolation": beyond,
        "assumptions": assumptions,
        "rows_used": log.rows,
        "log": log,
    }
    status = conclusion(found, log, solution)
    return LoggedSolution(**solution, status=status, seconds=clock.seconds)


def _plain(value: Any) -> Any:
    """Return what JSON has room for; null for what is not finite."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "__dataclass_fields__"):
        return _plain(vars(value))
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
