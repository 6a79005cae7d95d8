"""How the steps of a log add up to a value: discounted, over a horizon, until the end, or as a long-run average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from painless.common.arguments import whole
from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.problem import validation
from painless.problem.criterion import Criterion
from painless.problem.validation import is_average, is_one, refuse_beside_average


@dataclass(frozen=True)
class Adding:
    """How steps add up."""

    discount: float
    horizon: int | None = None
    average: bool = False

    @property
    def criterion(self) -> Criterion:
        """The criterion."""
        return Criterion.of(self.discount, self.horizon, self.average)

    def weight(self, time: NDArray[np.int64]) -> Array:
        """Return what a step counts in a sum by its time, (n,).

        >>> Adding(0.5, horizon=2).weight(np.arange(3)).tolist()
        [1.0, 0.5, 0.0]
        """
        found: Array = np.asarray(self.discount**time, dtype=np.float64)
        return found if self.horizon is None else np.where(time < self.horizon, found, 0.0)

    def __str__(self) -> str:
        if self.average:
            return "long-run average"
        if self.horizon is not None:
            return f"horizon {self.horizon}" + (f", discount {self.discount:g}" if self.discount < 1 else "")
        return f"discount {self.discount:g}" if self.discount < 1 else "total until the end"


def checked_adding(discount: Any, horizon: Any, average: Any, done: Any) -> Adding:
    """Return how steps add up; reject what does not go together."""
    if is_average(average):
        refuse_beside_average(discount=discount, horizon=horizon, done=done)
        return Adding(1.0, average=True)
    if horizon is not None:
        steps = whole("horizon", horizon, least=1)
        gamma = 1.0 if discount is None or is_one(discount) else validation.discount(discount)
        return Adding(gamma, horizon=steps)
    if discount is None:
        raise InputError(
            "a log does not say how its steps add up; give a discount below 1, a horizon, discount=1 (the total until the end), or average=True"
        )
    if not is_one(discount):
        return Adding(validation.discount(discount))
    if done is None:
        raise InputError(
            "the total until the end needs rows that end; name their column (done=…), or give a horizon, a discount below 1, or average=True"
        )
    return Adding(1.0)
