"""Who keeps its lead with exact values when the discount is not the one that the settings were chosen for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from painless.study.paper.claims import Claim, faster, judge
from painless.study.paper.experiment import Analysis, Experiment
from painless.study.paper.grids import GRIDWORLD, ITERATIONS, TABLE_1
from painless.study.paper.pictures import Picture
from painless.study.paper.scale import Scale
from painless.study.paper.selection import TITLES, Cases, one_of_each
from painless.study.paper.shared import case_rows, last_values
from painless.study.paper.yardstick import compare, with_interval
from painless.study.setting_results import SettingResults
from painless.study.sweep import Sweep

PROBLEM = {**GRIDWORLD, "discount": [0.7, 0.8]}


def sweep(scale: Scale) -> Sweep:
    """Return the settings that were best for γ = 0.9, at other discounts."""
    return scale.sweep(PROBLEM, TABLE_1, ITERATIONS)


def analyse(settings: Sequence[SettingResults]) -> Analysis:
    """Draw both discounts, and judge speed and variation."""
    return compare_discounts(settings, "mb-discount", "exact values", _steadier)


def compare_discounts(
    settings: Sequence[SettingResults], name: str, how: str, other: Callable[[Cases], Claim]
) -> Analysis:
    """Draw each discount, and judge speed and one `other` claim."""
    discounts = sorted({float(one.problem["discount"]) for one in settings})
    cases = {f"γ = {discount:g}": one_of_each(settings, discount=discount) for discount in discounts}
    picture = Picture(
        name,
        f"The settings that were best for γ = 0.9, at other discounts with {how}; 95 % bands over the seeds.",
        case_rows(cases),
    )
    first = faster(
        f"{name}-faster",
        name,
        f"With the settings of γ = 0.9 CBP converges faster at γ = 0.7 and 0.8 ({how}).",
        cases,
    )
    table = last_values(f"Last values at other discounts, {how}.", cases)
    return Analysis((picture,), (table,), (first, other(cases)))


def _steadier(cases: Cases) -> Claim:
    """The seeds' OG of CBP is clearly closer to its mean, averaged over the run, than that of the others."""
    parts, texts = [], []
    for case, chosen in cases.items():
        away = {key: np.abs(one.gap - one.gap.mean(0)).mean(1) for key, one in chosen.items()}  # (n,)
        parts += [compare(away["cbp"], away[other]).less for other in ("gda", "crpo")]
        texts.append(
            f"{case}: " + ", ".join(f"{TITLES[key]} {with_interval(one)}" for key, one in away.items())
        )
    return Claim(
        "mb-discount-steadier",
        "CBP varies less from run to run than GDA and CRPO.",
        "mb-discount",
        judge(parts),
        "how far the OG of a seed is from their mean, averaged over the run: " + "; ".join(texts),
    )


EXPERIMENT = Experiment(
    "mb-discount",
    "Misspecified discount, exact values",
    "Gridworld, γ ∈ {0.7, 0.8}, exact evaluation, T = 1500, with the settings that were best for γ = 0.9 (Table 1).",
    sweep,
    analyse,
)
