"""What more samples buy: TD(0) with 1000, 2000 and 3000, at the paper's best settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from painless.study.paper.claims import Claim, faster, judge
from painless.study.paper.experiment import Analysis, Experiment
from painless.study.paper.grids import GRIDWORLD, ITERATIONS, TABLE_1
from painless.study.paper.pictures import Picture
from painless.study.paper.scale import Scale
from painless.study.paper.selection import ALGORITHMS, TITLES, Cases, one_of_each
from painless.study.paper.shared import case_rows, last_values
from painless.study.paper.yardstick import compare, with_interval
from painless.study.setting_results import SettingResults
from painless.study.sweep import Sweep

WHY = (
    "TD(0) from zero sees less of the constraint than there is, the less the fewer the samples. All three algorithms then keep more slack than the "
    "window of the paper's rule allows, and their gaps are the price of that slack."
)


def sweep(scale: Scale) -> Sweep:
    """Return the settings of Table 1 with each number of samples."""
    samples = [1000, 2000, 3000]
    if scale.samples is not None:
        samples = [scale.samples, 2 * scale.samples, 3 * scale.samples]
    alike = replace(scale, samples=None)
    return alike.sweep(GRIDWORLD, TABLE_1, ITERATIONS, {"name": "td", "samples": samples})


def analyse(settings: Sequence[SettingResults]) -> Analysis:
    """Draw a row for each number of samples, and judge what they buy."""
    counts = sorted({int(one.evaluator["samples"]) for one in settings})
    cases = {f"{count} samples": one_of_each(settings, samples=count) for count in counts}
    picture = Picture(
        "mf-samples",
        "OG and CV with TD(0), by the number of samples for each pair and iteration; 95 % bands over the seeds.",
        case_rows(cases),
    )
    claim = faster(
        "mf-faster",
        "mf-samples",
        "CBP converges faster than GDA and CRPO with TD(0), for every number of samples.",
        cases,
        WHY,
    )
    return Analysis((picture,), (last_values("Last values by samples.", cases),), (claim, _better(cases)))


def _better(cases: Cases) -> Claim:
    gaps = {name: [chosen[name].last_merits for chosen in cases.values()] for name in ALGORITHMS}
    parts = [all(compare(b, a).less for a, b in pairwise(row)) for row in gaps.values()]
    return Claim(
        "more-samples",
        "Performance improves with the number of samples.",
        "mf-samples",
        judge(parts),
        "last OG with more and more samples: "
        + "; ".join(
            f"{TITLES[name]} " + " → ".join(with_interval(gap) for gap in row) for name, row in gaps.items()
        ),
    )


EXPERIMENT = Experiment(
    "mf-samples",
    "More samples, TD(0)",
    "Gridworld, γ = 0.9, TD(0) with 1000, 2000 and 3000 samples for each pair and iteration, T = 1500, settings of Table 1.",
    sweep,
    analyse,
)
