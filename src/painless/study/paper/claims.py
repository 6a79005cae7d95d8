"""The paper's statements, judged by what was measured, with the one yardstick of `yardstick`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from painless.common.arrays import Array
from painless.study.paper.selection import TITLES, Cases, outside_window
from painless.study.paper.yardstick import compare, with_interval
from painless.study.setting_results import SettingResults, distinct

EARLY = 0.1  # of the horizon: where "faster" is judged early


class Verdict(Enum):
    """What the measured numbers say of a statement."""

    HOLDS = "holds"
    PARTLY = "holds partly"
    FAILS = "does not hold"
    VACUOUS = "vacuous"
    OPEN = "cannot be judged"


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, with what was measured and the verdict."""

    id: str
    claim: str
    experiment: str
    verdict: Verdict
    measured: str
    why: str = ""  # it does not hold, where it does not

    def to_json(self) -> dict[str, str]:
        """Return the claim as plain data."""
        return {
            "id": self.id,
            "claim": self.claim,
            "experiment": self.experiment,
            "verdict": self.verdict.value,
            "measured": self.measured,
            **({"why": self.why} if self.why and self.verdict is not Verdict.HOLDS else {}),
        }


def judge(parts: Sequence[bool | None]) -> Verdict:
    """All parts hold, some do, or none; a part that is None cannot be judged.

    >>> judge([True, False]).value, judge([True, None]).value, judge([None]).value
    ('holds partly', 'holds partly', 'cannot be judged')
    """
    if all(part is None for part in parts):
        return Verdict.OPEN
    if all(parts):
        return Verdict.HOLDS
    return Verdict.PARTLY if any(parts) else Verdict.FAILS


def range_over_settings(settings: Sequence[SettingResults]) -> Array:
    """The largest minus the smallest last value over the distinct settings, for each seed, (n,): of OG, or of the return."""
    values = np.array([one.last_merits for one in distinct(settings)])
    return np.asarray(values.max(0) - values.min(0))


def robustness(
    name: str, experiment: str, claim: str, groups: Mapping[str, Sequence[SettingResults]]
) -> Claim:
    """CBP's spread of last values over its settings is clearly below GDA's and below CRPO's."""
    spreads = {key: range_over_settings(group) for key, group in groups.items() if group}
    worst = {
        key: max(float(one.last_violation.max()) for one in group) for key, group in groups.items() if group
    }
    parts = [compare(spreads["cbp"], spreads[other]).less for other in ("gda", "crpo") if other in spreads]
    what = "OG" if groups["cbp"][0].target.known else "return"
    measured = "; ".join(
        f"{TITLES[key]}: spread of the last {what} {with_interval(spreads[key])} over {len(distinct(groups[key]))} settings, "
        f"largest CV {worst[key]:+.3g}"
        for key in spreads
    )
    return Claim(name, claim, experiment, judge(parts), measured)


def faster(name: str, experiment: str, claim: str, cases: Cases, why: str = "") -> Claim:
    """CBP's OG is clearly below that of both others, early and at the end, in every case that the paper's rule allows to judge.

    The rule compares settings with CV in a window. Where a setting is outside, its OG is bought with a violation, or with slack.
    """
    parts: list[bool | None] = []
    texts = []
    for case, settings in cases.items():
        start = f"{case}, " if case else ""
        outside = {key: outside_window(one) for key, one in settings.items()}
        names = [f"{TITLES[key]} {text}" for key, text in outside.items() if text]
        if names:
            texts.append(f"{start}cannot be judged by the paper's rule: {', '.join(names)}")
        for when, share in (("early", EARLY), ("end", 1.0)):
            ahead, text = _race(settings, share)
            parts.append(None if names else ahead)
            texts.append(f"{start}{when} {text}")
    return Claim(name, claim, experiment, judge(parts), "OG " + "; ".join(texts), why)


def _race(settings: Mapping[str, SettingResults], share: float) -> tuple[bool, str]:
    """Return whether CBP is clearly ahead of all others after a share of the horizon, and the numbers."""
    gaps = {key: gap_at(one, share) for key, one in settings.items()}
    found = {key: compare(gaps["cbp"], gap) for key, gap in gaps.items() if key != "cbp"}
    step = max(1, round(share * settings["cbp"].iterations))
    values = ", ".join(
        f"{TITLES[key]} {gap.mean():.3g}" + (f" ({found[key].word})" if key in found else "")
        for key, gap in gaps.items()
    )
    return all(one.less for one in found.values()), f"(t = {step}): {values}"


def gap_at(setting: SettingResults, share: float) -> Array:
    """OG after a share of the horizon, for each seed, (n,)."""
    step = max(1, round(share * setting.iterations))
    return setting.gap[:, step - 1]
