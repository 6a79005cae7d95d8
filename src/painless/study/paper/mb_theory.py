"""Whether CBP as analysed, beside CBP as used, is as poor as the paper says."""

from __future__ import annotations

from collections.abc import Sequence

from painless.study.paper.claims import Claim, judge
from painless.study.paper.experiment import Analysis, Experiment
from painless.study.paper.grids import GRIDWORLD, ITERATIONS, TABLE_1
from painless.study.paper.pictures import Picture, Tone
from painless.study.paper.scale import Scale
from painless.study.paper.selection import title
from painless.study.paper.shared import gap_and_violation, last_values
from painless.study.paper.yardstick import compare, interval
from painless.study.setting_results import SettingResults, select
from painless.study.sweep import Sweep

WHY = (
    "With the slip in the paper's equation of the dual mended (the −1 stands outside the sigmoid) the theoretical dual "
    "is as good as the practical one on the gridworld. Both share the loosely normalised primal, which evidently does no harm here."
)


def sweep(scale: Scale) -> Sweep:
    """Return CBP with the dual of the paper's analysis, and with the practical one."""
    return scale.sweep(GRIDWORLD, [TABLE_1[0], {"name": "cbp-theory"}], ITERATIONS)


def analyse(settings: Sequence[SettingResults]) -> Analysis:
    """Draw both duals, and judge the theoretical one."""
    practical, theory = select(settings, name="cbp")[0], select(settings, name="cbp-theory")[0]
    shown = [(practical, title(practical), Tone.BEST), (theory, title(theory), Tone.DASHED)]
    picture = Picture(
        "mb-theory",
        "CBP with the dual of its analysis (dashed) and with the practical one, exact values, 95 % bands over the seeds.",
        (gap_and_violation(shown),),
    )
    table = last_values("Last values of both duals.", {"": {one.name: one for one in (practical, theory)}})
    return Analysis((picture,), (table,), (_poor(practical, theory),))


def _poor(practical: SettingResults, theory: SettingResults) -> Claim:
    poor = compare(theory.last_merits, practical.last_merits).more
    poor = poor or interval(theory.violation[:, -1, 0])[0] > 0
    return Claim(
        "cbp-theory-poor",
        "CBP with the updates of its theory performs poorly (section 6.1).",
        "mb-theory",
        judge([poor]),
        f"last OG {theory.last_gap:.3g}, CV {theory.last_violation.max():+.3g} with the theoretical dual; "
        f"OG {practical.last_gap:.3g}, CV {practical.last_violation.max():+.3g} with the practical one",
        WHY,
    )


EXPERIMENT = Experiment(
    "mb-theory",
    "The theoretical dual beside the practical one",
    "Gridworld, γ = 0.9, exact evaluation, T = 1500; CBP with the sigmoid bettor of the analysis and with COCOB (α = 8).",
    sweep,
    analyse,
)
