"""CBP with the dual of the paper's analysis, beside the practical one."""

from __future__ import annotations

from painless.experiments.paper.grids import GRIDWORLD, ITERATIONS, TABLE_1
from painless.experiments.paper.scale import Scale
from painless.experiments.sweep import Sweep


def sweep(scale: Scale) -> Sweep:
    """Return the units of the experiment."""
    return scale.sweep(GRIDWORLD, [TABLE_1[0], {"name": "cbp-theory"}], ITERATIONS)
