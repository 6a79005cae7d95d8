"""A PID controller of the multipliers (Stooke, Achiam & Abbeel 2020, Algorithm 2).

    I_t = [I_{t−1} + g_t]₊,     D_t = [g_t − g_{t−1}]₊,     D_0 = 0,     g = b − V_c
    λ_t = [K_P g_t + K_I I_t + K_D D_t]₊
    weights (1, λ_t)/(1 + Σ λ_t)

The integral alone is gradient ascent on the multipliers. The proportional part answers the latest shortfall at once, and the
derivative a shortfall that is about to grow; both dampen the swings of the integral. The weights are divided so that a step of
the policy does not grow with the multipliers (the paper's objective of section 6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array, Setting, per_run
from painless.duals.base import with_reward


class PIDState(NamedTuple):
    """The integral, the latest shortfall, and how many there were."""

    integral: Array
    last: Array
    rounds: int


@dataclass(frozen=True)
class PID:
    """Multipliers by a PID controller; they answer the latest shortfall before the policy moves.

    Arguments:
        proportional, integral, derivative: the gains K_P, K_I and K_D.

    >>> dual = PID(proportional=1.0, integral=0.5, derivative=0.0)
    >>> weight, state = dual.play(np.array([[2.0]]), dual.init(np.ones((1, 1))))
    >>> weight, state.integral
    (array([[0.25, 0.75]]), array([[2.]]))

    References:
        Stooke, Achiam & Abbeel, "Responsive safety in reinforcement learning by PID Lagrangian methods", ICML 2020.
    """

    proportional: Setting = 0.1
    integral: Setting = 0.01
    derivative: Setting = 0.01

    def init(self, multiplier: Array) -> PIDState:
        """Start with an empty integral: the first multipliers come from the first shortfall."""
        return PIDState(np.zeros_like(multiplier), np.zeros_like(multiplier), 0)

    def play(self, shortfall: Array, state: PIDState) -> tuple[Array, PIDState]:
        """Return the weights after this shortfall."""
        integral = np.maximum(state.integral + shortfall, 0.0)
        rise = np.maximum(shortfall - state.last, 0.0) if state.rounds else np.zeros_like(shortfall)
        gains = [per_run(gain, 2) for gain in (self.proportional, self.integral, self.derivative)]
        multiplier = np.maximum(gains[0] * shortfall + gains[1] * integral + gains[2] * rise, 0.0)
        return divided(multiplier), PIDState(integral, shortfall, state.rounds + 1)


def divided(multiplier: Array) -> Array:
    """Return the weights (1, λ)/(1 + Σ λ), (B, J)."""
    weight = with_reward(multiplier)
    return weight / weight.sum(1, keepdims=True)
