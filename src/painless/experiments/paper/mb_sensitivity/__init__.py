"""How much the settings matter, with exact values (the paper's first figure)."""

from __future__ import annotations

from painless.experiments.paper.experiment import Experiment
from painless.experiments.paper.mb_sensitivity.analysis import analyse
from painless.experiments.paper.mb_sensitivity.sweep import sweep

EXPERIMENT = Experiment(
    "mb-sensitivity",
    "Sensitivity to the settings, exact values",
    "Gridworld, γ = 0.9, exact evaluation, T = 1500, Dirichlet starts.",
    sweep,
    analyse,
)
