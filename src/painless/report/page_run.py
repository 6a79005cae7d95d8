"""The learning curves of one run: values and multipliers at every iteration, their averages, and what is exact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.common.render import SIGNS, number
from painless.loop.averages import CONFIDENCE, MEASURES, running_average
from painless.loop.framework import Trace
from painless.report.curves import curve, numbers_table, panel


def run_groups(
    trace: Trace | None,
    *,
    names: Sequence[str],
    limit: Array,
    sense: Sequence[str],
    minimise: bool,
    shown: Sequence[int],
    optimum: float = float("nan"),
    multiplier: Array | None = None,
    error: Array | None = None,
) -> list[dict[str, Any]]:
    """Return the curves of a run as a group for a page; no group if there was no iteration.

    Arguments:
        trace: the run, in the user's terms.
        shown: which constraints are drawn.
        optimum: the exact optimal value where it is known, with `multiplier` λ*, (K,).
        error: standard errors of the estimates, (T, J).
    """
    if trace is None or not len(trace):
        return []
    objective = "cost" if minimise else "reward"
    kind = "exact" if trace.exact else "estimated"
    panels = [_values(objective, objective, trace.reward_value, 0, _band(error, 0), {"optimum": optimum})]
    for i in shown:
        name = names[i]
        rules = {f"limit {SIGNS[sense[i]]}": limit[i]}
        panels.append(_values(name, name, trace.constraint_value[:, i], 2, _band(error, 1 + i), rules))
    known = np.full(len(names), np.nan) if multiplier is None else multiplier
    for i in shown:
        played = trace.multiplier[:, i]
        panels.append(_values(f"multiplier of {names[i]}", "λ", played, 1, None, {"λ*": known[i]}))
    text = f"Values of the iterates ({kind}), and their averages over time, which the theory bounds."
    return [
        {
            "title": "The run",
            "text": text + not_drawn(len(shown), len(names)),
            "panels": panels,
            "tables": [_measures(trace, names, limit, sense, objective), numbers_table(panels)],
        }
    ]


def _measures(
    trace: Trace, names: Sequence[str], limit: Array, sense: Sequence[str], objective: str
) -> dict[str, Any]:
    """Return what the iterates are worth, measured in several ways."""
    titles = {"average": "average of all", "tail": "average of the second half", "last": "last"}
    rows = [[titles[name], *map(number, trace.measured(name))] for name in MEASURES]
    strong = trace.strong_violation(limit, sense)
    rows.append(["strong violation Σ[·]₊/T", "", *map(number, strong)])
    return {
        "title": "The iterates, measured",
        "folded": True,
        "header": ["", objective, *names],
        "rows": rows,
    }


def not_drawn(shown: int, count: int) -> str:
    """Return a sentence on the constraints that are not drawn, with a space before it.

    >>> not_drawn(2, 2), not_drawn(8, 500)
    ('', ' 8 of 500 constraints are drawn; --save FOLDER keeps the numbers of all.')
    """
    return (
        ""
        if shown == count
        else f" {shown} of {count} constraints are drawn; --save FOLDER keeps the numbers of all."
    )


def _values(
    title: str, y: str, values: Array, colour: int, half: Array | None, rules: dict[str, float]
) -> dict[str, Any]:
    series = [
        curve(running_average(values), "average", colour=colour, dash=0),
        curve(values, "iterate", colour=colour, dash=0, thin=True, half=half),
    ]
    text = "The band is a 95 % confidence interval of each estimate." if half is not None else ""
    return panel(title, text, y, len(values), series, rules)


def _band(error: Array | None, utility: int) -> Array | None:
    """Return the half width of a band of 95 % around the estimates of a utility."""
    return None if error is None or not len(error) else CONFIDENCE * error[:, utility]
