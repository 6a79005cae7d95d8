"""The conclusion of a solve: an answer in normalised units becomes a `Solution` in the user's terms, with its status."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from fractions import Fraction
from typing import Any

import numpy as np

from painless.common.arrays import Array, Mask
from painless.common.clock import Clock
from painless.common.render import number_beyond
from painless.engines.drawn import Drawn
from painless.engines.engine import EXACT_STATES, Actions, Completes, as_table, engine_of
from painless.engines.sweeps.backward import take_elsewhere
from painless.loop.framework import Trace
from painless.planning.case import Case, constant_shortfall, gap_target, misses_constant
from painless.planning.certificate import Answer, Certifier
from painless.planning.feasibility import Feasibility, SlaterPolicy
from painless.planning.game import Game
from painless.planning.planner import OUT_OF_TIME, Ending, Planned, Task
from painless.planning.prices import NONE, PricePrecision, PriceRanges, closed_in, price_ranges
from painless.policies.action_mixture import ActionMixture
from painless.policies.table import TabularPolicy
from painless.policies.table_mixture import TableMixture
from painless.policies.timed import TimedPolicy, policy_of
from painless.problem import CMDP
from painless.problem.function_model import FunctionModel
from painless.problem.transitions import normalised
from painless.problem.units import normalise, rounded
from painless.solving.remedy import explain
from painless.solving.solution import Solution
from painless.solving.status import Kind, Status
from painless.storage.mapped import unchanged

# Work is counted in pairs (s, a) that are passed, some ten nanoseconds each, and not timed, so that the same question has the same answer.
OF_A_PASS = 5000  # what a pass costs beside its pairs
LEAST_WORK = 5e7  # for the prices if the answer took less
# Work of an answer, and states; prices of a swept model, or of a horizon, that takes more or has more are only as precise as asked, and take at most
QUICK_WORK, FEW_STATES = 1e7, 5000
SHARE = 0.25  # of that work, and less at tolerances with fewer digits than this one
PRECISE = 1e-6
SMALL_GAP = 1e-9  # relative; a smaller gap is rounding, and differs between machines
DRAW = " The policy is a mixture: one table is drawn at the start and kept, and limits hold in expectation over the draw."
# Precision of the visits of a swept model, relative to their sum: the highest, and relative to the tolerance.
VISITS, TOLERATED = 1e-6, 0.1
NAMED = 3  # states that a sentence lists
ROWS = 1 << 17  # of a table from which they are written by compiled code


def conclude(found: Planned, task: Task, trace: Trace | None = None, narrow: bool = True) -> Solution:
    """Return the solution, with price ranges that are narrowed for at most as many passes as the answer took; not at all without `narrow`.

    `trace` is that of an algorithm, in the user's terms, whose own iterates are the answer. Without it, better responses
    found on the way improve the answer.
    """
    certifier, answer, clock = found.certifier, found.answer, task.clock
    if certifier is None or answer is None:
        return _infeasible(found, clock)
    in_time = found.ending not in OUT_OF_TIME
    precise, passes = _effort_for_prices(found.case, certifier, task, answer.upper_bound)
    if not in_time:
        clock.extend()
    narrow = narrow and in_time
    # No response is begun if there is not enough for one that takes as long as those of the answer did on average.
    responds = narrow and (trace is not None or passes * max(certifier.game.responses, 1) >= clock.ticks)
    with clock.allowing(passes) if narrow else nullcontext():
        # Without prices a swept model needs no more than the gap that was asked for.
        if responds and (certifier.engine.exact or certifier.problem.shape[2]):
            answer = closed_in(certifier, answer, trace is None, precise)
        low, high = found.case.problem.utility_range
        if not (low[1:] < high[1:])[found.case.units.removed].any():
            prices = price_ranges(certifier, answer, clock.tick, responds, precise)
            prices = PriceRanges(*(found.case.units.multiplier(side) for side in prices))
        else:
            prices = _prices_of_the_whole(found.case, certifier, answer, clock, narrow)
    return _feasible(found._replace(answer=certifier.bounded(answer)), task, prices, certifier.game, trace)


def _effort_for_prices(
    case: Case, certifier: Certifier, task: Task, bound: float
) -> tuple[PricePrecision, float]:
    """Return how precise the ranges of prices are meant to be, and how many passes they may take."""
    ticks, problem = task.clock.ticks, certifier.problem
    states, actions, _ = problem.shape
    each = OF_A_PASS + states * actions / (problem.horizon or 1)
    stepwise = not certifier.engine.exact or problem.horizon is not None
    if not stepwise or (ticks * each <= QUICK_WORK and states <= FEW_STATES):
        return PricePrecision(), max(ticks, LEAST_WORK / each)
    precise = PricePrecision.as_asked(
        task.tolerance, gap_target(case.problem, task.tolerance, case.units)(bound)
    )
    digits = float(np.clip(np.log(task.tolerance) / np.log(PRECISE), 0.0, 1.0))
    return precise, max(digits * SHARE * ticks, QUICK_WORK / each)


def _prices_of_the_whole(
    case: Case, certifier: Certifier, answer: Answer, clock: Clock, narrow: bool
) -> PriceRanges:
    """Return the ranges of all prices after a presolve; only the whole problem shows what loosening a removed limit gains."""
    unknown = PriceRanges(np.zeros(case.problem.shape[2]), np.full(case.problem.shape[2], np.inf))
    if not narrow:
        return unknown
    units = case.units
    whole, own = normalise(case.problem)
    engine = engine_of(whole)
    engine.call_between_steps(clock.tick)
    try:
        value = engine.values(answer.policy)
    except TimeoutError:
        return unknown
    bound = (units.exact(0, certifier.game.upper) - own.exact(0, 0.0)) / Fraction(float(own.span[0]))
    slack = value.low[1:] - whole.threshold
    slater = SlaterPolicy(
        *(answer.policy, np.empty((0, 0)), value.guess, value.low, slack, np.empty(0)),
        *(Feasibility.TIGHT, slack),
    )
    judge = Certifier(engine, slater)
    judge.game.upper = rounded(bound, up=True)
    same = Answer(answer.policy, value.guess, value.low, judge.game.upper, judge.game.price, True)
    return PriceRanges(*(own.multiplier(side) for side in price_ranges(judge, same, clock.tick)))


def _feasible(
    found: Planned, task: Task, prices: PriceRanges, game: Game, trace: Trace | None = None
) -> Solution:
    """Return the solution of a problem that is feasible, or not known to be infeasible.

    The best response of `game` to the final prices is used in states that the policy does not visit.
    """
    case, answer = found.case, found.answer
    assert answer is not None
    problem, units = case.problem, case.units
    most = answer.upper_bound
    bound = float(problem.sign[0]) * (rounded(units.exact(0, most), up=True) if np.isfinite(most) else most)
    gap = answer.gap * float(units.span[0])
    low, high = prices
    slack = np.zeros(problem.shape[2])
    slack[units.kept] = answer.low[1:] - case.normal.threshold
    free = (slack > 0) & (high * units.span[1:] <= NONE * units.span[0])
    low, high = np.where(free, 0.0, low), np.where(free, 0.0, high)  # but for rounding
    multiplier = np.clip(units.multiplier(answer.multiplier), low, high)
    if case.slater.feasibility is Feasibility.TIGHT:  # multipliers without an upper bound say nothing
        multiplier = np.where(np.isfinite(high), multiplier, low)
    nothing = multiplier * units.span[1:] <= NONE * units.span[0]
    multiplier = np.where(nothing, low, multiplier)  # rounding
    iterations = 0 if trace is None else len(trace)
    response = game.response
    if response is not None and isinstance(game.engine, Completes):
        with suppress(TimeoutError):  # in all states, if there is time
            response = game.engine.everywhere(response, game.aim.weight(game.price))
    return _solution(
        *(found, task.clock, answer.policy, answer.value, answer.low),
        multiplier=multiplier,
        price_range=np.column_stack([low, high]),
        upper_bound=bound,
        gap=gap,
        feasible=answer.feasible,
        status=_status(found, answer, gap, bound, task.tolerance, iterations),
        iterations=iterations,
        trace=trace,
        response=response,
        visits=max(VISITS, min(TOLERATED * task.tolerance, TOLERATED)),
        best_responses=game.responses,
        proof_weight=np.append(1.0, units.multiplier(answer.multiplier)),
    )


def _infeasible(found: Planned, clock: Clock) -> Solution:
    """Return the policy that violates the constraints least, and why no policy is feasible."""
    case = found.case
    why = explain(case.problem, np.array(_proved(case, case.slater.low)), clock.tick)
    nothing = np.full(case.problem.shape[2], np.nan)
    return _solution(
        *(found, clock, case.slater.policy, case.slater.value, case.slater.low),
        multiplier=nothing,
        price_range=np.column_stack([nothing, nothing]),
        remedy=why.remedy,
        upper_bound=np.nan,
        gap=np.nan,
        feasible=False,
        status=Status(Kind.INFEASIBLE, why.sentence),
        iterations=0,
        infeasibility=why.infeasibility,
        proof_weight=_infeasible_weight(case),
    )


def _infeasible_weight(case: Case) -> Array:
    """Return the weights (J,) in the user's units with which no policy reaches the limits; 0 for the reward."""
    units = case.units
    weight = np.append(0.0, misses_constant(case.problem, units))
    if not weight.any():
        weight[1 + units.kept] = case.slater.weight / units.span[1 + units.kept]
    return weight


