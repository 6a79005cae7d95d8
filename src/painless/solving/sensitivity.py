"""`sensitivity`: which limit to loosen, and how the optimal value moves with the discount, probabilities and rewards.

By the envelope theorem the derivatives of V* are those of the Lagrangian at the optimal policy and prices: with d its occupancy, and
V_λ the state values of r + Σ λ_i c_i,

    ∂V*/∂r(s, a) = d(s, a),      ∂V*/∂c_i(s, a) = λ_i d(s, a),      ∂V*/∂γ = Σ d(s, a) P(s'|s, a) V_λ(s'),
    ∂V*/∂P(s'|s, a) = γ d(s, a) (V_λ(s') − Σ_t P(t|s, a) V_λ(t)),    for changes that keep the sum of the row.

With a horizon, states are pairs (t, s), V_λ(s') is that of the next step, and the derivative by a probability that all steps share is the sum over them. Of a long-run
average, d is the share of time, and V_λ the bias; before the process settles, the gain of where it leads takes its place, weighed by the visits on the way. If the answer
is a draw between policies, derivatives are those of all of them, averaged.
They hold where the optimal policy and the prices are unique; elsewhere they are one of the one-sided ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from painless.bellman import policy_transition, policy_utility
from painless.common import render
from painless.common.arguments import number
from painless.common.arrays import Array, one_thread
from painless.common.errors import InputError
from painless.common.frames import to_frame
from painless.engines.chain_gains import RecurrentChain
from painless.engines.finite_horizon import action_values
from painless.planning.case import Case
from painless.policies.table_mixture import TableMixture
from painless.problem import CMDP, Criterion, Transition, require_problem
from painless.problem.stages import Stages
from painless.solving.solution import Solution
from painless.solving.solve import solve
from painless.solving.value import case_of
from painless.storage.mapped import unchanged

TOLERANCE = 1e-7  # relative gap of the solutions whose values are compared
EXACT = 1e-9  # precision of values at states, relative to 1/(1−γ), where a model is swept
HEADER = ("", "value", "limit", "shadow price", "next unit")


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Derivatives of the optimal value, all in the user's terms and units.

    `gain` is what the objective gains if a limit is loosened by one unit (of `step`): the difference of two optimal values. It is at
    most the shadow price times the step, and less if the price falls on the way.
    """

    solution: Solution
    step: float  # by how much limits are loosened
    gain: Array  # (K,)
    discount: float  # by γ; NaN without one, and with a horizon, whose last utility is part of the last step
    reward: Array  # (S, A) by the reward, or the cost, of each pair: the occupancy
    constraint: Array  # (K, S, A) by each constraint reward or cost
    transition: Any  # by each probability, as the problem stores them; for changes that keep the sum of a row
    names: dict[str, Any]

    @property
    def loosen_first(self) -> str | None:
        """The limit whose next unit gains most; None if none gains anything."""
        if not len(self.gain) or not self.gain.max() > 0:
            return None
        return self.solution.constraint_names[int(self.gain.argmax())]

    def to_frame(self, make: Callable[[Any], Any] | None = None) -> Any:
        """Return a row for each limit as a DataFrame, the one to loosen first at the top.

        `make`, such as `polars.DataFrame`, makes the frame of a dictionary of columns.
        """
        order = np.argsort(-self.gain, kind="stable")
        solution = self.solution
        columns: dict[str, Any] = {
            "constraint": [solution.constraint_names[i] for i in order],
            "value": solution.constraint_value[order],
            "limit": solution.threshold[order],
            "price": solution.multiplier[order],
            "gain": self.gain[order],
        }
        return to_frame(columns, make)

    def pairs_to_frame(self, make: Callable[[Any], Any] | None = None) -> Any:
        """Return a row for each pair that is visited as a DataFrame: the derivatives by its reward and constraints."""
        state, action = np.nonzero(self.reward)
        columns = {
            kind: [self.names[f"{kind}s"][i] for i in place.tolist()] if f"{kind}s" in self.names else place
            for kind, place in (("state", state), ("action", action))
        }
        objective = "cost" if self.solution.minimise else "reward"
        names = [objective, *self.solution.constraint_names]
        tables = (self.reward, *self.constraint)
        columns |= {name: table[state, action] for name, table in zip(names, tables, strict=True)}
        return to_frame(columns, make)

    def rows(self) -> list[tuple[str, ...]]:
        """Return the rows of the printed table, one for each limit."""
        solution = self.solution
        parts = zip(
            *(solution.constraint_names, solution.constraint_value, solution.sense, solution.threshold),
            *(solution.shown_prices, self.gain),
            strict=True,
        )
        return [
            (
                name,
                render.number(value),
                f"{render.SIGNS[sense]} {render.number(limit)}",
                price,
                render.number(gain),
            )
            for name, value, sense, limit, price, gain in parts
        ]

    def sentences(self) -> list[str]:
        """Return which limit to loosen first, and how the optimum moves with the discount."""
        first = self.loosen_first
        gain = render.number(float(self.gain.max(initial=0.0)))
        advice = (
            "No limit is worth loosening."
            if first is None
            else f"Loosen {first} first: a limit that is looser by {render.number(self.step)} gains {gain}."
        )
        if np.isnan(self.discount):
            return [advice]
        objective = "cost" if self.solution.minimise else "reward"
        moves = f"The {objective} moves by {render.number(0.001 * self.discount)} for 0.001 of the discount."
        return [advice, moves]

    def __repr__(self) -> str:
        return "\n".join([render.text_table(HEADER, self.rows()), *self.sentences()])


