"""Figures as data: what is drawn, and nothing of how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from painless.common.arrays import Array
from painless.loop.averages import band
from painless.study.setting_results import SettingResults

TOUCHING = 0.005  # of a panel's range: curves this close throughout lie on each other


class Tone(Enum):
    """How a curve stands out."""

    BEST = "best"  # dark, with a band
    OTHER = "other"  # light and thin
    DASHED = "dashed"  # dark and dashed, with a band
    PAPER = "paper"  # the paper's own setting, where ours is another: dotted


@dataclass(frozen=True, eq=False)
class Curve:
    """The mean over the seeds, and half the width of its 95 % band."""

    family: str  # the algorithm, which has the colour
    label: str
    mean: Array  # (T,)
    half: Array  # (T,)
    tone: Tone = Tone.BEST
    sources: tuple[SettingResults, ...] = ()  # what it was made of: one, or one for each point


@dataclass(frozen=True)
class Panel:
    """A pair of axes."""

    title: str
    unit: str  # of the vertical axis
    curves: tuple[Curve, ...]
    horizontal: str = "iteration"
    at: tuple[float, ...] | None = None  # where the points are on the horizontal axis; 1, 2, … without
    logarithmic: bool = False


@dataclass(frozen=True, eq=False)
class GridPanel:
    """A map of a grid: occupancy as colour, the policy as arrows."""

    title: str
    occupancy: Array  # (S, A)
    policy: Array  # (S, A)
    moves: tuple[tuple[int, int], ...]  # (down, right) of each action
    width: int
    labels: Mapping[int, str]


@dataclass(frozen=True)
class Picture:
    """A figure: rows of panels, and its caption."""

    name: str  # of its files
    caption: str
    rows: tuple[tuple[Panel | GridPanel, ...], ...]


def curve(setting: SettingResults, values: Array, label: str, tone: Tone = Tone.BEST) -> Curve:
    """Return the curve of values (n, T) over n seeds."""
    return Curve(setting.name, label, values.mean(0), band(values), tone, (setting,))


def coincident(panel: Panel) -> list[tuple[str, ...]]:
    """Return groups of labelled curves that lie on each other: nowhere apart by more than a two-hundredth of the panel's range."""
    heights = [
        (
            one.label.partition(" (")[0],
            np.log(np.maximum(one.mean, 1e-300)) if panel.logarithmic else one.mean,
        )
        for one in panel.curves
        if one.label
    ]
    if not heights:
        return []
    values = np.concatenate([height for _, height in heights])
    near = TOUCHING * float(values.max() - values.min() or 1.0)
    groups: list[list[tuple[str, Array]]] = []
    for name, height in heights:
        for group in groups:
            first = group[0][1]
            if len(height) == len(first) and np.abs(height - first).max() <= near:
                group.append((name, height))
                break
        else:
            groups.append([(name, height)])
    return [tuple(name for name, _ in group) for group in groups if len(group) > 1]


def gap_panel(title: str, shown: Sequence[tuple[SettingResults, str, Tone]]) -> Panel:
    """Return a panel of OG."""
    return Panel(
        title, "average optimality gap, OG", tuple(curve(s, s.gap, text, tone) for s, text, tone in shown)
    )


def return_panel(title: str, shown: Sequence[tuple[SettingResults, str, Tone]]) -> Panel:
    """Return a panel of average returns."""
    return Panel(title, "average return", tuple(curve(s, s.reward, text, tone) for s, text, tone in shown))


def violation_panel(
    title: str, shown: Sequence[tuple[SettingResults, str, Tone]], constraint: int = 0
) -> Panel:
    """Return a panel of CV of one constraint."""
    number = f" {constraint + 1}" if shown and shown[0][0].violation.shape[-1] > 1 else ""
    return Panel(
        title,
        f"average violation, CV{number}",
        tuple(curve(s, s.violation[..., constraint], text, tone) for s, text, tone in shown),
    )
