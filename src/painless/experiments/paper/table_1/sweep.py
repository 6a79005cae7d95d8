"""The units of both experiments whose best settings the table holds."""

from __future__ import annotations

from painless.experiments.paper.mb_sensitivity.sweep import sweep as exact
from painless.experiments.paper.mf_sensitivity.sweep import sweep as sampled
from painless.experiments.paper.scale import Scale
from painless.experiments.sweep import Sweep


def sweep(scale: Scale) -> Sweep:
    """Return the units of the experiment."""
    return Sweep((*exact(scale).units, *sampled(scale).units))
