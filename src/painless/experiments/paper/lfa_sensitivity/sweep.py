"""Every setting of the three algorithms, with LSTDQ over tile coding of three sizes."""

from __future__ import annotations

from painless.experiments.paper.grids import GRIDWORLD, LINEAR, LINEAR_ITERATIONS, LINEAR_SAMPLES, TILES
from painless.experiments.paper.scale import Scale
from painless.experiments.sweep import Sweep


def sweep(scale: Scale) -> Sweep:
    """Return the units of the experiment."""
    evaluator = {"name": "lstdq", "tiles": list(TILES.values()), "samples": LINEAR_SAMPLES}
    return scale.sweep(GRIDWORLD, LINEAR, LINEAR_ITERATIONS, evaluator, start="uniform")
