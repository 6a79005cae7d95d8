"""How OG and CV shrink with the horizon: fitted slopes, and whether the closed-form bounds say anything."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from painless.bellman import occupancy
from painless.common.arrays import Array
from painless.loop.algorithm_case import AlgorithmCase
from painless.loop.averages import band
from painless.loop.guarantees import ClosedForm, cbp_bound, gda_bound, policy_divergence
from painless.planning import LinearProgram
from painless.policies.table import dirichlet_policy
from painless.solving.solve import solve
from painless.study.paper.claims import Claim, Verdict, judge
from painless.study.paper.experiment import Analysis, Experiment, Table
from painless.study.paper.grids import GRIDWORLD, TABLE_1, THEORY
from painless.study.paper.pictures import Curve, Panel, Picture, Tone
from painless.study.paper.scale import Scale, joined
from painless.study.paper.selection import TITLES
from painless.study.paper.yardstick import interval, with_interval
from painless.study.setting_results import SettingResults, select
from painless.study.sweep import Sweep
from painless.study.unit import make_problem

PROMISED = -0.5  # OG = O(1/√T)
ROUNDING = 1e-9
RATES = {  # the claims by algorithm; the paper promises GDA's rate for the steps of its theory
    "cbp": "rate-cbp",
    "cbp-theory": "rate-cbp-theory",
    "gda-theory": "rate-gda",
    "gda": "rate-gda-tuned",
    "gda-printed": "rate-gda-printed",
}
WHY = {
    "gda-theory": "The bound behind the promise is vacuous until T is about 2·10⁷, and says nothing here. With steps that small the policy hardly moves in "
    "thousands of iterations, while λ goes to U.",
    "gda-printed": "The same steps, larger at first: the policy still hardly moves. The analysis is for constant steps, and does not cover these.",
}

HORIZONS = [50, 100, 200, 400, 800, 1600, 3200, 6400]
SHORT = [10, 20, 40]
Groups = dict[str, list[SettingResults]]


def sweep(scale: Scale) -> Sweep:
    """Return longer and longer horizons, each run with its own T."""
    horizons = HORIZONS if scale.iterations is None else SHORT
    algorithms = [*TABLE_1[:2], *THEORY, {"name": "gda-printed"}]
    return joined(Scale(scale.seeds).sweep(GRIDWORLD, algorithms, horizon) for horizon in horizons)


def analyse(settings: Sequence[SettingResults]) -> Analysis:
    """Draw OG and CV against T with the bounds, fit slopes, and judge."""
    groups = {name: sorted(select(settings, name=name), key=lambda one: one.iterations) for name in RATES}
    horizons = [one.iterations for one in groups["cbp"]]
    prepared = AlgorithmCase.of(make_problem(settings[0].problem))
    starts = _divergences(prepared, groups["cbp"][0].seeds)
    forms = {
        "cbp-theory": [[cbp_bound(prepared.situation(t), start) for start in starts] for t in horizons],
        "gda-theory": [[gda_bound(prepared.situation(t), start) for start in starts] for t in horizons],
    }
    picture = Picture(
        "rates",
        "Last OG and CV against the horizon T, each run with its own T, 95 % bands over the seeds; dashed the closed-form bounds of the "
        "corollaries, the largest over the starts. The largest possible value is 10.",
        ((_gap_panel(horizons, groups, forms), _violation_panel(horizons, groups)),),
    )
    slopes = [claim for name in RATES for claim in _rates(name, horizons, groups[name])]
    upper = float(prepared.situation(None).multiplier_bound[0])
    bounds = [_bound(name, groups[name], forms[name], upper) for name in forms]
    return Analysis((picture,), (_slope_table(horizons, groups),), (*slopes, *bounds))


def _divergences(prepared: AlgorithmCase, seeds: Sequence[int]) -> list[float]:
    """KL(π*‖π_0) of each seed's first policy, over the visits of π*."""
    problem = prepared.problem
    optimal = solve(problem, LinearProgram()).policy.probabilities
    visits = (1 - problem.discount) * occupancy(problem, optimal).sum(-1)
    starts = [dirichlet_policy(problem.actions, np.random.default_rng(seed)) for seed in seeds]
    return [float(visits @ policy_divergence(optimal, start)) for start in starts]


def _gap_panel(horizons: list[int], groups: Groups, forms: dict[str, list[list[ClosedForm]]]) -> Panel:
    curves = [_curve(name, group, _gaps(group)) for name, group in groups.items()]
    for name, bounds in forms.items():
        values = np.array([max(one.optimality_gap for one in starts) for starts in bounds])
        curves.append(Curve(name, f"bound: {TITLES[name]}", values, np.zeros(len(values)), Tone.DASHED))
    where = tuple(float(horizon) for horizon in horizons)
    return Panel("", "average optimality gap, OG", tuple(curves), "horizon T", where, logarithmic=True)


def _violation_panel(horizons: list[int], groups: Groups) -> Panel:
    curves = [_curve(name, group, _violations(group)) for name, group in groups.items()]
    where = tuple(float(horizon) for horizon in horizons)
    return Panel("", "average violation, CV", tuple(curves), "horizon T", where)


