"""Who keeps its lead when the discount is not the one that the settings were chosen for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from painless.experiments.paper.claims import Claim, faster, judge
from painless.experiments.paper.experiment import Analysis
from painless.experiments.paper.pictures import Picture
from painless.experiments.paper.selection import ALGORITHMS, TITLES
from painless.experiments.paper.shared import gap_and_violation, last_values, named
from painless.experiments.settings import Setting, select

Cases = dict[str, dict[str, Setting]]


def analyse(settings: Sequence[Setting]) -> Analysis:
    """Draw both discounts, and judge speed and variation."""
    cases = by_discount(settings)
    picture = discount_picture("mb-discount", cases, "with exact values")
    table = last_values("Last values at other discounts, exact values.", rows(cases))
    claims = (
        faster(
            "mb-discount-faster",
            "mb-discount",
            "With the settings of γ = 0.9 CBP converges faster at γ = 0.7 and 0.8 (exact values).",
            cases,
        ),
        steadier("mb-discount-steadier", "mb-discount", cases),
    )
    return Analysis((picture,), (table,), claims)


def by_discount(settings: Sequence[Setting]) -> Cases:
    """Return the setting of each algorithm at each discount."""
    discounts = sorted({float(one.problem["discount"]) for one in settings})
    return {
        f"γ = {discount:g}": {name: select(settings, discount=discount, name=name)[0] for name in ALGORITHMS}
        for discount in discounts
    }


def discount_picture(name: str, cases: Cases, how: str) -> Picture:
    """Draw a row of panels for each discount."""
    return Picture(
        name,
        f"The settings that were best for γ = 0.9, at other discounts {how}; 95 % bands over the seeds.",
        tuple(gap_and_violation(named(chosen), case) for case, chosen in cases.items()),
    )


def rows(cases: Cases) -> list[tuple[str, Setting]]:
    """Return the rows of the table of last values."""
    return [(case, one) for case, chosen in cases.items() for one in chosen.values()]


def steadier(name: str, experiment: str, cases: Cases) -> Claim:
    """CBP's standard deviation of OG over the seeds, averaged over the run, is the smallest."""
    parts, texts = [], []
    for case, chosen in cases.items():
        spread = {key: float(np.std(one.gap, axis=0, ddof=1).mean()) for key, one in chosen.items()}
        parts += [spread["cbp"] < spread[other] for other in ("gda", "crpo")]
        texts.append(f"{case}: " + ", ".join(f"{TITLES[key]} {value:.2g}" for key, value in spread.items()))
    return Claim(
        name,
        "CBP varies less from run to run than GDA and CRPO.",
        experiment,
        judge(parts),
        "standard deviation of OG over the seeds, averaged over the run: " + "; ".join(texts),
    )
