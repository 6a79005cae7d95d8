"""What `solve` returns: the policy, its values, and the proof, all in the user's terms."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from painless import files, render
from painless.arrays import Array
from painless.errors import InputError
from painless.framework import Trace
from painless.pages.build import summary_html
from painless.policy import TabularPolicy


class Kind(StrEnum):
    """How a solve ended."""

    SOLVED = "solved"  # the tolerance is proved, or a planner found the optimum
    COMPLETED = "completed"  # the given number of iterations was done
    STOPPED = "stopped"  # by the time limit, by an interrupt, or by the limits of double precision
    INFEASIBLE = "infeasible"


@dataclass(frozen=True)
class Status:
    """How a solve ended, as a sentence with a remedy."""

    kind: Kind
    sentence: str

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, eq=False)
class Infeasibility:
    """Why no policy meets all constraints; slacks are in the user's units, and negative where missed."""

    joint_slack: Array  # (K,) of the returned policy, which misses the constraints by as little as can be
    own_slack: Array  # (K,) the best slack of each constraint if it were the only one
    conflict: tuple[int, ...]  # constraints that cannot be met together, though any fewer of them can


@dataclass(frozen=True)
class Average:
    """The paper's average over all iterates: V_r, and b − V_c for each constraint, positive where violated."""

    reward_value: float
    constraint_violation: Array  # (K,)


@dataclass(frozen=True, eq=False)
class Solution:
    """A policy with a proof of how far from optimal it can be, in the user's terms.

    `upper_bound` is what no feasible policy can better: above `reward_value` when a reward is maximised, below
    it when a cost is minimised. `gap` is the distance between the two, in absolute terms.

    `multiplier` ≥ 0 is the gain in the objective for each unit by which a limit is loosened: its shadow price. It lies in `price_range`, between
    the price of loosening the limit and that of tightening it, as proved; the two differ where the optimum has a kink, or is not known well enough.
    `violation` is by how much each limit may at most be missed, as proved: 0 wherever some policy has slack in all of them. For an infeasible
    problem `remedy` is the limit that would suffice for each constraint if all others stayed, not a number where none does.
    """

    policy: TabularPolicy
    reward_value: float
    constraint_value: Array  # (K,)
    multiplier: Array  # (K,)
    price_range: Array  # (K, 2)
    violation: Array  # (K,)
    upper_bound: float
    gap: float
    feasible: bool
    status: Status
    threshold: Array  # (K,) thresholds and budgets
    sense: tuple[str, ...]
    minimise: bool
    constraint_names: tuple[str, ...]
    algorithm: str
    iterations: int
    seconds: float
    trace: Trace | None = None
    infeasibility: Infeasibility | None = None
    remedy: Array | None = None  # (K,); None where the problem is not infeasible

    @property
    def average(self) -> Average | None:
        """The average of the iterates, or None for a planner."""
        if self.trace is None:
            return None
        violation = self.threshold - self.trace.constraint_value.mean(0)
        return Average(
            float(self.trace.reward_value.mean()), violation * [1 if s == ">=" else -1 for s in self.sense]
        )

    def average_optimality_gap(self, optimal_value: float) -> float | None:
        """Return the paper's OG: how much worse than `optimal_value` the average iterate is."""
        if self.average is None:
            return None
        return (optimal_value - self.average.reward_value) * (-1 if self.minimise else 1)

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the policy and the trace as plain numbers, lists and text."""
        average = self.average
        return {
            "algorithm": self.algorithm,
            "status": str(self.status),
            "kind": self.status.kind.value,
            "feasible": self.feasible,
            "objective": "minimise" if self.minimise else "maximise",
            "reward_value": _plain(self.reward_value),
            "constraint_value": _plain(self.constraint_value),
            "threshold": _plain(self.threshold),
            "sense": list(self.sense),
            "constraint_names": list(self.constraint_names),
            "multiplier": _plain(self.multiplier),
            "price_range": [_plain(one) for one in self.price_range],
            "violation": _plain(self.violation),
            "remedy": None if self.remedy is None else _plain(self.remedy),
            "upper_bound": _plain(self.upper_bound),
            "gap": _plain(self.gap),
            "iterations": self.iterations,
            "seconds": self.seconds,
            "average": average
            and {
                "reward_value": average.reward_value,
                "constraint_violation": _plain(average.constraint_violation),
            },
            "infeasibility": self.infeasibility
            and {
                "joint_slack": _plain(self.infeasibility.joint_slack),
                "own_slack": _plain(self.infeasibility.own_slack),
                "conflict": list(self.infeasibility.conflict),
            },
        }

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `policy.csv`, `arrays.npz` and, last, `solution.json` into a folder."""
        folder = files.as_path(folder)
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is a file; give a folder to save into")
        self.policy.to_csv(folder / "policy.csv")
        arrays = {"probabilities": self.policy.probabilities}
        if self.policy.visits is not None:
            arrays["visits"] = self.policy.visits
        if self.trace is not None:
            arrays |= {f"trace_{f.name}": np.asarray(getattr(self.trace, f.name)) for f in fields(Trace)}
        for kind, names in self.policy.names.items():
            arrays[f"names_{kind}"] = np.array(names)
        files.write_npz(folder / "arrays.npz", arrays)
        files.write_json(folder / "solution.json", self.as_dict())

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Solution:
        """Read what `save` wrote."""
        content = files.read(files.as_path(folder) / "solution.json")
        arrays = files.read(Path(folder) / "arrays.npz")
        try:
            return cls(**_arguments(content, arrays))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{folder} does not hold a solution: {error!r}; save it anew") from error

    def rows(self) -> list[Sequence[str]]:
        """Return the table that people read: a row for the objective and one for each constraint."""
        objective = "cost" if self.minimise else "reward"
        sign = "≥" if self.minimise else "≤"
        bound = f"{sign} {render.number(self.upper_bound)} proved" if np.isfinite(self.upper_bound) else ""
        rows: list[Sequence[str]] = [(objective, render.number(self.reward_value), bound, "")]
        parts = zip(
            self.constraint_names,
            self.constraint_value,
            self.sense,
            self.threshold,
            self.shown_prices,
            strict=True,
        )
        for name, value, sense, limit, price in parts:
            sign = "≥" if sense == ">=" else "≤"
            rows.append((name, render.number(value), f"{sign} {render.number(limit)}", price))
        return rows

    @property
    def shown_prices(self) -> list[str]:
        """The shadow price of each constraint in the digits that are proved, or its range."""
        free = (self.multiplier == 0) & (self.price_range[:, 0] == 0)
        slack = (self.constraint_value - self.threshold) * [1 if s == ">=" else -1 for s in self.sense]
        return [
            "0" if none and spare > 0 else render.price(low, high)
            for none, spare, (low, high) in zip(free, slack, self.price_range, strict=True)
        ]

    def __repr__(self) -> str:
        table = render.text_table(("", "value", "bound", "shadow price"), self.rows())
        return f"Solution by {self.algorithm} ({self.iterations} iterations, {self.seconds:.2f} s)\n{table}\n{self.status}"

    def _repr_html_(self) -> str:
        return summary_html(str(self.status), ("", "value", "bound", "shadow price"), self.rows())


