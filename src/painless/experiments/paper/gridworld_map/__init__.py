"""The gridworld and its optimal policies."""

from __future__ import annotations

from painless.experiments.paper.experiment import Experiment
from painless.experiments.paper.gridworld_map.analysis import analyse
from painless.experiments.paper.gridworld_map.sweep import sweep

EXPERIMENT = Experiment(
    "gridworld-map",
    "The gridworld",
    "The environment of the paper's appendix C.3, with the optimal policy without and with the constraint.",
    sweep,
    analyse,
)
