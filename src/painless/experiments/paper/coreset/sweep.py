"""Samples from a coreset of 56 pairs against samples from all 100, for both estimators, d = 56."""

from __future__ import annotations

from painless.experiments.paper.grids import GRIDWORLD, LINEAR_ITERATIONS, LINEAR_SAMPLES, TABLE_2, TILES
from painless.experiments.paper.scale import Scale
from painless.experiments.sweep import Sweep

DIMENSION = 56


def sweep(scale: Scale) -> Sweep:
    """Return the units of the experiment."""
    tiles = {"tiles": TILES[DIMENSION], "coreset": [False, True]}
    evaluators = (
        {"name": "lstdq", "samples": LINEAR_SAMPLES, **tiles},
        {"name": "least-squares", "rollouts": LINEAR_SAMPLES, **tiles},
    )
    parts = [
        scale.sweep(GRIDWORLD, TABLE_2[DIMENSION], LINEAR_ITERATIONS, evaluator, start="uniform")
        for evaluator in evaluators
    ]
    return Sweep(tuple(unit for part in parts for unit in part.units))
