"""How OG shrinks with the horizon, beside the bounds."""

from __future__ import annotations

from painless.experiments.paper.experiment import Experiment
from painless.experiments.paper.rates.analysis import analyse
from painless.experiments.paper.rates.sweep import sweep

EXPERIMENT = Experiment(
    "rates",
    "Rates in T, and the closed forms of the corollaries",
    "Gridworld, γ = 0.9, exact evaluation, T from 50 to 6400, each run with its own horizon.",
    sweep,
    analyse,
)
