"""CartPole with two constraints (paper, app. D.2), as a simulator.

A pole on a cart is kept upright by pushing the cart left or right: Barto, Sutton & Anderson (1983), with the
constants and the Euler steps of Gymnasium's CartPole. Each step survived pays 1; the step on which the cart
leaves ±2.4 or the pole ±12° ends the episode and pays nothing at all.

    c₁ = 0 where the next |x| lies in [1.1, 1.3] or [2.2, 2.4], else 1
    c₂ = 1 where the next angle lies within ±4°, else 0

γ = 0.99, at most 200 steps, b = (79, 80). No return can exceed 86.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array
from painless.features import TileCoding
from painless.policies import FoldedPolicy, ReplayedPolicy, SummedPolicy
from painless.simulation.rollouts import Acts, Trajectories
from painless.simulation.simulator import Outcome, Specification, States

GRAVITY, CART_MASS, POLE_MASS, HALF_LENGTH = 9.8, 1.0, 0.1, 0.5
TOTAL_MASS, POLE_MOMENT = CART_MASS + POLE_MASS, POLE_MASS * HALF_LENGTH
FORCE, SECONDS = 10.0, 0.02  # of a push, and between two of them
FARTHEST, STEEPEST, UPRIGHT = 2.4, np.radians(12.0), np.radians(4.0)
ZONES = ((1.1, 1.3), (2.2, 2.4))
BOUNDS = (4.8, 3.0, 0.25, 3.0)  # of the tile coding: position, velocity, angle, angular velocity


@dataclass(frozen=True, eq=False)
class CartPole:
    """CartPole with constraints on the cart's position and the pole's angle; it starts anywhere.

    >>> simulator = CartPole()
    >>> simulator.reset(3, np.random.default_rng(0)).shape
    (3, 4)
    """

    threshold: Sequence[float] = (79.0, 80.0)
    discount: float = 0.99
    time_limit: int = 200

    @cached_property
    def specification(self) -> Specification:
        """Two actions, three utilities within [0, 1]."""
        return Specification(
            actions=2,
            discount=self.discount,
            threshold=np.asarray(self.threshold, dtype=float),
            low=np.zeros(3),
            high=np.ones(3),
            time_limit=self.time_limit,
            constraint_names=("position", "angle"),
            generative=True,
        )

    def features(self) -> TileCoding:
        """The paper's tile coding: 8 tilings of 4 tiles in each dimension, hashed into 4096 indices."""
        bounds = np.array(BOUNDS)
        return TileCoding(-bounds, bounds, tiles=4, tilings=8, actions=2, size=4096)

    def reset(self, count: int, rng: np.random.Generator) -> States:
        """Draw all four coordinates uniformly from ±0.05, as Gymnasium does."""
        return rng.uniform(-0.05, 0.05, (count, 4))

    def step(self, states: States, actions: NDArray[np.intp], rng: np.random.Generator) -> Outcome:
        """Push the carts left (0) or right (1)."""
        del rng
        from painless.problems import _cartpole_kernel

        return Outcome(*_cartpole_kernel.step(np.ascontiguousarray(states), np.asarray(actions)))

    def fused_rollout(
        self, policy: Acts, episodes: int, rng: np.random.Generator, span: Array
    ) -> Trajectories | None:
        """Return what `lockstep` does, faster, with utilities divided by `span`; None for policies it does not know."""
        if type(self) is not CartPole or not isinstance(policy, ReplayedPolicy | SummedPolicy | FoldedPolicy):
            return None
        features = policy.features
        if not isinstance(features, TileCoding) or features.actions != 2 or len(features.grid.lower) != 4:
            return None
        from painless.problems import _cartpole_rollout

        states = self.reset(episodes, rng)
        return _cartpole_rollout.roll_out(self.specification, policy, features.grid, states, span, rng)


def reference_step(states: Array, actions: NDArray[np.intp]) -> Outcome:
    """One step in NumPy, the reference for the kernel."""
    x, speed, angle, turn = states.T
    force = np.where(actions == 1, FORCE, -FORCE)
    sine, cosine = np.sin(angle), np.cos(angle)
    push = (force + POLE_MOMENT * turn**2 * sine) / TOTAL_MASS
    bend = (GRAVITY * sine - cosine * push) / (HALF_LENGTH * (4 / 3 - POLE_MASS * cosine**2 / TOTAL_MASS))
    pull = push - POLE_MOMENT * bend * cosine / TOTAL_MASS
    following = np.stack(
        [x + SECONDS * speed, speed + SECONDS * pull, angle + SECONDS * turn, turn + SECONDS * bend], 1
    )
    place, lean = np.abs(following[:, 0]), np.abs(following[:, 2])
    terminated = (place > FARTHEST) | (lean > STEEPEST)
    inside = sum((low <= place) & (place <= high) for low, high in ZONES)
    utilities = np.stack([np.ones(len(states)), 1.0 - inside, lean <= UPRIGHT], 1) * ~terminated[:, None]
    return Outcome(following, utilities, terminated)
