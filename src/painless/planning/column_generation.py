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

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from painless.common.arguments import number, whole
from painless.common.arrays import Array, Mask
from painless.common.clock import Clock
from painless.common.errors import InputError
from painless.engines.engine import (
    EXACT_STATES,
    FEW_STATES,
    Actions,
    Engine,
    Exchanges,
    Foresees,
    Recalls,
    engine_of,
)
from painless.engines.iterated import FACTORISED
from painless.planning.case import LEAST, Case, Relaxation, gap_target
from painless.planning.certificate import Answer, Certifier
from painless.planning.feasibility import Feasibility, SlaterPolicy
from painless.planning.game import SHARE, SMOOTH_STATES, SlackGame, Smoothed
from painless.planning.interpolation import implied_prices, moved_price
from painless.planning.linear_program import LinearProgram
from painless.planning.master import Column, best_mixture
from painless.planning.planner import Ending, Planned, Planner, Progress, Recalled, Task
from painless.problem import CMDP, Criterion
from painless.problem.function_model import FunctionModel
from painless.problem.units import TOLERANCE

MANY = 100  # with more constraints the linear program is faster on a small model
SMALL_PAIRS = 2000  # state-action pairs of a small model
COARSE, GUESSED = 1e-3, 1e-4  # tolerances of the first response and of the next one, in the engine's unit
GENEROUS = 0.03  # with a discount, relative to all that the first policy earns, if that is more: the next one is rarely part of the answer
ROUGHLY = 0.01  # error of the values of these two with a discount, relative to their tolerances
# Of the price at which a limit is likely to be met: the first one that is tried; how many are, and how much larger each is than the last one.
AMPLY, GUESSES, RAISED = 1.5, 3, 4.0
# How far from a first policy's prices to seek policies on both sides of the limits.
AROUND = (5e-4, 5e-3, 0.05)
# Prices that are tried beside that of a similar model, and how much longer each step is than the last one, at least.
MOVES, GROWING = 8, 2.0
SPARE = 0.5  # the game for the slack may end at this share of the largest slack
EXACT = 0.03  # error of a policy's weighted values, relative to the gap to prove
# If there are no constraints, error of a policy's value and of a best response, in the same units: twice one and the other are left of the gap.
LAST, DIRECT = 0.2, 0.4
DEAR = 0.5  # the same where values are dear, relative to the tolerance of a response, if that is more; they become finer when policies are mixed
MARGIN = 2 * EXACT  # by which the answer exceeds the thresholds, in the same units
DEAREST = 2 * MARGIN  # the most that this may cost, in the same units
LEFT = 0.3  # what a price that is no longer moved is likely to leave of the gap to prove, at most
CLOSE = 0.1  # how far the prices at which these policies are as good as each other may be from those, to take their place
RECALLED = 0.3  # error of the bound at the prices of a similar model, relative to the gap to prove
REFRESHED = 0.3  # error of a policy's values when it is evaluated anew, relative to the one that is too large
AIM = 0.9  # share of the target at which a mixture is evaluated for the first time
LEAST_AIM = 1e-6  # share of the target below which a failed proof is due to rounding


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
        target = gap_target(case.problem, task.tolerance, case.units)
        search = Searcher(
            *(engine, target, task.clock, case.relaxation),
            rounds=self.rounds,
            share=self.smoothing,
            progress=report,
        )
        found = search.run(task.start, task.columns, task.prices, task.bounds, task.recalled)
        small = case.normal.shape[0] <= EXACT_STATES and not engine.exact
        stored = not isinstance(case.normal, FunctionModel)
        if stored and (found.ending is Ending.TIGHT or (found.ending is Ending.ROUNDING and small)):
            why = "The constraints are feasible only at the boundary (no Slater point)"
            if found.ending is Ending.ROUNDING:
                why = "Sweeps cannot prove this tolerance"
            elif found.slack is not None and found.slack.upper > TOLERANCE * engine.unit:
                why = "It is not known whether any policy meets all constraints"
            reason = f"{why}, so the linear program replaced column generation."
            return LinearProgram().answer(case, task)._replace(reason=reason)
        case.engine, case.slater = engine, found.slater
        if found.ending is Ending.INFEASIBLE:
            return Planned(self.name, case)
        note = f"{found.solves:,} unconstrained problem{' was' if found.solves == 1 else 's were'} solved."
        return Planned(self.name, case, found.certifier, found.answer, found.ending, note=note)


