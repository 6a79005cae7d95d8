"""The weights of all iterations, append-only and shared by all iterates of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.policies.packing import pack, unpack


class History:
    """The Lagrangian weight of every iteration, stored so that the history of a feature is contiguous.

    An iterate with t updates reads the first t entries; later ones only append, so that they never disturb it.

    >>> history = History(3)
    >>> history.append(0, np.array([1.0, 2.0, 3.0]))
    >>> history.weights[:, :1].ravel()
    array([1., 2., 3.])
    """

    def __init__(self, dimension: int) -> None:
        self.weights: Array = np.zeros((dimension, 16))  # (d, capacity)
        self.count = 0

    @classmethod
    def of(cls, weights: Array) -> History:
        """Return a history that holds the weights (d, t)."""
        history = cls(len(weights))
        if weights.shape[1]:
            history.weights, history.count = np.ascontiguousarray(weights), weights.shape[1]
        return history

    @classmethod
    def from_parts(cls, content: Mapping[str, Any], dimension: int, updates: Sequence[int]) -> History:
        """Return the history of iterates after these numbers of updates, which `parts` took apart."""
        history = cls.of(unpack(content, "history", dimension))
        if history.count != max(updates):
            raise InputError(f"'updates' go to {max(updates)}, but the history has {history.count}")
        return history

    def parts(self, updates: Sequence[int]) -> dict[str, Any]:
        """Return the arrays that hold all that iterates after these numbers of updates read."""
        return pack(self.weights[:, : max(updates)], "history")

    def require(self, dimension: int, updates: int) -> None:
        """Reject an iterate that would read what is not there."""
        if len(self.weights) != dimension:
            raise InputError(f"the history has {len(self.weights)} features, and the policy {dimension}")
        if not 0 <= updates <= self.count:
            raise InputError(
                f"a policy after {updates} updates needs as many, and the history has {self.count}"
            )

    def append(self, updates: int, weight: Array) -> None:
        """Store the weight that follows the first `updates` ones."""
        if updates != self.count:
            raise ValueError("only the newest iterate can advance; the others have been played")
        if self.count == self.weights.shape[1]:
            self.weights = np.concatenate([self.weights, np.zeros_like(self.weights)], axis=1)
        self.weights[:, self.count] = weight
        self.count += 1
