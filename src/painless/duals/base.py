"""The interface of duals."""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np

from painless.common.arrays import Array

State = TypeVar("State")


class Dual(Protocol[State]):
    """Plays weights over the J utilities. Shortfalls are b − V_c, (B, K)."""

    def init(self, multiplier: Array) -> State:
        """Return the state before the first shortfall; `multiplier` is λ_0, (B, K)."""

    def play(self, shortfall: Array, state: State) -> tuple[Array, State]:
        """Return the weights (B, J) of this iteration, the reward's first, and the state after it; `state` stays as it is."""


def with_reward(multiplier: Array) -> Array:
    """Return the weights (1, λ) of all utilities, (B, J), for multipliers (B, K)."""
    weight = np.ones((multiplier.shape[0], 1 + multiplier.shape[1]))
    weight[:, 1:] = multiplier
    return weight
