"""The interface of evaluators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from painless.common.arrays import Array
from painless.policies.learning_table import Policy, QFunction

P_contra = TypeVar("P_contra", bound=Policy, contravariant=True)


@dataclass(frozen=True)
class Evaluation:
    """What an evaluator found for a batch of policies."""

    q: QFunction
    value: Array  # (B, J) at ρ
    standard_error: Array | None = None  # (B, J); None if the values are exact, or it is not known
    steps: int = 0  # of a simulator that it took


class Evaluator(Protocol[P_contra]):
    """Holds its model, simulator or data, and evaluates policies of all runs of a batch."""

    def evaluate(self, policy: P_contra, rngs: Sequence[np.random.Generator]) -> Evaluation:
        """Evaluate all J utilities; run i of the batch draws from `rngs[i]` only."""
