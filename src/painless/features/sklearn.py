"""Any transformer of scikit-learn's kind as a feature map: state features x(s), with a block for each action.

φ(s, a) = e_a ⊗ x(s),     d = A·d_x

Only a fitted `transform` method is needed, and scikit-learn itself is not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from painless.common.arguments import as_floats
from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.problem.transitions import is_sparse


class Transformer(Protocol):
    """Maps states (n, D) to state features (n, d_x), as a dense array or a SciPy sparse matrix."""

    def transform(self, X: Any, /) -> Any:
        """Return the state features."""


@dataclass(frozen=True)
class Transformed:
    """The features of a fitted transformer, such as `RBFSampler().fit(states)`, with a block for each action.

    Arguments:
        transformer: an object with a `transform` method.
        actions: A.
        example: some states, (n, D) or (n,). They are transformed once, to learn d_x.

    >>> class Square:
    ...     def transform(self, X):
    ...         return np.hstack([X, X**2])
    >>> features = Transformed(Square(), actions=2, example=[[0.0]])
    >>> features.dimension
    4
    >>> features.at([[3.0]])
    array([[[3., 9., 0., 0.],
            [0., 0., 3., 9.]]])
    """

    transformer: Transformer
    actions: int
    example: ArrayLike = field(repr=False, compare=False)
    width: int = field(init=False)  # d_x

    def __post_init__(self) -> None:
        if self.actions < 1:
            raise InputError(f"there must be at least 1 action, not {self.actions}")
        if not callable(getattr(self.transformer, "transform", None)):
            raise InputError(
                f"{type(self.transformer).__name__} has no transform method; fit it and pass the object itself"
            )
        object.__setattr__(self, "width", self.state_features(self.example).shape[1])

    @property
    def dimension(self) -> int:
        """The number of features, d = A·d_x."""
        return self.actions * self.width

    def state_features(self, states: ArrayLike) -> Array:
        """Return x(s), (n, d_x)."""
        batch = np.asarray(states)
        batch = batch[:, None] if batch.ndim == 1 else batch
        given = self.transformer.transform(batch)
        table = as_floats("the transformer's output", given.toarray() if is_sparse(given) else given)
        if table.ndim != 2 or len(table) != len(batch):
            raise InputError(f"the transformer's output has shape {table.shape}, not ({len(batch)}, d)")
        return table

    def at(self, states: ArrayLike) -> Array:
        """Return x(s) in the block of each action, (n, A, d)."""
        table = self.state_features(states)
        if table.shape[1] != self.width:
            raise InputError(
                f"the transformer gave {table.shape[1]} features, and {self.width} for the example"
            )
        blocks = np.zeros((len(table), self.actions, self.actions, table.shape[1]))
        action = np.arange(self.actions)
        blocks[:, action, action] = table[:, None]
        return blocks.reshape(len(table), self.actions, self.dimension)
