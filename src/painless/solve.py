"""The verb: `solve` a problem with an algorithm or a planner, and return a policy with its proof."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from painless import validation
from painless.algorithms import PRM, Algorithm, require_algorithm, require_single
from painless.arrays import Array, one_thread
from painless.averages import MultiplierAverages, Output
from painless.bellman import occupancy_policy
from painless.certificate import Answer, Certifier, better
from painless.clock import Clock
from painless.errors import InputError
from painless.evaluators import Evaluator, exact_evaluator
from painless.feasibility import Feasibility
from painless.finish import INTERRUPTED, TIMEOUT, Ending, finished, infeasible_solution
from painless.framework import Recorder
from painless.generation import Progress, generate
from painless.judgement import is_solved, normal_target
from painless.mapped import unchanged
from painless.planners.column_generation import ColumnGeneration
from painless.planners.engine import occupancy
from painless.planners.linear_program import LinearProgram, OptimalOccupancy
from painless.policy import LearningTable, TabularPolicy, checked_policy, restricted
from painless.policy import initial_policy as starting_policy
from painless.prepare import Prepared, Steps, prepare
from painless.problem import CMDP, require_problem
from painless.solution import Solution

FINAL_ROUNDS = 16  # of polishing and bounding after the last iteration; each costs about one policy iteration
CLOSING_ROUNDS = 200  # of the same after a linear program, whose answer is exact to 1e-10 only
TIGHT_PAIRS = 20_000  # up to which the linear program takes over where there is no Slater point
FINAL_GAP = 1e-6  # relative; after the last iteration the gap of a swept model is not closed further
EXACT = 0.03  # the error of a swept best response's values, relative to the gap to prove
PATIENCE = 8  # proofs in a row that close no gap; what is left then is rounding
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
        initial_policy: (S, A) or a `TabularPolicy`; the uniform policy over available actions by default. In states where it
            leaves out an available action, 1 % of the uniform policy is mixed in, since what starts at 0 would stay there.
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
    require_problem(problem)
    time_limit = _checked_limit(algorithm, iterations, tolerance, time_limit, output)
    seed = validation.seed(seed)
    for given_name, function in (("evaluator", evaluator), ("progress", progress)):
        validation.function(given_name, function)
    clock = Clock(time_limit)
    algorithm = PRM() if algorithm is None else algorithm
    name = "lp" if isinstance(algorithm, LinearProgram) else algorithm.name
    start = starting_policy(initial_policy, problem.actions)
    with one_thread(), clock.interruptible():
        if isinstance(algorithm, ColumnGeneration):
            warm = (
                None
                if initial_policy is None
                else checked_policy(initial_policy, problem.actions, "initial_policy")
            )
            solution = generate(problem, algorithm, tolerance, clock, progress, warm)
            if solution is not None:
                return solution
        prepared = prepare(problem, clock.tick)
        if prepared.feasibility is Feasibility.NONE:
            return infeasible_solution(prepared, name, clock)
        prior = restricted(start, prepared.normal.actions)
        certifier = Certifier(
            *(prepared.normal, prepared.slater, prior, prepared.engine), relaxation=prepared.relaxation
        )
        ending = Ending(name, tolerance)
        if prepared.slater.stopped is not None:
            return _without_slater(prepared, certifier, ending, clock)
        tight = prepared.feasibility is not Feasibility.SLACK
        if tight or isinstance(algorithm, LinearProgram | ColumnGeneration):
            return _plan(prepared, certifier, ending, clock)
        certifier.precision = _precision(prepared, FINAL_GAP if iterations else tolerance)
        estimator = None if evaluator is None else evaluator(prepared.normal)
        steps = prepared.steps(algorithm, prior[None], iterations, seed, estimator)
        monitor = None if evaluator is None else exact_evaluator(prepared.normal, prepared.engine)
        recorder = Recorder[LearningTable[Any]](monitor)
        run = _Run(prepared, certifier, steps, iterations, output, clock, progress, recorder)
        answer, ending = run.to_the_end(ending)
        trace, improve = run.recorder.trace().run(0), output is Output.POLISHED
        return finished(prepared, certifier, answer, ending, clock, trace, improve)


def _checked_limit(
    algorithm: Any, iterations: int | None, tolerance: float, time_limit: float | None, output: Output
) -> float | None:
    """Refuse an algorithm, a horizon or a tolerance that is none; return the time limit."""
    if algorithm is not None and not isinstance(algorithm, LinearProgram | ColumnGeneration):
        require_single(require_algorithm(algorithm))
    check_horizon(iterations, output)
    if not 0 < validation.number("tolerance", tolerance, "give one such as 1e-3") < np.inf:
        raise InputError(f"tolerance is {tolerance}; it must be a positive number, such as 1e-3")
    return validation.seconds(time_limit)


def check_horizon(iterations: int | None, output: Output = Output.POLISHED) -> None:
    """Refuse a horizon that is not a whole number of at least 1, and an average that lacks one."""
    if not isinstance(output, Output):
        raise InputError(f"output is {output!r}; give one of {', '.join(f'Output.{o.name}' for o in Output)}")
    if iterations is not None:
        validation.whole("iterations", iterations)
    elif output is not Output.POLISHED:
        raise InputError(f"output {output.name} needs a given number of iterations")


def _precision(prepared: Prepared, tolerance: float) -> float:
    """Return how exact the values of swept best responses have to be: a small part of the gap to prove."""
    target = normal_target(prepared.problem, prepared.units, tolerance)
    return EXACT * target(max(float(prepared.slater.value[0]), 0.0))


def _without_slater(prepared: Prepared, certifier: Certifier, ending: Ending, clock: Clock) -> Solution:
    """Return what is known where the search for a Slater policy was stopped."""
    clock.extend()
    try:
        answer = certifier.assess(prepared.slater.policy)
    except TimeoutError:
        answer = certifier.known()
    ending = ending.stop(INTERRUPTED if isinstance(prepared.slater.stopped, KeyboardInterrupt) else TIMEOUT)
    return finished(prepared, certifier, answer, ending, clock)


def _plan(prepared: Prepared, certifier: Certifier, ending: Ending, clock: Clock) -> Solution:
    """Solve by the linear program: on request, or where there is no Slater point; close the gap that it leaves."""
    target = normal_target(prepared.problem, prepared.units, ending.tolerance)
    answer = certifier.known()
    if ending.algorithm != "lp" and prepared.feasibility is not Feasibility.SLACK:
        reason = prepared.feasibility.value
        why = f"{reason[0].upper()}{reason[1:]}, so that no bound on the multipliers is known"
        ending = ending._replace(note=f"{why}: planned in place of {ending.algorithm}.")
    try:
        optimum = _occupancy(prepared, certifier.threshold, clock)
        if optimum is None and prepared.feasibility is Feasibility.SLACK:
            ending = ending._replace(
                note="The linear program was left out, or gave up: best responses were tried."
            )
        if optimum is not None:
            certifier.bound(optimum.multiplier, 0.0)
            policy = occupancy_policy(optimum.occupancy, certifier.prior)
            answer = certifier.judge(policy)
            certifier.add(answer.low, answer.policy)
        if not is_solved(answer.gap, answer.upper_bound, answer.feasible, target):
            mixture, _ = certifier.prove((), target, CLOSING_ROUNDS)
            answer = better(certifier.answer(mixture), certifier.bounded(answer))
        solved = is_solved(answer.gap, answer.upper_bound, answer.feasible, target)
        if optimum is not None and not solved and prepared.feasibility is not Feasibility.SLACK:
            # The little slack that there may be costs more than the tolerance: miss a limit by what counts as met.
            answer = better(certifier.assess(policy), answer)
    except TimeoutError:
        ending = ending.stop(TIMEOUT)
    except KeyboardInterrupt:
        ending = ending.stop(INTERRUPTED)
    return finished(prepared, certifier, answer, ending, clock)


def _occupancy(prepared: Prepared, threshold: Array, clock: Clock) -> OptimalOccupancy | None:
    """Solve the linear program; where there is no Slater point, again with thresholds that still count as met."""
    slack = prepared.feasibility is Feasibility.SLACK
    if not slack and prepared.normal.actions.sum() > TIGHT_PAIRS:
        return None
    for limits in (prepared.normal.threshold,) if slack else (prepared.normal.threshold, threshold):
        # Undecided, if HiGHS sees neither a solution nor that there is none; or it would overrun the time that is left.
        with suppress(RuntimeError, TimeoutError):
            clock.tick()
            optimum = LinearProgram().plan(prepared.normal.with_limits(limits), clock.left)
            if optimum is not None:
                return optimum
    return None


@dataclass
class _Run:
    """One run of an algorithm, with everything that is collected on the way."""

    prepared: Prepared
    certifier: Certifier
    steps: Steps
    iterations: int | None
    output: Output
    clock: Clock
    progress: Callable[[Progress], None] | None
    recorder: Recorder[LearningTable[Any]]

    def __post_init__(self) -> None:
        self.averages = MultiplierAverages(1 + self.prepared.normal.shape[2])
        self.occupancy = np.zeros(self.prepared.normal.actions.shape)  # of the output average

    def to_the_end(self, ending: Ending) -> tuple[Answer, Ending]:
        """Run for the given horizon, or until the tolerance is proved, or until stopped."""
        try:
            self._advance(1)
            if self.iterations:
                return self._to_the_horizon(), ending._replace(completed=self.iterations)
            return self._to_the_tolerance(ending.tolerance), ending
        except TimeoutError:
            return self._stopped(), ending.stop(TIMEOUT)
        except KeyboardInterrupt:
            return self._stopped(), ending.stop(INTERRUPTED)

    def _to_the_horizon(self) -> Answer:
        assert self.iterations is not None
        block = max(1, self.iterations // 100)
        while self.averages.count < self.iterations:
            self._report()
            self._advance(min(block, self.iterations - self.averages.count))
        answer = self._answer()
        if self.output is not Output.POLISHED:
            average = occupancy_policy(self.occupancy, self.certifier.prior)
            answer = self.certifier.assess(average)
        return answer

    def _to_the_tolerance(self, tolerance: float) -> Answer:
        target = normal_target(self.prepared.problem, self.prepared.units, tolerance)
        rounds, least, stalled = 1, np.inf, 0
        while True:
            self._advance(max(FIRST_CHECK, self.averages.count // 8))
            mixture, optimal = self.certifier.prove(self.averages, target, rounds)
            bound = self.certifier.upper_bound
            gap = bound - mixture.value
            stalled = 0 if gap < 0.99 * least else stalled + 1
            if optimal or gap <= target(bound) or stalled >= PATIENCE:
                answer = self.certifier.answer(mixture)
                solved = is_solved(answer.gap, answer.upper_bound, answer.feasible, target)
                if optimal or solved or stalled >= PATIENCE:
                    return answer
            self._report(mixture.value)
            rounds, least = rounds + 1, min(gap, least)

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
            self.clock.tick()

    def _answer(self) -> Answer:
        exact = self.certifier.engine.exact
        target = normal_target(self.prepared.problem, self.prepared.units, FINAL_GAP)
        mixture, _ = self.certifier.prove(self.averages, (lambda _: 0.0) if exact else target, FINAL_ROUNDS)
        return self.certifier.answer(mixture)

    def _stopped(self) -> Answer:
        """Answer from what is known, as well as can be done in a moment."""
        self.clock.extend()
        try:
            if self.certifier.engine.exact:
                return self._answer()
            return self.certifier.answer(self.certifier.polish())
        except TimeoutError:
            return self.certifier.known()

    def _report(self, value: float = np.nan) -> None:
        if self.progress is not None:
            units, sign = self.prepared.units, float(self.prepared.problem.sign[0])
            values = np.array([value, self.certifier.upper_bound]) * units.span[0] + units.offset[0]
            values = np.where(np.isfinite(values), sign * values, np.nan)
            self.progress(Progress(self.averages.count, self.iterations, float(values[0]), float(values[1])))
