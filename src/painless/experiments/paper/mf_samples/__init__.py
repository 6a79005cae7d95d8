"""TD(0) with 1000, 2000 and 3000 samples."""

from __future__ import annotations

from painless.experiments.paper.experiment import Experiment
from painless.experiments.paper.mf_samples.analysis import analyse
from painless.experiments.paper.mf_samples.sweep import sweep

EXPERIMENT = Experiment(
    "mf-samples",
    "More samples, TD(0)",
    "Gridworld, γ = 0.9, TD(0) with 1000, 2000 and 3000 samples for each pair and iteration, T = 1500, settings of Table 1.",
    sweep,
    analyse,
)
