"""The result of `train`: a policy found by sampling, with confidence intervals in place of a proof."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from painless.common import render
from painless.common.arrays import Array
from painless.loop.framework import Trace
from painless.policies import MixturePolicy
from painless.policies.storage import save_policy
from painless.solving.solution import Status
from painless.storage import files, results
from painless.training.evaluate import Estimate

VERDICT = {True: "met", False: "missed", None: "unclear"}


@dataclass(frozen=True, eq=False)
class Training:
    """A policy found by sampling, in the user's terms.

    `policy` is the mixture of iterates with the largest reward that meets the constraints by their estimates: draw one
    iterate and play it for the whole episode. `estimate` evaluates it on fresh episodes. The trace holds the estimates that
    the algorithm saw.
    """

    policy: MixturePolicy
    estimate: Estimate
    trace: Trace
    multiplier: Array  # (K,) average over the iterations
    multiplier_bound: Array  # (K,)
    status: Status
    constraint_names: tuple[str, ...]
    minimise: bool
    algorithm: str
    seconds: float
    steps: dict[str, int]  # of the simulator, in each phase
    standard_error: Array | None = None  # (T, J) of the estimates in the trace

    @property
    def feasible(self) -> bool | None:
        """True if every constraint is met with the stated confidence, False if one is missed, else None."""
        met = self.estimate.met
        return True if all(met) else False if False in met else None

    @property
    def average_violation(self) -> Array:
        """The shortfall b − V_c averaged over the iterates, (K,), positive where violated."""
        signs = np.array([1.0 if sense == ">=" else -1.0 for sense in self.estimate.sense])
        return signs * (self.estimate.threshold - self.trace.constraint_value.mean(0))

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the policy and the trace as plain numbers, lists and text."""
        estimate = self.estimate
        intervals = np.stack([estimate.low, estimate.high], 1).tolist()
        return {
            "algorithm": self.algorithm,
            "status": str(self.status),
            "kind": self.status.kind.value,
            "feasible": self.feasible,
            "objective": "minimise" if self.minimise else "maximise",
            "reward_value": float(estimate.mean[0]),
            "constraint_value": estimate.mean[1:].tolist(),
            "threshold": estimate.threshold.tolist(),
            "sense": list(estimate.sense),
            "multiplier": self.multiplier.tolist(),
            "multiplier_bound": [float(u) if np.isfinite(u) else None for u in self.multiplier_bound],
            "upper_bound": None,
            "gap": None,
            "iterations": len(self.trace),
            "seconds": self.seconds,
            "optimal_value": None,
            "average": {
                "reward_value": float(self.trace.reward_value.mean()),
                "optimality_gap": None,
                "constraint_violation": self.average_violation.tolist(),
            }
            if len(self.trace)
            else None,
            "confidence": estimate.confidence,
            "reward_interval": intervals[0],
            "constraint_interval": intervals[1:],
            "met": list(estimate.met),
            "episodes": estimate.episodes,
            "steps": self.steps,
        }

    def save(self, folder: str | os.PathLike[str], problem: Mapping[str, Any] | None = None) -> None:
        """Write `policy.npz`, `trace.npz` and finally `training.json` into a folder.

        `problem` describes the simulator, as the command line does, for `problem.json`.
        """
        folder = files.require_folder(folder)
        save_policy(self.policy, folder / "policy.npz")
        trace = self.trace
        arrays = {name: getattr(trace, name) for name in ("reward_value", "constraint_value", "multiplier")}
        if self.standard_error is not None:
            arrays["standard_error"] = self.standard_error
        files.write_npz(folder / "trace.npz", arrays)
        content = {**self.as_dict(), "constraint_names": list(self.constraint_names)}
        if problem is not None:
            files.write_json(folder / "problem.json", problem)
        beside = ["policy.npz", "trace.npz", *(["problem.json"] if problem is not None else [])]
        results.write(folder / "training.json", "training", content, beside)

    def rows(self) -> list[tuple[str, ...]]:
        """Return the rows of the printed table: the objective, then each constraint."""
        return estimate_rows(self.estimate, self.constraint_names, minimise=self.minimise)

    def __repr__(self) -> str:
        table = render.text_table(HEADER, self.rows())
        return f"Training by {self.algorithm} ({len(self.trace)} iterations, {self.seconds:.1f} s)\n{table}\n{self.status}"

    def _repr_html_(self) -> str:
        return render.html_summary(str(self.status), HEADER, self.rows())


HEADER = ("", "value", "interval", "limit", "")


def estimate_rows(
    estimate: Estimate, names: tuple[str, ...], *, minimise: bool = False
) -> list[tuple[str, ...]]:
    """Return an estimate as rows of text: value, interval, limit and verdict."""
    number = render.number
    spans = [f"[{number(a)}, {number(b)}]" for a, b in zip(estimate.low, estimate.high, strict=True)]
    rows: list[tuple[str, ...]] = [
        ("cost" if minimise else "reward", number(estimate.mean[0]), spans[0], "", "")
    ]
    parts = zip(
        names, estimate.mean[1:], spans[1:], estimate.sense, estimate.threshold, estimate.met, strict=True
    )
    for name, mean, span, sense, limit, met in parts:
        sign = "≥" if sense == ">=" else "≤"
        rows.append((name, number(mean), span, f"{sign} {number(limit)}", VERDICT[met]))
    return rows
