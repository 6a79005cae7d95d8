"""Default features of an environment, from its observation space and sampled observations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from painless.common.arrays import Array
from painless.common.errors import InputError, unknown
from painless.environments.interface import bounds_of
from painless.features import FeatureMap, Fourier, OneHot, TileCoding

if TYPE_CHECKING:
    from painless.environments.gymnasium_simulator import GymnasiumSimulator

KINDS = ("tiles", "fourier", "one-hot")
LARGE = 1e3  # a bound beyond this says nothing; what was seen says more
MARGIN = 0.5  # of what was seen, on each side
TILES, TILINGS, SLOTS = 4, 8, 512  # tiles of a dimension; tilings; slots of a tiling and action
TILED = 4  # numbers of an observation up to which tiles are few enough, and better
MOST = 2000  # features of a Fourier basis, all actions together
# Largest frequency, and how many numbers a feature combines; the richest first.
BASES = ((3, 2), (2, 2), (3, 1), (1, 1))


def suggest_features(simulator: GymnasiumSimulator, kind: str | None = None) -> FeatureMap:
    """Return one-hot features for Discrete observations; tile coding for a few numbers, a Fourier basis for more."""
    interface = simulator.interface
    interface.require_few(simulator.name)
    kind = kind or (
        "one-hot" if interface.discrete else "tiles" if interface.dimension <= TILED else "fourier"
    )
    if kind not in KINDS:
        raise unknown("kind of features", kind, KINDS)
    if kind == "one-hot":
        if not interface.discrete:
            raise InputError(
                f"one-hot features need Discrete observations; those of {simulator.name} are {interface.dimension} "
                "numbers: use tiles or fourier"
            )
        return OneHot(int(interface.observation["n"]), simulator.actions)
    lower, upper = bounds_of(interface.observation)
    if not interface.discrete:
        lower, upper = bounds(lower, upper, simulator.observed)
    if kind == "fourier":
        return _fourier(lower, upper, simulator.actions)
    exact = TileCoding(lower, upper, TILES, TILINGS, simulator.actions)
    most = TILINGS * simulator.actions * SLOTS
    return (
        exact
        if exact.dimension <= most
        else TileCoding(lower, upper, TILES, TILINGS, simulator.actions, most)
    )


def _fourier(lower: Array, upper: Array, actions: int) -> Fourier:
    """Return the richest Fourier basis whose equations are solved in about a second."""
    for order, interaction in BASES:
        basis = Fourier(lower.tolist(), upper.tolist(), order, actions, interaction)
        if basis.dimension <= MOST:
            break
    return basis


def bounds(lower: Array, upper: Array, observed: Array) -> tuple[Array, Array]:
    """Return the bounds of observations, (D,) each, where they say something, else what was seen and some more."""
    least, most = observed.min(0), observed.max(0)
    spread = np.where(most > least, most - least, 1.0)
    known = (np.abs(lower) < LARGE) & (np.abs(upper) < LARGE)
    low = np.where(known, lower, np.maximum(least - MARGIN * spread, lower))
    high = np.where(known, upper, np.minimum(most + MARGIN * spread, upper))
    return low, np.where(high > low, high, low + 1.0)
