"""How far the settings of each algorithm spread its results, for three numbers of features."""

from __future__ import annotations

from collections.abc import Sequence

from painless.experiments.paper.claims import robustness
from painless.experiments.paper.experiment import Analysis
from painless.experiments.paper.grids import TILES
from painless.experiments.paper.pictures import Picture
from painless.experiments.paper.selection import by_algorithm
from painless.experiments.paper.shared import all_settings, gap_and_violation
from painless.experiments.settings import Setting, select


def analyse(settings: Sequence[Setting]) -> Analysis:
    """Draw all settings for each d, and compare the spread of their last OG."""
    cases = by_dimension(settings)
    picture = Picture(
        "lfa-sensitivity",
        "OG and CV of every setting with LSTDQ over tile coding; the best of each algorithm dark with its 95 % band, the others light.",
        tuple(gap_and_violation(all_settings(group), f"d = {d}") for d, group in cases.items()),
    )
    claims = tuple(
        robustness(
            f"lfa-robust-{d}",
            "lfa-sensitivity",
            f"CBP is robust to its hyperparameter, GDA and CRPO are sensitive to theirs (LSTDQ, d = {d}).",
            by_algorithm(group),
        )
        for d, group in cases.items()
    )
    return Analysis((picture,), (), claims)


def by_dimension(settings: Sequence[Setting]) -> dict[int, list[Setting]]:
    """Return the settings for each number of features."""
    groups = {d: select(settings, tiles=tiles) for d, tiles in TILES.items()}
    return {d: group for d, group in groups.items() if group}
