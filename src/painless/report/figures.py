"""Static figures, in one style: colours that the colour-blind can tell apart, and dashes for black and white."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.common.render import shortened, visible
from painless.loop.averages import band, running_average
from painless.loop.framework import Trace
from painless.storage.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe & Ito
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
LONGEST = 60  # characters of a name in a figure
STYLE: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "font.size": 10,
    "legend.frameon": False,
    "savefig.dpi": 150,
    "svg.hashsalt": "painless",  # the same figure, the same file
    "figure.constrained_layout.use": True,
}


def literal(text: str) -> str:
    r"""Return text that a figure shows literally: without mathematics or control characters, shortened to one line.

    >>> literal("price [$]")
    'price [\\$]'
    """
    return shortened(visible(text), LONGEST).replace("$", r"\$")


@contextmanager
def styled() -> Iterator[Any]:
    """Draw in our style."""
    from matplotlib import rc_context

    with rc_context(STYLE):
        yield


def new_figure(width: float, height: float, columns: int = 1, rows: int = 1) -> tuple[Figure, list[Axes]]:
    """Return an empty figure without a window, and its axes row by row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, list(axes.flat)


def learning_curves(
    runs: Mapping[str, Sequence[Trace]],
    optimum: float,
    threshold: Array,
    sense: Sequence[str] | None = None,
    *,
    minimise: bool = False,
) -> Figure:
    """Draw the paper's averages over time: OG and, for each constraint, CV; bands over several runs.

    `runs` holds the traces of each algorithm, in the user's terms.
    """
    signs = np.array([1.0 if s == ">=" else -1.0 for s in sense or [">="] * len(threshold)])
    with styled():
        figure, axes = new_figure(4.2 * (1 + len(threshold)), 3.4, 1 + len(threshold))
        for index, (name, traces) in enumerate(runs.items()):
            gaps = [
                (optimum - running_average(trace.reward_value)) * (-1 if minimise else 1) for trace in traces
            ]
            _band(axes[0], np.array(gaps), name, index)
            violations = [signs * (threshold - running_average(trace.constraint_value)) for trace in traces]
            for i, axis in enumerate(axes[1:]):
                _band(axis, np.array(violations)[:, :, i], name, index)
        titles = [
            "optimality gap (OG)",
            *(f"violation of constraint {i + 1} (CV)" for i in range(len(threshold))),
        ]
        for axis, title in zip(axes, titles, strict=True):
            axis.axhline(0.0, color="black", linewidth=0.8)
            axis.set(xlabel="iteration", title=f"Average {title}")
            axis.margins(x=0)
        axes[0].legend()
        _zoom(axes)
    return figure


def _band(axis: Axes, curves: Array, name: str, index: int) -> None:
    """Draw the mean of several curves (n, T), with a band of 95 % where there are several."""
    mean = curves.mean(0)
    steps = np.arange(1, len(mean) + 1)
    colour = COLOURS[index % len(COLOURS)]
    axis.plot(
        steps, mean, label=literal(name), color=colour, linestyle=DASHES[index % len(DASHES)], linewidth=1.6
    )
    if len(curves) > 1:
        half = band(curves)
        axis.fill_between(steps, mean - half, mean + half, color=colour, alpha=0.2, linewidth=0)


