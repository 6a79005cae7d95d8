"""The criteria: how the utilities of all steps add up to a value."""

from __future__ import annotations

from enum import Enum
from numbers import Real

import numpy as np

from painless.common.errors import InputError


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


def is_average(given: object) -> bool:
    """Check whether the long-run average is asked for."""
    value = given.item() if isinstance(given, np.ndarray | np.generic) and not given.ndim else given
    if not isinstance(value, bool) and value not in (0, 1):
        raise InputError(f"average is {given!r}; give True for the long-run average, or leave it out")
    return bool(value)


def refuse_beside_average(**others: object) -> None:
    """Reject what a long-run average has no use for."""
    for name, given in others.items():
        if given is not None:
            raise InputError(
                f"{name} has no meaning beside average=True, which counts every step alike for ever; leave one of them out"
            )


def is_one(discount: object) -> bool:
    """Whether a discount is given as exactly 1, which is the total reward until the end."""
    value = discount.item() if isinstance(discount, np.ndarray) and not discount.ndim else discount
    return isinstance(value, Real) and not isinstance(value, bool) and value == 1