class Searched(NamedTuple):
    """A policy and the proof that comes with it, in the units of the problem."""

    certifier: Certifier
    answer: Answer
    slack: SlackGame | None  # the game for the joint slack; None if not needed
    feasible: bool  # whether the answer provably meets every constraint
    ending: Ending
    solves: int  # of unconstrained MDPs
    slater: SlaterPolicy  # the slack that the search found; the answer serves as its policy


class Searcher:
    """One search; all in normalised units."""

    def __init__(
        self,
        engine: Engine,
        target: Callable[[float], float],
        clock: Clock,
        relaxation: Relaxation,
        *,
        rounds: int,
        share: float | None,
        progress: Callable[[int, float, float], None] | None,
    ) -> None:
        self.engine, self.target, self.progress = engine, target, progress
        self.rounds, self.share = rounds, share
        self.clock, self.problem = clock, engine.problem
        engine.call_between_steps(clock.tick)
        self.certifier = Certifier(engine, relaxation=relaxation, memory=None)
        self.game = self.certifier.game
        discounted = self.problem.criterion is Criterion.DISCOUNTED
        if not discounted:
            self.game.coarse = COARSE * engine.unit
        if progress is not None:
            self.game.watch = self._report
        # Without constraints values are only as exact as the gap asks for, and with a discount the best response is the answer.
        self.game.cautious = not self.problem.shape[2] and not engine.exact
        self._is_single = self.game.cautious and discounted
        if self._is_single:
            self.game.goal = lambda upper: DIRECT * target(upper)
            engine.aim_at(self.game.goal)
        self.slack: SlackGame | None = None
        self.answer: Answer | None = None
        self._ending = Ending.ROUNDING
        self._aim = AIM  # the share of the target at which a mixture is evaluated
        # Error of the values of a response, relative to its tolerance.
        self._coarse = (ROUGHLY if discounted else EXACT * SHARE) if self.problem.shape[2] else LAST
        self._generous = GENEROUS if discounted else 0.0
        self.game.rough = DEAR

    def run(
        self,
        start: Array | None = None,
        columns: Iterable[Column] = (),
        prices: Array | None = None,
        bounds: Iterable[tuple[Array, float]] = (),
        recalled: Recalled | None = None,
    ) -> Searched:
        """Search until the gap is proved, no progress is possible, or the search is stopped.

        Arguments:
            start: an initial policy (S, A).
            columns: policies of the same model that are known already, from a search at other thresholds.
            prices: multipliers (K,) near which the answer is expected, such as those of a model that differs a little.
            bounds: on best responses to prices (K,), proved in such a search.
            recalled: the answer to a model that differs a little, from which the engine continues.
        """
        for price, bound in bounds:
            self.game.know(price, bound)
        for column in columns:
            self.game.add(column)
        try:
            if start is not None:
                prices = implied_prices(self.engine, start, COARSE * self.engine.unit)
            if prices is not None and (prices.any() or (recalled is not None and len(prices) > 0)):
                self._start_from(prices, recalled)
            found, first = self.game.columns, COARSE * self.engine.unit
            if found.known:
                self._trust_one()
            else:
                self.game.precision = max(self._precision(), self._coarse * first)
                self.game.respond(self.game.price, first)
            if not self.engine.exact and len(found) == 1:
                self._try_price()
            met = (found.lows[~found.loops, 1:] >= self.problem.threshold).all(-1)
            if met.any() or self._has_slack():
                self.game.play(self._is_closed, self.rounds, Smoothed(self.share))
            elif self.slack is not None:
                disproved = self.slack.upper + float(self.certifier.relaxation.spare.max()) < 0
                self._ending = Ending.INFEASIBLE if disproved else Ending.TIGHT
            ending = self._ending
        except (TimeoutError, KeyboardInterrupt) as stop:
            ending = Ending.of(stop)
            self.clock.extend()
        try:
            proved = self.answer if ending is Ending.PROVED else None
            answer = proved or self._final(ending)
        except TimeoutError:
            ending, answer = Ending.TIMEOUT, self.certifier.known()
        answer, game = self.certifier.bounded(answer), self.slack
        slack = answer.low[1:] - self.problem.threshold
        feasible = ending is not Ending.INFEASIBLE and bool((slack >= 0).all())
        joint, weight = (-np.inf, np.empty(0)) if game is None else (game.mixture.value, game.price)
        feasibility = Feasibility.NONE if ending is Ending.INFEASIBLE else Feasibility.UNKNOWN
        if feasible or (joint > TOLERANCE * self.engine.unit and ending is not Ending.INFEASIBLE):
            feasibility = Feasibility.SLACK
        slater = SlaterPolicy(
            *(answer.policy, np.empty((0, 0)), answer.value, answer.low, slack, weight, feasibility, slack)
        )
        solves = self.game.responses + (0 if game is None else game.responses)
        return Searched(self.certifier, answer, game, feasible, ending, solves, slater)

    def _start_from(self, prices: Array, known: Recalled | None) -> None:
        """Start from prices (K,) near which the answer is expected, and from what is known of a similar model."""
        if known is not None and not prices.any():
            target = self.target(known.bound)
            self.game.precision = max(EXACT, self._coarse) * target
            self.game.respond(prices, target)  # which is often the answer
            return
        beside = known is not None and len(prices) == 1 and len(known.prices) > 0
        if known is not None and known.policies:
            self._recall(prices, known)
            if beside and not (self._are_around or self._is_near(self.target(known.bound))):
                self._start_beside(prices, known)
        elif known is not None and beside:
            self._start_beside(prices, known)
            return
        self._start_near(prices, self.game.upper if known is None or known.policies else known.bound)

    def _start_near(self, multiplier: Array, bound: float) -> None:
        """Start near some prices (K,), such as those that make the actions mixed by a policy equally good, on both sides of the limits.

        Before anything is proved, `bound` tells about how large the optimum is.
        """
        for step in AROUND:
            met = self._met()
            if met.any() and not met.all():
                break
            for factor in (1 + step, 1 - step) if not len(met) else (1 - step,) if met[0] else (1 + step,):
                tolerance = self.target(self.game.upper if self.game.responses else bound)
                self.game.precision = max(EXACT, self._coarse) * tolerance
                self.game.respond(factor * multiplier, tolerance)

    def _start_beside(self, price: Array, known: Recalled) -> None:
        """Start at the price (1,) of a similar model, and move it as far as the slack there says, until policies on both sides of the limit are known."""
        target, least = self.target(known.bound), AROUND[0]
        self.game.precision = max(EXACT, self._coarse) * target
        if isinstance(self.engine, Exchanges):
            self.game.respond(price, target)
            self._exchange(target)
            if self._are_around or self._is_near(target):
                return
        for _ in range(MOVES):
            column, met = self.game.respond(price, target), self._met()
            slack = float(column.value[1] - self.problem.threshold[0])
            if (met.any() and not met.all()) or not price.any() or not np.isfinite(slack):
                break
            moved = moved_price(price, slack, known.prices, known.slack, least)
            least, price = GROWING * abs(float(moved[0] / price[0]) - 1), moved

    def _trust_one(self) -> None:
        """Keep the policy that is proved to exceed all limits by the most, if there is one: it makes up for what a mixture misses."""
        columns, threshold = self.game.columns, self.problem.threshold
        if len(threshold) and not columns.loops.any():
            slack = (columns.lows[:, 1:] - threshold).min(1)
            if slack.max() > TOLERANCE * self.engine.unit:
                self.game.safe = np.eye(len(slack))[int(slack.argmax())]

    def _exchange(self, target: float) -> None:
        """Move the price to where the actions that the last response exchanges next meet the limit, until the gap is at most a target or this leads no further.

        Where what is left of the gap is likely to be small, a policy of exchanged actions on the other side of the limit is evaluated in place of another response.
        """
        game, engine, threshold = self.game, self.engine, float(self.problem.threshold[0])
        if not isinstance(engine, Exchanges):
            return
        game.precision = max(EXACT, self._coarse) * target
        found, asked, low, high = engine.exchange(threshold), None, 0.0, np.inf
        for _ in range(MOVES):
            if found is None or self._is_near(target):
                break
            asked = found if asked is None else asked  # the last response
            low, high = (low, min(found.start, high)) if found.slack >= 0 else (max(found.start, low), high)
            if not (low < found.price < high or found.price == found.start):
                break
            if found.policy is not None and abs(asked.slack * (found.price - asked.start)) <= LEFT * target:
                value = self._add_recalled(found.policy, EXACT * target)
                if (value[1] >= threshold) != (found.slack >= 0):
                    break
                found = engine.exchange(threshold, found.policy, found.further)
            else:
                game.respond(np.array([found.price]), target)
                found, asked = engine.exchange(threshold), None

    def _is_near(self, target: float) -> bool:
        """Whether what is known of policies and bounds leaves no more than a target, which the answer may still exceed."""
        met = self._met().any()
        return bool(met) and self.game.upper - self.game.mix().value <= self._aim * target

    @property
    def _are_around(self) -> bool:
        """Whether policies on both sides of the limits are known."""
        met = self._met()
        return bool(met.any() and not met.all())

    def _met(self) -> Mask:
        """Return which policies are proved to meet all limits, (n,), without loops."""
        columns, nothing = self.game.columns, np.empty((0, 1 + self.problem.shape[2]))
        low = columns.lows[~columns.loops] if columns.known else nothing
        return np.asarray((low[:, 1:] >= self.problem.threshold).all(-1))

    def _recall(self, multiplier: Array, known: Recalled) -> None:
        """Evaluate the policies of the answer to a similar model, which are often as good together here, and prove a bound at its prices (K,), or at those of these policies if they are close.

        The bound starts from the best of them, and asks for no values of the best response, which joins them only if they leave too much of the gap.
        """
        engine, game = self.engine, self.game
        if not isinstance(engine, Recalls):
            return
        target, weight = self.target(known.bound), game.aim.weight(multiplier)
        for policy in known.policies:
            self._add_recalled(policy, EXACT * target)
        if self._are_around:
            own = game.mix().multiplier
            if np.abs(own - multiplier).max() <= CLOSE * multiplier.max():
                multiplier, weight = own, game.aim.weight(own)
        response = engine.bound(weight, RECALLED * target)
        game.know(multiplier, response.upper_bound)
        game.response = response.actions
        game.responses += 1
        if game.upper - game.mix().value > self._aim * target:
            self._add_recalled(response.actions, EXACT * target)
        game.watch()

    def _add_recalled(self, policy: Actions, precision: float) -> Array:
        """Evaluate a policy (S,), and offer it to the master; return its values (J,)."""
        assert isinstance(self.engine, Recalls)
        found = self.engine.recall(policy, precision)
        self.game.add(Column(policy, found.guess, found.low))
        self.game.proved.append(found.low)
        return found.guess

    def _try_price(self) -> None:
        """Respond to prices at which the limits are likely to be met that the first policy misses, if it misses any.

        Unlike the policy with the largest slack the response lies on the frontier.
        """
        columns = self.game.columns
        short = np.maximum(self.problem.threshold - columns.lows[0, 1:], 0.0)
        worth = abs(float(columns.lows[0, 0]))
        if not 0 < worth < np.inf or not short.any():
            return
        most = worth / float(short.sum())
        tolerance = max(GUESSED * self.engine.unit, self._generous * worth)
        for price in self._likely_prices(short, most):
            self.game.precision = max(self._precision(), self._coarse * tolerance)
            self.game.respond(np.where(short > 0, price, 0.0), tolerance)
            place = self.game.place
            if (columns.lows[place, 1:] - self.problem.threshold).min() > TOLERANCE * self.engine.unit:
                self.game.safe = np.eye(1 + place)[place]
                break

    def _likely_prices(self, short: Array, most: float) -> Iterator[float]:
        """Yield prices at which limits that are missed by `short` (K,) are likely to be met, each larger than the last one.

        The most is the one at which missing them as the first policy does would cost all of its reward. It is rarely too low, and often far too high.
        """
        columns, price = self.game.columns, most
        if (
            isinstance(self.engine, Foresees)
            and self.problem.shape[0] >= SMOOTH_STATES
            and self.game.responses == 1
        ):
            missed = np.append(0.0, short > 0)
            price = AMPLY * self.engine.likely_price(columns[0].policy, missed, float(short.sum()), most)
        for _ in range(GUESSES):
            if price < most:
                yield price
            price *= RAISED
        yield most

    def _has_slack(self) -> bool:
        """Play the game for the joint slack; return whether there is a Slater point.

        Values as rough as the gap may be can hide a small slack: then they become as fine as it takes.
        """
        least = TOLERANCE * self.engine.unit
        for precision in (None,) if self.engine.exact else (self._precision(), None):
            self.slack = SlackGame(self.engine, columns=self.game.columns, enough=SPARE, precision=precision)
            self.slack.proved = self.game.proved
            self.slack.watch, self.slack.rough = self.game.watch, 0.0 if precision is None else DEAR
            self.slack.play(self.slack.is_known, self.rounds)
            self.game.safe = self.slack.mixture.weights
            if self.slack.mixture.value > least or self.slack.upper < -least:
                break
        assert self.slack is not None
        return self.slack.mixture.value > least

    def _is_closed(self) -> bool:
        """Whether the mixture's stationary policy is proved to be good enough, or no better proof is possible."""
        game, target = self.game, self.target(self.game.upper)
        game.precision = self._precision()
        if not self.engine.exact:
            # Where no policy is new, rough values hold the proof up.
            held_up = not game.is_new and self._are_values_dear
            if held_up or game.open <= self._aim * target:
                self._refreshed()
        if game.upper - game.mixture.value > self._aim * target:
            return False
        self.answer = self.polished()
        met = bool((self.answer.low[1:] >= self.problem.threshold).all())
        if met and game.upper - self.answer.low[0] <= target:
            self._ending = Ending.PROVED
        elif game.safe is None and not met and not self._has_slack():
            self._ending = Ending.TIGHT
        self._aim *= 0.3
        return self._ending is not Ending.ROUNDING or self._aim < LEAST_AIM

    def _precision(self) -> float:
        """Return the error that a policy's values may have now."""
        target = self.target(self.game.upper)
        if self.problem.shape[2]:
            return EXACT * target
        if self._is_single:
            return LAST * target
        # The policy itself is the answer: nothing is mixed, and its own bounds are what is left of the gap.
        return LAST * max(target, 0.1 * min(self.game.open, COARSE * self.engine.unit))

    def polished(self) -> Answer:
        """Return the stationary policy of the best mixture, which exceeds the thresholds slightly if possible."""
        game, target = self.game, self.target(self.game.upper)
        margin = MARGIN * target / (1 + float(game.price.sum()))
        weights, precision = game.mixture.weights, 0.0
        total = self.problem.criterion is Criterion.TOTAL and not game.columns.loops.any()
        proved = game.cautious and total and game.open <= target  # by the response itself
        if self._is_single or proved:
            return self.certifier.single(int(weights.argmax()))
        if self.game.cautious:
            return self.certifier.answer(weights, EXACT * target)
        if not self.engine.exact and self._refreshed():
            weights = game.mixture.weights
        if self.slack is None or margin < 0.1 * self.slack.mixture.value:
            columns, threshold = game.columns, self.problem.threshold
            mixture = best_mixture(columns.values, threshold + margin, game.safe, columns.loops)
            loss = np.inf if mixture is None else game.mixture.value - mixture.value
            if loss > DEAREST * target:  # beyond the thresholds the multipliers differ
                margin *= DEAREST * target / loss
                mixture = best_mixture(columns.values, threshold + margin, game.safe, columns.loops)
            if mixture is not None:
                weights = mixture.weights
                precision = 0.2 * margin * (self._aim / AIM) ** 2  # finer if an answer was not good enough
        return self.certifier.answer(weights, precision)

    @property
    def _are_values_dear(self) -> bool:
        return isinstance(self.engine, Recalls) and self.engine.are_values_dear

    def _refreshed(self) -> bool:
        """Evaluate policies of the best mixture anew of which too little is known, such as the first ones, until the mixture has none; return whether there were any.

        Their errors would make the mixture miss a threshold, and another policy to make up for it costs more than they do.
        """
        game, found = self.game, False
        if not self.engine.refines or game.cautious:
            return False
        margin = MARGIN * self.target(game.upper) / (1 + float(game.price.sum()))
        while self._refresh(game.mixture.weights, margin):
            game.mix()
            found = True
        return found

    def _refresh(self, weights: Array, margin: float) -> bool:
        """Evaluate the policies of a mixture anew whose values err by more than `margin`; return whether there are any."""
        columns, engine, found = self.game.columns, self.engine, False
        for k in np.flatnonzero(weights).tolist():
            column, weight = columns[k], float(weights[k])
            error = weight * float((column.value - column.low)[1:].max(initial=0.0))
            if error > margin and column.policy.ndim == 1 and not column.is_loop:
                if isinstance(engine, Recalls) and self._are_values_dear:
                    known = engine.recall(column.policy, REFRESHED * margin / weight)
                else:
                    known = engine.values(column.policy)
                columns.add(column._replace(value=known.guess, low=known.low))
                self.game.proved.append(known.low)
                found |= weight * float((known.guess - known.low)[1:].max()) < 0.5 * error
        return found

    def _final(self, ending: Ending) -> Answer:
        """Return the best mixture, or the one with the largest slack."""
        if not self.game.columns.known:
            some = self.engine.any_policy
            return self.certifier.assess(some()) if self.engine.exact else self.certifier.known()
        if ending in (Ending.INFEASIBLE, Ending.TIGHT):
            assert self.slack is not None
            return self.certifier.answer(self.slack.mixture.weights)
        self.game.mix()
        return self.polished()

    def _report(self) -> None:
        assert self.progress is not None
        solves = self.game.responses + (0 if self.slack is None else self.slack.responses)
        self.progress(solves, self.game.mixture.value, self.game.upper)


