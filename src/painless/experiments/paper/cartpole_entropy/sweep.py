"""CartPole with four strengths of entropy regularisation, with the paper's estimator."""

from __future__ import annotations

from painless.experiments.paper.cartpole.sweep import rows
from painless.experiments.paper.grids import ENTROPIES
from painless.experiments.paper.scale import Scale
from painless.experiments.sweep import Sweep


def sweep(scale: Scale) -> Sweep:
    """Return the units of the experiment."""
    return Sweep(tuple(unit for entropy in ENTROPIES for unit in rows(scale, entropy, ["plain-lstdq"]).units))
