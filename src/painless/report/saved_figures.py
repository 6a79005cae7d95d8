"""The figures of a folder of saved results: frontiers, maps and learning curves, from the same data."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.common.render import number
from painless.frontiers import Frontier
from painless.frontiers.json_data import Layout, grid_layout
from painless.problem import CMDP, Criterion
from painless.report.figures import COLOURS, DASHES, draw_cells, literal, new_figure, set_range, styled
from painless.report.frontier_figure import frontier_figure
from painless.report.page_solution import frontiers_of, solution_groups, visits_of
from painless.report.page_sweep import read_units, sweep_groups
from painless.report.page_training import TrainingRecord, training_groups
from painless.report.saved_pages import read_solution, saved_kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ACROSS = 3  # panels beside each other
LONGEST = 100  # characters of a name in that of a file
DARK = 0.125  # share of the most visits from which on a cell is dark


def figures_of(folder: str | Path, limit: float | None = None) -> dict[str, Figure]:
    """Return the figures of whatever was saved into a folder, by name; `limit` is where a frontier's map is drawn."""
    folder = Path(folder)
    kind = saved_kind(folder)
    if limit is not None and kind != "frontier":
        raise InputError(f"{folder} holds a {kind}; --limit is for a frontier")
    draw = FIGURES.get(kind)
    return {} if draw is None else draw(folder, limit)


def _curves(groups: Sequence[Mapping[str, Any]]) -> dict[str, Figure]:
    return {"curves": panel_figure(groups[0]["panels"])} if groups else {}


def _training_figures(folder: Path, limit: float | None) -> dict[str, Figure]:
    del limit
    return _curves(training_groups(TrainingRecord.load(folder)))


def _sweep_figures(folder: Path, limit: float | None) -> dict[str, Figure]:
    del limit
    groups = sweep_groups(read_units(folder))
    names = _slugs([group["title"] for group in groups])
    return {name: panel_figure(group["panels"]) for name, group in zip(names, groups, strict=True)}


def _solution_figures(folder: Path, limit: float | None) -> dict[str, Figure]:
    del limit
    solution, problem = read_solution(folder)
    curves = [] if problem is None else frontiers_of(problem, solution)[0]
    found = _curves(solution_groups(solution, problem, curves))
    if problem is None:
        return found
    layout = grid_layout(problem) if problem.stages is None else None
    if layout is not None:
        found["map"] = layout_map(
            layout, visits_of(solution, problem), solution.table.probabilities, _visits_name(problem)
        )
    for name, curve in zip(_slugs([curve.name for curve in curves]), curves, strict=True):
        found["frontier" if problem.shape[2] == 1 else f"frontier-{name}"] = frontier_figure(curve)
    return found


def _frontier_figures(folder: Path, limit: float | None) -> dict[str, Figure]:
    """Return the curves of a frontier, and the map at a limit if it is a grid: by default the problem's own."""
    if folder.is_file():
        raise InputError(f"{folder} is not enough to draw from; give the folder of painless frontier --save")
    curve = Frontier.load(folder)
    found = {"frontier": frontier_figure(curve)}
    layout = grid_layout(curve.problem) if curve.problem.stages is None else None
    if layout is not None:
        sign = float(curve.problem.sign[1 + curve.constraint])
        given = float(curve.problem.limit[curve.constraint])
        own = sign * min(sign * given, sign * curve.feasible_to)
        point = curve.at(own if limit is None else limit)
        found["map"] = layout_map(
            layout, point.occupancy.sum(-1), point.policy.probabilities, _visits_name(curve.problem)
        )
    return found


FIGURES: dict[
    str, Callable[[Path, float | None], dict[str, Figure]]
] = {  # the kinds of `PAGES` that have any
    "frontier": _frontier_figures,
    "solution": _solution_figures,
    "training": _training_figures,
    "sweep": _sweep_figures,
}


