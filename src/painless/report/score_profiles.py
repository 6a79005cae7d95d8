"""Performance profiles (Dolan & Moré 2002): the share of problems on which an algorithm is within a factor of the best."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from painless.common.arrays import Array
from painless.common.registry import settings_of
from painless.loop.algorithms import ALGORITHMS
from painless.report.figures import COLOURS, DASHES, new_figure, save_figure, styled
from painless.study.score.merit import EQUAL
from painless.study.score.runs import BASELINES, DEFAULT, GRIDS, MEASURES, PAPER
from painless.study.score.score import Score

FURTHEST = 1e4  # the largest factor that is drawn


def contestants(score: Score, measure: str) -> dict[str, Array]:
    """Return the merits of all contestants on every problem, (P,), none below where all are equal."""

    def merits(name: str, setting: int | None) -> Array:
        grids = [score.merits(name, measure, problem) for problem in score.problems]
        chosen = [grid.min() if setting is None else grid[setting] for grid in grids]
        return np.maximum(chosen, EQUAL)

    found = {f"{name}, default": merits(name, 0) for name in (DEFAULT, PAPER)}
    for name in BASELINES:
        found[f"{name}, tuned in hindsight"] = merits(name, None)
        found[f"{name}, default"] = merits(name, as_it_comes(name))
    return found


def as_it_comes(name: str) -> int:
    """Return the place of an algorithm's default settings in its grid."""
    known = settings_of(ALGORITHMS[name])
    return GRIDS[name].index({setting: known[setting].default for setting in GRIDS[name][0]})


def profiles(score: Score, measure: str) -> dict[str, Array]:
    """Return for each contestant the sorted ratios of its merit to the best of all on that problem, (P,)."""
    merits = contestants(score, measure)
    best = np.min(list(merits.values()), axis=0)
    return {name: np.sort(values / best) for name, values in merits.items()}


def draw_profiles(score: Score, path: Path) -> None:
    """Draw the performance profiles of both measures into a file."""
    with styled():
        figure, axes = new_figure(10, 4, columns=2)
        for axis, measure in zip(axes, MEASURES, strict=True):
            for (name, ratios), colour, dash in zip(
                profiles(score, measure).items(), COLOURS, DASHES, strict=False
            ):
                share = np.arange(1, len(ratios) + 1) / len(ratios)
                factor = np.concatenate([[1.0], ratios, [FURTHEST]])
                height = np.concatenate([[0.0], share, [1.0]])
                axis.step(factor, height, where="post", label=name, color=colour, linestyle=dash)
            axis.set(xscale="log", xlim=(1, FURTHEST), ylim=(0, 1.02), title=f"{measure} policy")
            axis.set_xlabel("times the least error of all")
        axes[0].set_ylabel("share of problems")
        axes[1].legend(loc="lower right", fontsize=8)
        save_figure(figure, path)
