"""`compare`: policies side by side, and the states in which they differ most by what it costs.

    V_w(π*) − V_w(π) = Σ_s d_π(s) Σ_a (π*(a|s) − π(a|s)) Q*_w(s, a),        w = (1, λ)

The summand of s is what acting otherwise in s costs, and all of them together are the difference, exactly. With the shadow prices λ of
a solution, what a policy gains by breaking a limit is charged, and against an optimal policy no summand is negative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from painless.common import render
from painless.common.arrays import Array, one_thread
from painless.common.errors import InputError, shown
from painless.common.frames import to_frame
from painless.planning.case import Case
from painless.policies.rules import as_policy
from painless.policies.table import DETERMINISTIC, TabularPolicy
from painless.problem import CMDP, require_problem
from painless.solving.solution import Solution
from painless.solving.value import Value, case_of, table_value
from painless.storage.mapped import unchanged

SHOWN = 5  # states that are printed
LISTED = 100  # states that are kept for each policy
EXACT = 1e-9  # precision of values at states, relative to 1/(1−γ), where a model is swept
LEAST = 1e-9  # of the largest difference of two values in a step: a smaller cost is rounding


class Difference(NamedTuple):
    """A state in which a policy acts otherwise than the reference, and what that costs."""

    policy: str
    state: Any  # its name
    action: str  # what the policy does there
    reference: str  # what the reference does
    visits: float  # of the policy, discounted
    cost: float  # what acting otherwise there loses in the objective, at the prices of the limits


@dataclass(frozen=True, eq=False)
class Comparison:
    """Policies side by side, in the user's terms; the reference is the best one that meets all limits."""

    values: Mapping[str, Value]
    reference: str
    differences: tuple[Difference, ...]  # of all other policies, the most expensive states first
    priced: bool  # whether shadow prices of a solution are part of the costs

    @property
    def objective(self) -> str:
        """What the policies are compared by: "reward" or "cost"."""
        return "cost" if self.values[self.reference].minimise else "reward"

    def to_frame(self, make: Callable[[Any], Any] | None = None) -> Any:
        """Return a row for each policy as a DataFrame: its values, whether it meets all limits, and how far it is behind.

        `make`, such as `polars.DataFrame`, makes the frame of a dictionary of columns.
        """
        values = list(self.values.values())
        columns: dict[str, Any] = {"policy": list(self.values)}
        columns[self.objective] = np.array([one.reward_value for one in values])
        for i, name in enumerate(values[0].constraint_names):
            columns[name] = np.array([one.constraint_value[i] for one in values])
        columns |= {"feasible": [one.feasible for one in values], "behind": self._behind()}
        return to_frame(columns, make)

    def differences_to_frame(self, make: Callable[[Any], Any] | None = None) -> Any:
        """Return a row for each difference as a DataFrame."""
        columns = {name: [getattr(one, name) for one in self.differences] for name in Difference._fields}
        return to_frame(columns, make)

    def _behind(self) -> Array:
        """Return by how much each objective is worse than the reference's; negative where it is better."""
        best = self.values[self.reference]
        sign = -1.0 if best.minimise else 1.0
        return np.array([sign * (best.reward_value - one.reward_value) for one in self.values.values()])

    def header(self) -> tuple[str, ...]:
        """Return the titles of the printed table."""
        value = self.values[self.reference]
        limits = zip(value.constraint_names, value.sense, value.threshold, strict=True)
        named = (f"{name} {render.SIGNS[sense]} {render.number(limit)}" for name, sense, limit in limits)
        return ("", self.objective, *named, "limits met", "behind")

    def rows(self) -> list[Sequence[str]]:
        """Return the rows of the printed table, one for each policy."""
        return [
            (
                name,
                render.number(one.reward_value),
                *(
                    f"{render.number(value)}{'' if met else ' (!)'}"
                    for value, met in zip(one.constraint_value, one.met, strict=True)
                ),
                "yes" if one.feasible else "no",
                "" if name == self.reference else render.number(behind),
            )
            for (name, one), behind in zip(self.values.items(), self._behind(), strict=True)
        ]

    def sections(self) -> list[str]:
        """Return, for each other policy, a line and a table of the states in which it loses most."""
        lines = []
        prices = " at the prices of its limits" if self.priced else ""
        for name in self.values:
            worst = [one for one in self.differences if one.policy == name][:SHOWN]
            if worst:
                rows = [
                    (
                        str(one.state),
                        one.action,
                        one.reference,
                        render.number(one.visits),
                        render.number(one.cost),
                    )
                    for one in worst
                ]
                table = render.text_table(("state", name, self.reference, "visits", "costs"), rows)
                title = render.visible(f"Where {name} loses most to {self.reference}{prices}:")
                lines.append(f"{title}\n{table}")
            elif self.priced and name != self.reference:
                lines.append(render.visible(f"{name} loses nothing to {self.reference}{prices}."))
        return lines

    def __repr__(self) -> str:
        return "\n".join([render.text_table(self.header(), self.rows()), *self.sections()])

    def _repr_html_(self) -> str:
        return render.html_summary(f"The reference is {self.reference}.", self.header(), self.rows())


