"""Performance profiles (Dolan & Moré 2002): the share of problems on which an algorithm is within a factor of the best."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.report.figures import COLOURS, DASHES, new_figure, save_figure, styled
from painless.study.score.contenders import DEFAULT
from painless.study.score.merit import EQUAL
from painless.study.score.runs import MEASURES
from painless.study.score.score import Score

FURTHEST = 1e4  # the largest factor that is drawn


def contestants(score: Score, measure: str, *, tuned: bool = False) -> dict[str, Array]:
    """Return the merits of all contestants on every problem, (P,), none below where all are equal."""
    return {
        name: np.maximum([score.merit(name, measure, one, tuned=tuned) for one in score.problems], EQUAL)
        for name in score.algorithms
    }


def profiles(score: Score, measure: str, *, tuned: bool = False) -> dict[str, Array]:
    """Return for each contestant the sorted ratios of its merit to the best of all on that problem, (P,)."""
    merits = contestants(score, measure, tuned=tuned)
    best = np.min(list(merits.values()), axis=0)
    return {name: np.sort(values / best) for name, values in merits.items()}


def draw_profiles(score: Score, path: Path) -> None:
    """Draw the performance profiles of all measures into a file: default settings above, tuned in hindsight below."""
    with styled():
        figure, axes = new_figure(16, 8, rows=2, columns=len(MEASURES))
        above, below = axes[: len(MEASURES)], axes[len(MEASURES) :]
        for row, tuned in ((above, False), (below, True)):
            for axis, measure in zip(row, MEASURES, strict=True):
                _draw(axis, profiles(score, measure, tuned=tuned))
                how = "tuned in hindsight" if tuned else "default settings"
                axis.set(xscale="log", xlim=(1, FURTHEST), ylim=(0, 1.02), title=f"{measure}, {how}")
            row[0].set_ylabel("share of problems")
        for axis in below:
            axis.set_xlabel("times the least error of all")
        above[0].legend(loc="lower right", fontsize=7, ncol=2)
        save_figure(figure, path)


def _draw(axis: Any, found: dict[str, Array]) -> None:
    for k, (name, ratios) in enumerate(found.items()):
        share = np.arange(1, len(ratios) + 1) / len(ratios)
        factor = np.concatenate([[1.0], ratios, [FURTHEST]])
        height = np.concatenate([[0.0], share, [1.0]])
        colour, dash = COLOURS[k % len(COLOURS)], DASHES[(k // len(COLOURS)) % len(DASHES)]
        wide = 2.5 if name == DEFAULT else 1.2
        axis.step(factor, height, where="post", label=name, color=colour, linestyle=dash, linewidth=wide)
