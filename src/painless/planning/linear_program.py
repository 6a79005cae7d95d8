"""The linear program over occupancy measures, solved by HiGHS.

max Σ d·r   subject to   Σ_a d(s', a) − γ Σ_{s,a} P(s'|s, a) d(s, a) = ρ(s'),   Σ d·c_i ≥ b_i,   d ≥ 0
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.bellman import occupancy_policy
from painless.common.arrays import Array
from painless.common.clock import Clock
from painless.engines.reduction import Reduction
from painless.planning import highs
from painless.planning.case import Case, gap_target
from painless.planning.certificate import RANK, Certifier
from painless.planning.feasibility import Feasibility
from painless.planning.planner import Ending, Planned, Task
from painless.policies.table import uniform_policy
from painless.problem import CMDP, Criterion
from painless.problem.transitions import require_sound

# The seconds that HiGHS takes before it looks at the clock: about this for each transition, and more from so many on.
SETUP, LARGE = 3e-6, 100_000


class OptimalOccupancy(NamedTuple):
    """An optimal occupancy measure (S, A) and the constraints' multipliers (K,)."""

    occupancy: Array
    multiplier: Array


@dataclass(frozen=True)
class LinearProgram:
    """The exact planner for models of up to a few thousand states.

    Use it as `solve(problem, LinearProgram())`. HiGHS is exact to 1e-10; best responses close the remaining gap.
    """

    name: ClassVar[str] = "lp"
    tight_pairs: ClassVar[int] = 20_000  # pairs up to which it is tried without a Slater point

    def plan(self, problem: CMDP, time_limit: float = np.inf) -> OptimalOccupancy | None:
        """Return an optimal occupancy, or None if no policy is feasible; raise TimeoutError after this many seconds."""
        states, actions, constraints = problem.shape
        require_sound(problem.transition)
        whole = Reduction(problem) if problem.criterion is Criterion.TOTAL else None
        pairs = np.flatnonzero(problem.actions if whole is None else whole.sure)
        transitions = problem.most_successors * len(pairs)
        if SETUP * transitions * (1 + transitions / LARGE) > time_limit:
            raise TimeoutError  # HiGHS checks the clock only between steps, and the first ones are long
        kernel = problem.transition
        if problem.stages is not None:
            kernel = problem.stages.matrix()
        elif isinstance(kernel, np.ndarray):
            kernel = scipy.sparse.csr_array(kernel.reshape(-1, states))
        chosen = scipy.sparse.csr_array(kernel[pairs])
        stay = scipy.sparse.csr_array(
            (np.ones(len(pairs)), (np.arange(len(pairs)), pairs // actions)), chosen.shape
        )
        flow, start = scipy.sparse.csc_array((stay - problem.discount * chosen).T), problem.initial
        utility = problem.utility.reshape(1 + constraints, -1)[:, pairs]
        if problem.criterion is Criterion.AVERAGE:
            flow, start, utility = _in_the_long_run(flow, stay, start, utility)
        resting: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        if whole is not None:
            resting = np.flatnonzero(whole.rests.label >= 0)
            flow, utility = _with_rests(flow, utility, resting)
        result = highs.minimise(
            -utility[0],
            A_ub=-utility[1:] if constraints else None,
            b_ub=-problem.threshold if constraints else None,
            A_eq=flow,
            b_eq=start,
            time_limit=time_limit,
        )
        if result.status == 1 and np.isfinite(time_limit):
            raise TimeoutError
        if result.status == 2:
            return None
        if result.status != 0:
            raise RuntimeError(f"HiGHS failed on the linear program: {result.message}; try another algorithm")
        occupancy = np.zeros(states * actions)
        occupancy[pairs] = np.maximum(result.x[: len(pairs)], 0.0)
        if whole is not None:
            stay_there = resting * actions + whole.rests.pairs[resting].argmax(1)
            occupancy[stay_there] += np.maximum(result.x[len(pairs) :], 0.0)
        multiplier = np.maximum(-result.ineqlin.marginals, 0.0) if constraints else np.empty(0)
        return OptimalOccupancy(occupancy.reshape(states, actions), multiplier)

    def answer(self, case: Case, task: Task) -> Planned:
        """Solve the linear program, and close the remaining gap by best responses, which also replace a skipped program."""
        if case.feasibility is Feasibility.NONE:
            return Planned(self.name, case)
        certifier = Certifier(case.engine, case.slater, relaxation=case.relaxation)
        slack, answer, note = case.feasibility is Feasibility.SLACK, certifier.known(), ""
        if case.slater.stopped is not None:
            task.clock.extend()
            with suppress(TimeoutError):
                answer = certifier.assess(case.slater.policy)
            return Planned(self.name, case, certifier, answer, Ending.of(case.slater.stopped))
        target = gap_target(case.problem, task.tolerance, case.units)
        try:
            case.tick()
            optimum = self._occupancy(case, certifier.game.aim.reached, task.clock)
            if optimum is None:
                note = "The linear program was skipped or failed, so best responses were used instead."
            if optimum is not None:
                certifier.bound(optimum.multiplier, 0.0)
                policy = occupancy_policy(optimum.occupancy, uniform_policy(case.normal.actions))
                answer = certifier.judge(policy)
            if answer.gap > target(answer.upper_bound):
                mixture = certifier.prove((), target, task.rounds)
                answer = max(certifier.answer(mixture.weights), certifier.bounded(answer), key=RANK)
            solved = answer.gap <= target(answer.upper_bound)
            if optimum is not None and not solved and not slack:
                # Meeting the limits in full costs more than the tolerance: miss them by what still counts as met.
                answer = max(certifier.assess(policy), answer, key=RANK)
        except (TimeoutError, KeyboardInterrupt) as stop:
            return Planned(self.name, case, certifier, answer, Ending.of(stop), note=note)
        return Planned(self.name, case, certifier, answer, note=note)

    def _occupancy(self, case: Case, threshold: Array, clock: Clock) -> OptimalOccupancy | None:
        """Solve the linear program; without a Slater point, retry with thresholds that still count as met."""
        slack = case.feasibility is Feasibility.SLACK
        if not slack and case.normal.actions.sum() > self.tight_pairs:
            return None
        for limits in (case.normal.threshold,) if slack else (case.normal.threshold, threshold):
            # HiGHS may fail to decide feasibility, or need more than the remaining time.
            with suppress(RuntimeError, TimeoutError):
                clock.tick()
                optimum = self.plan(case.normal.with_limits(limits), clock.left)
                if optimum is not None:
                    return optimum
        return None


def _with_rests(flow: Any, utility: Array, resting: NDArray[np.intp]) -> tuple[Any, Array]:
    """Return the program of totals, in which one may stop for nothing in some states."""
    stops = scipy.sparse.csc_array(
        (np.ones(len(resting)), (resting, np.arange(len(resting)))), (flow.shape[0], len(resting))
    )
    whole = scipy.sparse.hstack([flow, stops], format="csc")
    return whole, np.concatenate([utility, np.zeros((len(utility), len(resting)))], axis=1)


def _in_the_long_run(flow: Any, stay: Any, start: Array, utility: Array) -> tuple[Any, Array, Array]:
    """Return the program of long-run averages: frequencies x that balance, and visits y on the way that lead ρ to them.

    Σ_a x − Σ P x = 0,      Σ_a x + Σ_a y − Σ P y = ρ,      x, y ≥ 0             (Kallenberg, 1983)
    """
    whole = scipy.sparse.block_array([[flow, None], [stay.T, flow]], format="csc")
    twice = np.concatenate([utility, np.zeros_like(utility)], axis=1)
    return whole, np.append(np.zeros(len(start)), start), twice
