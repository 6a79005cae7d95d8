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
