"""Column generation through the same verb: from a plan in normalised units to a solution in the user's terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from painless.arrays import Array
from painless.certificate import Answer, Certifier
from painless.clock import Clock
from painless.feasibility import Feasibility, SlaterPolicy
from painless.finish import INTERRUPTED, TIMEOUT, Ending, finished, infeasible_solution
from painless.judgement import Relaxation, misses_constant, normal_target
from painless.planners.column_generation import ColumnGeneration, Planned, Search
from painless.planners.column_generation import Ending as SearchEnding
from painless.planners.engine import EXACT_STATES
from painless.policy import uniform_policy
from painless.prepare import Prepared
from painless.presolve import presolve
from painless.problem import CMDP
from painless.solution import Solution
from painless.units import TOLERANCE, Units, normalise

EXACT = 0.03  # the error of the values of best responses after the search, relative to the gap that was to be proved
STOPS = {SearchEnding.TIMEOUT: TIMEOUT, SearchEnding.INTERRUPT: INTERRUPTED}


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
    clock: Clock,
    progress: Callable[[Progress], None] | None,
    start: Array | None = None,
) -> Solution | None:
    """Solve by column generation, which finds its own Slater policy and forms nothing of size S × S.

    Where there is no Slater point, or sweeps cannot prove the tolerance of a small model, return None: that is for others to solve.
    """
    from painless.planners.swept import Swept

    smaller, met = presolve(problem)
    normal, units = normalise(smaller, met)
    if misses_constant(problem, units).any():
        return None
    relaxation, engine = Relaxation(smaller, normal, units), Swept(normal)
    target = normal_target(problem, units, tolerance)
    planned = algorithm.plan(
        normal,
        target,
        clock=clock,
        progress=_reported(problem, units, progress),
        engine=engine,
        spare=relaxation.spare,
        start=start,
    )
    if planned.ending is SearchEnding.TIGHT:
        return None
    if planned.ending is SearchEnding.ROUNDING and normal.shape[0] <= EXACT_STATES:
        return None  # factorised systems prove more
    slater = _slater(planned, normal)
    prepared = Prepared(problem, normal, units, relaxation, engine, slater)
    if planned.ending is SearchEnding.INFEASIBLE:
        return infeasible_solution(prepared, algorithm.name, clock)
    precision = EXACT * target(planned.upper_bound)
    certifier = Certifier(normal, slater, uniform_policy(normal.actions), engine, precision, relaxation)
    certifier.upper_bound, certifier.multiplier = planned.upper_bound, planned.multiplier
    certifier.response = planned.response
    for low, actions in planned.columns:
        certifier.add(low, actions)
        certifier.proved.append(low)
    note = f"{planned.solves} unconstrained problems were solved."
    ending = Ending(algorithm.name, tolerance, stopped=STOPS.get(planned.ending, ""), note=note)
    return finished(prepared, certifier, _answer(planned, relaxation), ending, clock)


def _reported(
    problem: CMDP, units: Units, progress: Callable[[Progress], None] | None
) -> Callable[[Search], None] | None:
    """Return what tells the user where a search stands."""
    if progress is None:
        return None

    def report(now: Search) -> None:
        values = np.array([now.reward_value, now.upper_bound]) * units.span[0] + units.offset[0]
        values = np.where(np.isfinite(values), problem.sign[0] * values, np.nan)
        progress(Progress(now.solves, None, float(values[0]), float(values[1])))

    return report


def _answer(planned: Planned, relaxation: Relaxation) -> Answer:
    point = planned.answer
    feasible = planned.feasible or relaxation.allows(point.policy, point.value)
    return Answer(
        policy=point.policy,
        value=point.guess,
        low=point.value,
        upper_bound=planned.upper_bound,
        multiplier=planned.multiplier,
        feasible=feasible,
    )


def _slater(planned: Planned, normal: CMDP) -> SlaterPolicy:
    """Return what the search found about the slack; its policy is the answer, which is at hand."""
    value = planned.answer.value
    slack = value[1:] - normal.threshold
    unit = 1 / (1 - normal.discount)
    known = planned.slater_value
    proved = slack if known is None else known[1:] - normal.threshold
    if planned.ending is SearchEnding.INFEASIBLE:
        found = Feasibility.NONE
    else:
        enough = bool((proved > TOLERANCE * unit).all() or (slack >= 0).all())
        found = Feasibility.SLACK if enough else Feasibility.UNKNOWN
    guess = planned.answer.guess
    return SlaterPolicy(
        *(planned.answer.policy, np.empty((0, 0)), guess, value, slack, planned.slater_weight, found, slack)
    )
