"""A coreset of pairs against all pairs."""

from __future__ import annotations

from painless.experiments.paper.coreset.analysis import analyse
from painless.experiments.paper.coreset.sweep import sweep
from painless.experiments.paper.experiment import Experiment

EXPERIMENT = Experiment(
    "coreset",
    "G-experimental design",
    "Gridworld, γ = 0.9, d = 56, T = 400, uniform starts, settings of Table 2; 300 samples or rollouts from each of 56 coreset pairs, or from each of all 100.",
    sweep,
    analyse,
)