@unchanged
def compare(problem: CMDP, policies: Mapping[str, Any]) -> Comparison:
    """Compare policies by their exact values, and find the states in which they differ most by what it costs.

    Arguments:
        policies: by names, each as in `value`: a solution, a table, a dictionary `{state: action}` or a function of the state. The
            best one that meets all limits is the reference. If it is a solution, its shadow prices charge what others gain by
            breaking limits.

    >>> import painless
    >>> world = painless.gridworld()
    >>> compare(world, {"always up": lambda state: "up", "optimal": painless.solve(world, tolerance=1e-6)}).rows()
    [('always up', '0.702221', '0.644443 (!)', 'no', '0.9505'), ('optimal', '1.65272', '1.5', 'yes', '')]
    """
    require_problem(problem)
    if not isinstance(policies, Mapping) or not policies:
        raise InputError(f"policies is {shown(policies)}; give a dictionary of policies by name")
    with one_thread():
        case = case_of(problem)
        tables = {str(name): as_policy(one, problem, str(name)) for name, one in policies.items()}
        values = {name: table_value(table.probabilities, case) for name, table in tables.items()}
        reference = _best(values)
        solution = next(one for name, one in policies.items() if str(name) == reference)
        multiplier = _multiplier(solution, problem)
        gain = _action_gain(case, tables[reference].probabilities, multiplier)
        differences = [
            found
            for name, table in tables.items()
            if name != reference
            for found in _differences(case, name, table, tables[reference], gain)
        ]
    ordered = tuple(sorted(differences, key=lambda one: -one.cost))
    return Comparison(values, reference, ordered, bool(multiplier.any()))


def _best(values: Mapping[str, Value]) -> str:
    """Return the best policy that meets all limits; the last one if none does."""
    sign = -1.0 if next(iter(values.values())).minimise else 1.0
    feasible = {name: sign * one.reward_value for name, one in values.items() if one.feasible}
    if not feasible:
        return [*values][-1]
    return max(reversed(feasible), key=feasible.__getitem__)


def _multiplier(given: Any, problem: CMDP) -> Array:
    """Return the shadow prices of a solution, (K,); 0 of anything else."""
    if isinstance(given, Solution):
        given.require_fit(problem)
        return np.nan_to_num(given.multiplier, nan=0.0)
    return np.zeros(problem.shape[2])


def _action_gain(case: Case, table: Array, multiplier: Array) -> Array:
    """Return Q_w of a policy in units of the reward, (S, A), up to a constant; 0 where there is no action."""
    normal, units = case.normal, case.units
    q = case.engine.action_values(table, np.arange(len(table)), EXACT * case.engine.unit)
    weight = np.append(units.span[0], multiplier[units.kept] * units.span[1 + units.kept])
    return np.tensordot(weight, np.where(normal.actions, q, 0.0), 1)


def _differences(
    case: Case, name: str, policy: TabularPolicy, reference: TabularPolicy, gain: Array
) -> list[Difference]:
    """Return the states in which a policy differs from the reference, by what it costs."""
    problem = case.problem
    visits = np.maximum(case.engine.visits(policy.probabilities), 0.0)
    step = ((reference.probabilities - policy.probabilities) * gain).sum(1)
    cost = visits * step
    least = LEAST * np.ptp(gain) * problem.unit
    worst = np.argsort(-np.abs(cost), kind="stable")[:LISTED]
    states = problem.names.get("states") if problem.stages is None else None
    return [
        Difference(
            policy=name,
            state=states[s] if states else problem.name("states", s),
            action=_shown(policy, s),
            reference=_shown(reference, s),
            visits=float(visits[s]),
            cost=float(cost[s]),
        )
        for s in worst.tolist()
        if abs(cost[s]) > least
    ]


def _shown(policy: TabularPolicy, state: int) -> str:
    """Return what a policy does in a state, the likeliest action first."""
    row = policy.probabilities[state]
    names = policy.names.get("actions")
    taken = [a for a in np.argsort(-row, kind="stable").tolist() if row[a] > DETERMINISTIC]
    texts = [names.texts[a] if names else f"action {a}" for a in taken]
    if len(taken) == 1:
        return texts[0]
    return ", ".join(f"{text} {100 * row[a]:.3g} %" for text, a in zip(texts, taken, strict=True))
