"""The criteria: how the utilities of all steps add up to a value."""

from __future__ import annotations

from enum import Enum


class Criterion(Enum):
    """How the utilities of all steps add up.

    >>> Criterion.TOTAL.value
    'total reward until the end'
    """

    DISCOUNTED = "discounted sum"
    HORIZON = "sum over a finite horizon"
    TOTAL = "total reward until the end"
    AVERAGE = "long-run average"

    @classmethod
    def of(cls, discount: float, horizon: int | None, average: bool) -> Criterion:
        """Return the criterion; without a horizon, a discount of 1 is the total until the end."""
        if average:
            return cls.AVERAGE
        if horizon is not None:
            return cls.HORIZON
        return cls.DISCOUNTED if discount < 1 else cls.TOTAL