@unchanged
def sensitivity(problem: CMDP, solution: Solution | None = None, *, step: float = 1.0) -> Sensitivity:
    """Return which limit to loosen first, what its next unit brings, and how the optimal value moves with every number.

    Arguments:
        solution: of the problem, solved to a small tolerance; by default it is found to 1e-7.
        step: by how much limits are loosened for `gain`, which takes another solve for each limit.

    >>> import painless
    >>> found = sensitivity(painless.gridworld(constraints=3), step=0.1)
    >>> found.loosen_first, found.gain.round(4)
    ('constraint 2', array([0.001 , 0.0359, 0.0043]))
    """
    require_problem(problem)
    if not number("step", step, "give one such as 1") > 0:
        raise InputError(f"step is {step}; give by how much to loosen limits, such as 1")
    if solution is None:
        solution = solve(problem, tolerance=TOLERANCE)
    if not isinstance(solution, Solution):
        raise InputError(f"solution is a {type(solution).__name__}; give what painless.solve returned")
    solution.require_fit(problem)
    if not solution.feasible:
        raise InputError(
            f"the problem has no feasible solution, so nothing to differentiate. {solution.status}"
        )
    gain = np.array([_gain(problem, solution, i, float(step)) for i in range(problem.shape[2])])
    with one_thread():
        return _derivatives(case_of(problem), solution, gain, float(step))


def _gain(problem: CMDP, solution: Solution, index: int, step: float) -> float:
    """Return what loosening a limit by `step` gains in the objective."""
    limits, sign = problem.limit.copy(), float(problem.sign[1 + index])
    slack = sign * (float(solution.constraint_value[index]) - limits[index])
    if solution.multiplier[index] == 0 and slack > 0:
        return 0.0
    limits[index] -= step * sign
    start = None if isinstance(solution.policy, TableMixture) else solution.table
    other = solve(problem.with_limits(limits), tolerance=TOLERANCE, initial_policy=start)
    return max(float(problem.sign[0]) * (other.reward_value - solution.reward_value), 0.0)


def _derivatives(case: Case, solution: Solution, gain: Array, step: float) -> Sensitivity:
    problem, sign, policy = case.problem, case.problem.sign, solution.policy
    multiplier = np.nan_to_num(solution.multiplier, nan=0.0)
    names: dict[str, Any] = dict(problem.names)
    if problem.stages is not None:
        names["states"] = [problem.name("states", i) for i in range(problem.shape[0])]
    tables, shares = solution.table.probabilities[None], np.ones(1)
    if isinstance(policy, TableMixture):
        tables, shares = policy.probabilities, policy.weights
    found = [
        _of_table(case, table, multiplier, sign[0] * share)
        for table, share in zip(tables, shares, strict=True)
    ]
    each, by_transition, by_discount = zip(*found, strict=True)
    occupancy = np.tensordot(shares, each, 1)
    return Sensitivity(
        solution=solution,
        step=step,
        gain=gain,
        discount=float(sum(by_discount)),
        reward=occupancy,
        constraint=(sign[0] * sign[1:] * multiplier)[:, None, None] * occupancy,
        transition=sum(by_transition[1:], start=by_transition[0]),
        names=names,
    )


