"""Feasibility: the Slater policy, the joint slack, the multiplier bound, and infeasibility explained.

The Slater policy maximises min_i (V_{c_i} − b_i)/span_i, one policy for all constraints at once. It is
the solution of a matrix game between policies and weights of the constraints: the best response to the
weights is one unconstrained MDP, the best mixture a tiny linear program. The two values close in on the
slack. With s_i its slacks, Σ λ*_i s_i ≤ V_r(π*) − V_r(π_Slater), so that in normalised units

    U_i = 2/((1−γ) s_i)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

import numpy as np

from painless.arrays import Array
from painless.bellman import occupancy_policy, occupancy_value
from painless.judgement import Relaxation
from painless.planners.engine import PRECISION, UNIT_ROUNDOFF, Actions, Engine, as_table, engine_of
from painless.planners.master import Mixture, largest_slack
from painless.policy import uniform_policy
from painless.problem import CMDP
from painless.units import TOLERANCE

ROUNDS = 1000  # of the game; a handful is usual
COARSE = 1e-3  # what counts as open about the slack at first, relative to 1/(1−γ)
SHARE = 0.1  # how exact a swept best response is, relative to what is open about the slack
FINEST = 0.01 * TOLERANCE  # of swept best responses, relative to 1/(1−γ)
DIGITS = 1e-6  # of a slack that is not close to 0: where sweeps cost, more of them would change nothing


class Feasibility(Enum):
    """Whether the constraints can be met together."""

    SLACK = "some policy exceeds every threshold"
    TIGHT = "the constraints are feasible only at the boundary (no Slater point)"
    NONE = "no policy meets all constraints"
    UNKNOWN = "it is not known whether any policy meets all constraints"


@dataclass(frozen=True)
class SlaterPolicy:
    """The policy with the largest smallest slack, of a problem in normalised units."""

    policy: Array  # (S, A)
    occupancy: Array  # (S, A)
    value: Array  # (J,)
    low: Array  # (J,) proved: the policy has at least these values
    slack: Array  # (K,) V_c − b of this policy
    weight: Array  # (K,) of the constraints; no policy has a larger slack under them, which proves this one
    feasibility: Feasibility
    proved_slack: Array  # (K,) by how much each constraint is met at least; negative where it may be missed
    evaluations: int = 0  # of policies that the search took
    stopped: BaseException | None = None  # what ended the search before its time


class _Column(NamedTuple):
    """A best response: its actions (S,), its values (J,) and, where they came with the values, its visits (S,)."""

    actions: Actions
    value: Array
    visits: Array | None


@dataclass
class _Game:
    """What the game between policies and weights of some constraints has come to."""

    engine: Engine
    members: list[int]  # the constraints that play
    columns: list[_Column] = field(default_factory=list)
    evaluations: int = 0
    least: float = np.inf  # the best bound on the slack: no policy has more
    proof: Array = field(default_factory=lambda: np.empty(0))  # the weights that prove it

    def play(self) -> Mixture:
        """Let weights and best responses take turns; return the mixture with the largest slack."""
        count, problem = len(self.members), self.engine.problem
        unit = 1 / (1 - problem.discount)
        mixture = Mixture(np.ones(1), np.full(count, 1 / max(count, 1)), -np.inf)
        self.proof = mixture.multiplier
        for _ in range(ROUNDS):
            tolerance = max(SHARE * min(self.least - mixture.value, COARSE * unit), FINEST * unit)
            new = self._respond(mixture.multiplier, tolerance)
            if not count:
                break
            before, mixture = mixture.value, self._mix()
            finest = self.engine.exact or tolerance <= FINEST * unit
            stalled = finest and (mixture.value <= before or not new)
            if self._is_known(mixture.value, unit) or stalled or (self.engine.exact and count == 1):
                break
        return mixture

    def occupancy(self, index: int) -> Array:
        """Return the visits of a response to all pairs, (S, A)."""
        actions, _, visits = self.columns[index]
        table = as_table(actions, self.engine.problem.shape[1])
        return (self.engine.visits(actions) if visits is None else visits)[:, None] * table

    def _mix(self) -> Mixture:
        values = np.array([column.value for column in self.columns])
        own = [1 + i for i in self.members]
        return largest_slack(values[:, own], self.engine.problem.threshold[self.members])

    def _respond(self, weight: Array, tolerance: float) -> bool:
        """Add the best response to the weights, and what it proves; return whether it is a new policy."""
        problem = self.engine.problem
        full = np.zeros(1 + problem.shape[2])
        full[[1 + i for i in self.members]] = weight
        full[0] = 0.0 if self.members else 1.0
        response = self.engine.best(full, tolerance, SHARE * tolerance)
        threshold = problem.threshold[self.members]
        rounding = (len(threshold) + 4) * UNIT_ROUNDOFF * float(weight @ np.abs(threshold))
        upper = response.upper_bound - float(weight @ threshold) + rounding
        new = not any(np.array_equal(response.actions, column.actions) for column in self.columns)
        self.columns.append(_Column(response.actions, *response.value_and_visits()))
        self.evaluations += response.evaluations
        if upper < self.least:
            self.least, self.proof = upper, weight
        return new

    def _is_known(self, slack: float, unit: float) -> bool:
        """Whether the slack is known to the tolerance; where sweeps cost, its sign and its first digits suffice."""
        gap = self.least - slack
        open_sign = slack <= TOLERANCE * unit and self.least >= -TOLERANCE * unit
        digits = 0.0 if self.engine.exact or open_sign else DIGITS
        return gap <= max(0.1 * TOLERANCE * unit, digits * abs(slack))


def slater_policy(
    problem: CMDP, engine: Engine | None = None, relaxation: Relaxation | None = None
) -> SlaterPolicy:
    """Return the policy with the largest smallest slack; `problem` is in normalised units.

    `relaxation` says what counts as feasible, by default in the units of the problem. Where the engine's tick raises, the best policy so far comes back as `UNKNOWN`.
    """
    engine = engine or engine_of(problem)
    game = _Game(engine, list(range(problem.shape[2])))
    try:
        found = _mixed(game)
        return _judged(found, game, relaxation or Relaxation.of(problem))
    except (TimeoutError, KeyboardInterrupt) as stop:
        return _unfinished(game, stop)


def _mixed(game: _Game) -> SlaterPolicy:
    """Play the game, and return the stationary policy of the best mixture, not judged yet."""
    engine, problem = game.engine, game.engine.problem
    mixture = game.play()
    used = np.arange(len(game.columns)) if engine.exact else np.flatnonzero(mixture.weights)
    occupancy = np.tensordot(mixture.weights[used], np.array([game.occupancy(int(k)) for k in used]), 1)
    policy = occupancy_policy(occupancy, uniform_policy(problem.actions))
    value = occupancy_value(problem, occupancy)
    if not engine.exact:
        value = value - PRECISION / (
            1 - problem.discount
        )  # what the visits may lack: the policy has at least these
    low = engine.values(policy).low if engine.exact else value
    return SlaterPolicy(
        *(policy, occupancy, value, low, value[1:] - problem.threshold, game.proof, Feasibility.UNKNOWN),
        *(low[1:] - problem.threshold, game.evaluations),
    )


def _judged(found: SlaterPolicy, game: _Game, relaxation: Relaxation) -> SlaterPolicy:
    """Say whether the constraints can be met; by the relaxed problem where that is close."""
    problem = game.engine.problem
    unit = 1 / (1 - problem.discount)
    least = found.proved_slack.min(initial=np.inf)
    if least > TOLERANCE * unit:
        return replace(found, feasibility=Feasibility.SLACK)
    if least >= 0:
        return replace(found, feasibility=Feasibility.TIGHT)
    if game.least + float(relaxation.spare.max()) < 0:
        return replace(found, feasibility=Feasibility.NONE)
    if relaxation.allows(found.policy, found.low):
        return replace(found, feasibility=Feasibility.TIGHT)
    engine = engine_of(relaxation.relaxed)
    close = _Game(engine, game.members)
    other = _mixed(close)
    if (other.proved_slack >= 0).all():
        low = game.engine.values(other.policy).low
        slack = low[1:] - problem.threshold
        own = replace(other, value=low, low=low, slack=slack, proved_slack=slack, weight=found.weight)
        return replace(own, feasibility=Feasibility.TIGHT)
    return replace(found, feasibility=Feasibility.NONE if close.least < 0 else Feasibility.UNKNOWN)


def _unfinished(game: _Game, stop: BaseException) -> SlaterPolicy:
    """Return the best single response so far, or the uniform policy, of which only the least is known that any policy has."""
    problem = game.engine.problem
    if game.columns:
        slacks = [(column.value[1:] - problem.threshold).min(initial=np.inf) for column in game.columns]
        best = game.columns[int(np.argmax(slacks))]
        policy, low = as_table(best.actions, problem.shape[1]), best.value - game.engine.rounding
    else:
        policy = uniform_policy(problem.actions)
        low = problem.utility.min((1, 2), where=problem.actions, initial=np.inf) / (1 - problem.discount)
    slack = low[1:] - problem.threshold
    return SlaterPolicy(
        *(policy, np.empty((0, 0)), low, low, slack, game.proof, Feasibility.UNKNOWN, slack),
        *(game.evaluations, stop),
    )


def multiplier_bound(slack: Array, discount: float) -> Array:
    """U_i = 2/((1−γ) s_i) in normalised units, (K,): twice the largest that λ*_i can be (paper, Lemma 1)."""
    return 2 / ((1 - discount) * slack)


def attainable_slack(problem: CMDP, engine: Engine | None = None) -> Array:
    """Return the largest slack V_c − b of each constraint taken on its own, (K,)."""
    engine = engine or engine_of(problem)
    finest = FINEST / (1 - problem.discount)
    weights = np.eye(1 + problem.shape[2])[1:]
    best = [engine.best(weight, finest, finest).weighted_value for weight in weights]
    return np.array(best) - problem.threshold


def conflict(
    problem: CMDP, relaxation: Relaxation | None = None, tick: Callable[[], None] = lambda: None
) -> list[int]:
    """Return constraints that cannot be met together, though any smaller choice of them can.

    `problem` is infeasible and in normalised units. Each constraint in turn is left out, and stays out
    where the rest is still proved to be infeasible, relaxed as it may be.
    """
    engine = engine_of((relaxation or Relaxation.of(problem)).relaxed)
    engine.heed(tick)
    members = list(range(problem.shape[2]))
    for index in list(members):
        rest = [i for i in members if i != index]
        if rest and _is_infeasible(_Game(engine, rest)):
            members = rest
    return members


def _is_infeasible(game: _Game) -> bool:
    game.play()
    return game.least < 0
