"""Algorithm 1 as a whole, from samples alone, beside the same algorithm with the model's U and with exact values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from painless.bellman import occupancy
from painless.evaluators.registry import EVALUATORS
from painless.loop.algorithm_case import AlgorithmCase
from painless.loop.approximation import Sampling
from painless.loop.guarantees import ClosedForm, cbp_bound, policy_divergence
from painless.planning import LinearProgram
from painless.planning.feasibility import multiplier_bound
from painless.policies.table import uniform_policy
from painless.solving.solve import solve
from painless.study.paper.claims import Claim, Verdict, judge
from painless.study.paper.experiment import Analysis, Experiment, Table
from painless.study.paper.grids import GRIDWORLD, LINEAR_ITERATIONS, TABLE_2, TILES
from painless.study.paper.pictures import Panel, Picture, Tone
from painless.study.paper.scale import Scale, joined
from painless.study.paper.shared import Shown, gap_and_violation
from painless.study.paper.yardstick import compare, interval, with_interval
from painless.study.setting_results import SettingResults, select
from painless.study.sweep import Sweep
from painless.study.unit import ESTIMATED, make_problem

DIMENSION, ROLLOUTS = 56, 50  # d, and m
FAILURE = 0.05  # δ of the corollary
DUALS = {"cbp-theory": "Algorithm 1", "cbp": "Algorithm 2 (practical dual)"}
KNOWN = {"whole": "all from samples", "known": "U of the model", "exact": "exact values"}
Runs = dict[str, SettingResults]  # by what is known


def sweep(scale: Scale) -> Sweep:
    """Return both duals with ζ estimated, with the model's ζ, and with exact values."""
    algorithms = [{"name": "cbp-theory"}, TABLE_2[DIMENSION][0]]
    evaluator = {
        "name": "least-squares",
        "rollouts": ROLLOUTS,
        "tiles": TILES[DIMENSION],
        "coreset": True,
    }
    known = scale.sweep(GRIDWORLD, algorithms, LINEAR_ITERATIONS, evaluator, start="uniform")
    whole = Sweep(tuple(replace(unit, multiplier_bound=ESTIMATED) for unit in known.units))
    exact = replace(scale, seeds=1).sweep(GRIDWORLD, algorithms, LINEAR_ITERATIONS, start="uniform")
    return joined([whole, known, exact])


def analyse(settings: Sequence[SettingResults]) -> Analysis:
    """Draw all three for both duals, and judge what the samples cost."""
    runs = {name: _runs(settings, name) for name in DUALS}
    forms = {name: _corollary(one["whole"]) for name, one in runs.items()}
    picture = Picture(
        "algorithm-1",
        "Coreset, ζ and action values all from samples, the same with U of the model, and with exact values, "
        "with the dual of the analysis above and the practical one below; 95 % bands over the seeds.",
        tuple(_panels(DUALS[name], one) for name, one in runs.items()),
    )
    claims = [_as_well(name, one) for name, one in runs.items()]
    claims.append(_bounded(runs["cbp-theory"]["whole"], forms["cbp-theory"]))
    return Analysis((picture,), (_table(runs, forms),), tuple(claims))


def _runs(settings: Sequence[SettingResults], name: str) -> Runs:
    sampled = select(settings, name=name, estimator="least-squares")
    return {
        "whole": select(sampled, multiplier_bound=ESTIMATED)[0],
        "known": select(sampled, multiplier_bound=None)[0],
        "exact": select(settings, name=name, estimator="exact")[0],
    }


def _panels(title: str, runs: Runs) -> tuple[Panel, ...]:
    """Return OG and CV of one dual; the colour is that of what is known."""
    shown: Shown = [(runs[name], text, Tone.BEST) for name, text in KNOWN.items()]
    return tuple(
        replace(
            panel,
            curves=tuple(replace(one, family=name) for one, name in zip(panel.curves, KNOWN, strict=True)),
        )
        for panel in gap_and_violation(shown, title)
    )


