"""Robustness and return on CartPole, with the paper's estimator and with ours."""

from __future__ import annotations

from collections.abc import Sequence

from painless.experiments.paper.claims import Claim, judge, robustness
from painless.experiments.paper.experiment import Analysis
from painless.experiments.paper.pictures import Picture
from painless.experiments.paper.selection import TITLES, best_of_each, by_algorithm
from painless.experiments.paper.shared import all_settings, last_values, return_and_violations
from painless.experiments.settings import Setting, select

ESTIMATORS = {"plain-lstdq": "the paper's LSTDQ", "anchored-lstdq": "anchored LSTDQ"}
COMPARABLE = 2.0  # returns that differ by less are comparable


def analyse(settings: Sequence[Setting]) -> Analysis:
    """Draw all settings for both estimators, and judge robustness."""
    cases = {kind: select(settings, estimator=kind) for kind in ESTIMATORS}
    picture = Picture(
        "cartpole",
        "Average return and violations on CartPole, every setting; the best of each algorithm dark with its 95 % band, the others "
        "light. Above with the paper's estimator, below with the anchored one.",
        tuple(return_and_violations(all_settings(group), ESTIMATORS[kind]) for kind, group in cases.items()),
    )
    chosen = {kind: best_of_each(group) for kind, group in cases.items()}
    rows = [(ESTIMATORS[kind], one) for kind, some in chosen.items() for one in some.values()]
    claims = tuple(_robust(kind, group) for kind, group in cases.items())
    comparable = _comparable(chosen["plain-lstdq"])
    return Analysis(
        (picture,), (last_values("Last values at the best settings.", rows),), (*claims, comparable)
    )


def _robust(kind: str, group: Sequence[Setting]) -> Claim:
    return robustness(
        "cartpole-robust" if kind == "plain-lstdq" else "cartpole-robust-anchored",
        "cartpole",
        f"On CartPole CBP varies considerably less with its hyperparameter than GDA and CRPO ({ESTIMATORS[kind]}).",
        by_algorithm(group),
    )


def _comparable(chosen: dict[str, Setting]) -> Claim:
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
