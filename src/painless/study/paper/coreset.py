"""A coreset of 56 pairs against all 100, d = 56: whether it gives the same result from fewer samples, for both estimators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from painless.study.paper.claims import Claim, Verdict, judge
from painless.study.paper.experiment import Analysis, Experiment, Table
from painless.study.paper.grids import GRIDWORLD, LINEAR_ITERATIONS, LINEAR_SAMPLES, TABLE_2, TILES
from painless.study.paper.pictures import Picture
from painless.study.paper.scale import Scale, joined
from painless.study.paper.selection import ALGORITHMS, TITLES, one_of_each
from painless.study.paper.shared import case_rows, last_values
from painless.study.setting_results import SettingResults
from painless.study.sweep import Sweep
from painless.study.unit import make_evaluator, make_problem

DIMENSION = 56
CHOICES: list[dict[str, object]] = [  # which of the pairs that share a feature, in Algorithm 3 as printed
    {"coreset": "first"},
    {"coreset": "last"},
    *({"coreset": "random", "choice_seed": seed} for seed in range(3)),
]
ESTIMATORS = {"lstdq": "LSTDQ", "least-squares": "least squares on rollouts (eq. lspg)"}
Case = tuple[str, bool]  # the estimator, and whether it samples the coreset
ALIKE = 0.1  # of the gap of all pairs: closer than this, or than two standard errors, is the same
MATCHES: dict[str, tuple[str, Case, Case]] = {
    "coreset-lstdq": ("LSTDQ, with and without", ("lstdq", False), ("lstdq", True)),
    "coreset-rollouts": (
        "least squares on rollouts, with and without",
        ("least-squares", False),
        ("least-squares", True),
    ),
    "coreset-estimators": (
        "rollouts from the coreset beside LSTDQ from all pairs",
        ("lstdq", False),
        ("least-squares", True),
    ),
}
WHY = {
    "coreset-lstdq": "The coreset takes the first state of each tile, and the rewards are paid in second ones: LSTDQ, which sees "
    "only single steps from the chosen pairs, never sees them. Rollouts, which the paper's equation asks for, pass through them.",
    "coreset-rollouts": "A tile holds up to two states, and the coreset samples one of them; the fit then says nothing of the other. From "
    "all pairs the fit is a compromise of both, which is worth more here than the samples saved.",
    "coreset-estimators": "The results are alike, but a rollout has as many steps as the discount asks for, where LSTDQ takes one: there "
    "are fewer pairs and more transitions.",
}


def sweep(scale: Scale) -> Sweep:
    """Return both estimators on all pairs, on the coreset as released, and as printed with each choice among equal pairs."""
    tiles = {"tiles": TILES[DIMENSION]}
    lstdq = {"name": "lstdq", "samples": LINEAR_SAMPLES, **tiles}
    rollouts = {"name": "least-squares", "rollouts": LINEAR_SAMPLES, **tiles}
    whole = [{**one, "coreset": [False, True]} for one in (lstdq, rollouts)]
    printed = [{**lstdq, **choice} for choice in CHOICES]
    alone = [{**rollouts, **choice} for choice in CHOICES[:3]]  # of CBP alone, since rollouts take long
    runs = [(one, TABLE_2[DIMENSION]) for one in (*whole, *printed)] + [
        (one, TABLE_2[DIMENSION][:1]) for one in alone
    ]
    return joined(
        scale.sweep(GRIDWORLD, algorithms, LINEAR_ITERATIONS, evaluator, start="uniform")
        for evaluator, algorithms in runs
    )


def analyse(settings: Sequence[SettingResults]) -> Analysis:
    """Draw both estimators with and without the coreset, and judge whether it matches."""
    keys = [(kind, coreset) for kind in ESTIMATORS for coreset in (False, True)]
    cases = {key: one_of_each(settings, estimator=key[0], coreset=key[1]) for key in keys}
    headings = {key: f"{ESTIMATORS[key[0]]}, {'coreset' if key[1] else 'all pairs'}" for key in keys}
    titled = {headings[key]: chosen for key, chosen in cases.items()}
    picture = Picture(
        "coreset",
        "OG and CV with samples from all 100 pairs, and from the 56 of the coreset, for LSTDQ and for least squares on "
        "rollouts; 95 % bands over the seeds.",
        case_rows(titled),
    )
    used = {key: transitions(chosen["cbp"]) for key, chosen in cases.items()}
    costs = Table(
        "Transitions sampled in each iteration.",
        ("estimator", "pairs", "transitions"),
        tuple((headings[key], f"{pairs}", f"{steps:,}") for key, (pairs, steps) in used.items()),
    )
    last = last_values("Last values with and without the coreset.", titled)
    return Analysis((picture,), (last, costs), tuple(_matches(name, cases, used) for name in MATCHES))


def transitions(setting: SettingResults) -> tuple[int, int]:
    """Return the pairs that are sampled, and the transitions of one iteration."""
    make = make_evaluator(setting.evaluator)
    assert make is not None
    table = make_problem(setting.problem)
    evaluator = make(table)
    if setting.evaluator["name"] == "lstdq":
        pairs = int(table.actions.sum()) if evaluator.pairs is None else len(evaluator.pairs)
        return pairs, pairs * int(evaluator.samples)
    pairs = len(evaluator.monte_carlo.start)
    return pairs, pairs * int(evaluator.rollouts) * int(evaluator.monte_carlo.steps)


def _matches(
    name: str, cases: Mapping[Case, Mapping[str, SettingResults]], used: Mapping[Case, tuple[int, int]]
) -> Claim:
    what, whole, part = MATCHES[name]
    parts, texts = [], []
    for algorithm in ALGORITHMS:
        a, b = cases[whole][algorithm].gap[:, -1], cases[part][algorithm].gap[:, -1]
        error = np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / len(a)) if len(a) > 1 else 0.0
        parts.append(bool(b.mean() - a.mean() <= max(2 * error, ALIKE * abs(a.mean()))))
        texts.append(f"{TITLES[algorithm]} {a.mean():.3g} with all pairs, {b.mean():.3g} with the coreset")
    (all_pairs, many), (few_pairs, few) = used[whole], used[part]
    return Claim(
        name,
        f"G-experimental design gives similar performance at a lower cost ({what}).",
        "coreset",
        judge([True, few < many]) if all(parts) else Verdict.FAILS,
        f"last OG: {'; '.join(texts)}; {few_pairs} pairs and {few:,} transitions an iteration in place of {all_pairs} and {many:,}",
        WHY[name],
    )


EXPERIMENT = Experiment(
    "coreset",
    "G-experimental design",
    "Gridworld, γ = 0.9, d = 56, T = 400, uniform starts, settings of Table 2; 300 samples or rollouts from each of 56 coreset pairs, or from each of all 100.",
    sweep,
    analyse,
)
