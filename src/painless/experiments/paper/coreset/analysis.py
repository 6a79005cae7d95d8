"""Whether a coreset gives the same result from fewer samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from painless.experiments.evaluators import make_evaluator
from painless.experiments.paper.claims import Claim, Verdict, judge
from painless.experiments.paper.experiment import Analysis, Table
from painless.experiments.paper.pictures import Picture
from painless.experiments.paper.selection import ALGORITHMS, TITLES
from painless.experiments.paper.shared import gap_and_violation, last_values, named
from painless.experiments.settings import Setting, select
from painless.experiments.unit import make_problem

ESTIMATORS = {"lstdq": "LSTDQ", "least-squares": "least squares on rollouts (eq. lspg)"}
Case = tuple[str, bool]  # the estimator, and whether it samples the coreset
ALIKE = 0.1  # of the gap of all pairs: closer than this, or than two standard errors, is the same


def analyse(settings: Sequence[Setting]) -> Analysis:
    """Draw both estimators with and without the coreset, and judge whether it matches."""
    cases = {
        (kind, coreset): {
            name: select(settings, estimator=kind, coreset=coreset, name=name)[0] for name in ALGORITHMS
        }
        for kind in ESTIMATORS
        for coreset in (False, True)
    }
    headings = {key: f"{ESTIMATORS[key[0]]}, {'coreset' if key[1] else 'all pairs'}" for key in cases}
    picture = Picture(
        "coreset",
        "OG and CV with samples from all 100 pairs, and from the 56 of the coreset, for LSTDQ and for least squares on "
        "rollouts; 95 % bands over the seeds.",
        tuple(gap_and_violation(named(chosen), headings[key]) for key, chosen in cases.items()),
    )
    rows = [(headings[key], one) for key, chosen in cases.items() for one in chosen.values()]
    used = {key: transitions(chosen["cbp"]) for key, chosen in cases.items()}
    costs = Table(
        "Transitions sampled in each iteration.",
        ("estimator", "pairs", "transitions"),
        tuple((headings[key], f"{pairs}", f"{steps:,}") for key, (pairs, steps) in used.items()),
    )
    last = last_values("Last values with and without the coreset.", rows)
    claims = (
        _matches("coreset-lstdq", "LSTDQ, with and without", ("lstdq", False), ("lstdq", True), cases, used),
        _matches(
            "coreset-rollouts",
            "least squares on rollouts, with and without",
            ("least-squares", False),
            ("least-squares", True),
            cases,
            used,
        ),
        _matches(
            "coreset-estimators",
            "rollouts from the coreset beside LSTDQ from all pairs",
            ("lstdq", False),
            ("least-squares", True),
            cases,
            used,
        ),
    )
    return Analysis((picture,), (last, costs), claims)


def transitions(setting: Setting) -> tuple[int, int]:
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
    name: str,
    what: str,
    whole: Case,
    part: Case,
    cases: Mapping[Case, Mapping[str, Setting]],
    used: Mapping[Case, tuple[int, int]],
) -> Claim:
    parts, texts = [], []
    for algorithm in ALGORITHMS:
        a, b = cases[whole][algorithm].gap[:, -1], cases[part][algorithm].gap[:, -1]
        error = np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / len(a)) if len(a) > 1 else 0.0
        parts.append(bool(b.mean() - a.mean() <= max(2 * error, ALIKE * abs(a.mean()))))
        texts.append(f"{TITLES[algorithm]} {a.mean():.3g} with all pairs, {b.mean():.3g} with the coreset")
    (all_pairs, many), (few_pairs, few) = used[whole], used[part]
    same = all(parts)
    verdict = judge([same, few < many]) if same else Verdict.FAILS
    return Claim(
        name,
        f"G-experimental design gives similar performance at a lower cost ({what}).",
        "coreset",
        verdict,
        f"last OG: {'; '.join(texts)}; {few_pairs} pairs and {few:,} transitions an iteration in place of {all_pairs} and {many:,}",
        "" if verdict is Verdict.HOLDS else WHY[name],
    )


WHY = {
    "coreset-lstdq": "The coreset takes the first state of each tile, and the rewards are paid in second ones: LSTDQ, which sees "
    "only single steps from the chosen pairs, never sees them. Rollouts, which the paper's equation asks for, pass through them.",
    "coreset-rollouts": "A tile holds up to two states, and the coreset samples one of them; the fit then says nothing of the other. From "
    "all pairs the fit is a compromise of both, which is worth more here than the samples saved.",
    "coreset-estimators": "The results are alike, but a rollout has as many steps as the discount asks for, where LSTDQ takes one: there "
    "are fewer pairs and more transitions.",
}
