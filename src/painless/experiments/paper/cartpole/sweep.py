"""CartPole without entropy regularisation: every setting, with the paper's estimator and with ours."""

from __future__ import annotations

from dataclasses import replace

from painless.experiments.paper.grids import CARTPOLE, CARTPOLE_BOUND, CARTPOLE_ITERATIONS, cartpole
from painless.experiments.paper.scale import Scale
from painless.experiments.sweep import Sweep


def sweep(scale: Scale) -> Sweep:
    """Return the units of the experiment."""
    return rows(scale, 0.0, ["plain-lstdq", "anchored-lstdq"])


def rows(scale: Scale, entropy: float, evaluators: list[str]) -> Sweep:
    """Return the units for one ν and some estimators."""
    evaluator = {"name": evaluators, "rollouts": 50}
    whole = scale.sweep(CARTPOLE, cartpole(entropy), CARTPOLE_ITERATIONS, evaluator, start="uniform")
    return Sweep(tuple(replace(unit, multiplier_bound=CARTPOLE_BOUND) for unit in whole.units))
