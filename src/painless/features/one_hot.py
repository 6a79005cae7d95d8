"""One feature for every state and action of a table: the linear setting that is the table itself.

φ(s, a) = e_{s·A + a},     d = S·A
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.features.base import Indices, scatter


@dataclass(frozen=True)
class OneHot:
    """The features of a table with `states` states and `actions` actions.

    >>> features = OneHot(states=3, actions=2)
    >>> features.dimension
    6
    >>> features.active([2])
    array([[[4],
            [5]]])
    """

    states: int
    actions: int

    def __post_init__(self) -> None:
        if self.states < 1 or self.actions < 1:
            raise InputError(f"a table has states and actions, not {self.states} and {self.actions}")

    @property
    def dimension(self) -> int:
        """The number of features, d = S·A."""
        return self.states * self.actions

    @property
    def active_count(self) -> int:
        """One feature is 1."""
        return 1

    @property
    def cell_count(self) -> int:
        """Every state is its own cell."""
        return self.states

    def active(self, states: ArrayLike) -> Indices:
        """Return the index of the one feature of each action, (n, A, 1)."""
        return (self.cells(states)[:, None] * self.actions + np.arange(self.actions))[:, :, None]

    def cells(self, states: ArrayLike) -> Indices:
        """Return the states themselves, (n,)."""
        index = np.asarray(states)
        if index.ndim != 1 or (index.size and index.dtype.kind not in "iu"):
            raise InputError(
                f"states have shape {index.shape} and type {index.dtype}, not (n,) and integers; "
                "give the indices of states"
            )
        wrong = (index < 0) | (index >= self.states)
        if wrong.any():
            at = int(wrong.argmax())
            raise InputError(f"states[{at}] is {index[at]}, outside the table 0..{self.states - 1}")
        return index.astype(np.int64, copy=False)

    def at(self, states: ArrayLike) -> Array:
        """Return the unit vectors of all actions in some states, (n, A, d)."""
        return scatter(self.active(states), self.dimension)
