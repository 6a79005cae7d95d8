"""The score: all rows, and what is read from them.

*Tuned* is the setting of a grid with the least merit E, chosen in hindsight for that very problem, seed and measure. The
default wins on a problem where its E is at most that of both tuned baselines of the paper, for the average and the deployed policy; below 1e-6 all are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from painless.common.arrays import Array
from painless.loop.averages import student
from painless.study.score.contenders import BASELINES, DEFAULT, PAPER
from painless.study.score.merit import EQUAL, ratio
from painless.study.score.runs import JUDGED, MEASURES, Row

Instance = tuple[str, int]  # the name of a problem, and the seed that drew it


class Standing(NamedTuple):
    """How the default stands against both tuned baselines, in one measure or in both."""

    wins: float  # the share of problems
    geometric_mean: float  # of the ratios of the default's merit to that of the better tuned baseline
    worst: float


class Mean(NamedTuple):
    """A geometric mean over all problems, and the factor of its 95 % interval over the seeds, by Student's t."""

    value: float
    factor: float  # the interval is value/factor to value·factor; NaN for one seed


@dataclass(frozen=True)
class Score:
    """The rows of all runs, each one algorithm with one setting on one problem in one measure."""

    seed: int  # the first
    rows: Sequence[Row]

    @cached_property
    def problems(self) -> list[Instance]:
        """The problems with their seeds, in the order of the suite."""
        return list(dict.fromkeys((row["problem"], row.get("seed", self.seed)) for row in self.rows))

    @cached_property
    def seeds(self) -> list[int]:
        """The seeds."""
        return sorted({seed for _, seed in self.problems})

    @cached_property
    def algorithms(self) -> list[str]:
        """The names of the contenders."""
        return list(dict.fromkeys(row["algorithm"] for row in self.rows))

    def merits(self, algorithm: str, measure: str, problem: Instance) -> Array:
        """Return E for all settings of an algorithm."""
        return np.array(self._merits[algorithm, measure, problem][0])

    def merit(self, algorithm: str, measure: str, problem: Instance, *, tuned: bool = False) -> float:
        """Return E of an algorithm with its default settings, or with those that turn out best."""
        merits, untuned = self._merits[algorithm, measure, problem]
        return min(merits) if tuned else merits[untuned]

    @cached_property
    def _merits(self) -> dict[tuple[str, str, Instance], tuple[list[float], int]]:
        found: dict[tuple[str, str, Instance], tuple[list[float], int]] = {}
        for row in self.rows:
            key = (row["algorithm"], row["measure"], (row["problem"], row.get("seed", self.seed)))
            merits, untuned = found.get(key, ([], 0))
            found[key] = ([*merits, row["merit"]], len(merits) if row.get("untuned") else untuned)
        return found

    def ratios(self, measure: str, algorithm: str = DEFAULT, baselines: Sequence[str] = BASELINES) -> Array:
        """Return the ratio of an untuned algorithm's merit to that of the best tuned baseline on every problem, (P,)."""
        return np.array(
            [
                ratio(
                    self.merit(algorithm, measure, problem),
                    min(self.merits(name, measure, problem).min() for name in baselines),
                )
                for problem in self.problems
            ]
        )

    def standing(self, measures: Sequence[str] = JUDGED, **options: Any) -> Standing:
        """Return wins, geometric mean and worst case; a win is one in all of `measures`."""
        ratios = np.array([self.ratios(measure, **options) for measure in measures])  # (M, P)
        wins = float((ratios <= 1).all(0).mean())
        return Standing(wins, float(np.exp(np.log(ratios).mean())), float(ratios.max()))

    def mean(self, algorithm: str, measure: str, *, tuned: bool = False) -> Mean:
        """Return the geometric mean of E over all problems, none below 1e-6, with its interval over the seeds."""
        logs = {
            one: float(np.log(max(self.merit(algorithm, measure, one, tuned=tuned), EQUAL)))
            for one in self.problems
        }
        total = float(np.exp(np.mean([*logs.values()])))
        means = [np.mean([logs[name, seed] for name in self._everywhere]) for seed in self.seeds]
        if len(means) < 2 or not self._everywhere:
            return Mean(total, float("nan"))
        half = student(len(means) - 1) * np.std(means, ddof=1) / np.sqrt(len(means))
        return Mean(total, float(np.exp(half)))

    @cached_property
    def _everywhere(self) -> list[str]:
        """The problems that were run for all seeds, over which intervals are made."""
        names = dict.fromkeys(name for name, _ in self.problems)
        return [name for name in names if all((name, seed) in self._instances for seed in self.seeds)]

    @cached_property
    def _instances(self) -> set[Instance]:
        return {*self.problems}

    def best_share(self, algorithm: str, measure: str, *, tuned: bool = False) -> float:
        """Return the share of problems on which no other contender, treated alike, has a smaller E."""
        shares = []
        for problem in self.problems:
            merits = {
                name: max(self.merit(name, measure, problem, tuned=tuned), EQUAL) for name in self.algorithms
            }
            shares.append(merits[algorithm] <= min(merits.values()))
        return float(np.mean(shares))

    def strong_violation(self, algorithm: str) -> float:
        """Return Σ_t [b − V_c]₊/T of the untuned algorithm, the largest of the constraints as a part of its range, averaged over all problems."""
        rows = [row for row in self.rows if row["algorithm"] == algorithm and row["measure"] == "last"]
        strong = [max(row["strong"], default=0.0) for row in rows if row.get("untuned") and "strong" in row]
        return float(np.mean(strong)) if strong else float("nan")

    def seconds(self, algorithm: str) -> float:
        """Return the processor seconds of a thousand evaluations, averaged over the tables."""
        rows = [row for row in self.rows if row["algorithm"] == algorithm and "seconds" in row]
        each = [1000 * row["seconds"] / row["evaluations"] for row in rows]
        return float(np.mean(each)) if each else float("nan")

    @property
    def improvement(self) -> float:
        """How many times smaller E of the default's deployed policy is than that of the paper's uniform average."""
        logs = [
            np.log(ratio(self.merit(PAPER, "average", one), self.merit(DEFAULT, "deployed", one)))
            for one in self.problems
        ]
        return float(np.exp(np.mean(logs)))

    def loss_over_grid(self, algorithm: str, measure: str) -> tuple[float, float]:
        """How many times worse than its best the median and the worst setting of a grid are, as geometric means."""
        grids = [np.maximum(self.merits(algorithm, measure, one), EQUAL) for one in self.problems]
        ratios = np.array([[np.median(grid), grid.max()] / grid.min() for grid in grids])
        median, worst = np.exp(np.log(ratios).mean(0))
        return float(median), float(worst)

    def as_dict(self) -> dict[str, Any]:
        """Return the score with all rows, as plain data."""
        return {
            "seed": self.seed,
            "seeds": self.seeds,
            "default": DEFAULT,
            "problems": len(self.problems),
            **self.standing()._asdict(),
            "measures": {measure: self.standing([measure])._asdict() for measure in MEASURES},
            "improvement": self.improvement,
            "algorithms": {name: self._about(name) for name in self.algorithms},
            "rows": list(self.rows),
        }

    def _about(self, name: str) -> dict[str, Any]:
        treatments = {"untuned": False, "tuned": True}
        return {
            how: {
                measure: {
                    **self.mean(name, measure, tuned=tuned)._asdict(),
                    "best": self.best_share(name, measure, tuned=tuned),
                }
                for measure in MEASURES
            }
            for how, tuned in treatments.items()
        } | {"strong_violation": self.strong_violation(name), "seconds": self.seconds(name)}

    def headline(self) -> str:
        """Return the line for the README."""
        standing = self.standing()
        return (
            f"On {len(self.problems)} problems the untuned default is at least as good as GDA and CRPO tuned in hindsight on "
            f"{100 * standing.wins:.0f} %; its error is {1 / standing.geometric_mean:.1f} times smaller (geometric mean), and at worst "
            f"{standing.worst:.2f} times theirs."
        )
