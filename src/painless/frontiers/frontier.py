"""`frontier`: the optimal value as a function of one limit, with shadow prices."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import pairwise
from numbers import Real
from typing import overload

import numpy as np

from painless.common import arguments
from painless.common.arrays import one_thread
from painless.common.clock import Clock
from painless.common.errors import InputError
from painless.common.render import number
from painless.frontiers import Frontier
from painless.frontiers.logged import LoggedFrontier, logged_frontier
from painless.logs.answer import checked_confidence
from painless.logs.logged_model import LoggedModel
from painless.planning.case import Case, misses_constant
from painless.planning.feasibility import Feasibility
from painless.planning.parametric import REWARD, Graph, Pool, trace
from painless.problem import CMDP, Criterion, require_problem
from painless.problem.names import Names, add_names
from painless.problem.units import Units, normalise, presolve

FINE_STATES = 2000  # states up to which every vertex is found by default
FINE, COARSE = 1e-12, 1e-4  # default tolerances up to that size and beyond


class Infeasible(InputError):
    """The held constraints cannot be met, whatever the varied limit."""


@overload
def frontier(
    problem: LoggedModel,
    constraint: Hashable = 0,
    *,
    time_limit: float | None = None,
    confidence: float = 0.95,
) -> LoggedFrontier: ...


@overload
def frontier(
    problem: CMDP,
    constraint: Hashable = 0,
    *,
    tolerance: float | None = None,
    time_limit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Frontier: ...


def frontier(
    problem: CMDP | LoggedModel,
    constraint: Hashable = 0,
    *,
    tolerance: float | None = None,
    time_limit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
    confidence: float | None = None,
) -> Frontier | LoggedFrontier:
    """Find every vertex of the trade-off between the objective and the limit of one constraint.

    Arguments:
        constraint: the number or the name of the constraint whose limit varies; the others are held.
        tolerance: the largest distance of the optimum above the line between two vertices, relative to the ranges of the
            frontier: 1e-12 by default, or 1e-4 for more than 2000 states, which can have thousands of
            indistinguishable vertices.
        time_limit: in seconds; after it, and on Ctrl-C, the vertices so far are returned, with the proved errors in `gap` and
            `error`. Raises TimeoutError if not even the ends are known.
        progress: called with the numbers of proved and unproved edges.
        confidence: for a log, see `from_log`: of the intervals; 0.95 by default. The answer is then a `LoggedFrontier`, a band of plans for some limits.

    >>> import painless
    >>> curve = frontier(painless.gridworld())
    >>> curve.threshold.round(4)
    array([0.2455, 1.2604, 1.7684, 2.5373, 2.5573])
    >>> optimum = curve.at(1.5)
    >>> round(optimum.reward_value, 6), round(optimum.multiplier[0], 6)
    (1.652722, 0.17323)
    """
    if isinstance(problem, LoggedModel):
        clock = Clock(arguments.seconds(time_limit))
        curve = frontier(problem.problem, constraint, time_limit=time_limit)
        level = checked_confidence(0.95 if confidence is None else confidence)
        return logged_frontier(problem, curve, find_constraint(problem.problem, constraint), level, clock)
    require_problem(problem)
    for source in problem.sources:  # the file that it is mapped from, if it is
        source.require_unchanged()
    if confidence is not None:
        raise InputError("confidence is for logs (painless.from_log); the frontier of a problem is exact")
    if progress is not None:
        arguments.function("progress", progress)
    if tolerance is None:
        tolerance = FINE if problem.shape[0] <= FINE_STATES else COARSE
    if not 0 <= arguments.number("tolerance", tolerance, "give one such as 1e-4") < 1:
        raise InputError(f"tolerance is {tolerance}; it must be in [0, 1), such as 1e-4")
    clock = Clock(arguments.seconds(time_limit))
    index = find_constraint(problem, constraint)
    try:
        with one_thread(), clock.interruptible():
            limits = np.where(np.arange(problem.shape[2]) == index, -np.inf, problem.threshold)
            smaller, met = presolve(problem._replace(threshold=limits))
            normal, units = normalise(smaller, met)
            if problem.criterion is Criterion.TOTAL:  # whatever its limit is, the varied constraint has one
                normal = normal._replace(threshold=np.where(units.kept == index, 0.0, normal.threshold))
            pool = Pool(normal, [int(i) for i in np.flatnonzero(units.kept != index)], clock.tick)
            if problem.shape[2] > 1:
                _require_feasible(pool, smaller, units, index, clock)
            varied = np.flatnonzero(units.kept == index)
            if len(varied):
                graph = trace(pool, int(varied[0]), tolerance, progress)
            else:  # constant for all policies
                graph = Graph([pool.best(REWARD, None)], np.empty(0), 0.0)
    except TimeoutError:
        late = "the time limit was reached before the ends of the frontier were known; allow more time"
        raise TimeoutError(late) from None
    except InputError as error:
        add_names(error, problem.names)
        raise
    for source in problem.sources:
        source.require_unchanged()
    return _frontier(problem, units, index, graph, pool, clock.seconds)


def find_constraint(problem: CMDP, given: Hashable) -> int:
    """Return the number of a constraint, given by its number or its name."""
    count = problem.shape[2]
    if not count:
        raise InputError("the problem has no constraint, so that there is no limit to vary")
    if type(given) is int and 0 <= given < count and "constraints" not in problem.names:
        return given
    names = Names(problem.constraint_names)
    place = names.place(given)
    if place is not None:
        return place
    if isinstance(given, str) and not given.isdecimal():
        raise names.missing("constraint", given)
    chosen = int(given) if isinstance(given, str) else given
    if isinstance(chosen, bool) or not isinstance(chosen, Real) or chosen not in range(count):
        raise InputError(f"constraint is {given}; give a number from 0 to {count - 1}, or a name")
    return int(chosen)


def _require_feasible(pool: Pool, problem: CMDP, units: Units, index: int, clock: Clock) -> None:
    """Check that all constraints but one, which the pool holds, can be met."""
    open_question = len(pool.held) and pool.meet() < 0
    if (len(units.removed) and misses_constant(problem, units).any()) or (
        open_question and Case.of(problem, clock.tick).feasibility is Feasibility.NONE
    ):
        held = [i for i in range(problem.shape[2]) if i != index]
        limits = ", ".join(
            f"{problem.constraint_names[i]} {problem.sense[i]} {number(problem.limit[i])}" for i in held
        )
        raise Infeasible(
            f"no policy meets {limits}, whatever the limit of {problem.constraint_names[index]}; relax "
            f"{'it' if len(held) == 1 else 'at least one of them'}"
        )


def _frontier(problem: CMDP, units: Units, index: int, graph: Graph, pool: Pool, seconds: float) -> Frontier:
    """Return a graph in normalised units as a frontier in the user's terms."""
    added = np.zeros((len(graph.vertices), len(units.span)))
    present = np.append(0, 1 + units.kept)
    added[:, present] = np.array([v.value for v in graph.vertices]) * units.span[present]
    values = units.offset + added
    cancels = (units.offset != 0) & (added != 0)  # nothing is added to a constant
    values[cancels & (np.abs(values) <= pool.rounding * units.span)] = 0.0
    values = values * problem.sign + 0.0
    reward, constraint = values[:, 0] * problem.sign[0], values[:, 1 + index] * problem.sign[1 + index]
    # The vertices along which the constraint rises and the reward falls; rounding may spoil the order.
    kept: list[int] = []
    for k in range(len(reward)):
        while kept and reward[k] >= reward[kept[-1]] and constraint[k] >= constraint[kept[-1]]:
            kept.pop()
        if not kept or (reward[k] < reward[kept[-1]] and constraint[k] > constraint[kept[-1]]):
            kept.append(k)
    vertices, values = [graph.vertices[k] for k in kept], values[kept]
    slope = -np.diff(reward[kept]) / np.diff(constraint[kept])
    rising = np.maximum.accumulate(np.concatenate([[0.0], slope]))  # the prices from vertex to vertex
    gap = np.array([max(graph.gap[a:b]) for a, b in pairwise(kept)])
    used = sorted({row for v in vertices for row, _ in v.mixture})
    place = {row: k for k, row in enumerate(used)}
    return Frontier(
        problem=problem,
        constraint=index,
        reward_value=values[:, 0],
        constraint_value=values[:, 1:],
        multiplier=np.column_stack([rising, np.append(rising[1:], np.inf)]),
        gap=gap * units.span[0],
        error=graph.error,
        actions=np.array([pool.columns.known[row].policy for row in used]),
        mixtures=tuple(tuple((place[row], weight) for row, weight in v.mixture) for v in vertices),
        solves=pool.solves,
        seconds=seconds,
    )
