"""Feasibility: the Slater policy, the joint slack, the multiplier bound, and conflicting constraints.

The Slater policy maximises min_i (V_{c_i} − b_i)/span_i, one policy for all constraints at once. It is
the solution of a matrix game between policies and weights of the constraints: the best response to the
weights is one unconstrained MDP, the best mixture a tiny linear program. Their values bound the joint slack from
both sides. With s_i the slacks, Σ λ*_i s_i ≤ V_r(π*) − V_r(π_Slater), so that in normalised units

    U_i = 2/((1−γ) s_i)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from painless.bellman import occupancy_policy, occupancy_value
from painless.common.arrays import Array
from painless.engines.engine import PRECISION, Engine, as_table, engine_of
from painless.planning.case import Relaxation
from painless.planning.game import SLACK_FINEST, SlackGame
from painless.planning.master import Column
from painless.policies.table import uniform_policy
from painless.problem import CMDP
from painless.problem.units import TOLERANCE


class Feasibility(Enum):
    """Whether the constraints can be met together."""

    SLACK = "some policy exceeds every threshold"
    TIGHT = "the constraints are feasible only at the boundary (no Slater point)"
    NONE = "no policy meets all constraints"
    UNKNOWN = "it is not known whether any policy meets all constraints"


@dataclass(frozen=True)
class SlaterPolicy:
    """The policy with the largest joint slack (the smallest slack of all constraints), in normalised units."""

    policy: Any  # (S, A), or a draw between several
    occupancy: Array  # (S, A)
    value: Array  # (J,)
    low: Array  # (J,) proved: the policy has at least these values
    slack: Array  # (K,) V_c − b of this policy
    weight: Array  # (K,) of the constraints; they prove that no policy has a larger joint slack
    feasibility: Feasibility
    proved_slack: Array  # (K,) lower bound on each slack; negative where the constraint may be missed
    evaluations: int = 0  # of policies during the search
    stopped: BaseException | None = None  # what stopped the search early


def slater_policy(
    problem: CMDP, engine: Engine | None = None, relaxation: Relaxation | None = None
) -> SlaterPolicy:
    """Return the policy with the largest joint slack; `problem` is in normalised units.

    `relaxation` defines what counts as feasible, by default in the units of the problem. If the engine's tick raises, the
    best policy so far is returned, as `UNKNOWN`.
    """
    game = SlackGame(engine or engine_of(problem))
    try:
        return _judged(_mixed(game), game, relaxation or Relaxation.of(problem))
    except (TimeoutError, KeyboardInterrupt) as stop:
        return _unfinished(game, stop)


def _mixed(game: SlackGame) -> SlaterPolicy:
    """Play the game, and return the stationary policy of the best mixture, not judged yet."""
    engine, problem = game.engine, game.engine.problem
    game.find()
    mixture = game.mix()
    if engine.draws:
        policy, found = engine.mixed([column.policy for column in game.columns.known], mixture.weights)
        slack, proved = (part[1:] - problem.threshold for part in (found.guess, found.low))
        return SlaterPolicy(
            *(policy, np.empty((0, 0)), found.guess, found.low, slack, game.price, Feasibility.UNKNOWN),
            *(proved, game.evaluations),
        )
    parts = [
        mixture.weights[k] * _occupancy(engine, game.columns[k])
        for k in np.flatnonzero(mixture.weights).tolist()
    ]
    occupancy = np.sum(parts, 0)
    policy = occupancy_policy(occupancy, uniform_policy(problem.actions))
    value = occupancy_value(problem, occupancy)
    if not engine.exact:
        value = value - PRECISION * engine.unit  # lower bounds, allowing for the error of the visits
    low = engine.values(policy).low if engine.exact else value
    return SlaterPolicy(
        *(policy, occupancy, value, low, value[1:] - problem.threshold, game.price, Feasibility.UNKNOWN),
        *(low[1:] - problem.threshold, game.evaluations),
    )


def _occupancy(engine: Engine, column: Column) -> Array:
    """Return the visits of a response to all pairs, (S, A)."""
    visits = engine.visits(column.policy) if column.visits is None else column.visits
    return visits[:, None] * as_table(column.policy, engine.problem.shape[1])


def _judged(found: SlaterPolicy, game: SlackGame, relaxation: Relaxation) -> SlaterPolicy:
    """Decide whether the constraints can be met; close cases are decided by the relaxed problem."""
    engine = game.engine
    least = found.proved_slack.min(initial=np.inf)
    if least > TOLERANCE * engine.unit:
        return replace(found, feasibility=Feasibility.SLACK)
    if least >= 0:
        return replace(found, feasibility=Feasibility.TIGHT)
    if game.upper + float(relaxation.spare.max()) < 0:
        return replace(found, feasibility=Feasibility.NONE)
    if relaxation.met(found.policy, found.low).all():
        return replace(found, feasibility=Feasibility.TIGHT)
    close = SlackGame(engine_of(relaxation.relaxed))
    other = _mixed(close)
    if (other.proved_slack >= 0).all():
        low = engine.values(other.policy).low
        slack = low[1:] - engine.problem.threshold
        own = replace(other, value=low, low=low, slack=slack, proved_slack=slack, weight=found.weight)
        return replace(own, feasibility=Feasibility.TIGHT)
    return replace(found, feasibility=Feasibility.NONE if close.upper < 0 else Feasibility.UNKNOWN)


def _unfinished(game: SlackGame, stop: BaseException) -> SlaterPolicy:
    """Return the best single response so far, or else the uniform policy with bounds that hold for every policy."""
    engine, problem = game.engine, game.engine.problem
    policy, low = engine.any_policy(), engine.extent[0]
    value = np.full_like(low, np.nan)
    if game.columns.known:
        slack = (game.columns.values[:, 1:] - problem.threshold).min(1, initial=np.inf)
        best = game.columns[int(np.argmax(slack))]
        policy, value, low = engine.shown(best.policy), best.value, best.low
    slack = low[1:] - problem.threshold
    return SlaterPolicy(
        *(policy, np.empty((0, 0)), value, low, slack, game.price, Feasibility.UNKNOWN, slack),
        *(game.evaluations, stop),
    )


def multiplier_bound(slack: Array, step: float) -> Array:
    """U_i = 2/((1−γ) s_i) in normalised units, (K,): twice the largest that λ*_i can be (paper, Lemma 1).

    `step` is the weight of one step in a value, 1 − γ.
    """
    return 2 / (step * slack)


def attainable_slack(problem: CMDP, engine: Engine | None = None) -> Array:
    """Return the largest slack V_c − b of each constraint taken on its own, (K,)."""
    engine = engine or engine_of(problem)
    finest = SLACK_FINEST * engine.unit
    weights = np.eye(1 + problem.shape[2])[1:]
    best = [engine.best(weight, finest, finest).weighted_value for weight in weights]
    return np.array(best) - problem.threshold


def conflict(
    problem: CMDP, relaxation: Relaxation | None = None, tick: Callable[[], None] = lambda: None
) -> list[int]:
    """Return a minimal set of constraints that cannot be met together.

    `problem` is infeasible and in normalised units. Each constraint in turn is left out, and stays out
    if the rest, relaxed, is still proved to be infeasible.
    """
    engine = engine_of((relaxation or Relaxation.of(problem)).relaxed)
    engine.call_between_steps(tick)
    members = list(range(problem.shape[2]))
    for index in list(members):
        rest = [i for i in members if i != index]
        if rest and _is_infeasible(SlackGame(engine, rest)):
            members = rest
    return members


def _is_infeasible(game: SlackGame) -> bool:
    game.find()
    return game.upper < 0
