"""What an algorithm may know before it starts, what it makes of it, and checks of its settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from painless.common.arguments import as_floats
from painless.common.arrays import Array, Setting
from painless.common.errors import InputError
from painless.duals import Dual
from painless.learners import Learner

LARGEST = 1e100  # of a setting; products of larger ones overflow

Pieces = tuple[Learner[Any], Dual[Any]]


@dataclass(frozen=True)
class Situation:
    """What an algorithm may know before it starts, in normalised units."""

    step: float  # the weight of one step in a value: 1 − γ, or 1/Σ_t γ^t with a horizon
    actions: int
    threshold: Array  # (K,)
    multiplier_bound: Array  # (K,) U
    iterations: int | None  # T, or None for an anytime run
    simulated: bool = False  # whether values are estimated from few episodes, as in `train`
    utility_range: tuple[Array, Array] = (np.zeros(1), np.ones(1))  # the least and the largest c, (K,) each

    @property
    def normaliser(self) -> float:
        """N = (1 + Σ U_i)/(1−γ), the largest advantage in the Lagrangian."""
        return float((1 + self.multiplier_bound.sum()) / self.step)

    @property
    def shortfall_bound(self) -> Array:
        """H, the largest |V_c − b| that the range of c allows, (K,)."""
        low, high = (side / self.step for side in self.utility_range)
        return np.maximum(np.abs(low - self.threshold), np.abs(high - self.threshold))


class Algorithm(Protocol):
    """Makes a learner for the policy and a dual for the constraints."""

    @property
    def name(self) -> str:
        """The name in tables and files."""

    def build(self, situation: Situation) -> Pieces:
        """Return the learner and the dual."""


def require_positive(name: str, setting: Setting) -> None:
    """Reject a setting that is not a positive number."""
    values = as_floats(name, setting)
    if not ((values > 0) & (values <= LARGEST)).all():
        raise InputError(f"{name} is {setting}; it must be a positive number of at most {LARGEST:g}")


def require_entropy(entropy: Setting, rate: Setting = 0.0) -> None:
    """Reject a negative strength, and one that would flip the sign of the logits: ην must stay below 1."""
    values = as_floats("entropy", entropy)
    if not (np.isfinite(values) & (values >= 0)).all():
        raise InputError(f"entropy is {entropy}; it must be a number of at least 0")
    if (values * np.asarray(rate) >= 1).any():
        raise InputError(f"entropy {entropy} times rate {rate} is at least 1; make one of them smaller")


def require_whole(name: str, setting: Setting) -> None:
    """Reject a setting that is not a positive whole number."""
    values = as_floats(name, setting)
    if not ((values >= 1) & (values <= LARGEST) & (values == np.floor(values))).all():
        raise InputError(f"{name} is {setting}; it must be a positive whole number")


def require_not_negative(name: str, setting: Setting) -> None:
    """Reject a setting that is not a number of at least 0."""
    values = as_floats(name, setting)
    if not ((values >= 0) & (values <= LARGEST)).all():
        raise InputError(f"{name} is {setting}; it must be a number of at least 0 and at most {LARGEST:g}")
