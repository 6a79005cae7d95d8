"""What `train` passes to its `progress` function where it trains networks."""

from __future__ import annotations

from dataclasses import dataclass

from painless.common.arrays import Array


@dataclass(frozen=True)
class DeepProgress:
    """The progress of a run, in the user's terms."""

    steps: int
    used: float  # share of the budget
    seconds: float
    seconds_left: float  # an estimate
    phase: str  # "training", "selecting" or "verifying"
    value: Array  # (J,) mean of the latest episodes; NaN before there are any
    error: Array  # (J,) its standard errors
    multiplier: Array  # (K,)
