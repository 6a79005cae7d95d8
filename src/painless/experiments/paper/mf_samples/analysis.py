"""What more samples buy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from painless.experiments.paper.claims import Claim, faster, judge
from painless.experiments.paper.experiment import Analysis
from painless.experiments.paper.pictures import Picture
from painless.experiments.paper.selection import ALGORITHMS, TITLES
from painless.experiments.paper.shared import gap_and_violation, last_values, named
from painless.experiments.settings import Setting, select


def analyse(settings: Sequence[Setting]) -> Analysis:
    """Draw a row for each number of samples, and judge what they buy."""
    counts = sorted({int(one.evaluator["samples"]) for one in settings})
    cases = {
        f"{count} samples": {name: select(settings, samples=count, name=name)[0] for name in ALGORITHMS}
        for count in counts
    }
    picture = Picture(
        "mf-samples",
        "OG and CV with TD(0), by the number of samples for each pair and iteration; 95 % bands over the seeds.",
        tuple(gap_and_violation(named(chosen), case) for case, chosen in cases.items()),
    )
    rows = [(case, one) for case, chosen in cases.items() for one in chosen.values()]
    claim = faster(
        "mf-faster",
        "mf-samples",
        "CBP converges faster than GDA and CRPO with TD(0), for every number of samples.",
        cases,
    )
    return Analysis(
        (picture,), (last_values("Last values by samples.", rows),), (claim, _better(list(cases.values())))
    )


def _better(cases: Sequence[dict[str, Setting]]) -> Claim:
    gaps = {name: [chosen[name].last_gap for chosen in cases] for name in ALGORITHMS}
    parts = [all(a > b for a, b in pairwise(row)) for row in gaps.values()]
    return Claim(
        "more-samples",
        "Performance improves with the number of samples.",
        "mf-samples",
        judge(parts),
        "last OG with more and more samples: "
        + "; ".join(
            f"{TITLES[name]} " + " → ".join(f"{gap:.3g}" for gap in row) for name, row in gaps.items()
        ),
    )