def _status(
    found: Planned, answer: Answer, gap: float, bound: float, tolerance: float, iterations: int
) -> Status:
    """Return the status of a solve; the same definition of "solved" holds for every planner and algorithm."""
    ending, feasible = found.ending, answer.feasible
    small = gap <= SMALL_GAP * abs(bound)
    shown = f"the proved gap is {f'below {SMALL_GAP:g} of the value' if small else number_beyond(gap, up=True, digits=3)}"
    shown = shown if np.isfinite(gap) else "no gap is proved"
    missed = "" if feasible else " The policy is not proved to meet all constraints."
    if (answer.value[1:] < found.case.normal.threshold).any() and not feasible:
        missed = " The policy misses a constraint."
    if not feasible and ending is Ending.COMPLETED:
        missed = " The returned policy misses a constraint; use Output.POLISHED for a feasible one."
    drawn = (
        found.answer is not None
        and isinstance(found.answer.policy, Drawn)
        and len(found.answer.policy.parts) > 1
    )
    end = f"{missed}{DRAW if drawn else ''}{found.note and ' ' + found.note}"
    if ending is Ending.COMPLETED:
        return Status(Kind.COMPLETED, f"Completed: {iterations} iterations done; {shown}.{end}")
    stopped = ending in OUT_OF_TIME or ending is Ending.STALLED
    if not stopped and gap <= gap_target(found.case.problem, tolerance)(bound):
        proved = f"a relative gap of {tolerance:g} is proved"
        return Status(Kind.SOLVED, f"Solved: {proved}; {shown}.{end}")
    why = ending.value if stopped else _memory(found.case) or Ending.ROUNDING.value
    if not feasible and found.case.feasibility is not Feasibility.SLACK:
        why += f"; {found.case.feasibility.value}"
    return Status(Kind.STOPPED, f"Stopped: {why}; {shown}.{end}")


