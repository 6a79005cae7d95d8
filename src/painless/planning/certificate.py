"""The proof of the gap, and the policy that it holds for.

For any λ ≥ 0 the dual value bounds the reward of every feasible policy, and costs one unconstrained MDP:

    d(λ) = max_π V_r + λ·(V_c − b) ≥ V_r(π*)

**Polishing**: among mixtures of the iterates and of the Slater policy, the master (see `game`) picks the one with the largest reward
that meets the constraints. The stationary policy of the mixed occupancy has exactly the mixed values. The best responses that
gave the dual values join the master too, so that its multipliers are the most promising λ for the next one. A planner's policy
mixes these responses; an algorithm's policy does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.engines.engine import Actions, Bracket, Engine
from painless.planning.case import Relaxation
from painless.planning.feasibility import Feasibility, SlaterPolicy
from painless.planning.game import Aim, Game
from painless.planning.master import Column, Columns, Mixture, best_mixture
from painless.problem import Criterion
from painless.problem.units import TOLERANCE

RANK = attrgetter("rank")  # max(…, key=RANK) is the best of some answers
MEMORY = 1 << 25  # bytes that the policies may take
MOST = 512  # policies
NEAR = 1e-7  # of a long-run average: what one stationary policy may lose against a draw between several
FINEST = 1e-11  # the highest precision of swept values, in the engine's unit


@dataclass(frozen=True)
class Answer:
    """A policy with its evaluated values, and the best bound with the multipliers that prove it."""

    policy: Any  # (S, A), or a draw between several
    value: Array  # (J,)
    low: Array  # (J,) proved: the policy has at least these values
    upper_bound: float
    multiplier: Array  # (K,)
    feasible: bool
    # How much better than this policy any feasible policy could be; infinite if it is not proved to be feasible.
    gap: float = np.inf
    # A better answer is a feasible one, then one with a larger reward.
    rank: tuple[bool, float] = (False, -np.inf)


class Certifier:
    """Collects candidate policies and dual values; polishes and proves on request.

    Everything is in normalised units. Memory is bounded: if there are too many candidates, the most useful ones under the
    latest multipliers stay.

    Arguments:
        slater: the Slater policy, which is the first candidate; None if not known yet.
        relaxation: what counts as feasible; by default in the units of the problem.
        memory: bytes that the candidates may take; None for no bound.
    """

    def __init__(
        self,
        engine: Engine,
        slater: SlaterPolicy | None = None,
        relaxation: Relaxation | None = None,
        memory: float | None = MEMORY,
    ) -> None:
        problem = engine.problem
        self.problem, self.engine, self.slater = problem, engine, slater
        self.relaxation = relaxation or Relaxation.of(problem)
        tight = slater is not None and slater.feasibility is not Feasibility.SLACK
        # What one stationary policy may lose against a draw between several: nothing if there is no Slater point.
        self._near = 0.0 if tight or problem.criterion is not Criterion.AVERAGE else NEAR
        reached = problem.threshold
        if slater is not None and tight:  # mixtures may miss a limit by what still counts as met
            lowered, proved = reached - 0.9 * self.relaxation.sure, slater.low[1:]
            reached = np.where(np.isfinite(proved), np.minimum(proved, lowered), lowered)
        columns = Columns()
        if memory is not None:
            table = problem.shape[0] * problem.shape[1] * np.dtype(np.float64).itemsize
            columns = Columns(memory=max(memory, 2 * (problem.shape[2] + 2) * table), most=MOST)
        utilities = np.arange(1 + problem.shape[2])  # the first is the reward, the others are held
        aim = Aim(np.eye(len(utilities))[0], utilities[1:], problem.threshold, reached)
        self.game = Game(engine, aim, columns, precision=0.0, finest=FINEST)
        if slater is not None:
            self.game.add(Column(slater.policy, slater.value, slater.low))
            self.game.proved.append(slater.low)
            self.game.safe = np.ones(1)

    def add(self, value: Array, policy: Array | Actions) -> int:
        """Offer a policy, (S, A) or actions (S,), with its values (J,) to the mixture; return its index."""
        low = value - self.engine.rounding if self.engine.exact else np.full(len(value), -np.inf)
        return self.game.add(Column(policy, value, low))

    def polish(self) -> Mixture:
        """Return the best feasible mixture of the candidates, without the best responses of the proof."""
        columns = self.game.columns
        own = [k for k, column in enumerate(columns.known) if column.weight is None]
        mixture = best_mixture(columns.values[own], self.game.aim.reached, np.eye(len(own))[0])
        weights = np.zeros(len(columns.known))
        if mixture is None:  # the Slater policy alone is feasible, to rounding
            weights[0] = 1.0
            return Mixture(weights, np.zeros(self.problem.shape[2]), float(columns.values[0, 0]))
        weights[own] = mixture.weights
        return mixture._replace(weights=weights)

    def bound(self, multiplier: Array, tolerance: float | None = None) -> float:
        """Return d(λ), keep it if it is the least so far, and offer the best response to the game.

        A swept d(λ) is too large by at most `tolerance`, or by what the open gap allows.
        """
        self.game.respond(multiplier, tolerance)
        return self.game.last_bound

    def prove(
        self,
        multipliers: Iterable[Array],
        target: Callable[[float], float],
        rounds: int,
        propose: Callable[[Game], Array] | None = None,
    ) -> Mixture:
        """Bound at `multipliers`, then alternate master and pricing until the gap is at most `target(bound)`.

        Return the best mixture of all candidates and responses.
        """
        for multiplier in multipliers:
            self.bound(multiplier)
        game = self.game
        game.play(lambda: game.open <= target(game.upper), rounds, propose)
        return game.mixture

    def answer(self, weights: Array, precision: float = 0.0) -> Answer:
        """Return the stationary policy of a mixture of the candidates, evaluated.

        If it misses a constraint, the Slater policy is mixed in until it does not. If there is a Slater point, the answer
        provably meets every constraint.
        """
        columns, mixed = self.game.columns, self.engine.mixed
        policies = [column.policy for column in columns.known]
        weights = np.append(weights, np.zeros(len(policies) - len(weights)))
        precision = max(precision, self._near)
        policy, value = mixed(policies, weights, precision)
        if self.game.safe is None:
            return self._assessed(policy, value)
        safe = np.append(self.game.safe, np.zeros(len(policies) - len(self.game.safe)))
        used = np.flatnonzero(safe)
        spare = safe[used] @ columns.lows[used, 1:] - self.problem.threshold  # at least the slack of `safe`
        for factor in (1.0, 2.0, 1e3, 1e5, 1e7, np.inf):  # of what linearity asks for; the rest is rounding
            if not np.isfinite(value.low).all():
                break  # nothing is proved of so many rounds of a loop
            short = np.maximum(self.problem.threshold - value.low[1:], 0.0)
            met = not short.any() or ((spare <= 0).any() and self.relaxation.met(policy, value.low).all())
            if met or np.array_equal(weights, safe):
                break
            whole = short + np.maximum(spare, 0.0)
            needed = np.divide(short, whole, out=np.zeros_like(short), where=whole > 0)
            part = min(factor * float(needed.max()), 1.0)
            weights = safe if part == 1 else (1 - part) * weights + part * safe
            policy, value = mixed(policies, weights, precision if part < 1 else 0.0)
        return self._assessed(policy, value)

    def judge(self, policy: Array) -> Answer:
        """Evaluate a policy, and mix in the Slater policy if it misses a constraint."""
        value = self.engine.values(policy)
        if not np.isfinite(value.low).all():
            return self._assessed(policy, value)
        place = self.game.add(Column(policy, value.guess, value.low))
        return self.answer(np.eye(1 + place)[place])

    def assess(self, policy: Array) -> Answer:
        """Evaluate a policy as it is."""
        return self._assessed(policy, self.engine.values(policy))

    def bounded(self, answer: Answer) -> Answer:
        """Return an answer with the best bound so far, and the gap that it leaves."""
        upper = self.game.upper
        gap = max(upper - float(answer.value[0]), 0.0)
        gap = gap if answer.feasible and np.isfinite(gap) else np.inf
        return replace(answer, upper_bound=upper, multiplier=self.game.price, gap=gap)

    def known(self) -> Answer:
        """Return the best of the candidates by their proved values, without evaluating any; values that are not known are NaN."""
        columns = self.game.columns
        if not columns.known:
            least, most = self.engine.extent
            unknown = np.full_like(least, np.nan)
            return self._assessed(self.engine.any_policy(), Bracket(least, most, unknown))
        low = columns.lows
        slack = (low[:, 1:] - self.game.aim.reached).min(1, initial=np.inf)
        slack[columns.loops] = -np.inf  # what a round earns is no value
        best = int(np.where(slack >= 0, low[:, 0], -np.inf).argmax() if slack.max() >= 0 else slack.argmax())
        policy, value, proved = columns[best][:3]
        return self._assessed(self.engine.shown(policy), Bracket(proved, 2 * value - proved, value))

    def single(self, place: int) -> Answer:
        """Return a candidate by itself with no more than is proved of its values."""
        policy, value, proved = self.game.columns[place][:3]
        return self._assessed(self.engine.shown(policy), Bracket(proved, 2 * value - proved, proved))

    def _assessed(self, policy: Any, value: Bracket) -> Answer:
        feasible = bool(self.relaxation.met(policy, value.low).all())
        known = np.where(np.isfinite(value.low), value.guess, np.nan)
        # A limit of which nothing is used: the rounding of sweeps is not shown.
        unused = (
            (value.low <= 0) & (value.high >= 0) & (value.high - value.low <= TOLERANCE * self.engine.unit)
        )
        known[1:][unused[1:]] = 0.0
        rank = feasible, float(known[0])
        return self.bounded(Answer(policy, known, value.low, np.inf, self.game.price, feasible, rank=rank))
