"""The verb `frontier`: the optimal value as a function of one limit, and what each unit of it costs."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from painless.arrays import Array, one_thread
from painless.errors import InputError, unknown
from painless.mapped import unchanged
from painless.planners.parametric import Graph, Vertex, trace
from painless.planners.pool import REWARD, Pool
from painless.problem import CMDP
from painless.render import number
from painless.trade_off import Frontier
from painless.units import TOLERANCE, Units, normalise, tolerances

FINE_STATES = 2000  # up to which every vertex is found, unless told otherwise
FINE, COARSE = 1e-12, 1e-4  # the tolerance up to there, and beyond


class Infeasible(InputError):
    """The constraints that are held cannot be met, whatever the limit of the one that varies."""


@unchanged
def frontier(
    problem: CMDP,
    constraint: int | str = 0,
    *,
    tolerance: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Frontier:
    """Find every vertex of the trade-off between the objective and the limit of one constraint.

    Arguments:
        constraint: the number or the name of the constraint whose limit varies; the others are held.
        tolerance: how far the optimum may lie above the line between two vertices, relative to the ranges of the
            frontier: 1e-12 by default, and 1e-4 for more than 2000 states, where there can be thousands of
            vertices that nobody could tell apart.
        progress: called with the numbers of edges that are proved, and of those that are not yet.

    >>> import painless
    >>> curve = frontier(painless.gridworld())
    >>> curve.threshold.round(4)
    array([0.2455, 1.2604, 1.7684, 2.5373, 2.5573])
    >>> optimum = curve.at(1.5)
    >>> round(optimum.reward_value, 6), round(optimum.multiplier[0], 6)
    (1.652722, 0.17323)
    """
    if tolerance is None:
        tolerance = FINE if problem.shape[0] <= FINE_STATES else COARSE
    if not 0 <= tolerance < 1:
        raise InputError(f"tolerance is {tolerance}; it must be in [0, 1), such as 1e-4")
    start = time.perf_counter()
    index = find_constraint(problem, constraint)
    with one_thread():
        normal, units = normalise(problem)
        pool = _pool(problem, normal, units, index)
        varied = np.flatnonzero(units.kept == index)
        if len(varied):
            graph = trace(pool, int(varied[0]), tolerance, progress)
        else:  # constant, whatever the policy
            response = pool.best(REWARD, None)
            graph = Graph([Vertex(float(response.value[0]), 0.0, response)], np.empty(0), 0.0)
    return _frontier(problem, units, index, graph, pool, time.perf_counter() - start)


def find_constraint(problem: CMDP, given: int | str) -> int:
    """Return the number of a constraint, given by its number or its name."""
    count = problem.shape[2]
    if not count:
        raise InputError("the problem has no constraint, so that there is no limit to vary")
    names = [problem.name("constraints", i) for i in range(count)]
    if isinstance(given, str) and given in names:
        return names.index(given)
    if isinstance(given, str) and not given.isdecimal():
        raise unknown("constraint", given, names)
    chosen = given if isinstance(given, float) else int(given)
    if isinstance(given, bool) or chosen not in range(count):
        raise InputError(f"constraint is {given}; give a number from 0 to {count - 1}, or a name")
    return int(chosen)


def _pool(problem: CMDP, normal: CMDP, units: Units, index: int) -> Pool:
    """Return a pool that holds all constraints but one, once it is known that they can be met."""
    missed = units.offset[1:] < problem.threshold - tolerances(problem)
    constant = np.setdiff1d(np.arange(problem.shape[2]), [*units.kept, index])
    pool = Pool(normal, [int(i) for i in np.flatnonzero(units.kept != index)])
    slack = pool.meet() if len(pool.held) else 0.0
    if missed[constant].any() or slack < -TOLERANCE * pool.unit:
        held = [i for i in range(problem.shape[2]) if i != index]
        limits = ", ".join(
            f"{problem.name('constraints', i)} {problem.sense[i]} {number(problem.limit[i])}" for i in held
        )
        raise Infeasible(
            f"no policy meets {limits}, whatever the limit of {problem.name('constraints', index)}; relax "
            f"{'it' if len(held) == 1 else 'at least one of them'}"
        )
    return pool


def _frontier(problem: CMDP, units: Units, index: int, graph: Graph, pool: Pool, seconds: float) -> Frontier:
    """Return a graph in normalised units as a frontier in the user's terms."""
    values = np.tile(units.offset, (len(graph.vertices), 1))
    present = np.append(0, 1 + units.kept)
    values[:, present] += np.array([v.response.value for v in graph.vertices]) * units.span[present]
    values[np.abs(values) <= pool.rounding * units.span] = 0.0  # what cancellation leaves
    values = values * problem.sign + 0.0
    used = sorted({row for v in graph.vertices for row, _ in v.response.mixture})
    place = {row: k for k, row in enumerate(used)}
    return Frontier(
        problem=problem,
        constraint=index,
        reward_value=values[:, 0],
        constraint_value=values[:, 1:],
        multiplier=_multipliers(
            values[:, 0] * problem.sign[0], values[:, 1 + index] * problem.sign[1 + index]
        ),
        gap=graph.gap * units.span[0],
        error=graph.error,
        actions=np.array([pool.actions[row] for row in used]),
        mixtures=tuple(
            tuple((place[row], weight) for row, weight in v.response.mixture) for v in graph.vertices
        ),
        solves=pool.solves,
        seconds=seconds,
    )


def _multipliers(reward: Array, constraint: Array) -> Array:
    """Return the interval of shadow prices at each vertex, (N, 2), from values in the internal sense."""
    slope = -np.diff(reward) / np.diff(constraint)
    rising = np.maximum.accumulate(np.concatenate([[0.0], slope]))
    return np.column_stack([rising, np.append(rising[1:], np.inf)])
