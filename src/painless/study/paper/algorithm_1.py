"""Algorithm 1 as a whole, from samples alone, beside the same algorithm with the model's U and with exact values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from painless.study.paper.experiment import Analysis, Experiment
from painless.study.paper.grids import GRIDWORLD, LINEAR_ITERATIONS, TABLE_2, TILES
from painless.study.paper.scale import Scale, joined
from painless.study.setting_results import SettingResults
from painless.study.sweep import Sweep
from painless.study.unit import ESTIMATED

DIMENSION, ROLLOUTS = 56, 50  # d, and m


def sweep(scale: Scale) -> Sweep:
    """Return both duals with ζ estimated, with the model's ζ, and with exact values."""
    algorithms = [{"name": "cbp-theory"}, TABLE_2[DIMENSION][0]]
    evaluator = {
        "name": "least-squares",
        "rollouts": ROLLOUTS,
        "tiles": TILES[DIMENSION],
        "coreset": True,
    }
    known = scale.sweep(GRIDWORLD, algorithms, LINEAR_ITERATIONS, evaluator, start="uniform")
    whole = Sweep(tuple(replace(unit, multiplier_bound=ESTIMATED) for unit in known.units))
    exact = replace(scale, seeds=1).sweep(GRIDWORLD, algorithms, LINEAR_ITERATIONS, start="uniform")
    return joined([whole, known, exact])


def analyse(settings: Sequence[SettingResults]) -> Analysis:
    """Draw all three."""
    return Analysis()


EXPERIMENT = Experiment(
    "algorithm-1",
    "Algorithm 1 as a whole",
    "Gridworld, γ = 0.9, d = 56, T = 400, m = 50 rollouts from each of 56 coreset entries; ζ by coin betting, with a lower confidence bound.",
    sweep,
    analyse,
)
