"""The verb: `solve` a problem with an algorithm or a planner, and return a policy with its proof."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from painless.algorithms import PRM, Algorithm
from painless.arrays import one_thread
from painless.averages import MultiplierAverages, Output
from painless.bellman import occupancy_policy
from painless.certificate import Answer, Certifier
from painless.errors import InputError
from painless.evaluators import Evaluator, exact_evaluator
from painless.feasibility import Feasibility
from painless.finish import feasible_solution, infeasible_solution
from painless.framework import Recorder
from painless.generation import Progress, gap_target, generate
from painless.mapped import unchanged
from painless.planners.column_generation import ColumnGeneration
from painless.planners.engine import occupancy
from painless.planners.linear_program import LinearProgram, OptimalOccupancy
from painless.policy import LearningTable, TabularPolicy
from painless.policy import initial_policy as checked_policy
from painless.prepare import Prepared, Steps, prepare
from painless.problem import CMDP
from painless.render import number
from painless.solution import Kind, Solution, Status
from painless.units import tolerances

FINAL_ROUNDS = 16  # of polishing and bounding after the last iteration; each costs about one policy iteration
TIGHT_PAIRS = 20_000  # up to which the linear program takes over where constraints leave nothing to spare
TIGHT_GAP = 1e-6  # relative; up to it a policy of the largest slack is as good as optimal
FINAL_GAP = 1e-6  # relative; after the last iteration the gap of a swept model is not closed further
EXACT = 0.03  # the error of a swept best response's values, relative to the gap to prove
FIRST_CHECK = 16  # iterations before the first proof is tried; after that, every n/8


@unchanged
def solve(
    problem: CMDP,
    algorithm: Algorithm | LinearProgram | ColumnGeneration | None = None,
    *,
    iterations: int | None = None,
    tolerance: float = 1e-3,
    time_limit: float | None = None,
    initial_policy: ArrayLike | TabularPolicy | None = None,
    output: Output = Output.POLISHED,
    evaluator: Callable[[CMDP], Evaluator[Any]] | None = None,
    seed: int = 0,
    progress: Callable[[Progress], None] | None = None,
) -> Solution:
    """Find a feasible policy, and prove how far from optimal it can be.

    Arguments:
        algorithm: `PRM()` by default; `CBP`, the paper's, `GDA`, `CRPO`, a `PrimalDual` of your own,
            `LinearProgram()`, or for large sparse models `ColumnGeneration()`.
        iterations: run the algorithm for exactly this horizon. Without it, run until the gap is at most
            `tolerance` relative to the optimal value.
        time_limit: in seconds; the best answer so far is returned with its proof. So it is on Ctrl-C.
        initial_policy: (S, A) or a `TabularPolicy`; the uniform policy over available actions by default.
        output: which policy to return after a given number of iterations.
        evaluator: makes an evaluator of the problem in normalised units, such as
            `lambda normal: TemporalDifference(normal, 1000)`; exact by default. The algorithm then sees
            estimates; the trace, the policy and its proof stay exact.
        seed: for what is drawn at random; nothing is when evaluation is exact.
        progress: called now and then with a `Progress`.

    >>> import painless
    >>> solution = painless.solve(painless.gridworld())
    >>> solution.feasible, solution.gap < 1.7e-3
    (True, True)
    """
    check_horizon(iterations, output)
    if not 0 < tolerance < np.inf:
        raise InputError(f"tolerance is {tolerance}; it must be a positive number, such as 1e-3")
    if time_limit is not None and not time_limit > 0:
        raise InputError(f"time_limit is {time_limit}; it must be a positive number of seconds")
    start = time.perf_counter()
    algorithm = PRM() if algorithm is None else algorithm
    name = "lp" if isinstance(algorithm, LinearProgram) else algorithm.name
    deadline = np.inf if time_limit is None else start + time_limit
    if isinstance(algorithm, ColumnGeneration):
        solution = generate(problem, algorithm, tolerance, start, deadline, progress)
        tight = solution.status.kind is Kind.SOLVED and not solution.feasible
        if not tight or problem.actions.sum() > TIGHT_PAIRS:
            return solution
        algorithm = LinearProgram()
    with one_thread():
        prior = checked_policy(initial_policy, problem.actions)
        prepared = prepare(problem)
        if prepared.feasibility is Feasibility.NONE:
            return infeasible_solution(prepared, name, time.perf_counter() - start)
        tight = prepared.feasibility is Feasibility.TIGHT
        if tight and not isinstance(algorithm, LinearProgram) and problem.actions.sum() > TIGHT_PAIRS:
            return generate(problem, ColumnGeneration(), tolerance, start, deadline, progress)
        if isinstance(algorithm, LinearProgram) or tight:
            certifier = Certifier(prepared.normal, prepared.slater, prior, prepared.engine)
            answer, status = _plan(prepared, certifier, name)
            return feasible_solution(prepared, answer, status, name, time.perf_counter() - start, None)
        precision = _precision(prepared, FINAL_GAP if iterations else tolerance)
        certifier = Certifier(prepared.normal, prepared.slater, prior, prepared.engine, precision)
        estimator = None if evaluator is None else evaluator(prepared.normal)
        steps = prepared.steps(algorithm, prior[None], iterations, seed, estimator)
        monitor = None if evaluator is None else exact_evaluator(prepared.normal, prepared.engine)
        recorder = Recorder[LearningTable[Any]](monitor)
        run = _Run(prepared, certifier, steps, iterations, output, deadline, progress, recorder)
        answer, status = run.to_the_end(tolerance)
        seconds = time.perf_counter() - start
        return feasible_solution(prepared, answer, status, name, seconds, run.recorder.trace().run(0))


def check_horizon(iterations: int | None, output: Output = Output.POLISHED) -> None:
    """Refuse a horizon that is not a whole number of at least 1, and an average that lacks one."""
    if iterations is None:
        if output is not Output.POLISHED:
            raise InputError(f"output {output.name} needs a given number of iterations")
    elif isinstance(iterations, bool) or int(iterations) != iterations or iterations < 1:
        raise InputError(f"iterations is {iterations}; it must be a whole number of at least 1")


def _precision(prepared: Prepared, tolerance: float) -> float:
    """Return how exact the values of swept best responses have to be: a small part of the gap to prove."""
    target = gap_target(prepared.units, prepared.problem.discount, tolerance)
    return EXACT * target(float(prepared.slater.value[0]))


def _occupancy(prepared: Prepared) -> OptimalOccupancy | None:
    """Solve the linear program; where nothing is to spare, again with the half of the tolerance that a constraint has."""
    normal = prepared.normal
    if prepared.feasibility is not Feasibility.TIGHT:
        return LinearProgram().plan(normal)
    with suppress(RuntimeError):  # undecided: HiGHS sees neither a solution nor that there is none
        optimum = LinearProgram().plan(normal)
        if optimum is not None:
            return optimum
    looser = normal.with_limits(normal.threshold - 0.5 * tolerances(normal))
    with suppress(RuntimeError):
        return LinearProgram().plan(looser)
    return None


def _plan(prepared: Prepared, certifier: Certifier, name: str) -> tuple[Answer, Status]:
    """Solve by the linear program: on request, or where the constraints leave nothing to spare."""
    optimum = _occupancy(prepared)
    if optimum is None:  # infeasible by less than the tolerance
        certifier.bound(certifier.multiplier, 0.0)
        answer = certifier.judge(prepared.slater.policy)
    else:
        certifier.bound(optimum.multiplier, 0.0)
        answer = certifier.judge(occupancy_policy(optimum.occupancy, certifier.prior))
    why = (
        ""
        if name == "lp"
        else f" {prepared.feasibility.value.capitalize()}, so that no bound on the multipliers is known, and {name} did not run."
    )
    gap = number(answer.gap * float(prepared.units.span[0]))
    if optimum is None and answer.gap > TIGHT_GAP * max(abs(answer.upper_bound), 1.0):
        return answer, Status(
            Kind.STOPPED,
            f"Stopped: the constraints leave nothing to spare, and the linear program finds no policy that meets them; returned is "
            f"the one that comes closest, with a proved gap of {gap}. Loosen a limit by a little to have the optimum.",
        )
    return answer, Status(Kind.SOLVED, f"Solved by the linear program, with a proved gap of {gap}.{why}")


@dataclass
class _Run:
    """One run of an algorithm, with everything that is collected on the way."""

    prepared: Prepared
    certifier: Certifier
    steps: Steps
    iterations: int | None
    output: Output
    deadline: float
    progress: Callable[[Progress], None] | None
    recorder: Recorder[LearningTable[Any]]

    def __post_init__(self) -> None:
        self.averages = MultiplierAverages(1 + self.prepared.normal.shape[2])
        self.occupancy = np.zeros(self.prepared.normal.actions.shape)  # of the output average

    def to_the_end(self, tolerance: float) -> tuple[Answer, Status]:
        """Run for the given horizon, or until the tolerance is proved, or until stopped."""
        try:
            self._advance(1)
            self.certifier.engine.heed(self._tick)
            return self._to_the_horizon() if self.iterations else self._to_the_tolerance(tolerance)
        except TimeoutError:
            return self._stopped("the time limit was reached; allow more time or a larger tolerance")
        except KeyboardInterrupt:
            return self._stopped("interrupted; run it again to go further")

    def _to_the_horizon(self) -> tuple[Answer, Status]:
        assert self.iterations is not None
        block = max(1, self.iterations // 100)
        while self.averages.count < self.iterations:
            self._report()
            self._advance(min(block, self.iterations - self.averages.count))
        answer = self._answer()
        if self.output is not Output.POLISHED:
            average = occupancy_policy(self.occupancy, self.certifier.prior)
            answer = self.certifier.assess(average)
        return answer, self._status(Kind.COMPLETED, answer, f"{self.iterations} iterations done")

    def _to_the_tolerance(self, tolerance: float) -> tuple[Answer, Status]:
        rounds = 1
        while True:
            self._advance(max(FIRST_CHECK, self.averages.count // 8))
            target = self._target(tolerance)
            mixture, optimal = self.certifier.prove(self.averages, target, rounds)
            if optimal or self.certifier.upper_bound - mixture.value <= target(self.certifier.upper_bound):
                answer = self.certifier.answer(mixture)
                if answer.gap <= target(answer.upper_bound):
                    return answer, self._status(
                        Kind.SOLVED, answer, f"a relative gap of {tolerance:g} is proved"
                    )
                if optimal:
                    why = "the tolerance is below what double precision can prove; ask for a larger one"
                    return answer, self._status(Kind.STOPPED, answer, why)
            self._report(mixture.value)
            rounds += 1

    def _advance(self, count: int) -> None:
        for _ in range(count):
            step = next(self.steps)
            table = step.policy.probabilities[0]
            weight = 0.0
            if self.output is not Output.POLISHED and self.iterations is not None:
                weight = self.output.weight(self.averages.count, self.iterations)
            if weight:
                self.occupancy += weight * occupancy(self.certifier.engine, table)
            value = self.recorder.add(step)
            self.certifier.add(value[0], table)
            self.averages.add(step.weight[0])
            self._tick()

    def _tick(self) -> None:
        if time.perf_counter() > self.deadline:
            raise TimeoutError

    def _answer(self) -> Answer:
        target = (lambda _: 0.0) if self.certifier.engine.exact else self._target(FINAL_GAP)
        mixture, _ = self.certifier.prove(self.averages, target, FINAL_ROUNDS)
        return self.certifier.answer(mixture)

    def _stopped(self, why: str) -> tuple[Answer, Status]:
        engine = self.certifier.engine
        engine.heed(lambda: None)
        answer = self._answer() if engine.exact else self._answer_at_once()
        return answer, self._status(Kind.STOPPED, answer, why)

    def _answer_at_once(self) -> Answer:
        """Answer from what is known; bound once where nothing bounds the optimum yet."""
        if self.certifier.upper_bound == np.inf:
            self.certifier.bound(self.certifier.multiplier)
        return self.certifier.answer(self.certifier.polish())

    def _target(self, tolerance: float) -> Callable[[float], float]:
        """Return the gap to prove, given the bound, in normalised units."""
        return gap_target(self.prepared.units, self.prepared.problem.discount, tolerance)

    def _report(self, value: float = np.nan) -> None:
        if self.progress is not None:
            units, sign = self.prepared.units, float(self.prepared.problem.sign[0])
            values = np.array([value, self.certifier.upper_bound]) * units.span[0] + units.offset[0]
            values = np.where(np.isfinite(values), sign * values, np.nan)
            self.progress(Progress(self.averages.count, self.iterations, float(values[0]), float(values[1])))

    def _status(self, kind: Kind, answer: Answer, what: str) -> Status:
        gap = number(answer.gap * float(self.prepared.units.span[0]))
        met = "" if answer.feasible else " This average misses a constraint: take Output.POLISHED to deploy."
        return Status(kind, f"{kind.value.capitalize()}: {what}; the proved gap is {gap}.{met}")