def _memory(case: Case) -> str:
    """Return why no table has the best values, if it is because it would have to remember what it has done; else nothing."""
    states = [case.problem.name("states", state) for state in getattr(case.engine, "remembered", ())[:NAMED]]
    if not states:
        return ""
    where = f"state{'' if len(states) == 1 else 's'} {', '.join(states)}"
    return (
        f"the best answer takes some rounds of a loop and then rests in {where}, which no table of probabilities does; "
        "give such a state an action that ends the process"
    )


def _solution(
    found: Planned,
    clock: Clock,
    policy: Any,
    value: Array,
    low: Array,
    *,
    response: Actions | None = None,
    visits: float = VISITS,
    **rest: Any,
) -> Solution:
    """Return a solution with a policy whose visits have a precision, and whose values are at least `low` (J',)."""
    case, problem, units = found.case, found.case.problem, found.case.units
    missed = np.zeros(problem.shape[2])  # a proved upper bound on the violation of each limit
    if len(units.removed):
        missed = constant_shortfall(problem, units)
    for index, least in zip(units.kept.tolist(), low[1:].tolist(), strict=True):
        limit = float(problem.threshold[index])
        if not np.isfinite(least):
            missed[index] = np.inf
        elif np.isfinite(limit):
            short = Fraction(limit) - units.exact(1 + index, least)
            missed[index] = max(rounded(short, up=True), 0.0)
    values = case.value(np.where(np.isfinite(value), value, np.nan))
    return Solution(
        policy=_policy(case, policy, response, visits, copy=rest.get("trace") is not None),
        reward_value=float(values[0]),
        constraint_value=values[1:],
        violation=missed,
        threshold=problem.threshold * problem.sign[1:],
        sense=problem.sense,
        minimise=problem.minimise,
        constraint_names=problem.constraint_names,
        algorithm=found.planner,
        reason=found.reason,
        seconds=clock.seconds,
        **rest,
    )