def _curve(name: str, group: list[SettingResults], values: Array) -> Curve:
    return Curve(name, TITLES[name], values.mean(1), band(values.T), sources=tuple(group))


def _gaps(group: list[SettingResults]) -> Array:
    """The last OG, (points, n)."""
    return np.array([one.gap[:, -1] for one in group])


def _violations(group: list[SettingResults]) -> Array:
    """The last CV, (points, n)."""
    return np.array([one.violation[:, -1, 0] for one in group])


def slopes(horizons: list[int], values: Array) -> Array | None:
    """The fitted slope of log values in log T for each seed, (n,), for values (points, n); None where some are not positive.

    >>> slopes([1, 4, 16], np.array([[4.0], [2.0], [1.0]])).round(6)
    array([-0.5])
    """
    if len(horizons) < 2 or not (values > 0).all():
        return None
    return np.asarray(np.polyfit(np.log(horizons), np.log(values), 1)[0])


def _rates(name: str, horizons: list[int], group: list[SettingResults]) -> list[Claim]:
    """Return the claims on OG and on CV."""
    gaps, violations = _gaps(group), _violations(group)
    return [
        _rate(RATES[name], name, "OG", horizons, gaps),
        _rate(f"{RATES[name]}-cv", name, "CV", horizons, np.maximum(violations, 0.0)),
    ]


def _rate(claim: str, name: str, what: str, horizons: list[int], values: Array) -> Claim:
    """Judge one rate: it holds unless the slope is clearly above −0.5; what is not positive at the longest horizon needs none."""
    found = slopes(horizons, values)
    ends = f"{what} {values[0].mean():.3g} → {values[-1].mean():.3g} from T = {horizons[0]} to {horizons[-1]}"
    if found is not None:
        verdict = judge([interval(found)[0] <= PROMISED + ROUNDING])
        measured = f"fitted slope of log {what} in log T: {with_interval(found)} (promised: {PROMISED:g} or steeper); {ends}"
    elif values[-1].max() <= 0:
        violated = [t for t, row in zip(horizons, values, strict=True) if row.max() > 0]
        until = f"violated up to T = {max(violated)} only" if violated else "met at every horizon and seed"
        verdict, measured = judge([True]), f"{what} is 0 at the longest horizon: {until}; {ends}"
    else:
        shares = ", ".join(f"{(row > 0).mean():.0%} at {t}" for t, row in zip(horizons, values, strict=True))
        scaled = values.mean(1) * np.sqrt(horizons)
        verdict = judge([bool(scaled[-1] <= scaled[0])])
        measured = f"positive for some seeds only ({shares}), so that no slope is fitted; √T·{what} {scaled[0]:.3g} → {scaled[-1]:.3g}; {ends}"
    return Claim(
        claim,
        f"The average {what} of {TITLES[name]} falls like O(1/√T).",
        "rates",
        verdict,
        measured,
        WHY.get(name, ""),
    )


def _slope_table(horizons: list[int], groups: Groups) -> Table:
    rows = []
    for name, group in groups.items():
        found = slopes(horizons, _gaps(group))
        last = group[-1]
        rows.append(
            (
                TITLES[name],
                "–" if found is None else with_interval(found),
                with_interval(last.gap[:, -1]),
                with_interval(last.violation[:, -1, 0], "+"),
            )
        )
    header = ("algorithm", "slope of log OG", f"OG at T = {horizons[-1]}", f"CV at T = {horizons[-1]}")
    return Table("Rates, with 95 % intervals over the seeds.", header, tuple(rows))


def _bound(name: str, group: list[SettingResults], forms: list[list[ClosedForm]], upper: float) -> Claim:
    """Judge a corollary: every seed keeps the bound of its own start; `upper` is U."""
    kept = []
    for one, starts in zip(group, forms, strict=True):
        room = upper - one.target.multiplier[0]
        for gap, violation, form in zip(one.gap[:, -1], one.violation[:, -1, 0], starts, strict=True):
            kept.append(gap <= form.optimality_gap and room * max(violation, 0.0) <= form.weighted_violation)
    tightest = [max(form.optimality_gap for form in starts) for starts in (forms[0], forms[-1])]
    vacuous = all(form.vacuous for form in forms[-1])
    what = "vacuous: above the largest possible value" if vacuous else "not vacuous at the longest horizon"
    return Claim(
        f"bound-{name}",
        f"The corollary bounds OG and CV of {TITLES[name]} by a closed form.",
        "rates",
        Verdict.VACUOUS if vacuous and all(kept) else judge([all(kept)]),
        f"bound of OG {tightest[0]:.3g} at T = {group[0].iterations} and {tightest[1]:.3g} at T = "
        f"{group[-1].iterations} ({what}), for the start of each run; measured OG {group[0].last_gap:.3g} and {group[-1].last_gap:.3g}",
    )


EXPERIMENT = Experiment(
    "rates",
    "Rates in T, and the closed forms of the corollaries",
    "Gridworld, γ = 0.9, exact evaluation, Dirichlet starts, T from 50 to 6400, each run with its own horizon: CBP and GDA at the paper's settings, with the dual and the steps of their theory, and GDA with the steps as printed (√t).",
    sweep,
    analyse,
)
