"""A pool of deterministic policies, and their best mixtures for given weights of the utilities.

    max_π Σ_j w_j V_j(ρ)   subject to   V_{c_i}(ρ) ≥ b_i for the held constraints i

Without held constraints this is one unconstrained MDP. With them it is a game (see `game`) over all policies found so far, so that
each new weight costs only a few solves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.engines.engine import EXACT_STATES, UNIT_ROUNDOFF, Actions, engine_of
from painless.planning.game import ROUNDING, Aim, Game, SlackGame
from painless.planning.master import Columns
from painless.problem import CMDP
from painless.problem.units import TOLERANCE

REWARD, CONSTRAINT = np.array([1.0, 0.0]), np.array([0.0, 1.0])  # weights


class Supported(NamedTuple):
    """The best policy for some weights, as a mixture of policies in the pool."""

    value: Array  # (J,)
    mixture: tuple[tuple[int, float], ...]  # the index of each policy, and its weight
    upper_bound: float  # no policy that meets the held constraints has a larger weighted value


class Pool:
    """The policies found so far for a problem in normalised units with some constraints held."""

    def __init__(self, problem: CMDP, held: Sequence[int], tick: Callable[[], None] = lambda: None) -> None:
        self.problem = problem
        self.held = np.array(held, dtype=np.intp)
        self._engine = engine_of(problem, EXACT_STATES)
        self._engine.call_between_steps(tick)
        unit = self._engine.unit
        self.rounding = max(ROUNDING, 32 * UNIT_ROUNDOFF * unit) * unit
        self.threshold = problem.threshold[self.held]
        self.columns = Columns()
        self.solves = 0
        self._safe: Array | None = None  # weights of the first policies: the largest joint slack

    @property
    def actions(self) -> list[Array | Actions]:
        """The policies, (S,) each."""
        return [column.policy for column in self.columns.known]

    @property
    def values(self) -> Array:
        """Their values, (n, J)."""
        return self.columns.values

    def meet(self) -> float:
        """Find the largest joint slack of the held constraints, and return an upper bound on it."""
        game = SlackGame(self._engine, list(self.held), self.columns, precision=0.1 * self.rounding)
        game.finest = 0.1 * self.rounding
        game.respond(game.price)
        game.play(lambda: game.open <= self.rounding)
        self.solves += game.responses
        self._safe, slack = game.mixture.weights, game.mixture.value
        spare = 0.1 * TOLERANCE * self._engine.unit
        if slack < spare:  # no Slater point: lower the thresholds by what counts as met
            self.threshold = self.threshold + slack - spare
            # What the lower thresholds may bring is no gain.
            self.rounding = max(self.rounding, TOLERANCE * self._engine.unit)
        return game.upper

    def best(self, weight: Array, varied: int | None) -> Supported:
        """Return the best response to weights (2,) of the reward and of constraint `varied`, which sum to 1."""
        objective = np.zeros(len(self.problem.utility))
        objective[0] = weight[0]
        if varied is not None:
            objective[1 + varied] = weight[1]
        aim = Aim(objective, 1 + self.held, self.threshold, self.threshold)
        game = Game(self._engine, aim, self.columns, safe=self._safe, precision=0.1 * self.rounding)
        game.coarse = game.finest = 0.1 * self.rounding
        if len(self.held):
            game.play(lambda: game.open <= self.rounding * (1 + float(game.mixture.multiplier.sum())))
            weights = game.mixture.weights
        else:
            game.respond(game.price)
            weights = np.eye(1 + game.place)[game.place]
        if not np.isfinite(game.upper):
            raise InputError(
                "the frontier has no end: where the limit is loose, a loop pays in every round, so that the best value has no bound; "
                "solve for single limits, or add a limit on what the loop uses"
            )
        self.solves += game.responses
        used = np.flatnonzero(weights)
        parts = tuple((int(k), float(weights[k])) for k in used)
        return Supported(weights[used] @ self.values[used], parts, game.upper)
