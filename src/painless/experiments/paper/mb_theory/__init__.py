"""CBP as analysed beside CBP as used."""

from __future__ import annotations

from painless.experiments.paper.experiment import Experiment
from painless.experiments.paper.mb_theory.analysis import analyse
from painless.experiments.paper.mb_theory.sweep import sweep

EXPERIMENT = Experiment(
    "mb-theory",
    "The theoretical dual beside the practical one",
    "Gridworld, γ = 0.9, exact evaluation, T = 1500; CBP with the sigmoid bettor of the analysis and with COCOB (α = 8).",
    sweep,
    analyse,
)
