"""The settings that were best for γ = 0.9, at other discounts, with exact values."""

from __future__ import annotations

from painless.experiments.paper.grids import GRIDWORLD, ITERATIONS, TABLE_1
from painless.experiments.paper.scale import Scale
from painless.experiments.sweep import Sweep


def sweep(scale: Scale) -> Sweep:
    """Return the units of the experiment."""
    return scale.sweep({**GRIDWORLD, "discount": [0.7, 0.8]}, TABLE_1, ITERATIONS)