def choose(problem: CMDP) -> tuple[Planner, str]:
    """Return the planner that is expected to be the fastest, and the reason.

    >>> import painless
    >>> choose(painless.gridworld())
    (ColumnGeneration(smoothing=None, rounds=1000), 'Column generation is the fastest planner for 25 states: it factorises systems of this size.')
    """
    states, _, constraints = problem.shape
    size = f"{states:,} state{'' if states == 1 else 's'}"
    if isinstance(problem, FunctionModel):
        why = f"Column generation sweeps a model of {size} whose transitions are not stored."
    elif constraints > MANY and problem.actions.sum() <= SMALL_PAIRS:
        why = f"The linear program is the fastest planner for {constraints} constraints on a small model."
        return LinearProgram(), why
    elif problem.horizon is not None:
        steps = f"{problem.horizon:,} step{'' if problem.horizon == 1 else 's'}"
        why = f"Column generation solves a horizon of {steps} by backward induction."
    elif problem.criterion is Criterion.AVERAGE:
        why = f"Column generation solves the average over {size} by policy iteration in end components."
    elif problem.criterion is Criterion.TOTAL:
        way = "factorises" if states <= FACTORISED else "sweeps"
        way = f"by policy iteration, which {way} the chain of each policy"
        why = f"Column generation solves totals over {size} {way}."
    else:
        way = "factorises systems of this size" if states <= FEW_STATES else "sweeps a model of this size"
        why = f"Column generation is the fastest planner for {size}: it {way}."
    return ColumnGeneration(), why
