"""The best settings beside each other, and GDA with the rates of its theory."""

from __future__ import annotations

from collections.abc import Sequence

from painless.experiments.paper.claims import Claim, Verdict, faster, judge
from painless.experiments.paper.experiment import Analysis
from painless.experiments.paper.pictures import Picture, Tone
from painless.experiments.paper.selection import best_of_each, title
from painless.experiments.paper.shared import gap_and_violation, last_values, named
from painless.experiments.settings import Setting, select

POOR = 10.0  # times the gap of the best rates


def analyse(settings: Sequence[Setting]) -> Analysis:
    """Draw the best of each algorithm, and judge who is faster."""
    chosen = best_of_each(settings)
    theory = select(settings, name="gda-theory")[0]
    shown = [*named(chosen), (theory, title(theory), Tone.DASHED)]
    picture = Picture(
        "mb-best",
        "OG and CV at the best settings with exact values, with 95 % bands over the seeds; GDA with the rates of its theory dashed.",
        (gap_and_violation(shown),),
    )
    table = last_values("Last values with exact evaluation.", [("", one) for one, *_ in shown])
    return Analysis((picture,), (table,), (_faster(chosen), _theory(theory, chosen["gda"])))


def _faster(chosen: dict[str, Setting]) -> Claim:
    return faster(
        "mb-faster",
        "mb-best",
        "At the best settings CBP converges faster than GDA and CRPO, early and at the end (exact values).",
        {"": chosen},
    )


def _theory(theory: Setting, tuned: Setting) -> Claim:
    poor = theory.last_gap > POOR * tuned.last_gap
    violated = float(theory.last_violation.max()) > 0
    verdict: Verdict = judge([poor or violated])
    return Claim(
        "gda-theory-poor",
        "GDA performs poorly with the step sizes of its theory.",
        "mb-best",
        verdict,
        f"last OG {theory.last_gap:.3g} and CV {theory.last_violation.max():+.3g} with theoretical rates, "
        f"OG {tuned.last_gap:.3g} and CV {tuned.last_violation.max():+.3g} with the best ones",
    )
