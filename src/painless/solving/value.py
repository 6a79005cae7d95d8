"""`value`: the exact values of a policy in a model, in the user's terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from painless.common import render
from painless.common.arguments import as_numbers, first
from painless.common.arrays import Array, Mask, one_thread
from painless.common.errors import InputError
from painless.engines.drawn import Drawn
from painless.planning.case import Case, Relaxation, misses_constant
from painless.policies.action_mixture import ActionMixture
from painless.policies.rules import aligned, as_policy
from painless.policies.table_mixture import TableMixture
from painless.problem import CMDP, Criterion, require_problem
from painless.problem.function_model import FunctionModel
from painless.problem.units import normalise
from painless.storage.mapped import unchanged

HEADER = ("", "value", "limit", "met")


@dataclass(frozen=True, eq=False)
class Value:
    """What a policy attains from the initial distribution, by the problem's criterion, in the user's terms."""

    reward_value: float  # the cost, if a cost is minimised
    constraint_value: Array  # (K,)
    threshold: Array  # (K,) thresholds and budgets
    sense: tuple[str, ...]
    met: Mask  # (K,) which limits hold, up to rounding
    minimise: bool
    constraint_names: tuple[str, ...]

    @property
    def feasible(self) -> bool:
        """Whether all limits hold."""
        return bool(self.met.all())

    def rows(self) -> list[tuple[str, ...]]:
        """Return the rows of the printed table: the objective, then each constraint."""
        parts = zip(
            self.constraint_names, self.constraint_value, self.sense, self.threshold, self.met, strict=True
        )
        return [
            ("cost" if self.minimise else "reward", render.number(self.reward_value), "", ""),
            *(
                (
                    name,
                    render.number(value),
                    f"{render.SIGNS[sense]} {render.number(limit)}",
                    "yes" if met else "no",
                )
                for name, value, sense, limit, met in parts
            ),
        ]

    def __repr__(self) -> str:
        return render.text_table(HEADER, self.rows())

    def _repr_html_(self) -> str:
        return render.html_summary("", HEADER, self.rows())


@unchanged
def value(policy: Any, problem: CMDP) -> Value:
    """Return the exact values of a policy in a model, and which limits it meets; nothing is drawn at random.

    Arguments:
        policy: a `TabularPolicy`, a solution, probabilities (S, A), or a rule of thumb by names: a dictionary `{state: action}`
            or a function of the state; in place of an action, a dictionary `{action: probability}` may stand.
        problem: the model. For a simulator, `evaluate` estimates values from episodes.

    >>> import painless
    >>> value(lambda state: "up", painless.gridworld())
                     value  limit  met
    reward        0.702221
    constraint 1  0.644443  ≥ 1.5   no
    """
    require_problem(problem)
    with one_thread():
        own = getattr(policy, "policy", policy)
        if isinstance(problem, FunctionModel):
            return table_value(_drawn(own, problem), case_of(problem))
        if isinstance(own, TableMixture) and problem.criterion in (Criterion.AVERAGE, Criterion.TOTAL):
            tables = tuple(aligned(one, problem) for one in own.policies)
            return table_value(Drawn(tables, own.weights), case_of(problem))
        return table_value(as_policy(policy, problem).probabilities, case_of(problem))


def _drawn(policy: Any, problem: FunctionModel) -> Drawn:
    """Return a policy of a model given as functions: a mixture, or an action for each state."""
    if isinstance(policy, ActionMixture):
        actions, weights = policy.actions, policy.weights
    else:
        actions, weights = np.atleast_2d(as_numbers("policy", policy)), np.ones(1)
    states, count, _ = problem.shape
    if actions.shape[1:] != (states,) or actions.dtype.kind not in "iu":
        raise InputError(
            f"policy has shape {actions.shape} and type {actions.dtype}; give an action for each of {states} states, or a solution"
        )
    wrong = (actions < 0) | (actions >= count)
    if wrong.any():
        raise InputError(f"policy{first(wrong)} is {actions[wrong][0]}; actions are 0 to {count - 1}")
    return Drawn(tuple(actions.astype(np.min_scalar_type(count - 1))), weights)


def case_of(problem: CMDP) -> Case:
    """Return the problem in normalised units, with all of its pairs."""
    normal, units = normalise(problem)
    return Case(problem, normal, units, Relaxation(problem, normal, units), lambda: None)


def table_value(table: Array | Drawn, case: Case) -> Value:
    """Return the values of a policy (S, A), or of a draw between several."""
    problem, kept = case.problem, case.units.kept
    found = case.engine.values(table)
    values = case.value(found.guess)
    met = ~misses_constant(problem, case.units)
    met[kept] = case.relaxation.met(table, found.low)
    return Value(
        reward_value=float(values[0]),
        constraint_value=values[1:],
        threshold=problem.limit,
        sense=problem.sense,
        met=met & ~np.isnan(values[1:]),
        minimise=problem.minimise,
        constraint_names=tuple(problem.name("constraints", i) for i in range(problem.shape[2])),
    )
