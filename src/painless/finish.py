"""From an answer in normalised units to a `Solution` in the user's terms."""

from __future__ import annotations

import numpy as np

from painless.arrays import Array
from painless.certificate import Answer
from painless.feasibility import attainable_slack, conflict
from painless.framework import Trace
from painless.policy import TabularPolicy
from painless.prepare import Prepared
from painless.render import number
from painless.solution import Infeasibility, Kind, Solution, Status
from painless.units import tolerances


def feasible_solution(
    prepared: Prepared, answer: Answer, status: Status, algorithm: str, seconds: float, trace: Trace | None
) -> Solution:
    """Return the solution of a problem whose constraints can be met."""
    units = prepared.units
    bound = prepared.problem.sign[0] * (answer.upper_bound * units.span[0] + units.offset[0])
    return _solution(
        prepared,
        answer.policy,
        answer.value,
        multiplier=units.multiplier(answer.multiplier),
        upper_bound=float(bound),
        gap=answer.gap * float(units.span[0]),
        feasible=answer.feasible,
        status=status,
        algorithm=algorithm,
        seconds=seconds,
        trace=trace and prepared.trace(trace),
    )


def infeasible_solution(prepared: Prepared, algorithm: str, seconds: float) -> Solution:
    """Return the policy that misses the constraints by as little as can be, and why it has to."""
    why = _explain(prepared)
    return _solution(
        prepared,
        prepared.slater.policy,
        prepared.slater.value,
        multiplier=np.full(prepared.problem.shape[2], np.nan),
        upper_bound=np.nan,
        gap=np.nan,
        feasible=False,
        status=Status(Kind.INFEASIBLE, _sentence(prepared, why)),
        algorithm=algorithm,
        seconds=seconds,
        infeasibility=why,
    )


def _solution(prepared: Prepared, policy: Array, value: Array, **rest: object) -> Solution:
    problem = prepared.problem
    values = prepared.value(value)
    trace = rest.get("trace")
    return Solution(
        policy=TabularPolicy(policy, {k: v for k, v in problem.names.items() if k != "constraints"}),
        reward_value=float(values[0]),
        constraint_value=values[1:],
        threshold=problem.limit,
        sense=problem.sense,
        minimise=problem.minimise,
        constraint_names=tuple(problem.name("constraints", i) for i in range(problem.shape[2])),
        iterations=len(trace) if isinstance(trace, Trace) else 0,
        **rest,  # type: ignore[arg-type]
    )


def _explain(prepared: Prepared) -> Infeasibility:
    units = prepared.units
    joint = prepared.constraint_slack(prepared.slater.value)
    own = joint.copy()
    own[units.kept] = attainable_slack(prepared.normal, prepared.engine) * units.span[1 + units.kept]
    constant = np.setdiff1d(np.arange(len(own)), units.kept)
    missed = constant[own[constant] < -tolerances(prepared.problem)[constant]]
    members = missed[:1] if len(missed) else units.kept[conflict(prepared.normal, prepared.engine)]
    return Infeasibility(joint, own, tuple(int(i) for i in members))


def _sentence(prepared: Prepared, why: Infeasibility) -> str:
    problem = prepared.problem
    names = [problem.name("constraints", i) for i in why.conflict]
    limits = [f"{problem.sense[i]} {number(problem.limit[i])}" for i in why.conflict]
    if len(names) == 1:
        (i,) = why.conflict
        best = problem.limit[i] + problem.sign[1 + i] * why.own_slack[i]
        return (
            f"Infeasible: no policy has {names[0]} {limits[0]}; the best that any attains is {number(best)}. "
            f"Set its limit to {number(best)} or looser."
        )
    listed = ", ".join(f"{name} {limit}" for name, limit in zip(names, limits, strict=True))
    short = ", ".join(
        f"{name} by {number(max(-why.joint_slack[i], 0.0))}"
        for name, i in zip(names, why.conflict, strict=True)
    )
    return (
        f"Infeasible: no policy meets {listed} together, though any fewer of them can be met. The returned "
        f"policy misses them by as little as can be: {short}. Relax at least one of them."
    )
