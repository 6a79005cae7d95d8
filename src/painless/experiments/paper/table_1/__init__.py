"""Best settings on the table (the paper's Table 1)."""

from __future__ import annotations

from painless.experiments.paper.experiment import Experiment
from painless.experiments.paper.table_1.analysis import analyse
from painless.experiments.paper.table_1.sweep import sweep

EXPERIMENT = Experiment(
    "table-1",
    "Table 1: best settings, tabular",
    "The setting with the least last OG among those with last CV in [−0.25, 0], ours beside the paper's.",
    sweep,
    analyse,
)
