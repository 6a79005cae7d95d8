"""Settings of γ = 0.9 at other discounts, with exact values."""

from __future__ import annotations

from painless.experiments.paper.experiment import Experiment
from painless.experiments.paper.mb_discount.analysis import analyse
from painless.experiments.paper.mb_discount.sweep import sweep

EXPERIMENT = Experiment(
    "mb-discount",
    "Misspecified discount, exact values",
    "Gridworld, γ ∈ {0.7, 0.8}, exact evaluation, T = 1500, with the settings that were best for γ = 0.9 (Table 1).",
    sweep,
    analyse,
)
