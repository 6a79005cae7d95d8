"""Where column generation prices: not at the master's multipliers alone.

Multipliers are smoothed towards those of the best bound (Wentges 1997), which saves responses for K > 1. Where the frontier is
smooth they are interpolated (see `interpolation`). A response that is of no use to the master sends the next one to its own multipliers.
"""

from __future__ import annotations

import numpy as np

from painless.arrays import Array
from painless.planning.game import Game
from painless.planning.interpolation import interpolated

BRISK = 0.3  # interpolated multipliers that leave more of the gap are not tried twice in a row
SMOOTH_STATES = 5000  # from which values change smoothly enough with the multipliers to be interpolated
SMOOTH_CONSTRAINTS = 4  # up to which they do


class Smoothed:
    """Blends the master's multipliers with a share of those that prove the bound, or interpolates."""

    def __init__(self, share: float, states: int, constraints: int) -> None:
        self.share, self._now = share, share
        self.smooth = states >= SMOOTH_STATES and constraints <= SMOOTH_CONSTRAINTS
        self._guessed, self._last = False, np.inf

    def __call__(self, game: Game) -> Array:
        """Return the multipliers for the next response, (K,)."""
        guess = None
        if self.smooth and self._now > 0 and not (self._guessed and game.open > BRISK * self._last):
            guess = interpolated(game.columns.known, game.mixture.weights, game.aim.reached)
        self._guessed, self._last = guess is not None, game.open
        if guess is not None:
            return guess
        master = game.mixture.multiplier
        return master if self._now == 0 else self._now * game.price + (1 - self._now) * master

    def learn(self, useful: bool) -> None:
        """Hear whether the last response improves on the master's mixture."""
        self._now = self.share if useful else 0.0
