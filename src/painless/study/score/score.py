"""The score: all rows, and what is read from them.

*Tuned* is the setting of a baseline's grid with the least merit E, chosen in hindsight for that very problem and measure. The
default wins on a problem where its E is at most that of both tuned baselines, in both measures; below 1e-6 all are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from painless.backends import Backend, Error, Local
from painless.common.arrays import Array
from painless.study.score.merit import EQUAL, ratio
from painless.study.score.runs import BASELINES, DEFAULT, MEASURES, PAPER, Row, run_table
from painless.study.score.suite import BUDGET, QUICK_BUDGET, suite


class ScorePiece(NamedTuple):
    """One problem of the suite, by its place."""

    place: int
    seed: int
    budget: int


class Standing(NamedTuple):
    """How the default stands against both tuned baselines, in one measure or in both."""

    wins: float  # the share of problems
    geometric_mean: float  # of the ratios of the default's merit to that of the better tuned baseline
    worst: float


@dataclass(frozen=True)
class Score:
    """The rows of all runs, each one algorithm with one setting on one problem in one measure."""

    seed: int
    rows: Sequence[Row]

    @cached_property
    def problems(self) -> list[str]:
        """The names of the problems, in the order of the suite."""
        return list(dict.fromkeys(row["problem"] for row in self.rows))

    def merits(self, algorithm: str, measure: str, problem: str) -> Array:
        """Return E for all settings of an algorithm, of which there is one if the algorithm has no grid."""
        wanted = (algorithm, measure, problem)
        return np.array(self._merits[wanted])

    @cached_property
    def _merits(self) -> dict[tuple[str, str, str], list[float]]:
        found: dict[tuple[str, str, str], list[float]] = {}
        for row in self.rows:
            key = (row["algorithm"], row["measure"], row["problem"])
            found.setdefault(key, []).append(row["merit"])
        return found

    def ratios(self, measure: str, algorithm: str = DEFAULT, baselines: Sequence[str] = BASELINES) -> Array:
        """Return the ratio of an algorithm's merit to that of the best tuned baseline on every problem, (P,)."""
        return np.array(
            [
                ratio(
                    self.merits(algorithm, measure, problem)[0],
                    min(self.merits(name, measure, problem).min() for name in baselines),
                )
                for problem in self.problems
            ]
        )

    def standing(self, measures: Sequence[str] = MEASURES, **options: Any) -> Standing:
        """Return wins, geometric mean and worst case; a win is one in all of `measures`."""
        ratios = np.array([self.ratios(measure, **options) for measure in measures])  # (M, P)
        wins = float((ratios <= 1).all(0).mean())
        return Standing(wins, float(np.exp(np.log(ratios).mean())), float(ratios.max()))

    @property
    def improvement(self) -> float:
        """How many times smaller E of the default's deployed policy is than that of the paper's uniform average."""
        logs = [
            np.log(ratio(self.merits(PAPER, "average", name)[0], self.merits(DEFAULT, "deployed", name)[0]))
            for name in self.problems
        ]
        return float(np.exp(np.mean(logs)))

    def spread(self, algorithm: str, measure: str) -> tuple[float, float]:
        """How many times worse than its best the median and the worst setting of a grid are, as geometric means."""
        grids = [np.maximum(self.merits(algorithm, measure, name), EQUAL) for name in self.problems]
        ratios = np.array([[np.median(grid), grid.max()] / grid.min() for grid in grids])
        median, worst = np.exp(np.log(ratios).mean(0))
        return float(median), float(worst)

    def as_dict(self) -> dict[str, Any]:
        """Return the score with all rows, as plain data."""
        return {
            "seed": self.seed,
            "default": DEFAULT,
            "problems": len(self.problems),
            **self.standing()._asdict(),
            "measures": {measure: self.standing([measure])._asdict() for measure in MEASURES},
            "improvement": self.improvement,
            "rows": list(self.rows),
        }

    def headline(self) -> str:
        """Return the line for the README."""
        standing = self.standing()
        return (
            f"On {len(self.problems)} problems the untuned default is at least as good as GDA and CRPO tuned in hindsight on "
            f"{100 * standing.wins:.0f} %; its error is {1 / standing.geometric_mean:.1f} times smaller (geometric mean), and at worst "
            f"{standing.worst:.2f} times theirs."
        )


def run_piece(piece: ScorePiece) -> list[Row]:
    """Run everything on one problem of the suite."""
    entry = suite()[piece.place]
    if entry.draw is None:
        from painless.study.score.simulated import run_cartpole

        return run_cartpole(piece.seed)
    return run_table(entry, piece.place, piece.seed, piece.budget)


def run_score(
    seed: int = 0,
    *,
    quick: bool = False,
    backend: Backend | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Score:
    """Run the suite with a seed; `quick` takes every fifth problem or so, with half the budget."""
    entries = suite()
    chosen = [index for index, entry in enumerate(entries) if entry.quick or not quick]
    pieces = [ScorePiece(index, seed, QUICK_BUDGET if quick else BUDGET) for index in chosen]
    found: dict[int, list[Row]] = {}
    with backend or Local() as workers:
        for piece, rows in workers.map(run_piece, reversed(pieces)):  # CartPole, which takes longest, first
            if isinstance(rows, Error):
                raise RuntimeError(f"{entries[piece.place].name}: {rows.message}")
            found[piece.place] = rows
            if progress is not None:
                progress(entries[piece.place].name, len(found), len(pieces))
    return Score(seed, [row for index in chosen for row in found[index]])
