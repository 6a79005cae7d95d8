"""How OG shrinks with the horizon: fitted slopes, and whether the closed-form bounds say anything."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from painless.bellman import occupancy
from painless.common.arrays import Array
from painless.loop.averages import band
from painless.loop.guarantees import ClosedForm, cbp_bound, gda_bound
from painless.loop.prepare import Prepared
from painless.planning import LinearProgram
from painless.policies.table import dirichlet_policy
from painless.solving.solve import solve
from painless.study.paper.claims import Claim, Verdict, judge
from painless.study.paper.experiment import Analysis, Experiment
from painless.study.paper.grids import GRIDWORLD, TABLE_1, THEORY
from painless.study.paper.pictures import Curve, Panel, Picture, Tone
from painless.study.paper.scale import Scale, joined
from painless.study.paper.selection import TITLES
from painless.study.setting_results import SettingResults, select
from painless.study.sweep import Sweep
from painless.study.unit import make_problem

PROMISED = -0.5  # OG = O(1/√T)
LOOSE = 0.1  # how far a fitted slope may miss the promise

HORIZONS = [50, 100, 200, 400, 800, 1600, 3200, 6400]
SHORT = [10, 20, 40]


def sweep(scale: Scale) -> Sweep:
    """Return longer and longer horizons, each run with its own T."""
    horizons = HORIZONS if scale.iterations is None else SHORT
    algorithms = [*TABLE_1[:2], *THEORY, {"name": "gda-printed"}]
    return joined(Scale(scale.seeds).sweep(GRIDWORLD, algorithms, horizon) for horizon in horizons)


def analyse(settings: Sequence[SettingResults]) -> Analysis:
    """Draw OG against T with the bounds, fit slopes, and judge."""
    names = ("cbp", "cbp-theory", "gda-theory")
    groups = {name: sorted(select(settings, name=name), key=lambda one: one.iterations) for name in names}
    horizons = [one.iterations for one in groups["cbp"]]
    prepared = Prepared.of(make_problem(settings[0].problem))
    divergence = _largest_divergence(prepared, len(settings[0].gap))
    forms = {
        "cbp-theory": [cbp_bound(prepared.situation(horizon), divergence) for horizon in horizons],
        "gda-theory": [gda_bound(prepared.situation(horizon)) for horizon in horizons],
    }
    picture = Picture(
        "rates",
        "Last OG against the horizon T, each run with its own T, 95 % bands over the seeds; dashed the closed-form bounds of the "
        "corollaries. The largest possible value is 10.",
        ((_panel(horizons, groups, forms),),),
    )
    slopes = tuple(_slope(name, horizons, groups[name]) for name in ("cbp", "cbp-theory"))
    bounds = tuple(_bound(name, groups[name], forms[name]) for name in forms)
    return Analysis((picture,), (), (*slopes, *bounds))


def _largest_divergence(prepared: Prepared, seeds: int) -> float:
    """The largest KL(π*‖π_0) of the seeds' first policies, over the visits of π*."""
    problem = prepared.problem
    optimal = solve(problem, LinearProgram()).policy.probabilities
    visits = (1 - problem.discount) * occupancy(problem, optimal).sum(-1)
    starts = [dirichlet_policy(problem.actions, np.random.default_rng(seed)) for seed in range(seeds)]
    return max(float(visits @ _divergence(optimal, start)) for start in starts)


def _divergence(optimal: Array, start: Array) -> Array:
    """KL(π*‖π_0) in each state, (S,)."""
    positive = optimal > 0
    ratio = np.where(positive, optimal, 1.0) / np.where(positive, start, 1.0)
    return (optimal * np.log(ratio)).sum(-1)


def _panel(
    horizons: list[int], groups: dict[str, list[SettingResults]], forms: dict[str, list[ClosedForm]]
) -> Panel:
    curves = []
    for name, group in groups.items():
        gaps = np.array([one.gap[:, -1] for one in group])  # (points, seeds)
        curves.append(Curve(name, TITLES[name], gaps.mean(1), band(gaps.T)))
    for name, bounds in forms.items():
        values = np.array([bound.optimality_gap for bound in bounds])
        curves.append(Curve(name, f"bound: {TITLES[name]}", values, np.zeros(len(values)), Tone.DASHED))
    where = tuple(float(horizon) for horizon in horizons)
    return Panel("", "average optimality gap, OG", tuple(curves), "horizon T", where, logarithmic=True)


def _slope(name: str, horizons: list[int], group: list[SettingResults]) -> Claim:
    gaps = np.array([one.last_gap for one in group])
    slope = float(np.polyfit(np.log(horizons), np.log(np.maximum(gaps, 1e-12)), 1)[0])
    steep = slope <= PROMISED + LOOSE
    return Claim(
        f"rate-{name}",
        f"The average OG of {TITLES[name]} falls like O(1/√T).",
        "rates",
        judge([steep]),
        f"fitted slope of log OG in log T: {slope:.2f} from T = {horizons[0]} to {horizons[-1]} "
        f"(promised: {PROMISED:g} or steeper); OG {gaps[0]:.3g} → {gaps[-1]:.3g}",
    )


def _bound(name: str, group: list[SettingResults], forms: list[ClosedForm]) -> Claim:
    kept = [
        float(one.gap[:, -1].max()) <= form.optimality_gap for one, form in zip(group, forms, strict=True)
    ]
    last = forms[-1]
    verdict = Verdict.VACUOUS if last.vacuous and all(kept) else judge([all(kept)])
    what = (
        "all vacuous: above the largest possible value"
        if last.vacuous
        else "not vacuous at the longest horizon"
    )
    return Claim(
        f"bound-{name}",
        f"The corollary bounds the OG of {TITLES[name]} by a closed form.",
        "rates",
        verdict,
        f"bound {forms[0].optimality_gap:.3g} at T = {group[0].iterations} and {last.optimality_gap:.3g} at T = "
        f"{group[-1].iterations} ({what}); measured OG {group[0].last_gap:.3g} and {group[-1].last_gap:.3g}",
    )


EXPERIMENT = Experiment(
    "rates",
    "Rates in T, and the closed forms of the corollaries",
    "Gridworld, γ = 0.9, exact evaluation, T from 50 to 6400, each run with its own horizon.",
    sweep,
    analyse,
)
