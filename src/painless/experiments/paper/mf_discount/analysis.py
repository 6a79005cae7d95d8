"""Who keeps its lead when the discount changes, with sampled values; and whether CRPO violates."""

from __future__ import annotations

from collections.abc import Sequence

from painless.experiments.paper.claims import Claim, Verdict, faster, judge
from painless.experiments.paper.experiment import Analysis
from painless.experiments.paper.mb_discount.analysis import Cases, by_discount, discount_picture, rows
from painless.experiments.paper.selection import TITLES
from painless.experiments.paper.shared import last_values
from painless.experiments.settings import Setting


def analyse(settings: Sequence[Setting]) -> Analysis:
    """Draw both discounts, and judge speed and CRPO's violation."""
    cases = by_discount(settings)
    picture = discount_picture("mf-discount", cases, "with TD(0)")
    table = last_values("Last values at other discounts, TD(0).", rows(cases))
    claim = faster(
        "mf-discount-faster",
        "mf-discount",
        "With the settings of γ = 0.9 CBP converges faster at γ = 0.7 and 0.8 (TD(0)).",
        cases,
    )
    return Analysis((picture,), (table,), (claim, _violates(cases)))


def _violates(cases: Cases) -> Claim:
    last = {key: float(one.last_violation.max()) for key, one in cases["γ = 0.8"].items()}
    verdict = judge([last["crpo"] > 0])
    return Claim(
        "crpo-violates",
        "With TD(0) and γ = 0.8 CRPO does not satisfy the constraint.",
        "mf-discount",
        verdict,
        "last CV: " + ", ".join(f"{TITLES[key]} {value:+.3g}" for key, value in last.items()),
        "" if verdict is Verdict.HOLDS else WHY,
    )


WHY = (
    "TD(0) starts at zero and stops a little short of the value, so that all three algorithms see less of the constraint than there is "
    "and err to the safe side. CRPO then meets it as the others do."
)
