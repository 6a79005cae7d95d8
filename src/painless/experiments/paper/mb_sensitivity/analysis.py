"""How far the settings of each algorithm spread its results."""

from __future__ import annotations

from collections.abc import Sequence

from painless.experiments.paper.claims import robustness
from painless.experiments.paper.experiment import Analysis
from painless.experiments.paper.pictures import Picture
from painless.experiments.paper.selection import by_algorithm
from painless.experiments.paper.shared import all_settings, gap_and_violation
from painless.experiments.settings import Setting


def analyse(settings: Sequence[Setting]) -> Analysis:
    """Draw all settings, and compare the spread of their last OG."""
    picture = Picture(
        "mb-sensitivity",
        "OG and CV of every setting with exact values; the best of each algorithm dark with its 95 % band over the seeds, "
        "the others light.",
        (gap_and_violation(all_settings(settings)),),
    )
    claim = robustness(
        "mb-robust",
        "mb-sensitivity",
        "CBP is robust to its hyperparameter, GDA and CRPO are sensitive to theirs (exact values).",
        by_algorithm(settings),
    )
    return Analysis((picture,), (), (claim,))
