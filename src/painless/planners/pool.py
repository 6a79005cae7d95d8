"""Deterministic policies collected while weights of the utilities are priced, and their best mixtures.

    max_π Σ_j w_j V_j(ρ)   subject to   V_{c_i}(ρ) ≥ b_i for the constraints i that are held

Without held constraints this is one unconstrained MDP. With them, the master and pricing take turns over all
policies found so far (see `column_generation`), so that one weight after another costs a few solves each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from painless.arrays import Array
from painless.planners import master
from painless.planners.engine import UNIT_ROUNDOFF, Actions, engine_of
from painless.planners.master import Mixture
from painless.problem import CMDP
from painless.units import TOLERANCE

ROUNDING = 1e-12  # relative to 1/(1−γ); a smaller gain is none
ROUNDS = 1000  # of master and pricing for one weight; a handful is usual
NOTHING, REWARD, CONSTRAINT = np.zeros(2), np.array([1.0, 0.0]), np.array([0.0, 1.0])  # weights


class Response(NamedTuple):
    """The best policy for some weights, as a mixture of policies in the pool."""

    value: Array  # (J,)
    mixture: tuple[tuple[int, float], ...]  # the number of each policy, and its weight
    upper_bound: float  # no policy that meets the held constraints has a larger weighted value


class Pool:
    """The policies found so far, of a problem in normalised units, some of whose constraints are held."""

    def __init__(self, problem: CMDP, held: Sequence[int], tick: Callable[[], None] = lambda: None) -> None:
        self.problem = problem
        self.held = np.array(held, dtype=np.intp)
        self.unit = 1 / (1 - problem.discount)
        self.rounding = max(ROUNDING, 32 * UNIT_ROUNDOFF * self.unit) * self.unit
        self.threshold = problem.threshold[self.held]
        self._safe = np.empty(0)  # weights of the policies: the mixture with the largest joint slack
        self.actions: list[Actions] = []  # (S,) of each policy
        self.values: list[Array] = []  # (J,) of each policy
        self.solves = 0
        self._known: dict[bytes, int] = {}
        self._engine = engine_of(problem, sweep_dense=True)
        self._engine.heed(tick)
        self._last: Actions | None = None

    def meet(self) -> float:
        """Find the largest joint slack of the held constraints, and return a bound: no policy has more."""
        from painless.planners.tiny_master import largest_slack

        weight, least, slack = np.full(len(self.held), 1 / len(self.held)), np.inf, -np.inf
        for _ in range(ROUNDS):
            _, bound, new = self._respond(self._full(NOTHING, None, weight))
            least = min(least, bound - float(weight @ self.threshold))
            mixture = largest_slack(np.array(self.values)[:, 1 + self.held], self.threshold, self.unit)
            weight, slack = mixture.multiplier, mixture.value
            if least - slack <= self.rounding or not new:
                break
        self._safe = mixture.weights
        spare = 0.1 * TOLERANCE * self.unit
        if slack < spare:  # no Slater point: lower by what counts as met
            self.threshold = self.threshold + slack - spare
            self.rounding = max(self.rounding, TOLERANCE * self.unit)  # what that may bring is no gain
        return least

    def best(self, weight: Array, varied: int | None) -> Response:
        """Return the best response to weights (2,) of the reward and of constraint `varied`, which sum to 1."""
        if not len(self.held):
            index, bound, _ = self._respond(self._full(weight, varied, np.empty(0)))
            return Response(self.values[index], ((index, 1.0),), bound)
        least = np.inf
        for _ in range(ROUNDS):
            mixture = self._master(self._full(weight, varied, np.zeros(len(self.held))))
            price = mixture.multiplier
            full = self._full(weight, varied, price)
            scale = float(full.sum())
            _, bound, new = self._respond(full / scale)
            least = min(least, bound * scale - float(price @ self.threshold))
            if least - mixture.value <= self.rounding * scale or not new:
                break
        used = np.flatnonzero(mixture.weights)
        parts = tuple((int(k), float(mixture.weights[k])) for k in used)
        return Response(mixture.weights[used] @ np.array([self.values[k] for k in used]), parts, least)

    def _master(self, weight: Array) -> Mixture:
        """Return the mixture of the policies so far that is best for weights (J,) and meets what is held.

        The mixture with the largest joint slack joins as one more column, from which the simplex method can start.
        """
        from painless.planners.tiny_program import maximise

        values, count = np.array(self.values), len(self.held)
        safe = np.pad(self._safe, (0, len(values) - len(self._safe)))
        table = np.vstack([values, safe @ values])
        slack = (table[:, 1 + self.held] - self.threshold) / self.unit
        basis = np.append(len(table) + np.arange(count), len(values))
        best = maximise(table @ weight / self.unit, slack, len(table), basis)
        if best is not None:
            weights = best.weights[:-1] + best.weights[-1] * safe
            return Mixture(weights / weights.sum(), best.multiplier, best.value * self.unit)
        columns = np.column_stack([values @ weight, values[:, 1 + self.held]])
        mixture = master.best_mixture(columns, self.threshold)
        if mixture is None:
            raise RuntimeError("no mixture meets the held constraints, to rounding; relax them a little")
        return mixture

    def _full(self, weight: Array, varied: int | None, price: Array) -> Array:
        full = np.zeros(len(self.problem.utility))
        full[0] = weight[0]
        if varied is not None:
            full[1 + varied] = weight[1]
        full[1 + self.held] = price
        return full

    def _respond(self, weight: Array) -> tuple[int, float, bool]:
        """Price weights (J,); return the policy's number, the bound, and whether it is new."""
        self.solves += 1
        response = self._engine.best(weight, 0.1 * self.rounding, 0.1 * self.rounding, self._last)
        actions, bound = response.actions, response.upper_bound
        self._last = actions
        key = actions.tobytes()
        if key in self._known:
            return self._known[key], bound, False
        index = self._known[key] = len(self.actions)
        self.actions.append(actions)
        self.values.append(response.middle)
        return index, bound, True
