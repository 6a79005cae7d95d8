"""Learning curves as data for a page: averages over time, bands over runs, and rules for what is known exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.common.render import number
from painless.loop.averages import band

POINTS = 360  # points of a curve; more would not be visible
SKIPPED = 0.05  # share of each curve, at its start, that the vertical range ignores
ROWS = 9  # rows of the table with the same numbers


def shown_steps(count: int) -> NDArray[np.intp]:
    """Return which of `count` iterations a curve shows, the first and the last among them.

    >>> shown_steps(3)
    array([0, 1, 2])
    """
    return np.unique(np.linspace(0, count - 1, min(count, POINTS)).round().astype(np.intp))


def curve(values: Array, name: str, **look: Any) -> dict[str, Any]:
    """Return one curve, (T,), or the mean of several with a band of 95 %, (n, T).

    `half`, (T,), is the half width of a band for a single curve; `colour`, `dash` and `thin` say how it looks.
    """
    many = np.atleast_2d(values)
    mean, half = many.mean(0), look.pop("half", None)
    if len(many) > 1:
        half = band(many)
    kept = shown_steps(len(mean))
    result = {"name": name, "y": _short(mean[kept]), **look}
    if half is not None:
        result |= {"low": _short((mean - half)[kept]), "high": _short((mean + half)[kept])}
    return result


def panel(
    title: str, text: str, y: str, count: int, series: Sequence[dict[str, Any]], rules: Mapping[str, float]
) -> dict[str, Any]:
    """Return curves over `count` iterations that share their axes; `rules` are lines with names."""
    return {
        "title": title,
        "text": text,
        "y": y,
        "steps": (shown_steps(count) + 1).tolist(),
        "series": list(series),
        "rules": [{"name": name, "y": float(at)} for name, at in rules.items() if np.isfinite(at)],
        "skip": SKIPPED,
    }


def numbers_table(panels: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the curves of panels with the same iterations as a table, at some of them."""
    steps = panels[0]["steps"]
    rows = np.unique(np.linspace(0, len(steps) - 1, min(ROWS, len(steps))).round().astype(int))
    columns = [(one["title"], series) for one in panels for series in one["series"]]
    return {
        "title": "The curves as numbers",
        "folded": True,
        "header": [
            panels[0].get("x", "iteration"),
            *(f"{title}: {series['name']}" for title, series in columns),
        ],
        "rows": [[str(steps[i]), *(number(_missing(series["y"][i])) for _, series in columns)] for i in rows],
    }


def _missing(value: float | None) -> float:
    return float("nan") if value is None else value


def _short(values: Array) -> list[float | None]:
    """Return numbers rounded to seven digits, more than a figure can show."""
    return [float(f"{value:.7g}") if np.isfinite(value) else None for value in values]