def _of_table(case: Case, table: Array, multiplier: Array, share: float) -> tuple[Array, Any, float]:
    """Return the occupancy (S, A) of a table, and the derivatives of its Lagrangian by the probabilities and by γ, times `share`."""
    problem = case.problem
    if problem.criterion is Criterion.AVERAGE:
        return _of_average(problem, table, multiplier, share)
    visits = np.maximum(case.engine.visits(table), 0.0)
    occupancy = visits[:, None] * table
    ahead = _lagrangian_value(case, table, multiplier)
    weight = share * problem.discount * occupancy
    if problem.stages is not None:
        return occupancy, _by_step(problem.stages, weight, ahead), np.nan
    by_discount = share * float(visits @ np.asarray(policy_transition(problem, table) @ ahead))
    by_discount = np.nan if problem.criterion is Criterion.TOTAL else by_discount
    return occupancy, _by_probability(problem.transition, weight, ahead), by_discount


def _of_average(problem: CMDP, table: Array, multiplier: Array, share: float) -> tuple[Array, Any, float]:
    """Return the same of a long-run average: the share of time d with the bias, and the visits on the way with the gain."""
    kernel = policy_transition(problem, table)
    utility = np.tensordot(np.append(1.0, multiplier), problem.utility, 1)
    everywhere = RecurrentChain(kernel, np.full(len(table), 1 / len(table)))
    gain, bias = (part[0] for part in everywhere.gain_and_bias(policy_utility(utility[None], table)))
    often, way = (visits[:, None] * table for visits in RecurrentChain(kernel, problem.initial).visits())
    by_time, by_way = (
        _by_probability(problem.transition, share * weight, ahead)
        for weight, ahead in ((often, bias), (way, gain))
    )
    return often, by_time + by_way, np.nan


def _lagrangian_value(case: Case, table: Array, multiplier: Array) -> Array:
    """Return V_λ in every state, (S,)."""
    problem, units = case.problem, case.units
    if problem.stages is not None:
        q = action_values(problem, table[None])[0]
        return np.append(1.0, multiplier) @ (q * table).sum(-1)
    kept = np.append(0, 1 + units.kept)
    weight = np.append(1.0, multiplier)[kept]
    q = case.engine.action_values(table, np.arange(len(table)), EXACT * case.engine.unit)
    value = (np.where(problem.actions, q, 0.0) * table).sum(-1)  # (J', S)
    ahead = weight @ (value * units.span[kept, None] + units.offset[kept, None])
    others = np.where(np.isin(np.arange(1, len(units.span)), kept), 0.0, units.offset[1:])
    return np.asarray(ahead + multiplier @ others)


def _by_step(process: Stages, weight: Array, ahead: Array) -> Any:
    """Return the derivatives by the probabilities of all steps together, or of each if they differ, as the problem stores them."""
    value = np.vstack([ahead.reshape(process.steps, -1), np.zeros(process.states)])
    shares = weight.reshape(process.steps, -1, process.actions)
    each = [_by_probability(process.kernel(t), shares[t], value[t + 1]) for t in range(process.steps)]
    if len(process.kernels) == 1:
        return sum(each[1:], start=each[0])
    return np.array(each) if isinstance(each[0], np.ndarray) else each


def _by_probability(kernel: Transition, weight: Array, ahead: Array) -> Transition:
    """w(s, a)·(V(s') − Σ_t P(t|s, a) V(t)), laid out as the transitions."""
    if isinstance(kernel, np.ndarray):
        return weight[:, :, None] * (ahead - (kernel @ ahead)[:, :, None])
    count = np.diff(kernel.indptr)
    expected = np.repeat(np.asarray(kernel @ ahead), count)
    data = np.repeat(weight.ravel(), count) * (ahead[kernel.indices] - expected)
    return scipy.sparse.csr_array((data, kernel.indices, kernel.indptr), shape=kernel.shape)
