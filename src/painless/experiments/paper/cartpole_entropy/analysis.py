"""Robustness on CartPole for each strength of entropy regularisation."""

from __future__ import annotations

from collections.abc import Sequence

from painless.experiments.paper.claims import robustness
from painless.experiments.paper.experiment import Analysis
from painless.experiments.paper.grids import ENTROPIES
from painless.experiments.paper.pictures import Picture
from painless.experiments.paper.selection import best_of_each, by_algorithm
from painless.experiments.paper.shared import all_settings, last_values, return_and_violations
from painless.experiments.settings import Setting, select


def analyse(settings: Sequence[Setting]) -> Analysis:
    """Draw a row for each ν, and judge robustness in each."""
    cases = {entropy: select(settings, entropy=entropy) for entropy in ENTROPIES}
    picture = Picture(
        "cartpole-entropy",
        "Average return and violations on CartPole with entropy regularisation ν, every setting; the best of each algorithm "
        "dark with its 95 % band, the others light.",
        tuple(return_and_violations(all_settings(group), f"ν = {nu:g}") for nu, group in cases.items()),
    )
    rows = [(f"ν = {nu:g}", one) for nu, group in cases.items() for one in best_of_each(group).values()]
    claims = tuple(
        robustness(
            f"cartpole-robust-{nu:g}",
            "cartpole-entropy",
            f"On CartPole with ν = {nu:g} CBP is robust to its hyperparameter.",
            by_algorithm(group),
        )
        for nu, group in cases.items()
        if nu
    )
    return Analysis((picture,), (last_values("Last values at the best settings.", rows),), claims)
