"""All settings, from which the best are taken, and GDA with the rates of its theory."""

from __future__ import annotations

from painless.experiments.paper.grids import GRIDWORLD, ITERATIONS, TABULAR
from painless.experiments.paper.scale import Scale
from painless.experiments.sweep import Sweep


def sweep(scale: Scale) -> Sweep:
    """Return the units of the experiment."""
    return scale.sweep(GRIDWORLD, [*TABULAR, {"name": "gda-theory"}], ITERATIONS)
