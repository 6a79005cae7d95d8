"""The best settings for each number of features, beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence

from painless.experiments.paper.experiment import Analysis, Table
from painless.experiments.paper.grids import TABLE_2
from painless.experiments.paper.lfa_sensitivity.analysis import by_dimension
from painless.experiments.paper.selection import TITLES
from painless.experiments.paper.shared import choice
from painless.experiments.settings import Setting


def analyse(settings: Sequence[Setting]) -> Analysis:
    """Choose by the paper's rule."""
    rows = [
        (f"d = {d}", TITLES[str(paper["name"])], *choice(group, paper))
        for d, group in by_dimension(settings).items()
        for paper in TABLE_2[d]
    ]
    caption = "Best settings with linear function approximation, by the paper's rule."
    return Analysis((), (Table(caption, ("dimension", "algorithm", "ours", "the paper's"), tuple(rows)),))
