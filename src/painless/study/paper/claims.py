"""The paper's statements, judged by what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from painless.study.paper.selection import TITLES, Cases
from painless.study.setting_results import SettingResults, distinct

EARLY = 0.1  # of the horizon: where "faster" is judged early


class Verdict(Enum):
    """What the measured numbers say of a statement."""

    HOLDS = "holds"
    PARTLY = "holds partly"
    FAILS = "does not hold"
    VACUOUS = "vacuous"


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


def judge(parts: Sequence[bool]) -> Verdict:
    """All parts hold, some do, or none.

    >>> judge([True, False]).value
    'holds partly'
    """
    if all(parts):
        return Verdict.HOLDS
    return Verdict.PARTLY if any(parts) else Verdict.FAILS


def spread(settings: Sequence[SettingResults]) -> float:
    """The largest minus the smallest last value over the distinct settings: of OG, or of the return."""
    values = [one.merit for one in distinct(settings)]
    return float(np.max(values) - np.min(values))


def robustness(
    name: str, experiment: str, claim: str, groups: Mapping[str, Sequence[SettingResults]]
) -> Claim:
    """CBP's spread of last values over its settings is below GDA's and below CRPO's."""
    spreads = {key: spread(group) for key, group in groups.items() if group}
    worst = {
        key: max(float(one.last_violation.max()) for one in group) for key, group in groups.items() if group
    }
    parts = [spreads["cbp"] < spreads[other] for other in ("gda", "crpo") if other in spreads]
    what = "OG" if groups["cbp"][0].target.known else "return"
    measured = "; ".join(
        f"{TITLES[key]}: spread of the last {what} {spreads[key]:.3g} over {len(distinct(groups[key]))} settings, "
        f"largest CV {worst[key]:+.3g}"
        for key in spreads
    )
    return Claim(name, claim, experiment, judge(parts), measured)


def faster(name: str, experiment: str, claim: str, cases: Cases) -> Claim:
    """CBP's OG at its best setting is below that of both others, early and at the end, in every case."""
    parts, texts = [], []
    for case, settings in cases.items():
        for when, share in (("early", EARLY), ("end", 1.0)):
            gaps = {key: gap_at(one, share) for key, one in settings.items()}
            parts.append(all(gaps["cbp"] < gaps[other] for other in gaps if other != "cbp"))
            values = ", ".join(f"{TITLES[key]} {gap:.3g}" for key, gap in gaps.items())
            step = max(1, round(share * settings["cbp"].iterations))
            texts.append(f"{case + ', ' if case else ''}{when} (t = {step}): {values}")
    return Claim(name, claim, experiment, judge(parts), "OG " + "; ".join(texts))


def gap_at(setting: SettingResults, share: float) -> float:
    """OG after a share of the horizon, averaged over the seeds."""
    step = max(1, round(share * setting.iterations))
    return float(setting.gap[:, step - 1].mean())
