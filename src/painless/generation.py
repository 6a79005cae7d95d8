"""Column generation through the same verb: from a plan in normalised units to a solution in the user's terms."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from painless.arrays import one_thread
from painless.certificate import Answer
from painless.feasibility import Feasibility, SlaterPolicy, judge
from painless.finish import feasible_solution, infeasible_solution
from painless.planners.column_generation import ColumnGeneration, Ending, Search
from painless.prepare import Prepared
from painless.problem import CMDP
from painless.render import number
from painless.solution import Kind, Solution, Status
from painless.units import Units, normalise


@dataclass(frozen=True)
class Progress:
    """Where a run stands, in the user's terms; not a number where nothing is known yet."""

    iteration: int
    iterations: int | None
    reward_value: float
    upper_bound: float


def generate(
    problem: CMDP,
    algorithm: ColumnGeneration,
    tolerance: float,
    start: float,
    deadline: float,
    progress: Callable[[Progress], None] | None,
) -> Solution:
    """Solve by column generation, which finds its own Slater policy and forms nothing of size S × S."""
    normal, units = normalise(problem)

    def report(now: Search) -> None:
        if progress is not None:
            values = np.array([now.reward_value, now.upper_bound]) * units.span[0] + units.offset[0]
            values = np.where(np.isfinite(values), problem.sign[0] * values, np.nan)
            progress(Progress(now.solves, None, float(values[0]), float(values[1])))

    with one_thread():
        target = gap_target(units, problem.discount, tolerance)
        planned = algorithm.plan(normal, target, deadline=deadline, progress=report)
    slater_value = planned.answer.value if planned.slater_value is None else planned.slater_value
    slack = slater_value[1:] - normal.threshold
    found = (
        Feasibility.NONE if planned.ending is Ending.INFEASIBLE else judge(slack, 1 / (1 - problem.discount))
    )
    if found is Feasibility.NONE and planned.ending is not Ending.INFEASIBLE:
        found = Feasibility.TIGHT  # stopped before it was known
    slater = SlaterPolicy(
        planned.answer.policy, np.empty((0, 0)), slater_value, slack, planned.slater_weight, found
    )
    prepared = Prepared(problem, normal, units, slater)
    seconds = time.perf_counter() - start
    if prepared.feasibility is Feasibility.NONE:
        return infeasible_solution(prepared, algorithm.name, seconds)
    point = planned.answer
    answer = Answer(point.policy, point.value, planned.upper_bound, planned.multiplier, planned.feasible)
    kind = Kind.SOLVED if planned.ending is Ending.PROVED else Kind.STOPPED
    what = f"a relative gap of {tolerance:g} is proved" if kind is Kind.SOLVED else planned.ending.value
    gap = number(planned.gap * float(units.span[0]))
    missed = "" if planned.feasible else " The policy misses a constraint: no feasible one was found in time."
    counts = f"{planned.solves} unconstrained problems were solved"
    status = Status(kind, f"{kind.value.capitalize()}: {what}; the proved gap is {gap}; {counts}.{missed}")
    return feasible_solution(prepared, answer, status, algorithm.name, seconds, None)


def gap_target(units: Units, discount: float, tolerance: float) -> Callable[[float], float]:
    """Return the gap to prove, given the bound, in normalised units."""
    span, offset = float(units.span[0]), float(units.offset[0])
    least = 1e-6 * span / (1 - discount)
    return lambda bound: tolerance * max(abs(bound * span + offset), least) / span
