"""Every setting of the three algorithms, on the gridworld with exact values."""

from __future__ import annotations

from painless.experiments.paper.grids import GRIDWORLD, ITERATIONS, TABULAR
from painless.experiments.paper.scale import Scale
from painless.experiments.sweep import Sweep


def sweep(scale: Scale) -> Sweep:
    """Return the units of the experiment."""
    return scale.sweep(GRIDWORLD, TABULAR, ITERATIONS)
