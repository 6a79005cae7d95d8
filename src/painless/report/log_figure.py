"""The frontier of a log as a picture: a band for the plans that hold on the truth, and a line for what the estimate promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from painless.common.render import SIGNS, number
from painless.frontiers.logged import LoggedFrontier
from painless.report.figures import COLOURS, literal, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def band_figure(band: LoggedFrontier) -> Figure:
    """Draw what plans for several limits would bring, in the user's terms; limits that are not surely met have open marks."""
    objective = "cost" if band.minimise else "reward"
    met = np.array([word == "met" for word in band.verdict])
    with styled():
        figure, (axis,) = new_figure(6.6, 4.2)
        axis.fill_between(
            band.limit, band.low, band.high, color=COLOURS[0], alpha=0.2, linewidth=0, label="interval"
        )
        axis.plot(band.limit, band.estimate, color=COLOURS[1], linestyle="--", label="estimate as if true")
        axis.plot(band.limit, band.reward_value, color=COLOURS[0], linewidth=1.6, label="plan")
        axis.plot(band.limit[met], band.reward_value[met], "o", color=COLOURS[0], label="limit met")
        axis.plot(
            band.limit[~met],
            band.reward_value[~met],
            "o",
            color=COLOURS[0],
            markerfacecolor="white",
            label="unclear",
        )
        axis.axvline(
            band.own,
            color="black",
            linewidth=0.8,
            linestyle=":",
            label=f"limit of the log, {number(band.own)}",
        )
        axis.set(
            xlabel=f"limit: {literal(band.name)} {SIGNS[band.sense]}",
            ylabel=objective,
            title=f"{objective.capitalize()} that can be defended, confidence {band.confidence:g}",
        )
        figure.legend(loc="outside lower center", ncols=3)
    return figure
