"""Best settings on CartPole (the paper's Table 3)."""

from __future__ import annotations

from painless.experiments.paper.experiment import Experiment
from painless.experiments.paper.table_3.analysis import analyse
from painless.experiments.paper.table_3.sweep import sweep

EXPERIMENT = Experiment(
    "table-3",
    "Table 3: best settings, CartPole",
    "The setting with the largest last return among those with both last CVs in [−6, 0], ours beside the paper's.",
    sweep,
    analyse,
)