def _plain(value: float | Array) -> Any:
    """Return numbers as JSON has them: what is not finite becomes null."""
    if isinstance(value, np.ndarray):
        return [_plain(float(one)) for one in value]
    return float(value) if np.isfinite(value) else None


def _floats(values: Sequence[float | None] | float | None) -> Any:
    if values is None or isinstance(values, int | float):
        return np.nan if values is None else float(values)
    return np.array([np.nan if v is None else v for v in values], dtype=float)


def _arguments(content: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    names = {
        key.removeprefix("names_"): [*map(str, v)] for key, v in arrays.items() if key.startswith("names_")
    }
    trace = {key.removeprefix("trace_"): v for key, v in arrays.items() if key.startswith("trace_")}
    why = content["infeasibility"]
    numeric = ("reward_value", "constraint_value", "multiplier", "violation", "upper_bound", "gap", "threshold")
    ranges = [(_floats(low), np.inf if high is None and low is not None else _floats(high)) for low, high in content["price_range"]]
    return {
        **{key: _floats(content[key]) for key in numeric},
        "price_range": np.array(ranges).reshape(-1, 2),
        "remedy": None if content["remedy"] is None else _floats(content["remedy"]),
        **{key: content[key] for key in ("feasible", "algorithm", "iterations", "seconds")},
        "policy": TabularPolicy(arrays["probabilities"], names, arrays.get("visits")),
        "status": Status(Kind(content["kind"]), content["status"]),
        "sense": tuple(content["sense"]),
        "minimise": content["objective"] == "minimise",
        "constraint_names": tuple(content["constraint_names"]),
        "trace": Trace(**trace | {"exact": bool(trace["exact"])}) if trace else None,
        "infeasibility": why
        and Infeasibility(_floats(why["joint_slack"]), _floats(why["own_slack"]), tuple(why["conflict"])),
    }
