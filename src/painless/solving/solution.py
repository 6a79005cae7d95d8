"""The result of `solve`: the policy, its values and the proof, all in the user's terms."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from painless.common import render
from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.common.frames import to_frame
from painless.loop.averages import MEASURES
from painless.loop.framework import Trace
from painless.policies.action_mixture import ActionMixture
from painless.policies.table import TabularPolicy
from painless.policies.table_files import table_arrays
from painless.policies.table_mixture import TableMixture
from painless.policies.timed import TimedPolicy
from painless.problem import CMDP, Criterion
from painless.problem.function_model import FunctionModel
from painless.solving.certificate_files import write_certificate
from painless.solving.solution_files import stored_arguments
from painless.solving.status import Infeasibility, Kind, Status
from painless.storage import files, results

__all__ = ["Average", "Infeasibility", "Kind", "Solution", "Status"]


@dataclass(frozen=True)
class Average:
    """The paper's average over all iterates, or over some: V_r, and b − V_c for each constraint, positive where violated."""

    reward_value: float
    constraint_violation: Array  # (K,)


@dataclass(frozen=True, eq=False)
class Solution:
    """A policy with a proof of how far from optimal it can be, in the user's terms.

    `upper_bound` is the proved bound on all feasible policies: above `reward_value` if a reward is maximised, below
    it if a cost is minimised. `gap` is the absolute distance between the two; infinite if the policy is not proved to be feasible.
    Values are NaN if there was no time to evaluate the policy. Of a large model, values are as exact as the tolerance asks for.

    `multiplier` ≥ 0 is the shadow price of each limit: the gain in the objective for each unit by which it is loosened. It lies in the proved
    `price_range`, between the price of loosening the limit and that of tightening it; the two differ if the optimum has a kink or is not
    known precisely. `violation` is a proved upper bound on the violation of each limit: 0 if there is a Slater point. If the problem is
    infeasible, `remedy` is the limit that suffices for each constraint if all others stay; NaN if none does.
    """

    # Tables of all steps with a horizon; a draw for some averages
    policy: TabularPolicy | TimedPolicy | TableMixture | ActionMixture
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
    algorithm: str  # its name in the registry of algorithms or planners
    iterations: int
    seconds: float
    best_responses: int = 0  # that the proof took; those of an algorithm's proof are not part of its policy
    reason: str = ""  # why this algorithm was chosen; empty if the user named it
    trace: Trace | None = None
    infeasibility: Infeasibility | None = None
    remedy: Array | None = None  # (K,); None unless the problem is infeasible
    proof_weight: Array | None = (
        None  # (J,) of the utilities: (1, λ) proves the bound, (0, λ) that the problem is infeasible
    )

    @property
    def average(self) -> Average | None:
        """The average of the iterates, or None for a planner."""
        return self.measured("average")

    def measured(self, measure: str) -> Average | None:
        """Return the "average" of the iterates, that of their second half ("tail"), or the "last" one; None for a planner."""
        if self.trace is None:
            return None
        value = self.trace.measured(measure)
        violation = (self.threshold - value[1:]) * [1 if s == ">=" else -1 for s in self.sense]
        return Average(float(value[0]), violation)

    @property
    def strong_violation(self) -> Array | None:
        """The violation Σ_t [b − V_c]₊/T over the iterates, (K,), in which slack makes up for nothing; None for a planner."""
        return None if self.trace is None else self.trace.strong_violation(self.threshold, self.sense)

    def _plain_measure(self, measure: str) -> dict[str, Any] | None:
        found = self.measured(measure)
        if found is None:
            return None
        return {
            "reward_value": found.reward_value,
            "constraint_violation": _plain(found.constraint_violation),
        }

    def average_optimality_gap(self, optimal_value: float) -> float | None:
        """Return the paper's OG: how much worse than `optimal_value` the average iterate is."""
        if self.average is None:
            return None
        return (optimal_value - self.average.reward_value) * (-1 if self.minimise else 1)

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the policy and the trace as plain numbers, lists and text."""
        return {
            "algorithm": self.algorithm,
            "reason": self.reason,
            "best_responses": self.best_responses,
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
            "proof_weight": None if self.proof_weight is None else _plain(self.proof_weight),
            "gap": _plain(self.gap),
            "iterations": self.iterations,
            "seconds": self.seconds,
            **{measure: self._plain_measure(measure) for measure in MEASURES},
            "strong_violation": None if self.strong_violation is None else _plain(self.strong_violation),
            "infeasibility": self.infeasibility
            and {
                "joint_slack": _plain(self.infeasibility.joint_slack),
                "own_slack": _plain(self.infeasibility.own_slack),
                "conflict": list(self.infeasibility.conflict),
            },
        }

    def to_frame(self, make: Callable[[Any], Any] | None = None) -> Any:
        """Return the objective and each constraint as the rows of a DataFrame: value, bound or limit, and shadow price.

        `make`, such as `polars.DataFrame`, makes the frame of a dictionary of columns. The policy is `solution.policy.to_frame()`.
        """
        objective, sense = ("cost", ">=") if self.minimise else ("reward", "<=")
        columns: dict[str, Any] = {
            "name": [objective, *self.constraint_names],
            "value": np.append(self.reward_value, self.constraint_value),
            "sense": [sense, *self.sense],
            "limit": np.append(self.upper_bound, self.threshold),  # of the objective, the proved bound
            "price": np.append(np.nan, self.multiplier),
            "price_low": np.append(np.nan, self.price_range[:, 0]),
            "price_high": np.append(np.nan, self.price_range[:, 1]),
        }
        return to_frame(columns, make)

    def save(self, folder: str | os.PathLike[str], problem: CMDP | None = None) -> None:
        """Write `policy.csv`, `arrays.npz` and finally `solution.json` into a folder.

        If the problem is given, so are `problem.npz` and the certificate that `painless verify` checks; of a total or an average, unless rounding
        leaves nothing that can be proved.
        """
        if isinstance(problem, FunctionModel):
            raise InputError(
                "a model given as functions has no arrays to write; save the solution alone: solution.save(folder)"
            )
        folder = files.require_folder(folder)
        listed = not isinstance(self.policy, ActionMixture)  # which is too large for a table of text
        if not isinstance(self.policy, ActionMixture):
            self.policy.to_csv(folder / "policy.csv")
        arrays = table_arrays(self.policy)
        if self.trace is not None:
            arrays |= {f"trace_{f.name}": np.asarray(getattr(self.trace, f.name)) for f in fields(Trace)}
        files.write_npz(folder / "arrays.npz", arrays)
        if problem is not None:
            fragile = problem.criterion in (Criterion.TOTAL, Criterion.AVERAGE)
            with suppress(InputError) if fragile else nullcontext():
                write_certificate(folder, self, problem)
            problem.save(folder / "problem.npz")
        beside = [
            *(["policy.csv"] if listed else []),
            "arrays.npz",
            *(["problem.npz"] if problem is not None else []),
        ]
        results.write(folder / "solution.json", "solution", self.as_dict(), beside)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Solution:
        """Read what `save` wrote."""
        content = results.read(files.as_path(folder) / "solution.json", "solution")
        arrays = files.read(Path(folder) / "arrays.npz")
        with results.understood(folder, "solution"):
            return cls(**stored_arguments(content, arrays))

    @property
    def table(self) -> TabularPolicy:
        """The policy as one table: with a horizon, over all steps and states; of a draw, over all draws and states."""
        if isinstance(self.policy, ActionMixture):
            raise InputError(
                "a model given as functions has no table of probabilities; read solution.policy.actions"
            )
        return self.policy if isinstance(self.policy, TabularPolicy) else self.policy.flat

    def require_fit(self, problem: CMDP) -> None:
        """Raise an error if the problem has other states, actions or constraints than the one that was solved."""
        if isinstance(self.policy, ActionMixture):
            raise InputError("the solution is that of a model given as functions, not of a stored problem")
        *several, states, actions = self.policy.probabilities.shape
        if isinstance(self.policy, TimedPolicy):
            states *= max(sum(several), 1)  # no step at all counts as one
        shape = (states, actions, len(self.threshold))
        if shape != problem.shape:
            raise InputError(
                f"the solution has {shape[0]} states, {shape[1]} actions and {shape[2]} constraints, but its problem "
                f"{problem.shape[0]}, {problem.shape[1]} and {problem.shape[2]}; save both again"
            )

    def rows(self) -> list[Sequence[str]]:
        """Return the rows of the printed table: the objective, then each constraint."""
        objective = "cost" if self.minimise else "reward"
        sign = "≥" if self.minimise else "≤"
        bound = ""
        if np.isfinite(self.upper_bound):
            bound = f"{sign} {render.bound(self.upper_bound, up=not self.minimise)} proved"
        rows: list[Sequence[str]] = [(objective, render.number(self.reward_value), bound, "")]
        parts = zip(
            self.constraint_names,
            self.constraint_value,
            self.sense,
            self.threshold,
            self.price_range,
            strict=True,
        )
        for name, value, sense, limit, (low, high) in parts:
            sign = "≥" if sense == ">=" else "≤"
            rows.append(
                (name, render.number(value), f"{sign} {render.number(limit)}", render.price(low, high))
            )
        return rows

    @property
    def shown_prices(self) -> list[str]:
        """The shadow price of each constraint in the digits that are proved, or its range."""
        return [render.price(low, high) for low, high in self.price_range]

    @property
    def effort(self) -> str:
        """The iterations, of an algorithm, and the seconds."""
        iterations = f"{render.counted(self.iterations, 'iteration')}, " if self.iterations else ""
        return f"{iterations}{self.seconds:.2f} s"

    def __repr__(self) -> str:
        table = render.text_table(("", "value", "bound", "shadow price"), self.rows())
        title = f"Solution by {self.algorithm} ({self.effort})"
        return "\n".join(part for part in (title, table, str(self.status), self.reason) if part)

    def _repr_html_(self) -> str:
        return render.html_summary(str(self.status), ("", "value", "bound", "shadow price"), self.rows())


def _plain(value: float | Array) -> Any:
    """Return numbers for JSON; numbers that are not finite become null."""
    if isinstance(value, np.ndarray):
        return [_plain(float(one)) for one in value]
    return float(value) if np.isfinite(value) else None
