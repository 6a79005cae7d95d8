"""`solve_many`: variants of one model, such as other limits, prices, discounts or probabilities, each with its own proof.

Variants are solved in blocks, one after another. Where only the limits differ, all policies that are known, with their proved values, take
part from the start. Elsewhere a search starts from the last prices, at which a bound is proved anew, and from the policies of the last answer,
which are evaluated anew from their values and visits there; nothing that was proved for one model is claimed of another. Blocks do not depend on the number of workers, so
that results do not either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from painless.backends import Backend, Error, Local
from painless.common import arguments
from painless.common.arrays import one_thread
from painless.common.clock import Clock
from painless.common.errors import InputError
from painless.planning.case import Case
from painless.planning.column_generation import ColumnGeneration
from painless.planning.master import Column
from painless.planning.planner import Ending, Planned, Recalled, Task
from painless.problem import CMDP, require_problem
from painless.problem.comparison import same_model
from painless.problem.names import add_names
from painless.solving.conclusion import conclude
from painless.solving.solution import Solution
from painless.solving.solve import solve

BLOCK = 25  # variants that are solved one after another
LOOSE = 1e-3  # the tolerance from which on policies of a similar model are good enough; at 1e-6 they cost more than they save
KEPT = 60  # policies that are kept for the next variant


def solve_many(
    problems: Iterable[CMDP],
    *,
    tolerance: float = 1e-3,
    backend: Backend | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Solution]:
    """Solve variants of one model, each from where the one before it ended.

    Put variants that are alike next to each other. Ranges of prices are proved, and not narrowed any further as `solve` does. Ctrl-C
    raises KeyboardInterrupt: an answer that was cut short is no answer to all variants.

    Arguments:
        problems: the variants, such as `problem.with_limits([b])` for many b; any problems are solved, only not all faster.
        tolerance: the relative gap to prove, as in `solve`.
        backend: where to work, such as `painless.backends.Local(4)`; this process by default. Results do not depend on it.
        progress: called after each block of 25 with the number of variants that are solved, and of all.

    >>> import painless
    >>> problem = painless.gridworld()
    >>> found = solve_many([problem.with_limits([limit]) for limit in (1.0, 1.5, 2.0)])
    >>> [round(solution.reward_value, 2) for solution in found]
    [1.7, 1.65, 1.53]
    """
    variants = list(problems)
    for variant in variants:
        require_problem(variant)
    if not 0 < arguments.number("tolerance", tolerance, "give one such as 1e-3") < np.inf:
        raise InputError(f"tolerance is {tolerance}; it must be a positive number, such as 1e-3")
    arguments.function("progress", progress)
    blocks = [(first, tolerance, variants[first : first + BLOCK]) for first in range(0, len(variants), BLOCK)]
    found: dict[int, list[Solution]] = {}
    with backend or Local() as workers:
        for (first, _, block), result in workers.map(_solve_block, blocks):
            if isinstance(result, Error):
                raise InputError(
                    f"variants {first} to {first + len(block) - 1} have no result: {result.message}"
                )
            found[first] = result
            if progress is not None:
                progress(sum(map(len, found.values())), len(variants))
    return [solution for first in sorted(found) for solution in found[first]]


def _solve_block(block: tuple[int, float, list[CMDP]]) -> list[Solution]:
    """Solve variants one after another."""
    _, tolerance, variants = block
    before: Planned | None = None
    solutions = []
    with one_thread():
        for variant in variants:
            solution, before = _solved(variant, tolerance, before)
            solutions.append(solution)
    return solutions


def _solved(problem: CMDP, tolerance: float, before: Planned | None) -> tuple[Solution, Planned | None]:
    """Return the solution, and what the next variant starts from; a planner that knows no start is used as it is."""
    clock = Clock()
    try:
        with clock.interruptible():
            case = Case.of(problem, clock.tick)
            if case.misses_constant:
                return solve(problem, tolerance=tolerance), before
            task = Task(tolerance, clock)
            if before is not None and before.certifier is not None:
                task = task._replace(**_start(case, before, tolerance))
            found = ColumnGeneration().answer(case, task)
            if found.ending is Ending.INTERRUPT:
                raise KeyboardInterrupt
            solution = conclude(found, task, narrow=False)
    except InputError as error:
        add_names(error, problem.names)
        raise
    usable = found.certifier is not None and found.planner == ColumnGeneration.name
    return solution, found if usable else before


def _start(case: Case, before: Planned, tolerance: float) -> dict[str, Any]:
    """Return what a search takes over from that of another variant."""
    assert before.certifier is not None
    game, known = before.certifier.game, before.case
    if len(game.price) != case.normal.shape[2] or case.normal.actions.shape != known.normal.actions.shape:
        return {}
    start: dict[str, Any] = {"before": before.certifier.engine}
    columns: list[Column] = [column for column in game.columns.known if column.policy.ndim == 1]
    if same_model(case.normal, known.normal):
        return start | {"columns": columns[-KEPT:], "bounds": game.bounds[-KEPT:]}
    scale = case.normal.unit / known.normal.unit
    priced = [column for column in columns if column.multiplier is not None]
    shape = len(priced), len(game.price)
    prices = np.reshape([column.multiplier for column in priced], shape)
    values = np.reshape([column.value[1:] for column in priced], shape)
    policies: list[Any] = []
    if tolerance >= LOOSE:
        used = {id(game.columns[k]) for k in np.flatnonzero(game.mixture.weights).tolist()}
        policies = [column.policy for column in columns if id(column) in used]
    slack = scale * (values - known.normal.threshold)
    return start | {"prices": game.price, "recalled": Recalled(policies, scale * game.upper, prices, slack)}