def _policy(
    case: Case, policy: Any, response: Actions | None, precision: float, copy: bool = True
) -> TabularPolicy | TimedPolicy | TableMixture | ActionMixture:
    """Return a policy (S, A), or a draw between several, with the best response in states that it does not visit.

    Without a copy the table of a swept model is taken over: planners make it anew, of the actions of best responses.
    """
    actions = case.problem.shape[1]
    if isinstance(case.problem, FunctionModel):
        named = {kind: given for kind, given in case.problem.names.items() if kind == "actions"}
        return ActionMixture(np.array(policy.parts), policy.weights, named)
    if isinstance(policy, Drawn):
        tables = [_policy(case, as_table(part, actions), response, precision) for part in policy.parts]
        return TableMixture(tuple(one for one in tables if isinstance(one, TabularPolicy)), policy.weights)
    problem, visits = case.problem, None
    starts_anywhere = bool((problem.initial > 0).all())  # so that every state is visited
    if response is not None and problem.stages is not None:
        _complete(policy, response, case.engine.reachable(policy))
    elif not (response is None or starts_anywhere or (policy[np.arange(len(response)), response] == 1).all()):
        visited = case.engine.reachable(policy)
        if not visited.all():
            policy = policy.copy()  # the answer's own stays as it is
            _complete(policy, response, visited)
    names = {kind: given for kind, given in problem.names.items() if kind != "constraints"}
    if problem.stages is not None or not case.engine.exact:  # visits cost as much as the policy
        table = policy if problem.stages is not None else normalised(policy)

        def counted() -> Array:
            return _counted_visits(problem, table, precision)

        if problem.stages is None:
            return TabularPolicy.of_rows(table, names, counted, copy=copy)
        return policy_of(problem, table, counted, copy=copy)
    with suppress(TimeoutError):
        often = np.maximum(case.engine.visits(policy, precision), 0.0)
        visits = often if starts_anywhere else np.where(case.engine.reachable(policy), often, 0.0)
    return TabularPolicy.of_rows(policy, names, visits)


def _complete(policy: Array, response: Actions, visited: Mask) -> None:
    """Let a table (n, A) do in states that are not visited, (n,), what a response (n,) does; in place, since that of a horizon is large."""
    if len(policy) > ROWS:
        take_elsewhere(policy, response, visited)
        return
    rest = np.flatnonzero(~visited)
    policy[rest] = 0.0
    policy[rest, response[rest]] = 1.0


@unchanged
def _counted_visits(problem: CMDP, policy: Array, precision: float) -> Array:
    """Return d(s), (S,), with 0 in states that the policy does not come to, by an engine of its own: to keep that of the solution would keep its memory."""
    engine = engine_of(problem, EXACT_STATES)
    return np.where(engine.reachable(policy), np.maximum(engine.visits(policy, precision), 0.0), 0.0)


def _proved(case: Case, low: Array) -> list[float]:
    """Return lower bounds on the constraint values, (K,), in the internal sense and the user's units."""
    units = case.units
    found = [float(v) for v in units.offset[1:]]
    for place, index in enumerate(units.kept):
        value = float(low[1 + place])
        found[index] = rounded(units.exact(1 + int(index), value), up=False) if np.isfinite(value) else value
    return found
