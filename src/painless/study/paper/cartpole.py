"""CartPole with two constraints: robustness and return, with the paper's estimator and with ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from painless.study.paper.cartpole_bound import (
    ESTIMATORS,
    estimated,
    estimated_beside_fixed,
    estimated_claim,
    estimated_picture,
    estimated_table,
    interval_low,
)
from painless.study.paper.claims import Claim, judge, robustness
from painless.study.paper.experiment import Analysis, Experiment
from painless.study.paper.grids import (
    CARTPOLE,
    CARTPOLE_BOUND,
    CARTPOLE_ITERATIONS,
    TABLE_3,
    cartpole,
    with_nu,
)
from painless.study.paper.pictures import Picture
from painless.study.paper.scale import Scale, joined
from painless.study.paper.selection import TITLES, best_of_each, by_algorithm, outside_window
from painless.study.paper.shared import all_returns, last_values
from painless.study.paper.yardstick import compare
from painless.study.setting_results import SettingResults, select
from painless.study.sweep import Sweep


def sweep(scale: Scale) -> Sweep:
    """Return every setting without entropy regularisation, with both estimators."""
    return joined([with_entropy(scale, 0.0, list(ESTIMATORS)), estimated(scale)])


def with_entropy(scale: Scale, entropy: float, evaluators: list[str]) -> Sweep:
    """Return the units for one ν and some estimators."""
    evaluator = {"name": evaluators, "rollouts": 50}
    whole = scale.sweep(CARTPOLE, cartpole(entropy), CARTPOLE_ITERATIONS, evaluator, start="uniform")
    return Sweep(tuple(replace(unit, multiplier_bound=CARTPOLE_BOUND) for unit in whole.units))


def analyse(settings: Sequence[SettingResults]) -> Analysis:
    """Draw all settings for both estimators, and judge robustness; beside them U from the feasibility phase."""
    fixed = select(settings, multiplier_bound=CARTPOLE_BOUND)
    cases = {text: select(fixed, estimator=kind) for kind, text in ESTIMATORS.items()}
    papers = dict.fromkeys(cases, with_nu(TABLE_3[0.0], 0.0))
    picture = Picture(
        "cartpole",
        "Average return and violations on CartPole, every setting; the best of each algorithm dark with its 95 % band, the paper's dotted where it is another, the others "
        "light. Above with the paper's estimator, below with the anchored one.",
        all_returns(cases, papers),
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
    both = estimated_beside_fixed(settings)
    tables = (last_values("Last values at the best settings.", chosen), estimated_table(both))
    return Analysis((picture, estimated_picture(both)), tables, (*claims, comparable, estimated_claim(both)))


def _comparable(chosen: dict[str, SettingResults]) -> Claim:
    top = max(chosen.values(), key=lambda one: one.last_return)
    close = [compare(one.last_merits, top.last_merits).similar for one in chosen.values()]
    met = [bool((interval_low(one) <= 0).all()) for one in chosen.values()]
    outside = [f"{TITLES[key]} {outside_window(one)}" for key, one in chosen.items() if outside_window(one)]
    texts = [
        f"{TITLES[key]} {one.last_return:.1f} with CV {', '.join(f'{v:+.2f}' for v in one.last_violation)}"
        for key, one in chosen.items()
    ]
    if outside:
        texts.append(f"cannot be judged by the paper's rule: {', '.join(outside)}")
    return Claim(
        "cartpole-comparable",
        "At the best settings all three satisfy both constraints and achieve comparable returns.",
        "cartpole",
        judge([None] if outside else [*close, *met]),
        "; ".join(texts),
    )


EXPERIMENT = Experiment(
    "cartpole",
    "CartPole",
    "CartPole, γ = 0.99, two constraints, T = 200, 50 trajectories an iteration, ν = 0, U = 50, which is between the bounds of the released code (40, 80, 50 and 140 for ν = 0, 0.1, 0.01 and 0.001); with the paper's estimator (plain LSTDQ) and with ours (anchored). Some settings also with U from a feasibility phase.",
    sweep,
    analyse,
)
