"""The best settings by the number of features."""

from __future__ import annotations

from painless.experiments.paper.experiment import Experiment
from painless.experiments.paper.lfa_dimension.analysis import analyse
from painless.experiments.paper.lfa_dimension.sweep import sweep

EXPERIMENT = Experiment(
    "lfa-dimension",
    "Best settings, LSTDQ",
    "Gridworld, γ = 0.9, LSTDQ with 300 samples for each pair, T = 400, uniform starts; the best setting of each algorithm for d = 40, 56 and 80.",
    sweep,
    analyse,
)
