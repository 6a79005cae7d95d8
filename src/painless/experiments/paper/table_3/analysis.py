"""The best settings for each ν, beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence

from painless.experiments.paper.experiment import Analysis, Table
from painless.experiments.paper.grids import TABLE_3
from painless.experiments.paper.selection import TITLES
from painless.experiments.paper.shared import choice
from painless.experiments.settings import Setting, select


def analyse(settings: Sequence[Setting]) -> Analysis:
    """Choose by the paper's rule."""
    rows = [
        (f"ν = {nu:g}", TITLES[str(paper["name"])], *choice(select(settings, entropy=nu), paper))
        for nu, papers in TABLE_3.items()
        for paper in papers
    ]
    caption = "Best settings on CartPole, by the paper's rule."
    return Analysis((), (Table(caption, ("entropy", "algorithm", "ours", "the paper's"), tuple(rows)),))