def _visits_name(problem: CMDP) -> str:
    if problem.criterion is Criterion.AVERAGE:
        return "share of the time"
    return "visits" if problem.discount == 1 else "discounted visits"


def layout_map(layout: Layout, visits: Array, policy: Array, name: str = "discounted visits") -> Figure:
    """Draw a grid of any shape: the cube root of the visits as colour, the policy as arrows whose length is the probability."""
    from matplotlib.colors import PowerNorm

    shade = np.full((layout.rows, layout.columns), np.nan)
    cells = {state: cell for state, cell in enumerate(layout.cells) if cell is not None}
    for state, cell in cells.items():
        shade[cell] = visits[state]
    moves = [(0, 0) if move is None else move for move in layout.moves]
    size, top = min(0.7, 9 / max(shade.shape)), float(np.nanmax(shade)) or 1.0
    with styled():
        figure, (axis,) = new_figure(size * layout.columns + 1.4, size * layout.rows + 0.4)
        axis.set_facecolor("0.75")
        norm = PowerNorm(1 / 3, vmin=0.0, vmax=top)
        draw_cells(axis, shade, cells, policy, moves, norm=norm, dark=DARK * top, line=1.0, name=name)
    return figure


def panel_figure(panels: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the panels of a page's learning curves."""
    columns = min(ACROSS, len(panels))
    rows = -(-len(panels) // columns)
    with styled():
        figure, axes = new_figure(4.2 * columns, 3.4 * rows, columns, rows)
        for axis, one in zip(axes, panels, strict=False):
            _draw(axis, one)
        for axis in axes[len(panels) :]:
            axis.remove()
    return figure


def _draw(axis: Axes, panel: Mapping[str, Any]) -> None:
    steps, seen = np.array(panel["steps"]), [np.array([rule["y"] for rule in panel["rules"]])]
    for index, series in enumerate(panel["series"]):
        colour = COLOURS[series.get("colour", index) % len(COLOURS)]
        dash = DASHES[series.get("dash", series.get("colour", index)) % len(DASHES)]
        mean, low, high = (
            np.array(series.get(key, series["y"]), dtype=float) for key in ("y", "low", "high")
        )
        width, strength = (0.7, 0.6) if series.get("thin") else (1.6, 1.0)
        name = literal(series["name"])
        axis.plot(steps, mean, label=name, color=colour, linestyle=dash, linewidth=width, alpha=strength)
        if "low" in series:
            axis.fill_between(steps, low, high, color=colour, alpha=0.2, linewidth=0)
        start = int(panel["skip"] * len(mean))
        seen += [low[start:], high[start:]]
    for rule in panel["rules"]:
        name = f"{rule['name']} {number(rule['y'])}" if rule["name"] else "_"  # such a name is left out
        axis.axhline(rule["y"], color="black", linewidth=0.9, linestyle=":", label=literal(name))
    values = np.concatenate(seen)
    set_range(axis, np.nanmin(values), np.nanmax(values), 0.08)
    axis.set(xlabel=panel.get("x", "iteration"), title=literal(panel["title"]))
    axis.margins(x=0)
    axis.legend(fontsize=8)


def _slug(text: str) -> str:
    """Return text as part of a file's name, which the system allows to be 255 characters long.

    >>> _slug("gridworld discount=0.9, exact evaluation")
    'gridworld-discount-0.9-exact-evaluation'
    """
    return re.sub(r"[^A-Za-z0-9._]+", "-", text)[:LONGEST].strip("-.") or "figure"


def _slugs(texts: Sequence[str]) -> list[str]:
    """Return texts as parts of files' names, each another.

    >>> _slugs(["cost [$]", "cost [€]", "risk"])
    ['cost', 'cost-2', 'risk']
    """
    found: list[str] = []
    for text in texts:
        slug, count = _slug(text), 1
        name = slug
        while name in found:
            count += 1
            name = f"{slug}-{count}"
        found.append(name)
    return found
