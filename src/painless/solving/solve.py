"""`solve`: find a policy with a planner or an algorithm, and prove its gap."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from painless.bellman import occupancy_policy
from painless.common import arguments
from painless.common.arrays import one_thread
from painless.common.clock import Clock
from painless.common.errors import InputError
from painless.engines.engine import occupancy
from painless.evaluators import Evaluator, exact_evaluator
from painless.logs.logged_model import LoggedModel
from painless.logs.solution import LoggedSolution, solve_log
from painless.loop.algorithm_case import AlgorithmCase
from painless.loop.algorithms import PRM, Algorithm, require_algorithm, require_single
from painless.loop.averages import MultiplierAverages, Output
from painless.loop.framework import Recorder, Trace
from painless.planning.case import Case, gap_target
from painless.planning.certificate import Answer, Certifier
from painless.planning.column_generation import choose
from painless.planning.feasibility import Feasibility
from painless.planning.linear_program import LinearProgram
from painless.planning.planner import Ending, Planned, Planner, Progress, Task
from painless.policies.learning_table import LearningTable
from painless.policies.mixture import MixturePolicy
from painless.policies.rules import as_policy
from painless.policies.table import TabularPolicy, checked_policy, restricted
from painless.policies.table import initial_policy as starting_policy
from painless.policies.timed import TimedPolicy
from painless.problem import CMDP, require_problem
from painless.problem.function_model import FunctionModel
from painless.problem.names import add_names
from painless.solving.conclusion import conclude
from painless.solving.solution import Solution

FINAL_ROUNDS = 16  # of the proof after the last iteration; each costs about one policy iteration
FINAL_GAP = 1e-6  # relative gap at which the proof of a swept model ends after the last iteration
EXACT = 0.03  # error of a swept best response's values, relative to the gap to prove
PATIENCE = 8  # proofs in a row without progress, after which a run stops
FIRST_CHECK = 16  # iterations before the first proof; after that, every n/8


@overload
def solve(
    problem: LoggedModel, *, confidence: float = 0.95, time_limit: float | None = None
) -> LoggedSolution: ...


@overload
def solve(
    problem: CMDP,
    algorithm: Algorithm | Planner | None = None,
    *,
    iterations: int | None = None,
    tolerance: float = 1e-3,
    time_limit: float | None = None,
    initial_policy: ArrayLike | TabularPolicy | TimedPolicy | None = None,
    output: Output = Output.POLISHED,
    evaluator: Callable[[CMDP], Evaluator[Any]] | None = None,
    seed: int = 0,
    progress: Callable[[Progress], None] | None = None,
) -> Solution: ...


def solve(
    problem: CMDP | LoggedModel,
    algorithm: Algorithm | Planner | None = None,
    *,
    iterations: int | None = None,
    tolerance: float = 1e-3,
    time_limit: float | None = None,
    initial_policy: ArrayLike | TabularPolicy | TimedPolicy | None = None,
    output: Output = Output.POLISHED,
    evaluator: Callable[[CMDP], Evaluator[Any]] | None = None,
    seed: int = 0,
    progress: Callable[[Progress], None] | None = None,
    confidence: float | None = None,
) -> Solution | LoggedSolution:
    """Find a feasible policy, and prove how far from optimal it can be.

    Arguments:
        algorithm: a planner, `LinearProgram()` or `ColumnGeneration()`, or an algorithm, whose own iterates are returned:
            `CBP()` (the paper's), `PRM()`, `GDA`, `CRPO`, or your own `PrimalDual`. By default the fastest planner for the
            model, or `PRM()` if `iterations` are given; `solution.reason` says why.
        iterations: run the algorithm for exactly this horizon. Without it, run until the gap is at most
            `tolerance` relative to the optimal value.
        time_limit: in seconds; after it, and on Ctrl-C, the best answer so far is returned with its proof.
        initial_policy: (S, A), with a horizon also (H, S, A), or a policy; the uniform policy over available actions by default. In states where an
            available action has probability 0, which would stay 0, 1 % of the uniform policy is mixed in.
        output: which policy to return after a given number of iterations.
        evaluator: a function from the problem in normalised units to an evaluator, such as
            `lambda normal: TemporalDifference(normal, 1000)`; exact by default. The algorithm then sees
            estimates; the trace, the policy and its proof stay exact.
        seed: random seed; exact evaluation is deterministic.
        progress: called regularly with a `Progress`.
        confidence: for a log, see `from_log`: with which probability a limit that counts as met is met on the truth; 0.95 by default. The answer is
            then a `LoggedSolution`, and of the other arguments only `time_limit` matters.

    >>> import painless
    >>> solution = painless.solve(painless.gridworld())
    >>> solution.feasible, solution.gap < 1.7e-3
    (True, True)
    """
    if isinstance(problem, LoggedModel):
        others: dict[str, Any] = {"algorithm": algorithm, "iterations": iterations}
        others |= {"initial_policy": initial_policy, "evaluator": evaluator}
        return _solve_log(problem, confidence, time_limit, others)
    require_problem(problem)
    for source in problem.sources:  # the file that it is mapped from, if it is
        source.require_unchanged()
    if confidence is not None:
        raise InputError("confidence is for logs (painless.from_log); the values of a problem are exact")
    if algorithm is not None and (isinstance(algorithm, type) or not isinstance(algorithm, Planner)):
        require_single(require_algorithm(algorithm))
    if not isinstance(output, Output):
        raise InputError(f"output is {output!r}; give one of {', '.join(f'Output.{o.name}' for o in Output)}")
    if iterations is not None:
        arguments.whole("iterations", iterations)
    elif output is not Output.POLISHED:
        raise InputError(f"output {output.name} needs a given number of iterations")
    if not 0 < arguments.number("tolerance", tolerance, "give one such as 1e-3") < np.inf:
        raise InputError(f"tolerance is {tolerance}; it must be a positive number, such as 1e-3")
    clock, reason = Clock(None if time_limit is None else arguments.seconds(time_limit)), ""
    seed = arguments.whole("seed", seed, least=0, most=np.inf)  # however large
    for given_name, function in (("evaluator", evaluator), ("progress", progress)):
        if function is not None:
            arguments.function(given_name, function)
    if isinstance(initial_policy, TimedPolicy | MixturePolicy) or (
        initial_policy is not None and problem.stages is not None
    ):
        initial_policy = as_policy(initial_policy, problem, "initial_policy")
    if algorithm is None and (iterations is not None or evaluator is not None):
        algorithm, reason = PRM(), "PRM is the default for a number of iterations: it needs no tuning."
    elif algorithm is None:
        algorithm, reason = choose(problem)
    task = Task(tolerance, clock, progress)
    if not isinstance(algorithm, Planner):
        task = task._replace(start=starting_policy(initial_policy, problem.actions))
    elif initial_policy is not None:
        task = task._replace(start=checked_policy(initial_policy, problem.actions, "initial_policy"))
    try:
        with one_thread(), clock.interruptible():
            case, trace = AlgorithmCase.of(problem, clock.tick), None
            if case.misses_constant:
                found = Planned(algorithm.name, case)
            elif isinstance(algorithm, Planner):
                found = algorithm.answer(case, task)
            elif case.feasibility is not Feasibility.SLACK:
                found = _in_place_of(algorithm, case, task)
            else:
                run = _Iterating(case, algorithm, task, iterations, output, evaluator, seed)
                found = run.to_the_end()
                trace = case.trace(run.recorder.trace().run(0))
            narrow = not isinstance(problem, FunctionModel)  # whose best responses are the work itself
            solution = conclude(found._replace(reason=found.reason or reason), task, trace, narrow)
    except InputError as error:
        add_names(error, problem.names)
        raise
    for source in problem.sources:
        source.require_unchanged()
    return solution


def _solve_log(
    log: LoggedModel, confidence: float | None, time_limit: float | None, others: Mapping[str, Any]
) -> LoggedSolution:
    """Plan on a log, which takes none of the `others`."""
    for name, value in others.items():
        if value is not None:
            raise InputError(
                f"a log is planned on in one way only; remove {name}, or solve log.problem, the estimate"
            )
    return solve_log(log, confidence=0.95 if confidence is None else confidence, time_limit=time_limit)


def _in_place_of(algorithm: Algorithm, case: Case, task: Task) -> Planned:
    """Plan if there is no Slater point, since algorithms need a multiplier bound."""
    found, why = LinearProgram().answer(case, task), case.feasibility.value
    if found.answer is None or case.slater.stopped is not None:
        return found._replace(planner=algorithm.name)
    return found._replace(
        reason=f"{why[0].upper()}{why[1:]}, so {algorithm.name} has no multiplier bound: the linear program replaced it."
    )


class _Iterating:
    """One run of an algorithm, with its averages and its proof."""

    def __init__(
        self,
        case: AlgorithmCase,
        algorithm: Algorithm,
        task: Task,
        iterations: int | None,
        output: Output,
        evaluator: Callable[[CMDP], Evaluator[Any]] | None,
        seed: int,
    ) -> None:
        assert task.start is not None
        self.case, self.name, self.task = case, algorithm.name, task
        self.iterations, self.output = iterations, output
        self.prior = restricted(task.start, case.engine.allowed)
        estimator = None if evaluator is None else evaluator(case.normal)
        monitor = None if evaluator is None else exact_evaluator(case.normal, case.engine)
        self.steps = case.steps(algorithm, self.prior[None], iterations, seed, estimator)
        self.recorder = Recorder[LearningTable[Any]](monitor)
        self.certifier = Certifier(case.engine, case.slater, relaxation=case.relaxation)
        target = gap_target(case.problem, FINAL_GAP if iterations else task.tolerance, case.units)
        self.certifier.game.precision = EXACT * target(max(float(case.slater.value[0]), 0.0))
        self.averages = MultiplierAverages(1 + case.normal.shape[2])
        self.occupancy = np.zeros(case.normal.actions.shape)  # of the output average

    def to_the_end(self) -> Planned:
        """Run for the given horizon, or until the tolerance is proved, or until stopped."""
        try:
            self._advance(1)
            if self.iterations:
                answer, ending = self._to_the_horizon(), Ending.COMPLETED
            else:
                answer, ending = self._to_the_tolerance()
        except (TimeoutError, KeyboardInterrupt) as stop:
            answer, ending = self._stopped(), Ending.of(stop)
        return Planned(self.name, self.case, self.certifier, answer, ending)

    def _to_the_horizon(self) -> Answer:
        assert self.iterations is not None
        block = max(1, self.iterations // 100)
        while self.averages.count < self.iterations:
            self._report()
            self._advance(min(block, self.iterations - self.averages.count))
        if self.output is Output.POLISHED:
            return self._answer()
        self._bound()
        return self.certifier.assess(occupancy_policy(self.occupancy, self.prior))

    def _to_the_tolerance(self) -> tuple[Answer, Ending]:
        target = gap_target(self.case.problem, self.task.tolerance, self.case.units)
        certifier, rounds, least, stalled = self.certifier, 1, np.inf, 0
        while True:
            self._advance(max(FIRST_CHECK, self.averages.count // 8))
            if not certifier.game.exhausted:
                certifier.prove(self.averages, target, rounds)
            mixture = certifier.polish()
            gap = certifier.game.upper - mixture.value
            least, stalled = (gap, 0) if gap < 0.99 * least else (least, stalled + 1)
            if gap <= target(certifier.game.upper) or stalled >= PATIENCE:
                answer = certifier.answer(mixture.weights)
                if answer.gap <= target(answer.upper_bound):
                    return answer, Ending.PROVED
                if stalled >= PATIENCE:
                    return answer, Ending.STALLED
            self._report(mixture.value)
            rounds += 1

    def _advance(self, count: int) -> None:
        for _ in range(count):
            step = next(self.steps)
            table = self.certifier.engine.playable(step.policy.probabilities[0])
            weight = 0.0
            if self.output is not Output.POLISHED and self.iterations is not None:
                weight = self.output.weight(self.averages.count, self.iterations)
            if weight:
                self.occupancy += weight * occupancy(self.certifier.engine, table)
            value = self.recorder.add(step)
            self.certifier.add(value[0], table)
            self.averages.add(step.weight[0])
            self.task.clock.tick()

    def _bound(self) -> None:
        """Prove a bound with a few best responses."""
        tolerance = 0.0 if self.certifier.engine.exact else FINAL_GAP
        target = gap_target(self.case.problem, tolerance, self.case.units)
        self.certifier.prove(self.averages, target, FINAL_ROUNDS)

    def _answer(self) -> Answer:
        self._bound()
        return self.certifier.answer(self.certifier.polish().weights)

    def _stopped(self) -> Answer:
        """Return the best answer that what is known gives quickly."""
        self.task.clock.extend()
        try:
            if self.certifier.engine.exact:
                return self._answer()
            return self.certifier.answer(self.certifier.polish().weights)
        except TimeoutError:
            return self.certifier.known()

    def _report(self, value: float = np.nan) -> None:
        if self.task.progress is not None:
            count, bound = self.averages.count, self.certifier.game.upper
            now = Progress.of(self.case, count, self.iterations, value, bound)
            values, weight = (part[:1] for part in self.recorder.steps[-1])
            trace = self.case.trace(Trace(values[:, 0], values[:, 1:], weight[:, 1:]))
            latest = np.append(trace.reward_value, trace.constraint_value)
            self.task.progress(replace(now, value=latest, multiplier=trace.multiplier[0]))
