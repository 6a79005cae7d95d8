"""How far the settings of each algorithm spread its results, with sampled values."""

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
        "mf-sensitivity",
        "OG and CV of every setting with TD(0), 2000 samples; the best of each algorithm dark with its 95 % band, the others light.",
        (gap_and_violation(all_settings(settings)),),
    )
    claim = robustness(
        "mf-robust",
        "mf-sensitivity",
        "CBP is robust to its hyperparameter, GDA and CRPO are sensitive to theirs (TD(0)).",
        by_algorithm(settings),
    )
    return Analysis((picture,), (), (claim,))
