"""`solve_many`: variants of one model, such as other limits, prices, discounts or probabilities, each with its own proof.

Variants are solved in blocks, one after another, and each block starts from the answer to the first variant. Where only the limits differ, all policies that are known, with their proved values, take
part from the start. Elsewhere a search starts from the last prices, at which a bound is proved anew, and from the policies of the last answer,
which are evaluated anew from their values and visits there; nothing that was proved for one model is claimed of another. Blocks do not depend on the number of workers, so
that results do not either.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from painless.backends import Backend, Error, Local
from painless.backends.base import attempt
from painless.common import arguments
from painless.common.arrays import Array, one_thread
from painless.common.clock import Clock
from painless.common.errors import InputError
from painless.engines.engine import Actions, Engine
from painless.engines.swept import Swept
from painless.planning.case import Case
from painless.planning.column_generation import ColumnGeneration
from painless.planning.master import Column
from painless.planning.planner import Ending, Planned, Recalled, Task
from painless.problem import CMDP, require_problem
from painless.problem.comparison import same_model
from painless.problem.function_model import FunctionModel
from painless.problem.names import add_names
from painless.solving.conclusion import conclude
from painless.solving.solution import Solution
from painless.solving.solve import solve

BLOCK = 25  # variants that are solved one after another
# The tolerance from which on policies of a similar model are good enough. At 1e-6 they cost more than they save, unless those of the last two answers are the same.
LOOSE = 1e-3
PACKED = (
    1 << 26
)  # bytes of the probabilities of a model that is packed: of a larger one each block begins anew
KEPT = 60  # policies that are kept for the next variant


def solve_many(
    problems: Iterable[CMDP],
    *,
    tolerance: float = 1e-3,
    backend: Backend | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Solution]:
    """Solve variants of one model, each from where the one before it ended.

    Put variants that are alike next to each other: each starts from the one before it, and the first of each block of 25 from the first of all. Ranges of prices are proved, and not narrowed any further as `solve` does. Ctrl-C
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
    begun: list[Solution] = []
    start = b""
    if len(variants) > BLOCK:
        first_result = attempt(_solve_first, (tolerance, variants[0]))
        if isinstance(first_result, Error):
            raise InputError(f"variant 0 has no result: {first_result.message}")
        solution, start = first_result
        begun = [solution]
    blocks = [
        (first, tolerance, variants[max(first, len(begun)) : first + BLOCK], start)
        for first in range(0, len(variants), BLOCK)
    ]
    found: dict[int, list[Solution]] = {}
    with backend or Local() as workers:
        for (first, _, block, _), result in workers.map(_solve_block, blocks):
            if isinstance(result, Error):
                last = max(first, len(begun)) + len(block) - 1
                raise InputError(f"variants {first} to {last} have no result: {result.message}")
            found[first] = result if first else begun + result
            if progress is not None:
                progress(sum(map(len, found.values())), len(variants))
    return [solution for first in sorted(found) for solution in found[first]]


class _Known(NamedTuple):
    """What a search leaves for that of another variant."""

    normal: CMDP
    engine: Engine | None
    price: Array  # (K,)
    upper: float
    columns: list[Column]  # of deterministic policies
    used: list[Actions]  # the policies of the answer
    bounds: list[tuple[Array, float]]
    stayed: bool  # whether these are policies of the answer before it

    @classmethod
    def of(cls, found: Planned, before: _Known | None = None) -> _Known | None:
        """Return what was found after the answer before it; None if it was not found by best responses, or the model is given as functions."""
        stored = not isinstance(found.case.problem, FunctionModel)
        if found.certifier is None or found.planner != ColumnGeneration.name or not stored:
            return None
        game = found.certifier.game
        columns: list[Column] = [column for column in game.columns.known if column.policy.ndim == 1]
        mixed = {id(game.columns[k]) for k in np.flatnonzero(game.mixture.weights).tolist()}
        used: list[Any] = [column.policy for column in columns if id(column) in mixed]
        last = set() if before is None else {policy.tobytes() for policy in before.used}
        return cls(
            *(found.case.normal, found.certifier.engine, game.price, game.upper, columns, used),
            game.bounds[-KEPT:],
            stayed=bool(used) and last.issuperset(policy.tobytes() for policy in used),
        )

    def packed(self) -> bytes:
        """Return it as bytes, from which every block starts alike, whatever another one makes of it; none of a large model.

        An engine that cannot be packed is left out.
        """
        kernel: Any = self.normal.transition
        if (kernel if isinstance(kernel, np.ndarray) else kernel.data).nbytes > PACKED:
            return b""
        engine = self.engine if isinstance(self.engine, Swept) else None
        return pickle.dumps(self._replace(engine=engine))


def _solve_first(piece: tuple[float, CMDP]) -> tuple[Solution, bytes]:
    """Solve a variant; return the solution, and what others start from."""
    tolerance, variant = piece
    solution, known = _solved(variant, tolerance, None)
    return solution, b"" if known is None else known.packed()


def _solve_block(block: tuple[int, float, list[CMDP], bytes]) -> list[Solution]:
    """Solve variants one after another."""
    _, tolerance, variants, start = block
    before: _Known | None = pickle.loads(start) if start else None  # written by this process or its parent
    solutions = []
    with one_thread():
        for variant in variants:
            solution, before = _solved(variant, tolerance, before)
            solutions.append(solution)
    return solutions


def _solved(problem: CMDP, tolerance: float, before: _Known | None) -> tuple[Solution, _Known | None]:
    """Return the solution, and what the next variant starts from; a planner that knows no start is used as it is."""
    clock = Clock()
    try:
        with clock.interruptible():
            case = Case.of(problem, clock.tick)
            if case.misses_constant:
                return solve(problem, tolerance=tolerance), before
            task = Task(tolerance, clock)
            if before is not None and not isinstance(problem, FunctionModel):
                task = task._replace(**_start(case, before, tolerance))
            found = ColumnGeneration().answer(case, task)
            if found.ending is Ending.INTERRUPT:
                raise KeyboardInterrupt
            solution = conclude(found, task, narrow=False)
    except InputError as error:
        add_names(error, problem.names)
        raise
    return solution, _Known.of(found, before) or before


def _start(case: Case, known: _Known, tolerance: float) -> dict[str, Any]:
    """Return what a search takes over from that of another variant."""
    if len(known.price) != case.normal.shape[2] or case.normal.actions.shape != known.normal.actions.shape:
        return {}
    start: dict[str, Any] = {} if known.engine is None else {"before": known.engine}
    if same_model(case.normal, known.normal):
        return start | {"columns": known.columns[-KEPT:], "bounds": known.bounds}
    scale = case.normal.unit / known.normal.unit
    priced = [column for column in known.columns if column.multiplier is not None]
    shape = len(priced), len(known.price)
    prices = np.reshape([column.multiplier for column in priced], shape)
    values = np.reshape([column.value[1:] for column in priced], shape)
    policies = known.used if tolerance >= LOOSE or known.stayed else []
    slack = scale * (values - known.normal.threshold)
    return start | {"prices": known.price, "recalled": Recalled(policies, scale * known.upper, prices, slack)}
