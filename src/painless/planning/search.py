"""The search of column generation: a game for the joint slack if needed, and one for the reward."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array, Mask
from painless.common.clock import Clock
from painless.engines.engine import Engine
from painless.planning.certificate import Answer, Certifier
from painless.planning.columns import Column
from painless.planning.feasibility import Feasibility, SlackGame, SlaterPolicy
from painless.planning.game import SHARE
from painless.planning.judgement import Relaxation
from painless.planning.master import Mixture, best_mixture
from painless.planning.planner import Ending
from painless.planning.smoothing import Smoothed
from painless.problem import Criterion
from painless.problem.units import TOLERANCE

COARSE, GUESSED = 1e-3, 1e-4  # tolerances of the first response and of the next one, in the engine's unit
# How far from a first policy's prices to seek policies on both sides of the limits.
AROUND = (5e-4, 5e-3, 0.05)
SPARE = 0.5  # the game for the slack may end at this share of the largest slack
EXACT = 0.03  # error of a policy's weighted values, relative to the gap to prove
# If there are no constraints, error of a policy's value and of a best response, in the same units: twice one and the other are left of the gap.
LAST, DIRECT = 0.2, 0.4
MARGIN = 2 * EXACT  # by which the answer exceeds the thresholds, in the same units
DEAREST = 2 * MARGIN  # the most that this may cost, in the same units
AIM = 0.9  # share of the target at which a mixture is evaluated for the first time
LEAST_AIM = 1e-6  # share of the target below which a failed proof is due to rounding
MIXED = 1e-6  # smaller probabilities count as 0
MOST_MIXED = 100  # states from which prices are read; K of them suffice


class Searched(NamedTuple):
    """A policy and the proof that comes with it, in the units of the problem."""

    certifier: Certifier
    answer: Answer
    slack: SlackGame | None  # the game for the joint slack; None if not needed
    feasible: bool  # whether the answer provably meets every constraint
    ending: Ending
    solves: int  # of unconstrained MDPs

    @property
    def slater(self) -> SlaterPolicy:
        """The slack that the search found; the answer serves as its policy."""
        answer, engine = self.answer, self.certifier.engine
        slack = answer.low[1:] - engine.problem.threshold
        joint, weight = -np.inf, np.empty(0)
        if self.slack is not None:
            joint, weight = self.slack.mixture.value, self.slack.price
        found = Feasibility.UNKNOWN
        if self.ending is Ending.INFEASIBLE:
            found = Feasibility.NONE
        elif joint > TOLERANCE * engine.unit or (slack >= 0).all():
            found = Feasibility.SLACK
        return SlaterPolicy(
            *(answer.policy, np.empty((0, 0)), answer.value, answer.low, slack, weight, found, slack)
        )


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
        self.game.coarse = COARSE * engine.unit
        if progress is not None:
            self.game.watch = self._report
        # Without constraints values are only as exact as the gap asks for, and with a discount the best response is the answer.
        self.game.cautious = not self.problem.shape[2] and not engine.exact
        self._is_single = self.game.cautious and self.problem.criterion is Criterion.DISCOUNTED
        if self._is_single:
            self.game.goal = lambda upper: DIRECT * target(upper)
        self.slack: SlackGame | None = None
        self.answer: Answer | None = None
        self._ending = Ending.ROUNDING
        self._aim = AIM  # the share of the target at which a mixture is evaluated

    def run(
        self,
        start: Array | None = None,
        columns: Iterable[Column] = (),
        prices: Array | None = None,
        bounds: Iterable[tuple[Array, float]] = (),
    ) -> Searched:
        """Search until the gap is proved, no progress is possible, or the search is stopped.

        Arguments:
            start: an initial policy (S, A).
            columns: policies of the same model that are known already, from a search at other thresholds.
            prices: multipliers (K,) near which the answer is expected, such as those of a model that differs a little.
            bounds: on best responses to prices (K,), proved in such a search.
        """
        for price, bound in bounds:
            self.game.know(price, bound)
        for column in columns:
            self.game.add(column)
        try:
            if start is not None:
                prices = implied_prices(self.engine, start, COARSE * self.engine.unit)
            if prices is not None and prices.any():
                self._start_near(prices)
            ending = self._search()
        except (TimeoutError, KeyboardInterrupt) as stop:
            ending = Ending.of(stop)
            self.clock.extend()
        try:
            proved = self.answer if ending is Ending.PROVED else None
            answer = proved or self._final(ending)
        except TimeoutError:
            ending, answer = Ending.TIMEOUT, self.certifier.known()
        feasible = ending is not Ending.INFEASIBLE and bool(self._meets(answer.low))
        answer = self.certifier.bounded(answer)
        solves = self.game.responses + (0 if self.slack is None else self.slack.responses)
        return Searched(self.certifier, answer, self.slack, feasible, ending, solves)

    def _start_near(self, multiplier: Array) -> None:
        """Start near some prices (K,), such as those that make the actions mixed by a policy equally good, on both sides of the limits."""
        for step in AROUND:
            columns = self.game.columns
            met = self._meets(columns.lows[~columns.loops]) if columns.known else np.empty(0, dtype=bool)
            if met.any() and not met.all():
                break
            for factor in (1 + step, 1 - step) if not len(met) else (1 - step,) if met[0] else (1 + step,):
                self._respond(factor * multiplier, self.target(self.game.upper))

    def _search(self) -> Ending:
        columns = self.game.columns
        if not columns.known:
            self._respond(self.game.price, COARSE * self.engine.unit)
        self._try_price()
        if not self._meets(columns.lows[~columns.loops]).any() and not self._has_slack():
            assert self.slack is not None
            disproved = self.slack.upper + float(self.certifier.relaxation.spare.max()) < 0
            return Ending.INFEASIBLE if disproved else Ending.TIGHT
        states, _, constraints = self.problem.shape
        self.game.play(self._is_closed, self.rounds, Smoothed(self.share, states, constraints))
        return self._ending

    def _try_price(self) -> None:
        """Respond to the prices at which missing the limits as the first policy does would cost all of its reward, if it misses any.

        They are rarely too low, so that the response meets the limits, and unlike the policy with the largest slack it lies on the frontier.
        """
        columns = self.game.columns
        short = np.maximum(self.problem.threshold - columns.lows[0, 1:], 0.0)
        worth = abs(float(columns.lows[0, 0]))
        if self.engine.exact or len(columns) > 1 or not 0 < worth < np.inf or not short.any():
            return
        self._respond(np.where(short > 0, worth / short.sum(), 0.0), GUESSED * self.engine.unit)
        place = self.game.place
        if (columns.lows[place, 1:] - self.problem.threshold).min() > TOLERANCE * self.engine.unit:
            self.game.safe = np.eye(1 + place)[place]

    def _has_slack(self) -> bool:
        """Play the game for the joint slack; return whether there is a Slater point.

        Values as rough as the gap may be can hide a small slack: then they become as fine as it takes.
        """
        least = TOLERANCE * self.engine.unit
        for precision in (None,) if self.engine.exact else (self._precision, None):
            self.slack = SlackGame(self.engine, columns=self.game.columns, enough=SPARE, precision=precision)
            self.slack.proved = self.game.proved
            self.slack.watch = self.game.watch
            self.slack.find(self.rounds)
            self.game.safe = self.slack.mixture.weights
            if self.slack.mixture.value > least or self.slack.upper < -least:
                break
        assert self.slack is not None
        return self.slack.mixture.value > least

    def _meets(self, low: Array) -> Mask:
        """Return whether policies with at least the values `low` (..., J) meet every constraint."""
        return np.asarray((low[..., 1:] >= self.problem.threshold).all(-1))

    def _is_closed(self) -> bool:
        """Whether the mixture's stationary policy is proved to be good enough, or no better proof is possible."""
        game, target = self.game, self.target(self.game.upper)
        game.precision = self._precision
        if game.open > self._aim * target:
            return False
        self.answer = self.polished()
        met = bool(self._meets(self.answer.low))
        if met and game.upper - self.answer.low[0] <= target:
            self._ending = Ending.PROVED
        elif game.safe is None and not met and not self._has_slack():
            self._ending = Ending.TIGHT
        self._aim *= 0.3
        return self._ending is not Ending.ROUNDING or self._aim < LEAST_AIM

    def _respond(self, multiplier: Array, tolerance: float) -> None:
        coarse = EXACT * SHARE if self.problem.shape[2] else LAST
        self.game.precision = max(self._precision, coarse * tolerance)
        self.game.respond(multiplier, tolerance)

    @property
    def _precision(self) -> float:
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
        if self._is_single:
            return self.certifier.single(int(weights.argmax()))
        if self.game.cautious:
            return self.certifier.answer(weights, EXACT * target)
        if not self.engine.exact and self.engine.refines and self._refresh(weights, margin):
            weights = game.mix().weights
        if self.slack is None or margin < 0.1 * self.slack.mixture.value:
            mixture = self._beyond(margin)
            loss = np.inf if mixture is None else game.mixture.value - mixture.value
            if loss > DEAREST * target:  # beyond the thresholds the multipliers differ
                margin *= DEAREST * target / loss
                mixture = self._beyond(margin)
            if mixture is not None:
                weights = mixture.weights
                precision = 0.2 * margin * (self._aim / AIM) ** 2  # finer if an answer was not good enough
        return self.certifier.answer(weights, precision)

    def _refresh(self, weights: Array, margin: float) -> bool:
        """Evaluate policies of a mixture anew of which too little is known, such as the first ones; return whether there are any.

        Their errors would make the mixture miss a threshold, and another policy to make up for it costs more than they do.
        """
        columns, found = self.game.columns, False
        for k in np.flatnonzero(weights).tolist():
            column = columns[k]
            error = weights[k] * float((column.value - column.low)[1:].max(initial=0.0))
            if error > margin and column.policy.ndim == 1 and not column.is_loop:
                known = self.engine.values(column.policy)
                columns.add(column._replace(value=known.guess, low=known.low))
                found = True
        return found

    def _beyond(self, margin: float) -> Mixture | None:
        """Return the best mixture that exceeds all thresholds by a margin."""
        columns, safe = self.game.columns, self.game.safe
        padded = None if safe is None else columns.padded(safe)
        return best_mixture(columns.values, self.problem.threshold + margin, padded, columns.loops)

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


def implied_prices(engine: Engine, policy: Array, tolerance: float) -> Array | None:
    """Return the multipliers (K,) that make the actions mixed by a policy (S, A) equally good, by least squares.

        Q_r(s, a) + λ·Q_c(s, a) = Q_r(s, a') + λ·Q_c(s, a')     for a, a' with π(a|s), π(a'|s) > 0

    None if it mixes in too few states.
    """
    from scipy.optimize import nnls

    mixing = np.flatnonzero(policy.max(1) < 1 - MIXED)[:MOST_MIXED]
    constraints = engine.problem.shape[2]
    if not constraints or len(mixing) < constraints:
        return None
    q = engine.action_values(policy, mixing, tolerance)
    taken = [np.flatnonzero(policy[s] > MIXED) for s in mixing]
    gains = np.concatenate([(q[:, n, a[1:]] - q[:, n, a[:1]]).T for n, a in enumerate(taken)])
    try:
        return np.asarray(nnls(gains[:, 1:], -gains[:, 0])[0])
    except RuntimeError:  # too many iterations
        return None
