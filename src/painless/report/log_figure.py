"""Pictures of what a log carries: the plan beside what was done, and its frontier as a band."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from painless.common.render import SIGNS, number
from painless.frontiers.logged import LoggedFrontier
from painless.logs.solution import LoggedSolution
from painless.report.figures import COLOURS, literal, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def claim_figure(solution: LoggedSolution) -> Figure:
    """Draw the intervals of the plan and of what was done in the log, with a panel for the objective and each constraint, in the user's terms."""
    was = solution.behaviour
    names = ["cost" if solution.minimise else "reward", *solution.constraint_names]
    planned = np.vstack([solution.reward_interval, solution.constraint_interval])
    value = np.append(solution.reward_value, solution.constraint_value)
    with styled():
        figure, axes = new_figure(6.6, 1.1 + 0.9 * len(names), rows=len(names))
        for j, (axis, name) in enumerate(zip(axes, names, strict=True)):
            parts = ((value[j], *planned[j]), (was.model_value[j], was.model_low[j], was.model_high[j]))
            for place, (middle, low, high) in enumerate(parts):
                axis.plot([low, high], [place, place], color=COLOURS[place], linewidth=4, alpha=0.35)
                axis.plot(middle, place, "o", color=COLOURS[place])
            if j:
                sign = SIGNS[solution.sense[j - 1]]
                axis.axvline(solution.threshold[j - 1], color="black", linewidth=0.8, linestyle=":")
                name = f"{name} {sign} {number(solution.threshold[j - 1])}: {solution.verdict[j - 1]}"
            axis.set(yticks=[0, 1], yticklabels=["planned", "in the log"], ylim=(1.6, -0.6))
            axis.set_title(literal(name))
    return figure


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
