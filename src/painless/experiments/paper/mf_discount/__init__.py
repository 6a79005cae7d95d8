"""Settings of γ = 0.9 at other discounts, with TD(0)."""

from __future__ import annotations

from painless.experiments.paper.experiment import Experiment
from painless.experiments.paper.mf_discount.analysis import analyse
from painless.experiments.paper.mf_discount.sweep import sweep

EXPERIMENT = Experiment(
    "mf-discount",
    "Misspecified discount, TD(0)",
    "Gridworld, γ ∈ {0.7, 0.8}, TD(0) with 2000 samples for each pair, T = 1500, with the settings of Table 1.",
    sweep,
    analyse,
)
