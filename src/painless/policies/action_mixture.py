"""A draw between deterministic policies, stored as an integer for each state: the answer of a model that is too large for tables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.common.arrays import Array, frozen
from painless.common.errors import InputError
from painless.problem import validation
from painless.storage.checked_entries import SUM_TOLERANCE

Actions = NDArray[np.unsignedinteger]


@dataclass(frozen=True, eq=False)
class ActionMixture:
    """Deterministic policies, and the probabilities with which one of them is drawn at the start and kept.

    Values and limits hold in expectation over the draw. `draw(rng)` returns the actions to play.

    >>> mixture = ActionMixture(np.array([[0, 1, 1], [1, 1, 0]], dtype=np.uint8), np.array([0.25, 0.75]))
    >>> len(mixture), mixture.draw(np.random.default_rng(0)), mixture.differing
    (2, array([1, 1, 0], dtype=uint8), array([0, 2]))
    """

    actions: Actions  # (n, S)
    weights: Array  # (n,)
    names: Mapping[str, Any] = field(default_factory=dict)  # a list of names of actions

    visits: None = None  # which would need predecessors of states

    def __post_init__(self) -> None:
        actions, weights = np.asarray(self.actions), np.asarray(self.weights, dtype=np.float64)
        if actions.ndim != 2 or not actions.size or actions.dtype.kind != "u":
            raise InputError(
                f"actions have shape {actions.shape} and type {actions.dtype}; give unsigned integers (n, S), a row for each policy"
            )
        if weights.shape != (len(actions),):
            raise InputError(f"{len(actions)} policies need {len(actions)} weights, not {weights.shape}")
        if not (weights >= 0).all() or not abs(weights.sum() - 1) <= SUM_TOLERANCE:
            raise InputError("the weights of a mixture are not a distribution; divide them by their sum")
        object.__setattr__(self, "actions", frozen(actions))
        object.__setattr__(self, "weights", frozen(weights))
        named = self.names.get("actions")
        count = max(int(actions.max()) + 1, 0 if named is None else len(named))
        object.__setattr__(self, "names", validation.names(self.names, (actions.shape[1], count, 0)))

    def __len__(self) -> int:
        return len(self.actions)

    def __repr__(self) -> str:
        shares = ", ".join(f"{100 * weight:.4g} %" for weight in self.weights)
        return f"ActionMixture({self.actions.shape[1]} states, drawn with {shares})"

    @property
    def probabilities(self) -> Array:
        """Refuse: a table of probabilities would be as large as the model."""
        raise InputError(
            "a draw between actions has no table of probabilities; read its actions, (n, S), and its weights, (n,)"
        )

    @property
    def differing(self) -> NDArray[np.intp]:
        """The states in which the policies differ."""
        return np.flatnonzero((self.actions != self.actions[0]).any(0))

    def draw(self, rng: np.random.Generator) -> Actions:
        """Draw the policy to play for ever, (S,): the action of each state."""
        drawn: Actions = self.actions[int(rng.choice(len(self), p=self.weights))]
        return drawn

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to an `.npz` file, which `load_policy` reads."""
        from painless.policies.storage import save_policy

        save_policy(self, path)
