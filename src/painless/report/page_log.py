"""The page of a solution of a log: what can be claimed, the band of every limit, what more rows would be worth, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from painless.common.render import SIGNS, counted, number
from painless.frontiers.frontier import frontier
from painless.frontiers.logged import LoggedFrontier
from painless.logs.assumptions import Assumption
from painless.logs.extrapolation import NeededPair
from painless.logs.logged_model import LoggedModel
from painless.logs.saved_counts import load_counts
from painless.logs.solution import HEADER, LoggedSolution
from painless.report.html import build_page
from painless.storage import results

MOST = 3  # constraints with a band


@dataclass(frozen=True)
class LogRecord:
    """What the page shows."""

    log: LoggedModel
    confidence: float
    status: str
    rows: list[tuple[str, ...]]
    time: float  # share of the policy's time in pairs that the log hardly has
    needed: tuple[NeededPair, ...]
    assumptions: tuple[Assumption, ...]

    @classmethod
    def of(cls, solution: LoggedSolution) -> LogRecord:
        """Return the record of a solution."""
        beyond = solution.extrapolation
        return cls(
            *(solution.log, solution.confidence, solution.status, solution.rows()),
            *(beyond.time, beyond.needed, solution.assumptions),
        )

    @classmethod
    def load(cls, folder: Path) -> LogRecord:
        """Read what `LoggedSolution.save` wrote."""
        content = results.read(folder / "log.json", "log")
        with results.understood(folder, "log"):
            beyond = content["extrapolation"]
            assumptions = [
                {key: value for key, value in one.items() if key != "holds"} for one in content["assumptions"]
            ]
            return cls(
                load_counts(folder, content["log"]),
                float(content["confidence"]),
                str(content["status"]),
                [tuple(map(str, row)) for row in content["table"]],
                float(beyond["time"]),
                tuple(NeededPair(**one) for one in beyond["needed"]),
                tuple(Assumption(**one) for one in assumptions),
            )


def log_page(record: LoggedSolution | LogRecord, title: str) -> str:
    """Return the page of a solution of a log."""
    record = LogRecord.of(record) if isinstance(record, LoggedSolution) else record
    log = record.log
    sizes = (counted(log.rows, "row"), counted(len(log.states), "state"), counted(len(log.actions), "action"))
    return build_page(
        title,
        f"{', '.join(sizes)}, {log.adding}",
        summary={
            "title": f"What the log carries, with confidence {record.confidence:.4g}",
            "status": record.status,
            "note": "",
            "header": HEADER,
            "rows": record.rows,
        },
        groups=[*_bands(record), covered(log), _needed(record), _rests_on(record)],
    )


def band_page(band: LoggedFrontier, log: LoggedModel, title: str) -> str:
    """Return the page of the frontier of a log."""
    return build_page(
        title,
        f"{counted(log.rows, 'row')}, {log.adding}",
        summary={
            "title": f"What the log carries for every limit, with confidence {band.confidence:.4g}",
            "status": band.status,
            "note": "",
            "header": band.header,
            "rows": band.rows(),
        },
        groups=[_other_limits([band]), covered(log)],
    )


def _bands(record: LogRecord) -> list[dict[str, Any]]:
    """Return the band of each constraint."""
    names = range(min(MOST, len(record.log.threshold)))
    found = [frontier(record.log, k, confidence=record.confidence) for k in names]
    return [_other_limits(found)] if found else []


def _other_limits(found: list[LoggedFrontier]) -> dict[str, Any]:
    text = "What a plan for each limit would bring. The band is the interval of the plan that holds on the truth; the line is what the estimate promises."
    return {
        "title": "Other limits",
        "text": text,
        "panels": [_panel(one) for one in found],
        "tables": [
            {"title": f"Limits on {one.name}", "folded": True, "header": one.header, "rows": one.rows()}
            for one in found
        ],
    }


def _panel(band: LoggedFrontier) -> dict[str, Any]:
    """Return one band as curves over the limit."""

    def short(values: Any) -> list[float | None]:
        return [float(f"{value:.7g}") if np.isfinite(value) else None for value in values]

    objective = "cost" if band.minimise else "reward"
    plan = {"name": "plan", "y": short(band.reward_value), "low": short(band.low), "high": short(band.high)}
    estimate = {"name": "estimate as if true", "y": short(band.estimate), "thin": True}
    return {
        "title": f"{objective.capitalize()} for every limit on {band.name}",
        "text": f"The log's own limit is {SIGNS[band.sense]} {number(band.own)}.",
        "x": f"limit: {band.name} {SIGNS[band.sense]}",
        "y": objective,
        "steps": short(band.limit),
        "series": [plan, estimate],
        "rules": [],
        "skip": 0,
    }


def covered(log: LoggedModel) -> dict[str, Any]:
    """Return what a log has."""
    found = log.describe()
    rows = [tuple(map(str, pair)) for pair in found.table()]
    return {
        "title": "The log",
        "text": found.last(),
        "tables": [{"title": "What it has", "folded": False, "header": ("", ""), "rows": rows}],
    }


def _needed(record: LogRecord) -> dict[str, Any]:
    text = (
        f"The policy spends {record.time:.1%} of its time on choices with fewer than ten rows. "
        "Each row of the table says what a hundred more rows of one choice would take off the margins, in units of the objective; choices count that the estimate alone would take."
    )
    rows = [
        (one.state, one.action, f"{one.rows}", f"{one.time:.1%}", number(one.worth)) for one in record.needed
    ]
    header = ("state", "action", "rows", "share of time", "worth of 100 more")
    return {
        "title": "What more rows would be worth",
        "text": text,
        "tables": [{"title": "Choices by worth", "folded": False, "header": header, "rows": rows}],
    }


def _rests_on(record: LogRecord) -> dict[str, Any]:
    rows = [
        (one.name, "holds" if one.holds else "doubtful", number(one.p_value), one.sentence)
        for one in record.assumptions
    ]
    text = "Every claim rests on these. A small p-value says that the log speaks against it."
    return {
        "title": "What the claim rests on",
        "text": text,
        "tables": [
            {"title": "Tests", "folded": False, "header": ("assumption", "", "p-value", ""), "rows": rows}
        ],
    }
