"""The multipliers at which column generation prices.

The master's multipliers are smoothed towards those of the best bound (Wentges 1997), which saves responses for K > 1. If the
frontier is smooth, they are interpolated (see `interpolation`). After a response that does not help the master, its own
multipliers are used.
"""

from __future__ import annotations

import numpy as np

from painless.common.arrays import Array
from painless.planning.game import Game
from painless.planning.interpolation import interpolated

BRISK = 0.3  # interpolated multipliers that leave more of the gap are not tried twice in a row
SMOOTH_STATES = 5000  # states from which values are smooth enough in the multipliers to interpolate
SMOOTH_CONSTRAINTS = 4  # constraints up to which they are


class Smoothed:
    """Blends the master's multipliers with those that prove the bound, or interpolates."""

    def __init__(self, share: float | None, states: int, constraints: int) -> None:
        usual = 0.2 if constraints == 1 else 0.5  # which needs the fewest solves on Garnets and grids
        self.share = usual if share is None else share
        self.smooth = states >= SMOOTH_STATES and constraints <= SMOOTH_CONSTRAINTS
        self._guessed, self._last = False, np.inf

    def __call__(self, game: Game) -> Array:
        """Return the multipliers for the next response, (K,)."""
        guess, share = None, self.share if game.useful else 0.0
        if self.smooth and share > 0 and not (self._guessed and game.open > BRISK * self._last):
            guess = interpolated(game.columns.known, game.mixture.weights, game.aim.reached)
        self._guessed, self._last = guess is not None, game.open
        if guess is not None:
            return guess
        master = game.mixture.multiplier
        return master if share == 0 else share * game.price + (1 - share) * master
