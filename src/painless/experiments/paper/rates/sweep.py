"""Longer and longer horizons, each run with its own T, exact values."""

from __future__ import annotations

from painless.experiments.paper.grids import GRIDWORLD, TABLE_1, THEORY
from painless.experiments.paper.scale import Scale
from painless.experiments.sweep import Sweep

HORIZONS = [50, 100, 200, 400, 800, 1600, 3200, 6400]
SHORT = [10, 20, 40]


def sweep(scale: Scale) -> Sweep:
    """Return the units of the experiment."""
    horizons = HORIZONS if scale.iterations is None else SHORT
    parts = [Scale(scale.seeds).sweep(GRIDWORLD, [TABLE_1[0], *THEORY], horizon) for horizon in horizons]
    return Sweep(tuple(unit for part in parts for unit in part.units))
