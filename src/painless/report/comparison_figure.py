"""A comparison as a picture: the values of all policies beside their limits, and the states that cost most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from painless.common.render import SIGNS
from painless.report.figures import COLOURS, literal, new_figure, styled
from painless.solving.compare import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 4  # constraints that are drawn
STATES = 10  # states that are drawn
MISSED = "#D55E00"


def comparison_figure(comparison: Comparison) -> Figure:
    """Draw the objective and each limited value as bars, with limits as lines, and below the states that cost most."""
    names, values = list(comparison.values), list(comparison.values.values())
    drawn = range(min(len(values[0].threshold), MOST))
    worst = comparison.differences[:STATES]
    panels = 1 + len(drawn) + bool(worst)
    with styled():
        figure, axes = new_figure(
            6.6, 0.8 + (0.45 + 0.3 * len(names)) * panels + 0.2 * len(worst), rows=panels
        )
        _bars(axes[0], names, [one.reward_value for one in values], [COLOURS[0]] * len(names))
        axes[0].set_title(comparison.objective)
        for i, axis in zip(drawn, axes[1:], strict=False):
            colours = [COLOURS[2] if one.met[i] else MISSED for one in values]
            _bars(axis, names, [float(one.constraint_value[i]) for one in values], colours)
            sense, limit = values[0].sense[i], float(values[0].threshold[i])
            if np.isfinite(limit):
                axis.axvline(limit, color="black", linestyle="--", linewidth=0.9)
            axis.set_title(f"{literal(values[0].constraint_names[i])} {SIGNS[sense]} {limit:g}")
        if worst:
            labels = [literal(f"{one.state}: {one.action}, not {one.reference}") for one in worst]
            _bars(axes[-1], labels, [one.cost for one in worst], [COLOURS[1]] * len(worst))
            axes[-1].set_title(f"what it loses to {literal(comparison.reference)}, by state")
    return figure


def _bars(axis: Axes, labels: list[str], lengths: list[float], colours: list[str]) -> None:
    """Draw horizontal bars, the first one on top."""
    places = np.arange(len(labels))
    axis.barh(places, lengths, color=colours, height=0.6)
    axis.set_yticks(places, [literal(label) for label in labels])
    axis.invert_yaxis()
