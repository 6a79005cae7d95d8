"""Every setting of the three algorithms, on the gridworld with TD(0)."""

from __future__ import annotations

from painless.experiments.paper.grids import GRIDWORLD, ITERATIONS, SAMPLED, SAMPLES
from painless.experiments.paper.scale import Scale
from painless.experiments.sweep import Sweep


def sweep(scale: Scale) -> Sweep:
    """Return the units of the experiment."""
    return scale.sweep(GRIDWORLD, SAMPLED, ITERATIONS, {"name": "td", "samples": SAMPLES})
