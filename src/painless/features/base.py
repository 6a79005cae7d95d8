"""The interface of feature maps: φ(s, a), d numbers for every state and action.

    Q(s, a) ≈ ⟨φ(s, a), θ⟩

A batch of states is an array: (n, D) of continuous coordinates, or (n,) of the indices of a table. All
actions of a state are mapped at once. A binary map, such as a one-hot code or a tile coding, has a fixed
number m of features that are 1, and the others are 0; it gives their indices, and nothing of size d is formed.
"""

from __future__ import annotations

from typing import Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from painless.common.arrays import Array

Indices = NDArray[np.int64]

DENSE = 1 << 22  # numbers of dense features that are formed at once: 32 MB


class FeatureMap(Protocol):
    """Features φ(s, a) of d numbers each."""

    @property
    def dimension(self) -> int:
        """d, the number of features."""

    @property
    def actions(self) -> int:
        """A, the number of actions."""

    def at(self, states: ArrayLike) -> Array:
        """Return the features of all actions in some states, (n, A, d)."""


@runtime_checkable
class BinaryFeatures(FeatureMap, Protocol):
    """Features of which m are 1 for every state and action, all at different indices, and the others 0."""

    @property
    def active_count(self) -> int:
        """m, the number of features that are 1."""

    @property
    def cell_count(self) -> int:
        """The number of cells: the ids of `cells` lie in [0, cell_count)."""

    def active(self, states: ArrayLike) -> Indices:
        """Return the indices of the features that are 1, (n, A, m)."""

    def cells(self, states: ArrayLike) -> Indices:
        """Return an id of each state's features, (n,).

        States with the same id have the same features. The id is arithmetic: it depends on nothing but the state.
        """


def is_binary(features: FeatureMap) -> TypeGuard[BinaryFeatures]:
    """Whether a feature map is binary. This is called at every step, and `isinstance` is slow for protocols."""
    return hasattr(features, "active")


def scatter(active: Indices, dimension: int) -> Array:
    """Return the dense features (..., d) whose entries at the indices `active` (..., m) are 1.

    >>> scatter(np.array([[0, 2]]), 4)
    array([[1., 0., 1., 0.]])
    """
    dense = np.zeros((*active.shape[:-1], dimension))
    np.put_along_axis(dense, active, 1.0, axis=-1)
    return dense


def feature_matrix(features: FeatureMap, states: int) -> Array:
    """Return the features of a table with `states` states, (S·A, d); row s·A + a is φ(s, a).

    >>> from painless.features import OneHot
    >>> feature_matrix(OneHot(states=2, actions=2), states=2).tolist() == np.eye(4).tolist()
    True
    """
    return features.at(np.arange(states)).reshape(states * features.actions, features.dimension)


def linear_action_value(features: FeatureMap, weight: Array, states: ArrayLike) -> Array:
    """Q(s, a) = ⟨φ(s, a), θ⟩ for weights (..., d): (..., n, A).

    Leading axes of `weight`, such as runs and utilities, never enter a matrix product together.

    >>> from painless.features import OneHot
    >>> linear_action_value(OneHot(states=2, actions=2), np.array([1.0, 2.0, 3.0, 4.0]), [1, 0])
    array([[3., 4.],
           [1., 2.]])
    """
    if is_binary(features):
        return np.take(weight, features.active(states), axis=-1).sum(-1)
    states = np.asarray(states)
    parts = [_dense_value(features.at(states[part]), weight) for part in batches(features, len(states))]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-2)


def batches(features: FeatureMap, count: int) -> list[slice]:
    """Divide `count` states into as few parts as memory asks for: the dense features of a part have at most `DENSE` numbers.

    >>> from painless.features import Fourier
    >>> len(batches(Fourier([0.0] * 8, [1.0] * 8, order=3, actions=4), 10_000))
    11
    """
    most = max(1, DENSE // (features.actions * features.dimension))
    return [slice(start, start + most) for start in range(0, max(count, 1), most)]


def _dense_value(dense: Array, weight: Array) -> Array:
    """⟨φ, θ⟩ for features (n, A, d) and weights (..., d)."""
    value = np.matmul(dense.reshape(-1, dense.shape[2]), weight[..., None])[..., 0]
    return value.reshape(*weight.shape[:-1], *dense.shape[:2])
