"""CartPole with entropy regularisation."""

from __future__ import annotations

from painless.experiments.paper.cartpole_entropy.analysis import analyse
from painless.experiments.paper.cartpole_entropy.sweep import sweep
from painless.experiments.paper.experiment import Experiment

EXPERIMENT = Experiment(
    "cartpole-entropy",
    "CartPole with entropy regularisation",
    "As `cartpole`, with the paper's estimator and ν ∈ {0, 0.1, 0.01, 0.001}.",
    sweep,
    analyse,
)
