"""How much the settings matter, with features."""

from __future__ import annotations

from painless.experiments.paper.experiment import Experiment
from painless.experiments.paper.lfa_sensitivity.analysis import analyse
from painless.experiments.paper.lfa_sensitivity.sweep import sweep

EXPERIMENT = Experiment(
    "lfa-sensitivity",
    "Sensitivity to the settings, LSTDQ",
    "Gridworld, γ = 0.9, LSTDQ with 300 samples for each pair and tile coding of d ∈ {40, 56, 80} features, T = 400, uniform starts. Moves are deterministic, so that sampled successors are exact: the seeds agree, and bands have no width.",
    sweep,
    analyse,
)
