"""Who keeps its lead with TD(0) when the discount changes, and whether CRPO violates."""

from __future__ import annotations

from collections.abc import Sequence

from painless.study.paper.claims import Claim, judge
from painless.study.paper.experiment import Analysis, Experiment
from painless.study.paper.grids import ITERATIONS, SAMPLES, TABLE_1
from painless.study.paper.mb_discount import PROBLEM, compare_discounts
from painless.study.paper.scale import Scale
from painless.study.paper.selection import TITLES, Cases
from painless.study.paper.yardstick import interval, with_interval
from painless.study.setting_results import SettingResults
from painless.study.sweep import Sweep

WHY = (
    "TD(0) starts at zero and stops a little short of the value, so that all three algorithms see less of the constraint than there is "
    "and err to the safe side. CRPO then meets it as the others do."
)


def sweep(scale: Scale) -> Sweep:
    """Return the settings that were best for γ = 0.9, at other discounts."""
    return scale.sweep(PROBLEM, TABLE_1, ITERATIONS, {"name": "td", "samples": SAMPLES})


def analyse(settings: Sequence[SettingResults]) -> Analysis:
    """Draw both discounts, and judge speed and CRPO's violation."""
    return compare_discounts(settings, "mf-discount", "TD(0)", _violates)


def _violates(cases: Cases) -> Claim:
    last = {key: one.violation[:, -1, 0] for key, one in cases["γ = 0.8"].items()}
    return Claim(
        "crpo-violates",
        "With TD(0) and γ = 0.8 CRPO does not satisfy the constraint.",
        "mf-discount",
        judge([interval(last["crpo"])[0] > 0]),
        "last CV: " + ", ".join(f"{TITLES[key]} {with_interval(one, '+')}" for key, one in last.items()),
        WHY,
    )


EXPERIMENT = Experiment(
    "mf-discount",
    "Misspecified discount, TD(0)",
    "Gridworld, γ ∈ {0.7, 0.8}, TD(0) with 2000 samples for each pair, T = 1500, with the settings of Table 1.",
    sweep,
    analyse,
)
