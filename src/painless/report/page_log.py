"""The page of a solution of a log: what can be claimed, the band of every limit, what more rows would be worth, and what it rests on."""

from __future__ import annotations

from typing import Any

import numpy as np

from painless.common.render import SIGNS, counted, number
from painless.frontiers.frontier import frontier
from painless.frontiers.logged import LoggedFrontier
from painless.logs.solution import HEADER, LoggedSolution
from painless.report.page_builder import build_page

MOST = 3  # constraints with a band


def log_page(solution: LoggedSolution, title: str) -> str:
    """Return the page of a solution of a log."""
    log = solution.log
    sizes = (counted(log.rows, "row"), counted(len(log.states), "state"), counted(len(log.actions), "action"))
    return build_page(
        title,
        f"{', '.join(sizes)}, discount {log.discount:g}",
        summary={
            "title": f"What the log carries, with confidence {solution.confidence:.4g}",
            "status": solution.status,
            "note": "",
            "header": HEADER,
            "rows": solution.rows(),
        },
        groups=[*_bands(solution), _covered(solution), _needed(solution), _rests_on(solution)],
    )


def _bands(solution: LoggedSolution) -> list[dict[str, Any]]:
    """Return the band of each constraint."""
    names = range(min(MOST, len(solution.threshold)))
    found = [frontier(solution.log, k, confidence=solution.confidence) for k in names]
    if not found:
        return []
    text = "What a plan for each limit would bring. The band is the interval of the plan that holds on the truth; the line is what the estimate promises."
    return [
        {
            "title": "Other limits",
            "text": text,
            "panels": [_panel(one) for one in found],
            "tables": [
                {"title": f"Limits on {one.name}", "folded": True, "header": one.header, "rows": one.rows()}
                for one in found
            ],
        }
    ]


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


def _covered(solution: LoggedSolution) -> dict[str, Any]:
    found = solution.log.describe()
    rows = [tuple(map(str, pair)) for pair in found.table()]
    return {
        "title": "The log",
        "text": found.last(),
        "tables": [{"title": "What it has", "folded": False, "header": ("", ""), "rows": rows}],
    }


def _needed(solution: LoggedSolution) -> dict[str, Any]:
    beyond = solution.extrapolation
    text = (
        f"The policy spends {beyond.time:.1%} of its time on choices with fewer than ten rows. "
        "Each row of the table says what a hundred more rows of one choice would take off the margins, in units of the objective."
    )
    rows = [
        (one.state, one.action, f"{one.rows}", f"{one.time:.1%}", number(one.worth)) for one in beyond.needed
    ]
    header = ("state", "action", "rows", "share of time", "worth of 100 more")
    return {
        "title": "What more rows would be worth",
        "text": text,
        "tables": [{"title": "Choices by worth", "folded": False, "header": header, "rows": rows}],
    }


def _rests_on(solution: LoggedSolution) -> dict[str, Any]:
    rows = [
        (one.name, "holds" if one.holds else "doubtful", number(one.p_value), one.sentence)
        for one in solution.assumptions
    ]
    text = "Every claim rests on these. A small p-value says that the log speaks against it."
    return {
        "title": "What the claim rests on",
        "text": text,
        "tables": [
            {"title": "Tests", "folded": False, "header": ("assumption", "", "p-value", ""), "rows": rows}
        ],
    }
