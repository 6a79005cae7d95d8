"""Sums over the whole episodes of a log: what intervals for the returns of the logged behaviour need."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from painless.common.arrays import Array
from painless.simulation.confidence import about_moments

FEWEST = 2  # episodes from which an interval can be told


class Returns(NamedTuple):
    """Sums over episodes of their returns and lengths."""

    episodes: int
    steps: float  # Σ length
    square_steps: float
    total: Array  # (J,) Σ return
    square: Array  # (J,)
    cross: Array  # (J,) Σ return·length
    positive: Array  # (J,) episodes with a return above 0
    negative: Array  # (J,)

    @classmethod
    def of(cls, returns: Array, length: Array) -> Returns:
        """Return the sums of some episodes: returns (n, J), lengths (n,)."""
        return cls(
            len(length),
            float(length.sum()),
            float((length**2).sum()),
            returns.sum(0),
            (returns**2).sum(0),
            length @ returns,
            (returns > 0).sum(0).astype(float),
            (returns < 0).sum(0).astype(float),
        )

    def joined(self, other: Returns) -> Returns:
        """Return the sums of both."""
        parts: list[Any] = [*zip(self, other, strict=True)]
        return Returns(*(one + two for one, two in parts))

    def mean(self, average: bool) -> Array:
        """Return the mean return, (J,), or the mean per step; not a number without episodes."""
        per = self.steps if average else float(self.episodes)
        return self.total / per if per else np.full(len(self.total), np.nan)

    def intervals(self, average: bool, confidence: float, sizes: Array) -> tuple[Array, Array]:
        """Return simultaneous intervals for the means, (J,) each; `sizes` (J,) are those of an event, where none was seen."""
        mean = self.mean(average)
        if self.episodes < FEWEST:
            return np.full_like(mean, np.nan), np.full_like(mean, np.nan)
        length = self.steps / self.episodes if average else 1.0
        residual = self.square - self.total**2 / self.episodes
        if average:  # of a ratio: return − mean·length
            residual = self.square - 2 * mean * self.cross + mean**2 * self.square_steps
        residual = np.where(residual > 1e-14 * self.square, residual, 0.0)
        spread = np.sqrt(residual / (self.episodes - 1) / self.episodes) / length
        single = 1 - (1 - confidence) / len(mean)  # a union bound
        parts = [
            about_moments(
                self.episodes,
                mean[j],
                spread[j],
                (self.positive[j], self.negative[j]),
                single,
                sizes[j] / length,
            )
            for j in range(len(mean))
        ]
        low, high = np.array(parts).T
        return low, high
