"""The score as tables: by family, then of all algorithms, in plain text, Markdown, LaTeX or CSV."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from painless.common import tables
from painless.common.render import text_table
from painless.storage.files import write_text
from painless.study.score.contenders import BASELINES, DEFAULT, PAPER
from painless.study.score.runs import JUDGED, MEASURES
from painless.study.score.score import Mean, Score, Standing

HEADER = (
    "problems",
    "count",
    "wins",
    *(f"{measure}: {what}" for measure in JUDGED for what in ("mean ratio", "worst")),
)
COLUMNS = ("algorithm", *MEASURES, "strong violation", "best", "s per 1000")


def family_table(score: Score) -> str:
    """Return a row for each family: how often the default wins, and the ratios of the merits."""
    families = list(dict.fromkeys(row["family"] for row in score.rows))
    parts = {
        name: Score(score.seed, [row for row in score.rows if row["family"] == name]) for name in families
    }
    return text_table(HEADER, [_cells(name, part) for name, part in {**parts, "all": score}.items()])


def _cells(name: str, part: Score) -> tuple[str, ...]:
    each = [part.standing([measure]) for measure in JUDGED]
    ratios = [f"{value:.3f}" for one in each for value in (one.geometric_mean, one.worst)]
    return (name, str(len(part.problems)), f"{100 * part.standing().wins:.0f} %", *ratios)


def baseline_table(score: Score) -> str:
    """Return how the default and the paper's algorithm stand against GDA and CRPO tuned in hindsight, and how much tuning those need."""
    rows = []
    for name in (DEFAULT, PAPER):
        each = [score.standing([measure], algorithm=name) for measure in JUDGED]
        rows.append((f"{name}, default", *_standings(each)))
    for name in BASELINES:
        medians = [score.loss_over_grid(name, measure) for measure in JUDGED]
        spread = [f"{median:.1f}, {worst:.1f}" for median, worst in medians]
        rows.append((f"{name}: median and worst of the grid", "", spread[0], "", spread[1]))
    header = ("algorithm", *(f"{measure}: {what}" for measure in JUDGED for what in ("wins", "ratio")))
    return text_table(header, rows)


def _standings(each: list[Standing]) -> list[str]:
    return [cell for one in each for cell in (f"{100 * one.wins:.0f} %", f"{one.geometric_mean:.3f}")]


def collection_rows(score: Score, *, tuned: bool) -> list[tuple[str, ...]]:
    """Return a row for each algorithm: the geometric means of E, best first by the average of its places, and what a run costs."""
    means = {
        name: [score.mean(name, measure, tuned=tuned) for measure in MEASURES] for name in score.algorithms
    }
    ranked = sorted(means, key=lambda name: float(np.mean([np.log(one.value) for one in means[name]])))
    return [
        (
            name,
            *map(interval, means[name]),
            "" if tuned else f"{score.strong_violation(name):.4f}",
            f"{100 * score.best_share(name, 'average', tuned=tuned):.0f}, {100 * score.best_share(name, 'last', tuned=tuned):.0f}, "
            f"{100 * score.best_share(name, 'deployed', tuned=tuned):.0f} %",
            f"{score.seconds(name):.2f}",
        )
        for name in ranked
    ]


def interval(mean: Mean) -> str:
    """Return a mean with the factor of its interval.

    >>> interval(Mean(0.00123, 1.25)), interval(Mean(0.5, float("nan")))
    ('1.2e-03 ×÷1.25', '5.0e-01')
    """
    return f"{mean.value:.1e}" + ("" if np.isnan(mean.factor) else f" ×÷{mean.factor:.2f}")


def report(score: Score) -> str:
    """Return the whole score as text."""
    seeds = (
        f"{len(score.seeds)} seeds, with 95 % intervals as factors" if len(score.seeds) > 1 else "one seed"
    )
    parts = (
        f"Error E of every algorithm, geometric means over {len(score.problems)} problems ({seeds}), with default settings; "
        "best: the share of problems on which no other has a smaller error (average, last, deployed).",
        text_table(COLUMNS, collection_rows(score, tuned=False)),
        "The same, each tuned in hindsight for that very problem.",
        text_table(COLUMNS, collection_rows(score, tuned=True)),
        "Ratios of the default's error to that of the better of GDA and CRPO tuned in hindsight; at most 1 is a win.",
        family_table(score),
        baseline_table(score),
        f"The deployed policy's error is {score.improvement:.3g} times smaller than that of the paper's uniform average.",
        score.headline(),
    )
    return "\n\n".join(parts)


def write_table(score: Score, path: Path) -> None:
    """Write the table of all algorithms, untuned and tuned, in the format of the file's ending."""
    rows = [
        (*row[:1], how, *row[1:])
        for how, tuned in (("default", False), ("tuned", True))
        for row in collection_rows(score, tuned=tuned)
    ]
    header = (COLUMNS[0], "settings", *COLUMNS[1:])
    write_text(path, tables.WRITERS[path.suffix](header, rows))