def _as_well(name: str, runs: Runs) -> Claim:
    whole, known, exact = runs["whole"], runs["known"], runs["exact"]
    assert whole.slack is not None
    found, true = whole.slack[:, 0, 0], whole.slack[:, 1, 0]
    violation = whole.violation[:, -1, 0]
    similar = compare(whole.last_merits, known.last_merits).similar
    return Claim(
        {"cbp-theory": "algorithm-1", "cbp": "algorithm-2"}[name],
        f"{DUALS[name]} as a whole, with coreset, ζ and action values from samples, meets the constraint and does as well as with the model's ζ.",
        "algorithm-1",
        judge([similar, interval(violation)[0] <= 0, bool((found <= true).all())]),
        f"ζ̂ {found.min():.3g} to {found.max():.3g}, where the true slack of the policy is {true.min():.3g} to {true.max():.3g} and the largest possible one 1.06; "
        f"last OG {with_interval(whole.last_merits)}, CV {with_interval(violation, '+')}; with the model's ζ OG {with_interval(known.last_merits)}, "
        f"CV {with_interval(known.violation[:, -1, 0], '+')}; with exact values OG {exact.last_gap:.3g}, CV {exact.last_violation.max():+.3g}",
    )


def _corollary(setting: SettingResults) -> list[ClosedForm]:
    """Return the corollary's bound for each run: its own ε_b, norm, entries, m and U."""
    assert setting.errors is not None
    assert setting.slack is not None
    problem = make_problem(setting.problem)
    given = {key: value for key, value in setting.evaluator.items() if key != "name"}
    evaluator = EVALUATORS["least-squares"](problem, **given)
    optimal = solve(problem, LinearProgram()).policy.probabilities
    visits = (1 - problem.discount) * occupancy(problem, optimal).sum(-1)
    distance = float(visits @ policy_divergence(optimal, uniform_policy(problem.actions)))
    situation = AlgorithmCase.of(problem).situation(setting.iterations)
    forms = []
    for bias, slack in zip(setting.errors[:, 0], setting.slack[:, 0], strict=True):
        sampling = Sampling(
            entries=len(evaluator.design.entries),
            rollouts=evaluator.rollouts,
            failure_probability=FAILURE,
            horizon=evaluator.monte_carlo.steps,
            norm=evaluator.design.norm,
            bias=float(bias),
        )
        own = replace(situation, multiplier_bound=multiplier_bound(slack, 1 - problem.discount))
        forms.append(cbp_bound(own, distance, sampling=sampling))
    return forms


def _bounded(setting: SettingResults, forms: list[ClosedForm]) -> Claim:
    assert setting.errors is not None
    kept = [gap <= form.optimality_gap for gap, form in zip(setting.last_merits, forms, strict=True)]
    kept += [error <= form.error for error, form in zip(setting.errors[:, 1], forms, strict=True)]
    vacuous = all(form.vacuous for form in forms)
    bound, error = (np.array([getattr(form, name) for form in forms]) for name in ("optimality_gap", "error"))
    return Claim(
        "bound-cbp-lfa",
        "The corollary for linear function approximation bounds OG and CV of CBP.",
        "algorithm-1",
        Verdict.VACUOUS if vacuous and all(kept) else judge([all(kept)]),
        f"bound of OG {bound.min():.3g}{' (vacuous: no OG exceeds 10)' if vacuous else ''}, of which the error ε̃ ≤ {error.max():.3g} of action values makes "
        f"{max(form.error_term for form in forms):.3g}; measured ε̃ {setting.errors[:, 1].max():.3g}, ε_b {setting.errors[:, 0].max():.3g} a posteriori; OG {setting.last_gap:.3g}",
    )


def _table(runs: dict[str, Runs], forms: dict[str, list[ClosedForm]]) -> Table:
    rows = []
    for name, one in runs.items():
        whole = one["whole"]
        assert whole.slack is not None
        assert whole.errors is not None
        rows.append(
            (
                DUALS[name],
                with_interval(whole.slack[:, 0, 0]),
                with_interval(whole.slack[:, 1, 0]),
                with_interval(whole.errors[:, 0]),
                with_interval(whole.errors[:, 1]),
                f"{max(form.error for form in forms[name]):.3g}",
                f"{max(form.optimality_gap for form in forms[name]):.3g}",
                with_interval(whole.last_merits),
            )
        )
    header = ("", "ζ̂", "true slack", "ε_b", "largest |Q̂ − Q|", "its bound ε̃", "bound of OG", "OG")
    return Table("What is estimated, what is true, and what the corollary says.", header, tuple(rows))


EXPERIMENT = Experiment(
    "algorithm-1",
    "Algorithm 1 as a whole",
    "Gridworld, γ = 0.9, d = 56, T = 400, uniform starts, m = 50 rollouts from each of 56 coreset entries; ζ by coin betting, with a lower confidence bound; beside it U of the model, and exact values.",
    sweep,
    analyse,
)
