"""Draws the figures of experiments, which are given as data, in the one style of `figures`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from painless.common.arrays import Array
from painless.report.figures import COLOURS, draw_grid, new_figure, set_range, styled
from painless.study.paper.pictures import Curve, GridPanel, Panel, Picture, Tone, coincident

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 400  # of a curve that are drawn
LINE = 64  # characters above a panel
MANY = 80  # characters of names in a line of the legend
SETTLED = 0.05  # of a curve is left out when the vertical range is chosen
FAMILIES: dict[str, tuple[str, Any]] = {  # colour, and dashes for black and white
    "cbp": (COLOURS[1], "-"),
    "gda": (COLOURS[0], (0, (6, 1.5))),
    "crpo": (COLOURS[2], (0, (6, 1.5, 1, 1.5))),
    "cbp-theory": (COLOURS[3], (0, (1, 1))),
    "gda-theory": (COLOURS[5], (0, (3, 1.5))),
    "whole": (COLOURS[1], "-"),
    "known": (COLOURS[0], (0, (6, 1.5))),
    "exact": (COLOURS[2], (0, (6, 1.5, 1, 1.5))),
    "gda-printed": (COLOURS[4], (0, (4, 1, 1, 1, 1, 1))),
}
SYMBOL = re.compile(r"([αV])_([πλcr])")
DASHED, DOTTED = (0, (1.5, 1.5)), (0, (0.8, 1.6))


def draw(picture: Picture) -> Figure:
    """Return the figure of a picture; one legend above serves all of its panels."""
    columns = max(len(row) for row in picture.rows)
    maps = isinstance(picture.rows[0][0], GridPanel)
    alone = columns == 1 and len(picture.rows) == 1
    size = (5.2, 4.4) if maps else (6.4, 4.2) if alone else (4.6 if columns == 2 else 4.0, 3.1)
    alike = _alike(picture)
    with styled():
        figure, axes = new_figure(size[0] * columns, size[1] * len(picture.rows), columns, len(picture.rows))
        for row, panels in enumerate(picture.rows):
            for column, panel in enumerate(panels):
                axis = axes[row * columns + column]
                if isinstance(panel, GridPanel):
                    _draw_map(axis, panel)
                else:
                    _draw_panel(axis, panel)
                    if not alike:
                        _name_settings(axis, panel, shown=column == 0)
        if not maps:
            handles, labels = axes[0].get_legend_handles_labels()
            if not alike:
                labels = [label.partition(" (")[0] for label in labels]
            wide = 2 if columns == 1 else 4 if sum(map(len, labels)) <= MANY else 3
            figure.legend(
                handles, labels, loc="outside upper center", ncols=wide, fontsize=9, handlelength=3.2
            )
    return figure


def _alike(picture: Picture) -> bool:
    """Whether all rows show the same settings, so that the legend can name them."""
    panels = [row[0] for row in picture.rows if isinstance(row[0], Panel)]
    return len({_labels(panel) for panel in panels}) <= 1


def _labels(panel: Panel) -> tuple[str, ...]:
    return tuple(curve.label for curve in panel.curves if curve.label)


def _name_settings(axis: Axes, panel: Panel, *, shown: bool) -> None:
    """Name the settings of a row under the title of its first panel, and make as much room above the others."""
    parts = [label.replace(" (", ": ").replace(")", "") for label in _labels(panel)]
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(part) <= LINE:
            lines[-1] += f"   {part}"
        else:
            lines.append(part)
    text = "\n".join(lines) if shown else " "
    axis.set_title(panel.title, fontsize=11, pad=5 + 10 * len(lines))
    axis.text(0.5, 1.02, _mathematics(text), transform=axis.transAxes, ha="center", va="bottom", fontsize=7.5)


def _mathematics(text: str) -> str:
    """Set symbols with an index as such."""
    return SYMBOL.sub(r"$\1_{\2}$", text)


def _draw_map(axis: Axes, panel: GridPanel) -> None:
    draw_grid(axis, panel.occupancy, panel.policy, panel.moves, panel.width, panel.labels)
    axis.set_title(_mathematics(panel.title))


def _draw_panel(axis: Axes, panel: Panel) -> None:
    for curve in panel.curves:
        _draw_curve(axis, panel, curve)
    axis.set(xlabel=panel.horizontal, ylabel=panel.unit, title=panel.title)
    if panel.at is not None:
        axis.set_xscale("log")
    if panel.logarithmic:
        axis.set_yscale("log")
    else:
        axis.margins(x=0)
        _choose_range(axis, panel)
    _say_coincident(axis, panel)


def _say_coincident(axis: Axes, panel: Panel) -> None:
    """Say which curves lie on each other."""
    groups = [f"{', '.join(names[:-1])} and {names[-1]}" for names in coincident(panel)]
    if groups:
        text = f"{'; '.join(groups)} lie on each other"
        place = axis.transAxes
        axis.text(0.5, 0.5, text, color="0.25", transform=place, ha="center", va="center", fontsize=8)


def _draw_curve(axis: Axes, panel: Panel, curve: Curve) -> None:
    where = np.arange(1.0, len(curve.mean) + 1) if panel.at is None else np.array(panel.at)
    kept = np.unique(np.linspace(0, len(where) - 1, POINTS).astype(int))
    x, mean, half = where[kept], curve.mean[kept], curve.half[kept]
    colour, dashes = FAMILIES[curve.family]
    if curve.tone is Tone.OTHER:
        axis.plot(x, mean, color=colour, linewidth=0.7, alpha=0.35, zorder=1.5)
        return
    style = {Tone.DASHED: DASHED, Tone.PAPER: DOTTED}.get(curve.tone, dashes)
    marker = "o" if panel.at is not None and curve.tone is Tone.BEST else None
    axis.plot(
        x,
        mean,
        color=colour,
        linestyle=style,
        linewidth=1.9,
        label=_mathematics(curve.label),
        zorder=3,
        marker=marker,
    )
    low = np.maximum(mean - half, 0.2 * mean) if panel.logarithmic else mean - half
    axis.fill_between(x, low, mean + half, color=colour, alpha=0.22, linewidth=0, zorder=2)


def _choose_range(axis: Axes, panel: Panel) -> None:
    """Show zero, and everything after the first part of every curve."""
    edges: list[Array] = []
    for curve in panel.curves:
        first = int(SETTLED * len(curve.mean))
        half = 0.0 if curve.tone is Tone.OTHER else curve.half[first:]
        edges += [curve.mean[first:] - half, curve.mean[first:] + half]
    values = np.concatenate(edges)
    low, high = float(values.min()), float(values.max())
    if "return" not in panel.unit:
        axis.axhline(0.0, color="black", linewidth=0.8, zorder=1)
        low, high = min(low, 0.0), max(high, 0.0)
    set_range(axis, low, high, 0.06)
