"""The page of a sweep: for each problem the averages of all settings over time, with bands over the seeds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.common.render import counted, number
from painless.common.tables import csv_table, latex_table
from painless.loop.averages import band
from painless.report.curves import curve, numbers_table, panel
from painless.report.html import build_page, embedded
from painless.report.page_run import not_drawn
from painless.report.page_solution import MOST
from painless.study.setting_results import SettingResults, Stored, gather
from painless.study.store import read_unit
from painless.study.summary import label, measured, with_bands
from painless.study.unit import is_current

DRAWN = 6  # settings in one picture; the table has them all


def read_units(folder: Path) -> list[Stored]:
    """Return settings and results of all units of a store, each setting once, of problem files only as they are now."""
    found: dict[str, Stored] = {}
    for path in sorted((folder / "units").glob("*.npz"), key=lambda path: (path.stat().st_mtime, path.name)):
        settings, content = read_unit(path)
        if is_current(settings["problem"]):
            found[json.dumps(settings, sort_keys=True)] = (settings, content)
    if not found:
        raise InputError(
            f"{folder} holds no finished unit of a sweep; run painless sweep with --out {folder}"
        )
    return [found[text] for text in sorted(found)]


def sweep_groups(units: Sequence[Stored]) -> list[dict[str, Any]]:
    """Return the curves and the table of each problem among stored units."""
    problems: dict[tuple[str, str, int], list[SettingResults]] = {}
    for one in gather(units):
        key = (label(one.problem), label(one.evaluator), one.iterations)
        problems.setdefault(key, []).append(one)
    return [_group(settings) for settings in problems.values()]


def sweep_page(folder: Path, title: str) -> str:
    """Return the page of a store that `painless sweep` filled."""
    units = read_units(folder)
    return build_page(title, counted(len(units), "run"), groups=sweep_groups(units))


def _group(settings: Sequence[SettingResults]) -> dict[str, Any]:
    """Return the curves and the table of all settings on one problem."""
    first, target = settings[0], settings[0].target
    drawn = chosen(settings)
    gap, zero = ("Average optimality gap", 0.0) if target.known else ("Average value", np.nan)
    panels = [_panel(gap, drawn, [_objective(one) for one in drawn], zero)]
    shown = target.names[:MOST]
    for i, name in enumerate(shown):
        violations = [one.violation[..., i] for one in drawn]
        panels.append(_panel(f"Average violation of {name}", drawn, violations, 0.0))
    for i, name in enumerate(shown):
        played = [one.multiplier[..., i] for one in drawn]
        panels.append(_panel(f"Average multiplier of {name}", drawn, played, target.multiplier[i], "λ*"))
    left = (
        f" The best {len(drawn)} of {len(settings)} settings are drawn." if len(drawn) < len(settings) else ""
    )
    return {
        "title": f"{label(first.problem)}, {label(first.evaluator)} evaluation",
        "text": f"Averages over the iterations so far; bands are 95 % over the seeds.{left}{not_drawn(len(shown), len(target.names))}",
        "panels": panels,
        "tables": [_table(settings), numbers_table(panels)],
    }


def _objective(setting: SettingResults) -> Array:
    """Return OG up to each iteration, or the value where the optimum is not known, (n, T)."""
    return setting.gap if setting.target.known else setting.reward


def chosen(settings: Sequence[SettingResults]) -> list[SettingResults]:
    """Return which settings are drawn: the best of each algorithm, then the next best, in their own order."""
    if len(settings) <= DRAWN:
        return list(settings)
    ranked = sorted(settings, key=_cost)
    best = list({one.name: one for one in reversed(ranked)}.values())
    rest = [one for one in ranked if one not in best]
    picked = (sorted(best, key=_cost) + rest)[:DRAWN]
    return [one for one in settings if one in picked]


def _cost(setting: SettingResults) -> float:
    """Return what the last averages lack, in the objective and in the constraints: the less the better."""
    return setting.merit + float(np.clip(setting.last_violation, 0, None).sum())


def _panel(
    title: str, drawn: Sequence[SettingResults], values: Sequence[Array], rule: float, name: str = ""
) -> dict[str, Any]:
    series = [
        curve(value, label(one.algorithm), colour=k)
        for k, (one, value) in enumerate(zip(drawn, values, strict=True))
    ]
    unit = title.removeprefix("Average ").split(" of ")[0]
    return panel(title, "", unit, drawn[0].iterations, series, {name: rule})


def _table(settings: Sequence[SettingResults]) -> dict[str, Any]:
    """Return the averages after the last iteration, of all settings."""
    target = settings[0].target
    rows = []
    for one in settings:
        last = _objective(one)[:, -1]
        half = f" ± {band(last):.2g}" if len(last) > 1 else ""
        violations = with_bands(one.last_violation, band(one.violation[:, -1]), "+").split(", ")
        row = [
            label(one.algorithm),
            str(len(last)),
            f"{number(last.mean())}{half}",
            *filter(None, violations),
        ]
        for name in ("tail", "last"):
            found = measured(one, name)
            row += [with_bands([found.gap], [found.gap_band]) if target.known else ""]
            row += [with_bands(found.violation, found.violation_band, "+")]
        rows.append([*row, with_bands(one.strong_violation.mean(0), band(one.strong_violation))])
    objective = "optimality gap" if target.known else "value"
    more = [f"{name}: {what}" for name in ("tail", "last") for what in ("gap", "violations")]
    header = [
        "algorithm",
        "seeds",
        objective,
        *(f"violation of {name}" for name in target.names),
        *more,
        "strong violation",
    ]
    return {
        "title": "After the last iteration, with 95 % intervals over the seeds",
        "folded": False,
        "header": header,
        "rows": rows,
        "downloads": [
            {
                "file": "table.csv",
                "text": "this table as CSV",
                "data": embedded(csv_table(header, rows), "text/csv"),
            },
            {
                "file": "table.tex",
                "text": "for LaTeX",
                "data": embedded(latex_table(header, rows), "application/x-tex"),
            },
        ],
    }
