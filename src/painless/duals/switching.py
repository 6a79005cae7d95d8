"""CRPO's switching: all weight on the reward, or on one violated constraint (Xu, Liang & Lan 2021).

weights e_r where every V_c ≥ b − η, else e_i for a violated constraint i
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array, Setting, per_run


class SwitchingState(NamedTuple):
    """How many shortfalls were seen; only the random choice depends on it."""

    rounds: int


@dataclass(frozen=True)
class Switching:
    """All weight on the reward where no shortfall exceeds the tolerance, else on one violated constraint.

    Arguments:
        tolerance: η, the shortfall that is tolerated.
        seed: None takes the first violated constraint; a number (or one for each run) takes a random
            one, as the paper's released code does.

    >>> dual = Switching(tolerance=0.1)
    >>> weight, state = dual.play(np.array([[0.05, 0.0], [-1.0, 0.2]]), dual.init(np.ones((2, 2))))
    >>> weight
    array([[1., 0., 0.],
           [0., 0., 1.]])

    References:
        Xu, Liang & Lan, "CRPO: a new approach for safe reinforcement learning with convergence
        guarantee", ICML 2021.
    """

    tolerance: Setting = 0.0
    seed: int | NDArray[np.int64] | None = None

    def init(self, multiplier: Array) -> SwitchingState:
        """Start; there is no multiplier to keep."""
        del multiplier
        return SwitchingState(0)

    def play(self, shortfall: Array, state: SwitchingState) -> tuple[Array, SwitchingState]:
        """Return a one-hot row for every run, and count the iteration."""
        violated = shortfall > per_run(self.tolerance, shortfall.ndim)
        weight = np.zeros((shortfall.shape[0], 1 + shortfall.shape[1]))
        weight[np.arange(len(weight)), self._choose(violated, state.rounds)] = 1.0
        return weight, SwitchingState(state.rounds + 1)

    def _choose(self, violated: NDArray[np.bool_], rounds: int) -> NDArray[np.intp]:
        if not violated.shape[1]:
            return np.zeros(len(violated), dtype=np.intp)
        if self.seed is None:
            score = violated.astype(float)
        else:
            seeds = np.broadcast_to(self.seed, len(violated))
            draws = [np.random.default_rng((seed, rounds)).random(violated.shape[1]) for seed in seeds]
            score = violated * (1 - np.array(draws))
        return np.where(violated.any(1), 1 + score.argmax(1), 0)
