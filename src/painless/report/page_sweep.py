"""The page of a sweep: for each problem the averages of all settings over time, with bands over the seeds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from painless.arrays import Array
from painless.errors import InputError
from painless.experiments.store import read_unit
from painless.experiments.summary import label
from painless.experiments.unit import is_current, make_problem
from painless.optimum import Optimum, exact_optimum
from painless.pages.build import build
from painless.pages.curves import average, curve, numbers_table, panel
from painless.problems import SIMULATORS
from painless.render import number
from painless.report.page_frontiers import MOST
from painless.report.page_run import not_drawn

DRAWN = 6  # settings in one picture; the table has them all


@dataclass(frozen=True, eq=False)
class Setting:
    """One algorithm with its settings on one problem, over n seeds."""

    algorithm: str
    name: str
    gap: Array  # (n, T) sign·(optimum − V_r), or V_r itself where the optimum is not known
    violation: Array  # (n, T, K) positive where violated
    multiplier: Array  # (n, T, K)

    @property
    def score(self) -> float:
        """The average gap and violation after the last iteration, the smaller the better."""
        violation = np.clip(self.violation.mean((0, 1)), 0, None).sum()
        return float(self.gap.mean() + violation)


@dataclass(frozen=True, eq=False)
class Target:
    """What is known of a problem."""

    optimum: float
    multiplier: Array  # (K,)
    limit: Array  # (K,)
    sign: Array  # (J,)
    names: Sequence[str]


def read_units(folder: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return settings and results of all units of a store, each setting once, of problem files only as they are now."""
    found: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
    for path in sorted((folder / "units").glob("*.npz"), key=lambda path: (path.stat().st_mtime, path.name)):
        settings, content = read_unit(path)
        if is_current(settings["problem"]):
            found[json.dumps(settings, sort_keys=True)] = (settings, content)
    if not found:
        raise InputError(
            f"{folder} holds no finished unit of a sweep; run painless sweep with --out {folder}"
        )
    return [found[text] for text in sorted(found)]


def sweep_groups(folder: Path) -> list[dict[str, Any]]:
    """Return the curves and the table of each problem of a store."""
    problems: dict[tuple[str, str, int], dict[str, list[Any]]] = {}
    for settings, results in read_units(folder):
        key = (label(settings["problem"]), label(settings["evaluator"]), int(settings["iterations"]))
        problems.setdefault(key, {}).setdefault(label(settings["algorithm"]), []).append((settings, results))
    return [_group(*key, runs) for key, runs in problems.items()]


def sweep_page(folder: Path, title: str) -> str:
    """Return the page of a store that `painless sweep` filled."""
    count = len(read_units(folder))
    return build(title, f"{count:,} run{'' if count == 1 else 's'}", groups=sweep_groups(folder))


def _group(problem: str, evaluator: str, iterations: int, runs: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return the curves and the table of one problem."""
    target = find_target(next(iter(runs.values()))[0][0]["problem"])
    settings = [_setting(name, units, target) for name, units in runs.items()]
    drawn = chosen(settings)
    gap = "Average optimality gap" if np.isfinite(target.optimum) else "Average value"
    panels = [
        _panel(
            gap, iterations, drawn, [one.gap for one in drawn], 0.0 if np.isfinite(target.optimum) else np.nan
        )
    ]
    shown = target.names[:MOST]
    for i, name in enumerate(shown):
        violations = [one.violation[..., i] for one in drawn]
        panels.append(_panel(f"Average violation of {name}", iterations, drawn, violations, 0.0))
    for i, name in enumerate(shown):
        played = [one.multiplier[..., i] for one in drawn]
        panels.append(
            _panel(
                f"Average multiplier of {name}",
                iterations,
                drawn,
                played,
                target.multiplier[i],
                "λ*",
            )
        )
    left = (
        f" The best {len(drawn)} of {len(settings)} settings are drawn." if len(drawn) < len(settings) else ""
    )
    return {
        "title": f"{problem}, {evaluator} evaluation",
        "text": f"Averages over the iterations so far; bands are 95 % over the seeds.{left}{not_drawn(len(shown), len(target.names))}",
        "panels": panels,
        "tables": [_table(settings, target), numbers_table(panels)],
    }


def find_target(settings: Mapping[str, Any]) -> Target:
    """Return the optimum of a problem where it is known, its limits, and the signs of the user's terms."""
    name = str(settings["name"])
    if name in SIMULATORS:
        arguments = {key: value for key, value in settings.items() if key != "name"}
        given = SIMULATORS[name](**arguments).specification
        unknown = np.full(len(given.limit), np.nan)
        return Target(np.nan, unknown, given.limit, given.sign, given.constraint_names)
    problem = make_problem(settings)
    names = [problem.name("constraints", i) for i in range(problem.shape[2])]
    value, multiplier = exact_optimum(problem) or Optimum(np.nan, np.full(len(names), np.nan))
    return Target(value, multiplier, problem.limit, problem.sign, names)


def _setting(name: str, units: list[Any], target: Target) -> Setting:
    results = [one for _, one in units]
    value = np.array([one["reward_value"] for one in results])
    constraint = np.array([one["constraint_value"] for one in results])
    gap = target.sign[0] * (target.optimum - value) if np.isfinite(target.optimum) else value
    return Setting(
        algorithm=str(units[0][0]["algorithm"]["name"]),
        name=name,
        gap=gap,
        violation=target.sign[1:] * (target.limit - constraint),
        multiplier=np.array([one["multiplier"] for one in results]),
    )


def chosen(settings: Sequence[Setting]) -> list[Setting]:
    """Return which settings are drawn: the best of each algorithm, then the next best, in their own order."""
    if len(settings) <= DRAWN:
        return list(settings)
    ranked = sorted(settings, key=lambda one: one.score)
    best = list({one.algorithm: one for one in reversed(ranked)}.values())
    rest = [one for one in ranked if one not in best]
    picked = (sorted(best, key=lambda one: one.score) + rest)[:DRAWN]
    return [one for one in settings if one in picked]


def _panel(
    title: str, count: int, drawn: Sequence[Setting], values: Sequence[Array], rule: float, name: str = ""
) -> dict[str, Any]:
    series = [
        curve(average(value), one.name, colour=k)
        for k, (one, value) in enumerate(zip(drawn, values, strict=True))
    ]
    return panel(title, "", title.removeprefix("Average ").split(" of ")[0], count, series, {name: rule})


def _table(settings: Sequence[Setting], target: Target) -> dict[str, Any]:
    """Return the averages after the last iteration, of all settings."""
    known = np.isfinite(target.optimum)
    rows = []
    for one in settings:
        means = one.gap.mean(1)
        error = f" ± {means.std(ddof=1) / np.sqrt(len(means)):.2g}" if len(means) > 1 else ""
        violations = [f"{value:+.4g}" for value in one.violation.mean((0, 1))]
        rows.append([one.name, str(len(means)), f"{number(means.mean())}{error}", *violations])
    header = [
        "algorithm",
        "seeds",
        "optimality gap" if known else "value",
        *(f"violation of {n}" for n in target.names),
    ]
    return {"title": "After the last iteration", "folded": False, "header": header, "rows": rows}
