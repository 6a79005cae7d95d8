"""A frontier as a picture: the value against the limit, and below it the shadow price."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from painless.common.arrays import Array
from painless.common.render import SIGNS
from painless.frontiers import Frontier
from painless.report.figures import COLOURS, literal, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARGIN = 0.14  # of the range, shown on both sides of it
MARKED = 60  # vertices with large marks; more would hide the line
WIDE = 100.0  # prices that differ by more are drawn on a logarithmic scale
SLACK, INFEASIBLE = "#009E73", "#D55E00"


def frontier_figure(frontier: Frontier) -> Figure:
    """Draw the optimal value and the shadow price as functions of the limit, in the user's terms.

    Where the constraint is slack, and where no policy meets it, the background is shaded.
    """
    sign = float(frontier.problem.sign[1 + frontier.constraint])
    low, high = _range(frontier)
    loosest, tightest = (low, high) if sign > 0 else (high, low)
    with styled():
        figure, (value, price) = new_figure(6.6, 5.8, rows=2)
        value.sharex(price)
        for axis in (value, price):
            _shade(axis, frontier, loosest, tightest)
        limits = np.append(loosest, frontier.threshold)
        rewards = np.append(frontier.reward_value[0], frontier.reward_value)
        value.plot(limits, rewards, color=COLOURS[0], linewidth=1.8, zorder=3)
        size = 4.0 if len(frontier) <= MARKED else 2.5
        value.plot(
            frontier.threshold, frontier.reward_value, "o", color=COLOURS[0], markersize=size, zorder=4
        )
        objective = "cost" if frontier.problem.minimise else "reward"
        best = "least" if frontier.problem.minimise else "largest"
        value.set(ylabel=f"{best} {objective}", title=f"{best.capitalize()} {objective} for every limit")
        value.tick_params(labelbottom=False)
        figure.legend(*value.get_legend_handles_labels(), loc="outside lower center", ncols=3)
        _prices(price, frontier, loosest)
        label = f"limit: {literal(frontier.name)} {SIGNS[frontier.sense]}"
        price.set(xlabel=label, ylabel="shadow price", xlim=(low, high))
    return figure


def _range(frontier: Frontier) -> tuple[float, float]:
    """Return the limits to show: the whole frontier, and the problem's own limit if it is not far off."""
    low, high = float(frontier.threshold.min()), float(frontier.threshold.max())
    width = high - low or max(abs(high), 1.0)
    own = float(frontier.problem.limit[frontier.constraint])
    if low - width <= own <= high + width:
        low, high = min(low, own), max(high, own)
    return low - MARGIN * width, high + MARGIN * width


def _shade(axis: Axes, frontier: Frontier, loosest: float, tightest: float) -> None:
    from matplotlib.colors import to_rgb

    axis.axvspan(
        *sorted((loosest, frontier.slack_from)), color=SLACK, alpha=0.12, linewidth=0, label="costs nothing"
    )
    axis.axvspan(
        *sorted((frontier.feasible_to, tightest)),
        facecolor=(*to_rgb(INFEASIBLE), 0.14),
        edgecolor=(*to_rgb(INFEASIBLE), 0.4),
        hatch="//",
        linewidth=0,
        label="no policy",
    )
    own = float(frontier.problem.limit[frontier.constraint])
    if min(loosest, tightest) <= own <= max(loosest, tightest):
        axis.axvline(
            own, color="black", linestyle="--", linewidth=0.9, label="limit of the problem", zorder=2
        )


def _prices(axis: Axes, frontier: Frontier, loosest: float) -> None:
    """Draw the price as steps: it jumps at vertices, and at the last one out of the picture."""
    prices = np.append(0.0, frontier.multiplier[1:, 0])  # left of each vertex
    positive: Array = prices[prices > 0]
    top = 1.35 * float(positive.max(initial=0.0)) or 1.0
    if len(positive) and positive.max() > WIDE * positive.min():
        least, most = float(positive.min()), float(positive.max())
        axis.set_yscale("symlog", linthresh=least)
        powers = np.arange(np.ceil(np.log10(least)), np.floor(np.log10(most)) + 1)
        axis.set_yticks([0.0, *(10.0 ** powers[:: 1 + len(powers) // 9])])
        axis.minorticks_off()
        top = 6 * most
    limits = np.append(loosest, np.repeat(frontier.threshold, 2))
    steps = np.append(np.repeat(prices, 2), top)
    axis.plot(limits, steps, color=COLOURS[0], linewidth=1.8, zorder=3)
    axis.set_ylim(0.0 if axis.get_yscale() == "symlog" else -0.04 * top, top)
