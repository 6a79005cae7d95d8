"""Best settings with features (the paper's Table 2)."""

from __future__ import annotations

from painless.experiments.paper.experiment import Experiment
from painless.experiments.paper.table_2.analysis import analyse
from painless.experiments.paper.table_2.sweep import sweep

EXPERIMENT = Experiment(
    "table-2",
    "Table 2: best settings, LSTDQ",
    "The setting with the least last OG among those with last CV in [−0.25, 0], ours beside the paper's.",
    sweep,
    analyse,
)
