"""What several analyses do in the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from painless.loop.averages import standard_error
from painless.study.paper.experiment import Analysis, Table
from painless.study.paper.pictures import Panel, Tone, gap_panel, return_panel, violation_panel
from painless.study.paper.selection import (
    TITLES,
    Cases,
    best,
    by_algorithm,
    describe,
    qualifies,
    title,
    window,
)
from painless.study.setting_results import SettingResults

Shown = list[tuple[SettingResults, str, Tone]]


def all_settings(settings: Sequence[SettingResults]) -> Shown:
    """Show every setting: the best of each algorithm dark and named, the others light."""
    shown: Shown = []
    for group in by_algorithm(settings).values():
        if group:
            chosen = best(group)
            shown += [(one, "", Tone.OTHER) for one in group if one is not chosen]
            shown.append((chosen, title(chosen), Tone.BEST))
    return sorted(shown, key=lambda item: item[2] is Tone.BEST)


def named(settings: Mapping[str, SettingResults]) -> Shown:
    """Show one setting of each algorithm."""
    return [(one, title(one), Tone.BEST) for one in settings.values()]


def gap_and_violation(shown: Shown, heading: str = "") -> tuple[Panel, ...]:
    """Return the two panels of the gridworld."""
    return gap_panel(heading, shown), violation_panel(heading, shown)


def case_rows(cases: Cases) -> tuple[tuple[Panel, ...], ...]:
    """Return the two panels of the gridworld for each case, with one setting of each algorithm."""
    return tuple(gap_and_violation(named(chosen), case) for case, chosen in cases.items())


def all_returns(cases: Mapping[str, Sequence[SettingResults]]) -> tuple[tuple[Panel, ...], ...]:
    """Return the three panels of CartPole for each case, with all settings."""
    rows = []
    for case, settings in cases.items():
        shown = all_settings(settings)
        rows.append((return_panel(case, shown), *(violation_panel(case, shown, i) for i in range(2))))
    return tuple(rows)


def last_values(caption: str, cases: Cases) -> Table:
    """Return a table of last values with standard errors over the seeds."""
    settings = [(case, one) for case, chosen in cases.items() for one in chosen.values()]
    sampled = not settings[0][1].target.known
    count = settings[0][1].violation.shape[-1]
    violations = [f"CV {i + 1}" for i in range(count)] if count > 1 else ["CV"]
    header = ("", "algorithm", "setting", "return" if sampled else "OG", *violations)
    rows = []
    for case, one in settings:
        merit = one.reward[:, -1] if sampled else one.gap[:, -1]
        cells = [_with_error(merit), *(_with_error(v, "+") for v in one.violation[:, -1].T)]
        rows.append((case, TITLES[one.name], describe(one.algorithm) or "–", *cells))
    return Table(caption, header, tuple(rows))


def _with_error(values: np.ndarray, sign: str = "") -> str:
    error = standard_error(values)
    return f"{values.mean():{sign}.4g}" + ("" if np.isnan(error) else f" ± {error:.2g}")


def best_settings(
    caption: str, what: str, cases: Mapping[str, tuple[Sequence[SettingResults], Sequence[Mapping[str, Any]]]]
) -> Analysis:
    """Return a table of the best settings among those of each case, by the paper's rule, beside the paper's."""
    rows = tuple(
        (case, TITLES[str(paper["name"])], *_choice(settings, paper))
        for case, (settings, papers) in cases.items()
        for paper in papers
    )
    return Analysis((), (Table(caption, (what, "algorithm", "ours", "the paper's"), rows),))


def _choice(settings: Sequence[SettingResults], paper: Mapping[str, Any]) -> tuple[str, str]:
    """Return our best setting of an algorithm and the paper's."""
    group = by_algorithm(settings)[str(paper["name"])]
    if not group:
        return "–", describe(paper)
    chosen = best(group)
    low, high = window(chosen)
    mark = "" if qualifies(chosen) else f" (none has CV in [{low:g}, {high:g}]; nearest)"
    return describe(chosen.algorithm) + mark, describe(paper)
