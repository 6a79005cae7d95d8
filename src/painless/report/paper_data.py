"""The curves and tables of experiments as data: CSV in the long form, and LaTeX.

A row of a CSV file is one seed of one curve at one iteration:

    experiment, algorithm, setting, seed, t, OG, CV

On CartPole, whose optimum is not known, OG is empty, and the columns `return` and `CV 2` follow.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import numpy as np

from painless.common.tables import latex_table, latex_text
from painless.study.paper.experiment import Table
from painless.study.paper.pictures import Curve, Panel, Picture
from painless.study.paper.selection import TITLES, describe
from painless.study.setting_results import SettingResults

HEADER = ("experiment", "algorithm", "setting", "seed", "t", "OG", "CV")
POINTS = 400  # iterations of a curve, as many as are drawn


def picture_csv(experiment: str, picture: Picture, points: int = POINTS) -> str:
    """Return all curves of a figure, every seed of them, at so many iterations at most; nothing for a map."""
    panels = [row[0] for row in picture.rows if isinstance(row[0], Panel)]
    curves = [(panel, one) for panel in panels for one in panel.curves]
    if not curves:
        return ""
    wide = any(one.sources and not one.sources[0].target.known for _, one in curves)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*HEADER, "return", "CV 2"] if wide else HEADER)
    for panel, curve in curves:
        for row in _rows(panel, curve, points):
            writer.writerow([experiment, *row])
    return stream.getvalue()


def _rows(panel: Panel, curve: Curve, points: int) -> Iterator[list[str]]:
    """Return the rows of a curve; of one against the horizon, the last values of each."""
    if not curve.sources and panel.at is not None:  # a bound, which knows no seeds
        for t, value in zip(panel.at, curve.mean, strict=True):
            yield [curve.label, panel.title, "", f"{t:g}", _number(value), ""]
    for setting in curve.sources:
        name = TITLES[setting.name]
        text = "; ".join(part for part in (panel.title, describe(setting.algorithm), _variant(curve)) if part)
        last = panel.at is not None
        steps = np.array([setting.iterations]) if last else _steps(setting.iterations, points)
        for k, seed in enumerate(setting.seeds or range(len(setting.reward))):
            for t in steps:
                yield [name, text, str(seed), str(t), *_values(setting, k, int(t) - 1)]


def _variant(curve: Curve) -> str:
    """Return what a label says beyond the algorithm and its settings."""
    text = curve.label.partition(" (")[0]
    return "" if text in TITLES.values() else text


def _steps(iterations: int, points: int) -> np.ndarray:
    return np.unique(np.linspace(1, iterations, min(points, iterations)).astype(int))


def _values(setting: SettingResults, seed: int, step: int) -> list[str]:
    violation = [_number(value) for value in setting.violation[seed, step]]
    if setting.target.known:
        return [_number(setting.gap[seed, step]), *violation]
    return ["", violation[0], _number(setting.reward[seed, step]), *violation[1:]]


def _number(value: float) -> str:
    return f"{value:.6g}"


def to_latex(table: Table) -> str:
    r"""Return a table for LaTeX, with booktabs.

    >>> print(to_latex(Table("Gaps.", ("", "OG"), (("CBP", "0.1 ± 0.02"),))))
    \begin{table}
    \caption{Gaps.}
    \centering
    \begin{tabular}{ll}
    \toprule
     & OG \\
    \midrule
    CBP & 0.1 $\pm$ 0.02 \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    lines = [
        r"\begin{table}",
        rf"\caption{{{latex_text(table.caption)}}}",
        r"\centering",
        latex_table(table.header, table.rows).rstrip(),
        r"\end{table}",
    ]
    return "\n".join(lines)
