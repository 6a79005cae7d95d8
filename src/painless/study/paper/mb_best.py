"""The best settings beside each other with exact values, and GDA with the rates of its theory."""

from __future__ import annotations

from collections.abc import Sequence

from painless.study.paper.claims import Claim, faster, judge
from painless.study.paper.experiment import Analysis, Experiment
from painless.study.paper.grids import GRIDWORLD, ITERATIONS, TABLE_1, TABULAR
from painless.study.paper.pictures import Picture, Tone
from painless.study.paper.scale import Scale
from painless.study.paper.selection import best_of_each, paper_settings, title
from painless.study.paper.shared import gap_and_violation, last_values, named, papers_beside
from painless.study.paper.yardstick import compare, interval
from painless.study.setting_results import SettingResults, select
from painless.study.sweep import Sweep


def sweep(scale: Scale) -> Sweep:
    """Return all settings, from which the best are taken, and GDA with theoretical rates."""
    return scale.sweep(GRIDWORLD, [*TABULAR, {"name": "gda-theory"}], ITERATIONS)


def analyse(settings: Sequence[SettingResults]) -> Analysis:
    """Draw the best of each algorithm, and judge who is faster."""
    chosen = best_of_each(settings)
    theory = select(settings, name="gda-theory")[0]
    beside = papers_beside(chosen, paper_settings(settings, TABLE_1))
    picture = Picture(
        "mb-best",
        "OG and CV at the best settings with exact values, with 95 % bands over the seeds; the paper's dotted where it is another; GDA with the rates of "
        "its theory dashed.",
        (gap_and_violation([*beside, *named(chosen), (theory, title(theory), Tone.DASHED)]),),
    )
    table = last_values("Last values with exact evaluation.", {"": {**chosen, theory.name: theory}})
    first = faster(
        "mb-faster",
        "mb-best",
        "At the best settings CBP converges faster than GDA and CRPO, early and at the end (exact values).",
        {"": chosen},
    )
    return Analysis((picture,), (table,), (first, _theory(theory, chosen["gda"])))


def _theory(theory: SettingResults, tuned: SettingResults) -> Claim:
    poor = compare(theory.last_merits, tuned.last_merits).more
    violated = interval(theory.violation[:, -1, 0])[0] > 0
    return Claim(
        "gda-theory-poor",
        "GDA performs poorly with the step sizes of its theory.",
        "mb-best",
        judge([poor or violated]),
        f"last OG {theory.last_gap:.3g} and CV {theory.last_violation.max():+.3g} with theoretical rates, "
        f"OG {tuned.last_gap:.3g} and CV {tuned.last_violation.max():+.3g} with the best ones",
    )


EXPERIMENT = Experiment(
    "mb-best",
    "Best settings, exact values",
    "Gridworld, γ = 0.9, exact evaluation, T = 1500; the best setting of each algorithm by the paper's rule, and GDA with theoretical rates.",
    sweep,
    analyse,
)
