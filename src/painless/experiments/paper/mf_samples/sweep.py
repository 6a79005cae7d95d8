"""TD(0) with more and more samples, at the paper's best settings."""

from __future__ import annotations

from dataclasses import replace

from painless.experiments.paper.grids import GRIDWORLD, ITERATIONS, TABLE_1
from painless.experiments.paper.scale import Scale
from painless.experiments.sweep import Sweep


def sweep(scale: Scale) -> Sweep:
    """Return the units of the experiment."""
    samples = [1000, 2000, 3000]
    if scale.samples is not None:
        samples = [scale.samples, 2 * scale.samples, 3 * scale.samples]
    alike = replace(scale, samples=None)
    return alike.sweep(GRIDWORLD, TABLE_1, ITERATIONS, {"name": "td", "samples": samples})
