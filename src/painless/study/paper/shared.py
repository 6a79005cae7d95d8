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
    best_of_each,
    by_algorithm,
    describe,
    paper_settings,
    qualifies,
    title,
    window,
)
from painless.study.setting_results import SettingResults

Shown = list[tuple[SettingResults, str, Tone]]


Papers = Sequence[Mapping[str, Any]]  # the paper's own settings, one of each algorithm


def all_settings(settings: Sequence[SettingResults], papers: Papers = ()) -> Shown:
    """Show every setting: the best of each algorithm dark and named, the paper's dotted where it is another, the others light."""
    shown: Shown = []
    chosen = best_of_each(settings)
    beside = papers_beside(chosen, paper_settings(settings, papers))
    for group in by_algorithm(settings).values():
        apart = [*chosen.values(), *(one for one, _, _ in beside)]
        shown += [(one, "", Tone.OTHER) for one in group if not any(one is other for other in apart)]
    return [*shown, *beside, *named(chosen)]


def named(settings: Mapping[str, SettingResults]) -> Shown:
    """Show one setting of each algorithm."""
    return [(one, title(one), Tone.BEST) for one in settings.values()]


def papers_beside(chosen: Mapping[str, SettingResults], papers: Mapping[str, SettingResults]) -> Shown:
    """Show the paper's setting of each algorithm for which ours is another."""
    return [
        (one, f"{TITLES[name]}, the paper's ({describe(one.algorithm)})", Tone.PAPER)
        for name, one in papers.items()
        if name in chosen and one.key != chosen[name].key
    ]


def gap_and_violation(shown: Shown, heading: str = "") -> tuple[Panel, ...]:
    """Return the two panels of the gridworld."""
    return gap_panel(heading, shown), violation_panel(heading, shown)


def case_rows(cases: Cases, papers: Cases | None = None) -> tuple[tuple[Panel, ...], ...]:
    """Return the two panels of the gridworld for each case, with one setting of each algorithm, and the paper's where it is another."""
    return tuple(
        gap_and_violation([*papers_beside(chosen, (papers or {}).get(case, {})), *named(chosen)], case)
        for case, chosen in cases.items()
    )


def all_returns(
    cases: Mapping[str, Sequence[SettingResults]], papers: Mapping[str, Papers]
) -> tuple[tuple[Panel, ...], ...]:
    """Return the three panels of CartPole for each case, with all settings, and the paper's own."""
    rows = []
    for case, settings in cases.items():
        shown = all_settings(settings, papers.get(case, ()))
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
