"""The score as one table in plain text: by family, then in all."""

from __future__ import annotations

from painless.common.render import text_table
from painless.study.score.runs import BASELINES, DEFAULT, MEASURES, PAPER
from painless.study.score.score import Score, Standing

HEADER = (
    "problems",
    "count",
    "wins",
    *(f"{measure}: {what}" for measure in MEASURES for what in ("mean ratio", "worst")),
)


def family_table(score: Score) -> str:
    """Return a row for each family: how often the default wins, and the ratios of the merits."""
    families = list(dict.fromkeys(row["family"] for row in score.rows))
    parts = {
        name: Score(score.seed, [row for row in score.rows if row["family"] == name]) for name in families
    }
    return text_table(HEADER, [_cells(name, part) for name, part in {**parts, "all": score}.items()])


def _cells(name: str, part: Score) -> tuple[str, ...]:
    each = [part.standing([measure]) for measure in MEASURES]
    ratios = [f"{value:.3f}" for one in each for value in (one.geometric_mean, one.worst)]
    return (name, str(len(part.problems)), f"{100 * part.standing().wins:.0f} %", *ratios)


def algorithm_table(score: Score) -> str:
    """Return a row for each algorithm with default settings, against the baselines tuned in hindsight."""
    rows = []
    for name in (DEFAULT, PAPER):
        each = [score.standing([measure], algorithm=name) for measure in MEASURES]
        rows.append((f"{name}, default", *_standings(each)))
    for name in BASELINES:
        medians = [score.spread(name, measure) for measure in MEASURES]
        spread = [f"{median:.1f}, {worst:.1f}" for median, worst in medians]
        rows.append((f"{name}: median and worst of the grid", "", spread[0], "", spread[1]))
    header = ("algorithm", *(f"{measure}: {what}" for measure in MEASURES for what in ("wins", "ratio")))
    return text_table(header, rows)


def _standings(each: list[Standing]) -> list[str]:
    return [cell for one in each for cell in (f"{100 * one.wins:.0f} %", f"{one.geometric_mean:.3f}")]


def report(score: Score) -> str:
    """Return the whole score as text."""
    parts = (
        "Ratios of the default's error to that of the better baseline tuned in hindsight; at most 1 is a win.",
        family_table(score),
        algorithm_table(score),
        f"The deployed policy's error is {score.improvement:.3g} times smaller than that of the paper's uniform average.",
        score.headline(),
    )
    return "\n\n".join(parts)
