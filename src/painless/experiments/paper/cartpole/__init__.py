"""CartPole with two constraints."""

from __future__ import annotations

from painless.experiments.paper.cartpole.analysis import analyse
from painless.experiments.paper.cartpole.sweep import sweep
from painless.experiments.paper.experiment import Experiment

EXPERIMENT = Experiment(
    "cartpole",
    "CartPole",
    "CartPole, γ = 0.99, two constraints, T = 200, 50 trajectories an iteration, ν = 0, U = 50; with the paper's estimator (plain LSTDQ) and with ours (anchored).",
    sweep,
    analyse,
)
