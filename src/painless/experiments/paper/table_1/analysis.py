"""The best settings with exact values and with TD(0), beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence

from painless.experiments.paper.experiment import Analysis, Table
from painless.experiments.paper.grids import TABLE_1
from painless.experiments.paper.selection import TITLES
from painless.experiments.paper.shared import choice
from painless.experiments.settings import Setting, select


def analyse(settings: Sequence[Setting]) -> Analysis:
    """Choose by the paper's rule."""
    cases = {"model-based": "exact", "model-free": "td"}
    rows = [
        (case, TITLES[str(paper["name"])], *choice(select(settings, estimator=kind), paper))
        for case, kind in cases.items()
        for paper in TABLE_1
    ]
    caption = "Best settings in the tabular experiments, by the paper's rule."
    return Analysis((), (Table(caption, ("experiment", "algorithm", "ours", "the paper's"), tuple(rows)),))
