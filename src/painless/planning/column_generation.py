"""Column generation: large sparse models, with a proof at every step (Dantzig & Wolfe 1960).

Only K multipliers link a constrained problem to unconstrained ones. Two steps alternate:

- the master finds the best mixture of the policies found so far, known by their values alone, and the
  multipliers λ of the constraints in it: its value is a lower bound;
- pricing solves the unconstrained problem with utility r + λ·c: its value d(λ) = max_π V_r + λ·(V_c − b) is an
  upper bound, and its policy joins the master.

The multipliers are smoothed towards those of the best bound (Wentges 1997), which saves solves for K > 1. A first
game of the same kind, over weights of the constraints alone, finds the joint slack (the Slater gap) or proves that
there is none. At the end the mixture of at most K + 1 deterministic policies is turned into one stationary policy
by its occupancy, and evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

from painless.common.arguments import number, whole
from painless.common.arrays import Array
from painless.common.clock import Clock
from painless.common.errors import InputError
from painless.common.render import counted
from painless.engines.engine import EXACT_STATES, FEW_STATES, Engine, engine_of
from painless.planning.columns import Column
from painless.planning.judgement import LEAST, Relaxation
from painless.planning.linear_program import LinearProgram
from painless.planning.planner import Case, Ending, Planned, Progress, Task
from painless.planning.search import Searched, Searcher
from painless.problem import CMDP
from painless.problem.function_model import FunctionModel
from painless.problem.units import TOLERANCE


@dataclass(frozen=True)
class ColumnGeneration:
    """The planner for large sparse models: `solve(problem, ColumnGeneration(), tolerance=1e-6)`.

    Arguments:
        smoothing: the weight of the best multipliers so far in the next ones, in [0, 1); by default 0.2 for one
            constraint and 0.5 for more, which need the fewest solves on Garnets and grids.
        rounds: the maximum number of unconstrained MDPs to solve.
    """

    name: ClassVar[str] = "column-generation"
    smoothing: float | None = None
    rounds: int = 1000

    def __post_init__(self) -> None:
        advice = "give one in [0, 1), such as 0.3"
        if self.smoothing is not None and not 0 <= number("smoothing", self.smoothing, advice) < 1:
            raise InputError(f"smoothing is {self.smoothing}; it must be in [0, 1), such as 0.3")
        whole("rounds", self.rounds)

    def plan(
        self,
        problem: CMDP,
        target: Callable[[float], float] | float = 1e-6,
        *,
        clock: Clock | None = None,
        progress: Callable[[int, float, float], None] | None = None,
        engine: Engine | None = None,
        relaxation: Relaxation | None = None,
        start: Array | None = None,
        columns: Iterable[Column] = (),
        prices: Array | None = None,
        bounds: Iterable[tuple[Array, float]] = (),
    ) -> Searched:
        """Solve a problem whose utilities lie in [0, 1], as `units.normalise` returns it.

        Arguments:
            target: the gap to prove, given the bound; a number is relative to the bound, as in `solve`.
            clock: when its time is up, or on Ctrl-C, the best answer so far is returned.
            progress: called after every solve with the number of solves, the reward of the best mixture and the bound.
            engine: solves the model; by default chosen by its size.
            relaxation: what counts as feasible; by default in the units of the problem.
            start: an initial policy (S, A).
            columns: policies that are known already, from the same model at other thresholds.
            prices: multipliers (K,) near which the answer is expected.
            bounds: on best responses to prices (K,), proved for the same model at other thresholds.

        >>> import painless
        >>> planned = ColumnGeneration().plan(painless.gridworld(), 1e-9)
        >>> round(float(planned.answer.value[0]), 8), planned.feasible
        (1.65272184, True)
        """
        engine = engine or engine_of(problem, FEW_STATES)
        least = LEAST * engine.unit
        gap = target if callable(target) else lambda bound: target * max(abs(bound), least)
        search = Searcher(
            *(engine, gap, clock or Clock(), relaxation or Relaxation.of(problem)),
            rounds=self.rounds,
            share=self.smoothing,
            progress=progress,
        )
        return search.run(start, columns, prices, bounds)

    def answer(self, case: Case, task: Task) -> Planned:
        """Find a policy and a Slater policy, without any array of size S × S.

        If there is no Slater point, or sweeps cannot prove the tolerance of a small model, the linear program takes over.
        """
        report, show = None, task.progress
        if show is not None:

            def report(solves: int, value: float, bound: float) -> None:
                show(Progress.of(case, solves, None, value, bound))

        engine = engine_of(case.normal, FEW_STATES)
        if task.before is not None:
            engine.continue_from(task.before)
        found = self.plan(
            case.normal,
            case.target(task.tolerance),
            engine=engine,
            clock=task.clock,
            progress=report,
            relaxation=case.relaxation,
            start=task.start,
            columns=task.columns,
            prices=task.prices,
            bounds=task.bounds,
        )
        small = case.normal.shape[0] <= EXACT_STATES and not found.certifier.engine.exact
        stored = not isinstance(case.normal, FunctionModel)
        if stored and (found.ending is Ending.TIGHT or (found.ending is Ending.ROUNDING and small)):
            why = "The constraints are feasible only at the boundary (no Slater point)"
            if found.ending is Ending.ROUNDING:
                why = "Sweeps cannot prove this tolerance"
            elif found.slack is not None and found.slack.upper > TOLERANCE * found.certifier.engine.unit:
                why = "It is not known whether any policy meets all constraints"
            reason = f"{why}, so the linear program replaced column generation."
            return LinearProgram().answer(case, task)._replace(reason=reason)
        case = case.known(found.certifier.engine, found.slater)
        if found.ending is Ending.INFEASIBLE:
            return Planned(self.name, case)
        note = f"{counted(found.solves, 'unconstrained problem')} {'was' if found.solves == 1 else 'were'} solved."
        return Planned(self.name, case, found.certifier, found.answer, found.ending, note=note)
