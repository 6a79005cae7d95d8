"""What one plan leaves to the next: its policies, for the same model at other limits and for a model that has changed a little."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.bellman import policy_transition
from painless.common.arrays import Array
from painless.counting.krylov import inverse_of
from painless.engines.engine import Actions, Engine
from painless.planning.game import Game
from painless.planning.master import Column
from painless.problem import CMDP, Criterion

ADDED = 2  # states at the end of every learned model
DOUBT = 1e-8  # what values of known policies may be off, in units of the largest


class Known(NamedTuple):
    """What a plan found on the way, in normalised units."""

    problem: CMDP | None  # None if only policies are known
    columns: tuple[Column, ...]  # all policies that it found
    used: tuple[NDArray[Any], ...]  # actions (S,) of those in its answer
    engine: Engine | None

    @classmethod
    def of(cls, game: Game, problem: CMDP) -> Known:
        """Return what a game found for a problem."""
        columns, weights = tuple(game.columns.known), game.mixture.weights
        used = [one.policy for one, weight in zip(columns, weights, strict=False) if weight > 0]
        return cls(problem, columns, tuple(one for one in used if one.ndim == 1), game.engine)

    def columns_for(self, problem: CMDP) -> tuple[Column, ...]:
        """Return all policies for the same process and utilities; for another process the used ones, evaluated anew.

        They are worth it on both sides of the limits, since the first prices are near the last ones then.
        """
        if self._is_at_other_limits(problem):
            return self.columns
        fits = all(len(one) <= len(problem.actions) for one in self.used)
        if problem.criterion is not Criterion.DISCOUNTED or not fits or len(self.used) < 2:
            return ()
        columns = tuple(_column(problem, extended(policy, problem)) for policy in self.used)
        met = [bool((column.low[1:] >= problem.threshold).all()) for column in columns]
        return columns if any(met) and not all(met) else ()

    def _is_at_other_limits(self, problem: CMDP) -> bool:
        """Whether two problems have views of the same arrays."""
        if self.problem is None:
            return False
        views = zip(_arrays(self.problem), _arrays(problem), strict=True)
        same = all(one.shape == other.shape and np.may_share_memory(one, other) for one, other in views)
        parts = ((self.problem.actions, problem.actions), (self.problem.utility, problem.utility))
        return same and all(np.array_equal(one, other) for one, other in parts)


def _arrays(problem: CMDP) -> tuple[Array, Array]:
    """Return the arrays of the transitions and of the first states."""
    kernel = problem.transition
    return kernel if isinstance(kernel, np.ndarray) else np.asarray(kernel.data), problem.initial


def extended(policy: NDArray[Any], problem: CMDP) -> Actions:
    """Return a policy with actions in the states that were seen since, which come before the added ones."""
    kind = np.min_scalar_type(problem.shape[1] - 1)
    actions = np.zeros(len(problem.actions), dtype=np.intp)
    actions[: len(policy) - ADDED], actions[-ADDED:] = policy[:-ADDED], policy[-ADDED:]
    available = problem.actions[np.arange(len(actions)), actions]
    return np.where(available, actions, problem.actions.argmax(1)).astype(kind)


def _column(problem: CMDP, policy: Actions) -> Column:
    """Evaluate a deterministic policy (S,)."""
    actions: NDArray[np.intp] = policy.astype(np.intp)
    inverse = inverse_of(policy_transition(problem, actions), problem.discount)
    utility = problem.utility[:, np.arange(len(actions)), actions]
    value = inverse.state_value(utility) @ problem.initial
    return Column(policy, value, value - DOUBT * problem.unit)
