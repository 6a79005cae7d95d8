"""How much the settings matter, with TD(0)."""

from __future__ import annotations

from painless.experiments.paper.experiment import Experiment
from painless.experiments.paper.mf_sensitivity.analysis import analyse
from painless.experiments.paper.mf_sensitivity.sweep import sweep

EXPERIMENT = Experiment(
    "mf-sensitivity",
    "Sensitivity to the settings, TD(0)",
    "Gridworld, γ = 0.9, TD(0) with 2000 samples for each pair and iteration, T = 1500; CRPO with η = 0.",
    sweep,
    analyse,
)
