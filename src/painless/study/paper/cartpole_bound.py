"""CartPole with ζ, and so U, from the feasibility phase of Algorithm 1, beside the fixed U."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from painless.common.arrays import Array
from painless.study.paper.claims import Claim, judge
from painless.study.paper.experiment import Table
from painless.study.paper.grids import CARTPOLE, CARTPOLE_BOUND, CARTPOLE_ITERATIONS, TABLE_3, with_nu
from painless.study.paper.pictures import Picture, Tone, return_panel, violation_panel
from painless.study.paper.scale import Scale
from painless.study.paper.selection import title
from painless.study.paper.yardstick import compare, interval, with_interval
from painless.study.setting_results import SettingResults
from painless.study.sweep import Sweep

ESTIMATORS = {"plain-lstdq": "the paper's LSTDQ", "anchored-lstdq": "anchored LSTDQ"}
ESTIMATED = [  # the paper's settings, and more of CBP
    {"name": "cbp", "alpha": [0.1, 50.0, 1000.0], "entropy": 0.0},
    with_nu(TABLE_3[0.0], 0.0)[1],
]
Both = list[tuple[SettingResults, SettingResults]]  # with U estimated, and with U fixed


def estimated(scale: Scale) -> Sweep:
    """Return some settings with U from the feasibility phase; a quick run takes one of them, since the phase is never quick."""
    evaluator = {"name": list(ESTIMATORS), "rollouts": 50}
    if scale.iterations is None:
        return scale.sweep(CARTPOLE, ESTIMATED, CARTPOLE_ITERATIONS, evaluator, start="uniform")
    one = {**ESTIMATED[0], "alpha": 0.1}
    return scale.sweep(
        CARTPOLE, [one], CARTPOLE_ITERATIONS, {**evaluator, "name": "anchored-lstdq"}, start="uniform"
    )


def estimated_beside_fixed(settings: Sequence[SettingResults]) -> Both:
    """Return each setting with U estimated, and the same with U fixed."""
    fixed = {
        (one.key, one.evaluator["name"]): one for one in settings if one.multiplier_bound == CARTPOLE_BOUND
    }
    free = [one for one in settings if one.multiplier_bound is None]
    pairs = [(one, fixed.get((one.key, one.evaluator["name"]))) for one in free]
    return [(one, other) for one, other in pairs if other is not None]


def estimated_picture(both: Both) -> Picture:
    """Draw return and violations, with U estimated dark and with U fixed dashed."""
    rows = []
    kinds = {
        kind: text
        for kind, text in ESTIMATORS.items()
        if any(one.evaluator["name"] == kind for one, _ in both)
    }
    for kind, text in kinds.items():
        of_kind = [(one, other) for one, other in both if one.evaluator["name"] == kind]
        shown = [(one, f"{title(one)[:-1]}, ζ estimated)", Tone.BEST) for one, _ in of_kind]
        shown += [(other, f"{title(other)[:-1]}, U = 50)", Tone.PAPER) for _, other in of_kind]
        rows.append((return_panel(text, shown), *(violation_panel(text, shown, i) for i in range(2))))
    return Picture(
        "cartpole-bound",
        "CartPole with U from the feasibility phase (lines), and with U = 50 (dotted); 95 % bands over the seeds.",
        tuple(rows),
    )


def estimated_table(both: Both) -> Table:
    """Return ζ̂ and U of each setting, and what it reached with both bounds."""
    rows = []
    for one, other in both:
        assert one.slack is not None
        slack = one.slack[:, 0]  # (n, K)
        bound = 2 / ((1 - 0.99) * slack)
        rows.append(
            (
                ESTIMATORS[str(one.evaluator["name"])],
                title(one),
                ", ".join(
                    f"{low:.2g}–{high:.2g}" for low, high in zip(slack.min(0), slack.max(0), strict=True)
                ),
                ", ".join(
                    f"{low:.3g}–{high:.3g}" for low, high in zip(bound.min(0), bound.max(0), strict=True)
                ),
                with_interval(one.reward[:, -1]),
                with_interval(other.reward[:, -1]),
                ", ".join(f"{value:+.2f}" for value in one.last_violation),
            )
        )
    header = ("estimator", "algorithm", "ζ̂ 1, 2", "U 1, 2", "return", "return with U = 50", "CV 1, 2")
    return Table(
        "U from the feasibility phase: lower bounds of the slacks and the bounds of the multipliers.",
        header,
        tuple(rows),
    )


def estimated_claim(both: Both) -> Claim:
    """Judge whether U from the feasibility phase does as well as the fixed one."""
    parts, texts = [], []
    for one, other in both:
        comparison = compare(one.last_merits, other.last_merits)
        met = bool((interval_low(one) <= 0).all())
        parts.append(comparison.similar and met)
        texts.append(
            f"{ESTIMATORS[str(one.evaluator['name'])]}, {title(one)}: return {with_interval(one.reward[:, -1])} against {with_interval(other.reward[:, -1])}"
            + ("" if met else f", CV {one.last_violation.max():+.2g}")
        )
    return Claim(
        "cartpole-estimated-bound",
        "With ζ from a feasibility phase in place of a fixed U, CartPole is solved as well (section 6.1, lines 3 and 4 of the algorithms).",
        "cartpole",
        judge(parts),
        "; ".join(texts),
    )


def interval_low(setting: SettingResults) -> Array:
    """Return the lower ends of the intervals of the last violations, (K,)."""
    return np.array([interval(values)[0] for values in setting.violation[:, -1].T])
