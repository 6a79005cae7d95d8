"""The search of column generation: the game for the joint slack, then the master for the reward."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from painless.arrays import Array
from painless.planners.column_generation import Ending, Planned, Point, Search
from painless.planners.engine import UNIT_ROUNDOFF
from painless.planners.interpolation import interpolated
from painless.planners.master import Mixture
from painless.planners.mixing import Column, Mixer
from painless.planners.pricing import Priced
from painless.planners.tiny_master import best_mixture, largest_slack
from painless.units import TOLERANCE

if TYPE_CHECKING:
    from painless.clock import Clock
    from painless.planners.column_generation import ColumnGeneration
    from painless.planners.swept import Swept

COARSE = 1e-3  # the first pricing is this exact, relative to 1/(1−γ)
BRISK = 0.3  # interpolated multipliers that leave more of the gap are not tried twice in a row
SMOOTH_STATES = 5000  # from which values change smoothly enough with the multipliers to be interpolated
SMOOTH_CONSTRAINTS = 4  # up to which they do
SHARE = 0.1  # how exact pricing is, relative to the current gap
AROUND = (
    5e-4,
    5e-3,
    0.05,
)  # how far from the prices that a first policy shows policies on both sides of the limits are sought
PATIENCE = 60  # rounds in a row that close no gap; what is left then is rounding
IDLE = 4  # rounds in a row that bring neither a new policy nor a better bound, after which no more will
SPARE = 0.5  # the game may end with this share of the largest joint slack
EXACT = 0.03  # the error of a policy's values, relative to the gap to prove, times what it is multiplied with
MARGIN = 2 * EXACT  # by which the answer exceeds the thresholds, likewise
DEAREST = 2 * MARGIN  # what that may cost, likewise
FINEST = 1e-13  # relative to 1/(1−γ); pricing is never asked for more
LARGEST_MULTIPLIER = 1e7  # where there is no slack that bounds it


class Searcher:
    """One search, with everything that is known so far; all in normalised units."""

    def __init__(
        self,
        settings: ColumnGeneration,
        engine: Swept,
        target: Callable[[float], float],
        clock: Clock,
        progress: Callable[[Search], None] | None,
        spare: Array,
    ) -> None:
        problem = engine.problem
        self.problem, self.settings, self.target, self.progress = problem, settings, target, progress
        self.engine, self.clock, self.spare = engine, clock, spare
        self.constraints = problem.shape[2]
        self.unit = 1 / (1 - problem.discount)
        engine.heed(clock.tick)
        self.pricer = engine.pricer
        self.mixer = Mixer(problem, self.pricer)
        self.columns: list[Column] = []
        self.threshold = problem.threshold
        self.response = self.pricer.compact()  # the best policy for the multipliers
        self.upper_bound = float(problem.reward.max(where=problem.actions, initial=-np.inf)) * self.unit
        self.multiplier = np.zeros(self.constraints)
        self.mixture: Array | None = None  # weights of the columns: the best feasible mixture
        self.lower_bound = -np.inf
        self.slack, self.slack_bound = -np.inf, np.inf
        self.slater: Array | None = None  # weights of the columns
        self.slater_weight = np.full(self.constraints, 1 / max(self.constraints, 1))
        self.slack_proof = self.slater_weight  # the weights that prove the bound on the slack

    def run(self, start: Array | None = None) -> Planned:
        """Search until the gap is proved, or there is no more to gain, or it is stopped."""
        try:
            if start is not None:
                self._start_from(start)
            ending = self._search()
        except TimeoutError:
            ending = Ending.TIMEOUT
        except KeyboardInterrupt:
            ending = Ending.INTERRUPT
        if ending in (Ending.TIMEOUT, Ending.INTERRUPT):
            self.clock.extend()
        try:
            return self._planned(ending, self._point(ending))
        except TimeoutError:
            return self._planned(Ending.TIMEOUT, self._known_point())

    def _start_from(self, policy: Array) -> None:
        """Begin around the prices under which the actions that a policy mixes are equally good, on both sides of the limits."""
        multiplier = self.engine.shown_prices(policy, COARSE * self.unit)
        if multiplier is None:
            return
        for step in AROUND:
            met = [self._meets(column.low) for column in self.columns]
            if any(met) and not all(met):
                break
            for factor in (1 + step, 1 - step) if not met else (1 - step,) if met[0] else (1 + step,):
                self._bound(factor * multiplier, max(self.target(self.upper_bound), FINEST * self.unit))

    def _search(self) -> Ending:
        if not self.columns:
            self._bound(np.zeros(self.constraints), COARSE * self.unit)
        if self.constraints and not any(self._meets(c.low) for c in self.columns) and not self._has_slack():
            disproved = self.slack_bound + float(self.spare.max()) < 0
            return Ending.INFEASIBLE if disproved else Ending.TIGHT
        return self._close_in()

    def _has_slack(self) -> bool:
        """Play the game for the joint slack; return whether there is any to speak of."""
        self._play()
        return self.slack > TOLERANCE * self.unit

    def _meets(self, value: Array) -> bool:
        return bool((value[1:] >= self.threshold).all())

    # ------------------------------------------------------------ the joint slack

    def _play(self) -> None:
        """Find a mixture with at least `SPARE` of the largest joint slack, or prove that none is feasible."""
        least = TOLERANCE * self.unit
        self._mix_for_slack()
        idle = 0  # rounds in a row that brought neither a policy nor a bound
        for _ in range(self.settings.rounds):
            gap = min(self.slack_bound - self.slack, self.unit)
            weight = self.slater_weight
            priced = self._price(np.append(0.0, weight), max(SHARE * gap, 0.01 * least))
            bound = priced.upper_bound - float(weight @ self.problem.threshold)
            known = any(np.array_equal(priced.choice, column.choice) for column in self.columns[:-1])
            idle = idle + 1 if known and not bound < self.slack_bound else 0
            if bound < self.slack_bound:
                self.slack_bound, self.slack_proof = bound, weight
            before = self.slack
            self._mix_for_slack()
            self._report()
            if idle >= IDLE:
                return
            if self._slack_is_known(least) or (self.slack <= before and SHARE * gap <= 0.01 * least):
                return

    def _mix_for_slack(self) -> None:
        mixture = largest_slack(self._values()[:, 1:], self.problem.threshold, self.unit)
        self.slack, self.slater, self.slater_weight = mixture.value, mixture.weights, mixture.multiplier

    def _slack_is_known(self, least: float) -> bool:
        if self.slack_bound - self.slack <= 0.1 * least:
            return True
        if self.slack > least:
            return self.slack >= SPARE * self.slack_bound
        return self.slack_bound < -least and self.slack_bound - self.slack <= 1e-3 * -self.slack_bound

    # ------------------------------------------------------------ the reward

    def _close_in(self) -> Ending:
        """Let master and pricing take turns until their bounds meet."""
        usual = self.settings.share(self.constraints)
        aim, share, smoothing = 0.9, SHARE, usual
        smooth = self.problem.shape[0] >= SMOOTH_STATES and self.constraints <= SMOOTH_CONSTRAINTS
        last, guessed = np.inf, False
        least, idle = np.inf, 0  # the smallest gap, and rounds since it fell
        while self.pricer.solves < self.settings.rounds and idle < PATIENCE:
            mixture = self._master()
            gap = self.upper_bound - self.lower_bound
            least, idle = (gap, 0) if gap < 0.99 * least else (least, idle + 1)
            target = self.target(self.upper_bound)
            if gap <= aim * target:
                answer = self._answer()
                if self.upper_bound - answer.value[0] <= target and self._meets(answer.value):
                    return Ending.PROVED
                if self.slater is None and not self._meets(answer.value) and not self._has_slack():
                    return Ending.TIGHT
                aim *= 0.3
            if share < 1e-8 or aim < 1e-6:
                return Ending.ROUNDING
            guess = None
            if smooth and smoothing > 0 and not (guessed and gap > BRISK * last):
                guess = interpolated(self.columns, mixture.weights, self.threshold)
            guessed, last = guess is not None, gap
            blend = (
                smoothing * self.multiplier + (1 - smoothing) * mixture.multiplier if guess is None else guess
            )
            scale = 1 + blend.sum()
            tolerance = max(share * gap / scale, FINEST * self.unit)
            new = self._bound(blend, tolerance)
            gain = new.value[0] + mixture.multiplier @ (new.value[1:] - self.threshold) - mixture.value
            useful = gain > 0.1 * share * gap
            if useful:
                share, smoothing = SHARE, usual
            elif smoothing == 0.0:
                share *= 0.1
            else:
                smoothing = 0.0
        return Ending.ROUNDING

    def _answer(self) -> Point:
        """Return the stationary policy of the best mixture, which exceeds the thresholds by a little where it can."""
        target = self.target(self.upper_bound)
        margin = MARGIN * target / (1 + float(self.multiplier.sum()))
        weights, precision = self._weights(), 0.0
        if self.constraints and margin < 0.1 * self.slack:
            mixture = best_mixture(self._values(), self.threshold + margin, self._largest(), self.unit)
            loss = np.inf if mixture is None else self.lower_bound - mixture.value
            if loss > DEAREST * target:  # the multipliers beyond the thresholds are other ones
                margin *= DEAREST * target / loss
                mixture = best_mixture(self._values(), self.threshold + margin, self._largest(), self.unit)
            if mixture is not None:
                weights, precision = mixture.weights, 0.2 * margin
        return self.mixer.point(self.columns, weights, self.slater, precision)

    def _largest(self) -> Array:
        """Return bounds on the multipliers, (K,)."""
        known = self.slack > 0 and np.isfinite(self.slack)
        largest = min(4 * self.unit / self.slack, LARGEST_MULTIPLIER) if known else LARGEST_MULTIPLIER
        return np.full(self.constraints, largest)

    def _master(self) -> Mixture:
        mixture = best_mixture(self._values(), self.threshold, self._largest(), self.unit)
        if mixture is None:  # rounding: the Slater mixture is feasible
            assert self.slater is not None
            weights = np.pad(self.slater, (0, len(self.columns) - len(self.slater)))
            mixture = Mixture(weights, self.multiplier, float(weights @ self._values()[:, 0]))
        self.mixture, self.lower_bound = mixture.weights, mixture.value
        return mixture

    def _bound(self, multiplier: Array, tolerance: float) -> Priced:
        """Price r + λ·c, and keep d(λ) = max_π V_r + λ·(V_c − b) if it is the least so far."""
        scale = 1 + float(multiplier.sum())
        priced = self._price(np.append(1.0, multiplier) / scale, tolerance)
        threshold = self.problem.threshold
        rounding = (len(threshold) + 4) * UNIT_ROUNDOFF * float(multiplier @ np.abs(threshold))
        dual = priced.upper_bound * scale - float(multiplier @ threshold) + rounding
        if dual < self.upper_bound:
            self.upper_bound, self.multiplier, self.response = dual, multiplier, priced.choice
        self._report()
        return priced

    def _price(self, weight: Array, tolerance: float) -> Priced:
        needed = EXACT * self.target(self.upper_bound) * (weight[0] or weight.max())
        priced = self.pricer.price(weight, tolerance, max(needed, FINEST * self.unit))
        own = weight[1:] / weight[0] if weight[0] > 0 else None
        self.columns.append(Column(priced.choice, priced.value, own, priced.value - priced.error))
        return priced

    def _report(self) -> None:
        if self.progress is not None:
            self.progress(Search(self.pricer.solves, self.lower_bound, self.upper_bound))

    def _values(self) -> Array:
        return np.array([column.value for column in self.columns])

    def _weights(self) -> Array:
        assert self.mixture is not None
        return np.pad(self.mixture, (0, len(self.columns) - len(self.mixture)))

    # ------------------------------------------------------------ the end

    def _point(self, ending: Ending) -> Point:
        """Return the stationary policy of the best mixture, or of the one with the largest slack."""
        if not self.columns:
            self.columns.append(self.mixer.any_column())
        if self.mixture is None or ending in (Ending.INFEASIBLE, Ending.TIGHT):
            weights = np.ones(1) if self.slater is None else self.slater
            return self.mixer.point(self.columns, weights, self.slater)
        return self._answer()

    def _known_point(self) -> Point:
        """Return the best of the columns by what is known of them, at no cost."""
        slack = [(column.low[1:] - self.threshold).min(initial=np.inf) for column in self.columns]
        reward = [
            column.low[0] if least >= 0 else -np.inf
            for column, least in zip(self.columns, slack, strict=True)
        ]
        best = int(np.argmax(reward)) if max(slack) >= 0 else int(np.argmax(slack))
        return self.mixer.single(self.columns[best])

    def _planned(self, ending: Ending, answer: Point) -> Planned:
        return Planned(
            answer=answer,
            slater_value=None if self.slater is None else self.slater @ self._values()[: len(self.slater)],
            slater_weight=self.slack_proof,
            slack_bound=self.slack_bound,
            upper_bound=self.upper_bound,
            multiplier=self.multiplier,
            response=self.engine.actions_of(self.response),
            columns=[(column.low, self.engine.actions_of(column.choice)) for column in self.columns],
            feasible=ending is not Ending.INFEASIBLE and self._meets(answer.value),
            ending=ending,
            solves=self.pricer.solves,
            sweeps=self.pricer.sweeps,
            bellman_sweeps=self.pricer.bellman_sweeps,
        )
