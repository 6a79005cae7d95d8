"""The page of a training run: estimates with their intervals, the learned model, and the learning curves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from painless.common.arrays import Array
from painless.loop.framework import Trace
from painless.problem import CMDP
from painless.report.curves import numbers_table
from painless.report.html import build_page
from painless.report.page_model import counts_group, model_explorer
from painless.report.page_run import run_groups
from painless.report.page_solution import MOST
from painless.storage import files, results
from painless.training.evaluate import Estimate
from painless.training.result import HEADER, Training, effort, estimate_rows, read_model, read_record

MOVED = "Below, the limits can be moved on the learned model, as if it were the truth."
CURVES = {  # what is drawn, by algorithm
    "counted": "What the learned model said of the answers on the way; the last one is the answer of the run.",
    "deep": "What the episodes that finished in each stretch of the training collected, the multipliers that weighed them, and averages "
    "over time. The answer is a mixture of checkpoints of this run, judged above on fresh episodes.",
}


@dataclass(frozen=True, eq=False)
class TrainingRecord:
    """A training run without its policy, as read from a folder."""

    estimate: Estimate
    trace: Trace
    standard_error: Array | None  # (T, J)
    status: str
    constraint_names: tuple[str, ...]
    minimise: bool
    algorithm: str
    seconds: float
    steps: dict[str, int]
    visits: Array | None = None  # (S, A) how often each pair of the learned model was tried
    model: CMDP | None = None  # for finite environments

    @classmethod
    def of(cls, training: Training) -> TrainingRecord:
        """Return what a page shows of a run."""
        names = (
            "estimate",
            "trace",
            "standard_error",
            "constraint_names",
            "minimise",
            "algorithm",
            "seconds",
            "steps",
            "visits",
            "model",
        )
        return cls(status=str(training.status), **{name: getattr(training, name) for name in names})

    @classmethod
    def load(cls, folder: Path) -> TrainingRecord:
        """Read what `Training.save` wrote."""
        content = results.read(folder / "training.json", "training")
        trace = files.read(folder / "trace.npz")
        with results.understood(folder, "training"):
            record = read_record(content, trace)
            return cls(status=content["status"], model=read_model(folder), **record)


def training_groups(run: TrainingRecord) -> list[dict[str, Any]]:
    """Return the learning curves, if there was any iteration."""
    groups = run_groups(
        run.trace,
        names=run.constraint_names,
        limit=run.estimate.threshold,
        sense=run.estimate.sense,
        minimise=run.minimise,
        shown=range(min(MOST, len(run.constraint_names))),
        error=run.standard_error,
    )
    for group in groups if run.algorithm in CURVES else ():
        group["text"] = CURVES[run.algorithm]
    return [_answers(group) for group in groups] if run.algorithm == "counted" else groups


def _answers(group: dict[str, Any]) -> dict[str, Any]:
    """Return curves without averages over time, which nobody plays if a model was learned."""
    panels = [
        {**one, "x": "answer", "series": [{**one["series"][-1], "name": "answer", "thin": False}]}
        for one in group["panels"]
    ]
    return {**group, "panels": panels, "tables": [numbers_table(panels)]}


def training_page(run: TrainingRecord, title: str) -> str:
    """Return the page of a training run."""
    estimate, explorer = run.estimate, model_explorer(run.model)
    share = f"{'' if estimate.exact else 'about '}{100 * estimate.confidence:g} % confidence"
    return build_page(
        title,
        f"{run.algorithm}, {effort(run.algorithm, len(run.trace), run.steps, run.seconds)}",
        summary={
            "title": f"The policy on {estimate.episodes:,} fresh episodes, {share}",
            "status": run.status,
            "note": MOVED if explorer.get("frontiers") else "",
            "header": HEADER,
            "rows": estimate_rows(estimate, run.constraint_names, minimise=run.minimise),
        },
        **explorer,
        groups=[*counts_group(run.model, run.visits), *training_groups(run)],
    )
