"""The best settings, and GDA as its theory has it, with exact values."""

from __future__ import annotations

from painless.experiments.paper.experiment import Experiment
from painless.experiments.paper.mb_best.analysis import analyse
from painless.experiments.paper.mb_best.sweep import sweep

EXPERIMENT = Experiment(
    "mb-best",
    "Best settings, exact values",
    "Gridworld, γ = 0.9, exact evaluation, T = 1500; the best setting of each algorithm by the paper's rule, and GDA with theoretical rates.",
    sweep,
    analyse,
)
