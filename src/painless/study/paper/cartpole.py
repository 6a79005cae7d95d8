"""CartPole with two constraints: robustness and return, with the paper's estimator and with ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from painless.study.paper.claims import Claim, judge, robustness
from painless.study.paper.experiment import Analysis, Experiment
from painless.study.paper.grids import CARTPOLE, CARTPOLE_BOUND, CARTPOLE_ITERATIONS, TABLE_3, cartpole
from painless.study.paper.pictures import Picture
from painless.study.paper.scale import Scale, joined
from painless.study.paper.selection import TITLES, best_of_each, by_algorithm
from painless.study.paper.shared import all_returns, last_values
from painless.study.setting_results import SettingResults, select
from painless.study.sweep import Sweep

ESTIMATORS = {"plain-lstdq": "the paper's LSTDQ", "anchored-lstdq": "anchored LSTDQ"}
ESTIMATED = [  # with ζ from the feasibility phase: the paper's settings, and CBP's others
    {"name": "cbp", "alpha": [0.1, 50.0, 1000.0], "entropy": 0.0},
    {**TABLE_3[0.0][1], "entropy": 0.0},
]
COMPARABLE = 2.0  # returns that differ by less are comparable


def sweep(scale: Scale) -> Sweep:
    """Return every setting without entropy regularisation, with both estimators."""
    return joined([with_entropy(scale, 0.0, list(ESTIMATORS)), estimated(scale)])


def estimated(scale: Scale) -> Sweep:
    """Return some settings with U from the feasibility phase."""
    evaluator = {"name": list(ESTIMATORS), "rollouts": 50}
    return scale.sweep(CARTPOLE, ESTIMATED, CARTPOLE_ITERATIONS, evaluator, start="uniform")


def with_entropy(scale: Scale, entropy: float, evaluators: list[str]) -> Sweep:
    """Return the units for one ν and some estimators."""
    evaluator = {"name": evaluators, "rollouts": 50}
    whole = scale.sweep(CARTPOLE, cartpole(entropy), CARTPOLE_ITERATIONS, evaluator, start="uniform")
    return Sweep(tuple(replace(unit, multiplier_bound=CARTPOLE_BOUND) for unit in whole.units))


def analyse(settings: Sequence[SettingResults]) -> Analysis:
    """Draw all settings for both estimators, and judge robustness."""
    cases = {text: select(settings, estimator=kind) for kind, text in ESTIMATORS.items()}
    picture = Picture(
        "cartpole",
        "Average return and violations on CartPole, every setting; the best of each algorithm dark with its 95 % band, the others "
        "light. Above with the paper's estimator, below with the anchored one.",
        all_returns(cases),
    )
    chosen = {case: best_of_each(group) for case, group in cases.items()}
    names = ("cartpole-robust", "cartpole-robust-anchored")
    claims = tuple(
        robustness(
            name,
            "cartpole",
            f"On CartPole CBP varies considerably less with its hyperparameter than GDA and CRPO ({case}).",
            by_algorithm(group),
        )
        for name, (case, group) in zip(names, cases.items(), strict=True)
    )
    comparable = _comparable(chosen[ESTIMATORS["plain-lstdq"]])
    return Analysis(
        (picture,), (last_values("Last values at the best settings.", chosen),), (*claims, comparable)
    )


def _comparable(chosen: dict[str, SettingResults]) -> Claim:
    returns = {key: one.last_return for key, one in chosen.items()}
    close = max(returns.values()) - min(returns.values()) <= COMPARABLE
    met = [bool((one.last_violation <= 0).all()) for one in chosen.values()]
    texts = [
        f"{TITLES[key]} {one.last_return:.1f} with CV {', '.join(f'{v:+.2f}' for v in one.last_violation)}"
        for key, one in chosen.items()
    ]
    return Claim(
        "cartpole-comparable",
        "At the best settings all three satisfy both constraints and achieve comparable returns.",
        "cartpole",
        judge([close, *met]),
        "; ".join(texts),
    )


EXPERIMENT = Experiment(
    "cartpole",
    "CartPole",
    "CartPole, γ = 0.99, two constraints, T = 200, 50 trajectories an iteration, ν = 0, U = 50; with the paper's estimator (plain LSTDQ) and with ours (anchored).",
    sweep,
    analyse,
)
