"""CartPole with entropy regularisation: robustness for each strength of it, with the paper's estimator."""

from __future__ import annotations

from collections.abc import Sequence

from painless.study.paper.cartpole import with_entropy
from painless.study.paper.claims import robustness
from painless.study.paper.experiment import Analysis, Experiment
from painless.study.paper.grids import ENTROPIES, TABLE_3, with_nu
from painless.study.paper.pictures import Picture
from painless.study.paper.scale import Scale, joined
from painless.study.paper.selection import best_of_each, by_algorithm
from painless.study.paper.shared import all_returns, last_values
from painless.study.setting_results import SettingResults, select
from painless.study.sweep import Sweep


def sweep(scale: Scale) -> Sweep:
    """Return every setting for each ν."""
    return joined(with_entropy(scale, entropy, ["plain-lstdq"]) for entropy in ENTROPIES)


def analyse(settings: Sequence[SettingResults]) -> Analysis:
    """Draw a row for each ν, and judge robustness in each."""
    cases = {f"ν = {nu:g}": select(settings, entropy=nu) for nu in ENTROPIES}
    picture = Picture(
        "cartpole-entropy",
        "Average return and violations on CartPole with entropy regularisation ν, every setting; the best of each algorithm "
        "dark with its 95 % band, the paper's dotted where it is another, the others light.",
        all_returns(cases, {f"ν = {nu:g}": with_nu(TABLE_3[nu], nu) for nu in ENTROPIES}),
    )
    chosen = {case: best_of_each(group) for case, group in cases.items()}
    claims = tuple(
        robustness(
            f"cartpole-robust-{nu:g}",
            "cartpole-entropy",
            f"On CartPole with {case} CBP is robust to its hyperparameter.",
            by_algorithm(group),
        )
        for nu, (case, group) in zip(ENTROPIES, cases.items(), strict=True)
        if nu
    )
    return Analysis((picture,), (last_values("Last values at the best settings.", chosen),), claims)


EXPERIMENT = Experiment(
    "cartpole-entropy",
    "CartPole with entropy regularisation",
    "As `cartpole`, with the paper's estimator and ν ∈ {0, 0.1, 0.01, 0.001}.",
    sweep,
    analyse,
)
