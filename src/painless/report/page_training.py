"""The page of a training run: estimates with their intervals, and the learning curves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from painless import files
from painless.arrays import Array
from painless.errors import InputError
from painless.evaluation import Estimate
from painless.framework import Trace
from painless.pages.build import build
from painless.report.page_frontiers import MOST
from painless.report.page_run import run_group
from painless.training import HEADER, Training, estimate_rows


@dataclass(frozen=True, eq=False)
class TrainingRecord:
    """What is read back of a training run: all but its policy."""

    estimate: Estimate
    trace: Trace
    standard_error: Array | None  # (T, J)
    status: str
    constraint_names: tuple[str, ...]
    minimise: bool
    algorithm: str
    seconds: float

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
        )
        return cls(status=str(training.status), **{name: getattr(training, name) for name in names})

    @classmethod
    def load(cls, folder: Path) -> TrainingRecord:
        """Read what `Training.save` wrote."""
        content, trace = files.read(folder / "training.json"), files.read(folder / "trace.npz")
        try:
            return _record(content, trace)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(f"{folder} does not hold a training run: {error!r}; save it anew") from error


def _record(content: dict[str, Any], trace: dict[str, Any]) -> TrainingRecord:
    intervals = np.array([content["reward_interval"], *content["constraint_interval"]])
    names = content.get("constraint_names") or [f"constraint {i + 1}" for i in range(len(intervals) - 1)]
    estimate = Estimate(
        mean=np.array([content["reward_value"], *content["constraint_value"]]),
        low=intervals[:, 0],
        high=intervals[:, 1],
        threshold=np.array(content["threshold"], dtype=float),
        sense=tuple(content["sense"]),
        confidence=content["confidence"],
        episodes=content["episodes"],
        steps=content["steps"]["evaluation"],
    )
    return TrainingRecord(
        estimate=estimate,
        trace=Trace(trace["reward_value"], trace["constraint_value"], trace["multiplier"], exact=False),
        standard_error=trace.get("standard_error"),
        status=content["status"],
        constraint_names=tuple(names),
        minimise=content["objective"] == "minimise",
        algorithm=content["algorithm"],
        seconds=content["seconds"],
    )


def training_groups(run: TrainingRecord) -> list[dict[str, Any]]:
    """Return the learning curves, if there was any iteration."""
    if not len(run.trace):
        return []
    estimate = run.estimate
    return [
        run_group(
            run.trace,
            names=run.constraint_names,
            limit=estimate.threshold,
            sense=estimate.sense,
            minimise=run.minimise,
            shown=range(min(MOST, len(run.constraint_names))),
            error=run.standard_error,
        )
    ]


def training_page(run: TrainingRecord, title: str) -> str:
    """Return the page of a training run."""
    estimate = run.estimate
    share = f"{100 * estimate.confidence:g} % confidence"
    return build(
        title,
        f"{run.algorithm}, {len(run.trace)} iterations, {run.seconds:.1f} s",
        summary={
            "title": f"The policy on {estimate.episodes:,} fresh episodes, {share}",
            "status": run.status,
            "header": HEADER,
            "rows": estimate_rows(estimate, run.constraint_names, minimise=run.minimise),
        },
        groups=training_groups(run),
    )
