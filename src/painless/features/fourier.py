"""The Fourier basis: cosines over a box (Konidaris, Osentoski & Thomas 2011).

    φ_c(s) = cos(π·⟨c, x⟩),     x = (s − lower)/(upper − lower) in [0, 1]^D,     c in {0, …, order}^D

Only vectors c with at most `interaction` entries that are not 0 take part, so that the number of features grows
polynomially in D. Each action has a copy of them: index a·n + i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from painless.common.arguments import as_floats
from painless.common.arrays import Array
from painless.common.errors import InputError


@dataclass(frozen=True)
class Fourier:
    """The Fourier basis over a box. States outside the bounds count as the nearest point of the box.

    Arguments:
        lower, upper: the bounds, one for each dimension.
        order: the largest frequency in each dimension.
        actions: A.
        interaction: how many dimensions a feature may combine.

    >>> Fourier([-1.0, -1.0], [1.0, 1.0], order=2, actions=2).dimension
    18
    """

    lower: Sequence[float]
    upper: Sequence[float]
    order: int
    actions: int
    interaction: int = 2

    def __post_init__(self) -> None:
        lower, upper = (np.atleast_1d(as_floats(name, getattr(self, name))) for name in ("lower", "upper"))
        if lower.shape != upper.shape or not (np.isfinite(upper - lower).all() and (lower < upper).all()):
            raise InputError(
                "lower and upper must be finite bounds, one for each dimension, lower below upper"
            )
        if min(self.order, self.actions, self.interaction) < 1:
            raise InputError("order, actions and interaction must be whole numbers of at least 1")
        object.__setattr__(self, "lower", tuple(lower.tolist()))
        object.__setattr__(self, "upper", tuple(upper.tolist()))

    @cached_property
    def frequencies(self) -> NDArray[np.float64]:
        """The vectors c, (n, D), the constant first."""
        dimensions, found = len(self.lower), [[0] * len(self.lower)]
        for count in range(1, min(self.interaction, dimensions) + 1):
            for places in combinations(range(dimensions), count):
                for values in product(range(1, self.order + 1), repeat=count):
                    vector = [0] * dimensions
                    for place, value in zip(places, values, strict=True):
                        vector[place] = value
                    found.append(vector)
        return np.array(found, dtype=float)

    @property
    def dimension(self) -> int:
        """A times the number of frequencies, which need not be listed to be counted."""
        size = len(self.lower)
        most = min(self.interaction, size)
        return self.actions * sum(comb(size, k) * self.order**k for k in range(most + 1))

    def at(self, states: ArrayLike) -> Array:
        """Return the features of all actions in some states, (n, A, d)."""
        batch = np.atleast_2d(as_floats("states", states))
        if batch.shape[1] != len(self.lower):
            raise InputError(f"states have shape {batch.shape}, not (n, {len(self.lower)})")
        lower, upper = np.array(self.lower), np.array(self.upper)
        unit = np.clip((batch - lower) / (upper - lower), 0.0, 1.0)
        basis = np.cos(np.pi * unit @ self.frequencies.T)
        count = basis.shape[1]
        dense = np.zeros((len(batch), self.actions, self.actions * count))
        for action in range(self.actions):
            dense[:, action, action * count : (action + 1) * count] = basis
        return dense