def _zoom(axes: Sequence[Axes]) -> None:
    """Leave out the first twentieth of every curve when choosing the vertical range."""
    for axis in axes:
        kept = [
            np.asarray(line.get_ydata())[len(np.asarray(line.get_ydata())) // 20 :]
            for line in axis.get_lines()
        ]
        values = np.concatenate([np.asarray(k, dtype=float) for k in kept if np.size(k) > 2])
        set_range(axis, min(values.min(), 0.0), max(values.max(), 0.0), 0.08)


def set_range(axis: Axes, low: float, high: float, share: float) -> None:
    """Set the vertical range to that between two values, extended by a share of it on both sides."""
    margin = share * (high - low or 1.0)
    axis.set_ylim(low - margin, high + margin)


def grid_map(
    occupancy: Array,
    policy: Array,
    moves: Sequence[tuple[int, int]],
    width: int,
    labels: Mapping[int, str] | None = None,
) -> Figure:
    """Draw a grid: occupancy as colour, the policy as arrows whose length is the probability.

    `moves` holds (down, right) for each action; `labels` names some states.
    """
    height = -(-len(occupancy) // width)
    with styled():
        figure, (axis,) = new_figure(0.9 * width + 1.4, 0.9 * height + 0.4)
        draw_grid(axis, occupancy, policy, moves, width, labels)
    return figure


def draw_grid(
    axis: Axes,
    occupancy: Array,
    policy: Array,
    moves: Sequence[tuple[int, int]],
    width: int,
    labels: Mapping[int, str] | None = None,
) -> None:
    """Draw a map of a grid into some axes."""
    from matplotlib.colors import Normalize

    shade = occupancy.sum(-1).reshape(-1, width)
    dark = 0.5 * float(shade.max())
    cells = {state: divmod(state, width) for state in range(len(policy))}
    draw_cells(axis, shade, cells, policy, moves, norm=Normalize(vmin=0.0), dark=dark, line=1.5)
    for state, text in (labels or {}).items():
        y, x = cells[state]
        ink = "white" if shade[y, x] > dark else "black"
        axis.text(x - 0.45, y - 0.28, literal(text), fontsize=9, fontweight="bold", color=ink)


def draw_cells(
    axis: Axes,
    shade: Array,
    cells: Mapping[int, tuple[int, int]],
    policy: Array,
    moves: Sequence[tuple[int, int]],
    *,
    norm: Any,
    dark: float,
    line: float,
    name: str = "discounted visits",
) -> None:
    """Draw visits (rows, columns) as colour, and the policy of the states in some cells as arrows.

    Arguments:
        norm: the scale of the colours.
        dark: the visits from which on a cell has white arrows.
        line: the width of the lines between cells.
        name: of the visits.
    """
    image = axis.imshow(shade, cmap="cividis_r", norm=norm)
    figure: Any = axis.figure
    figure.colorbar(image, ax=axis, label=name, shrink=0.85)
    for state, cell in cells.items():
        _arrows(axis, cell, policy[state], moves, dark=bool(shade[cell] > dark))
    axis.set_xticks(np.arange(shade.shape[1] + 1) - 0.5, minor=True)
    axis.set_yticks(np.arange(shade.shape[0] + 1) - 0.5, minor=True)
    axis.grid(visible=False)
    axis.grid(which="minor", color="white", linewidth=line, alpha=1.0)
    axis.tick_params(which="both", length=0, labelbottom=False, labelleft=False)
    axis.spines[:].set_visible(False)


def _arrows(
    axis: Axes, cell: tuple[int, int], row: Array, moves: Sequence[tuple[int, int]], *, dark: bool
) -> None:
    y, x = cell
    for probability, (down, right) in zip(row, moves, strict=True):
        if probability > 0.02:
            length = 0.36 * probability
            axis.annotate(
                "",
                xy=(x + right * length, y + down * length),
                xytext=(x, y),
                arrowprops={
                    "arrowstyle": "-|>",
                    "color": "white" if dark else "black",
                    "linewidth": 0.6 + probability,
                    "shrinkA": 0,
                    "shrinkB": 0,
                    "mutation_scale": 6 + 4 * probability,
                },
            )


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure as PNG, PDF or SVG, by the ending, atomically and without a date."""
    kind = Path(path).suffix.removeprefix(".")
    if kind not in ("png", "pdf", "svg"):
        raise InputError(f"{path} must end in .png, .pdf or .svg")
    metadata: dict[str, Any] = {
        "png": {"Software": None},
        "pdf": {"CreationDate": None},
        "svg": {"Date": None},
    }[kind]
    with styled(), warnings.catch_warnings():
        # Of a name that the font cannot show
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        return write_atomically(path, lambda stream: figure.savefig(stream, format=kind, metadata=metadata))
