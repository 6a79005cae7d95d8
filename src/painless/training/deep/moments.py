"""Running means and variances (Chan, Golub & LeVeque 1979), of observations and of what has been collected."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from painless.common.arrays import Array

FIRST = 1e-4  # how little the start counts
LEAST = 1e-12  # a smaller variance is that of a constant


class Moments(NamedTuple):
    """The count, the mean and the variance of each coordinate so far."""

    weight: float  # how many rows were seen
    mean: Array
    variance: Array

    @classmethod
    def start(cls, size: int) -> Moments:
        """Before anything is seen: mean 0 and variance 1, which count little."""
        return cls(FIRST, np.zeros(size), np.ones(size))

    def add(self, rows: Any) -> Moments:
        """Return the moments with rows (n, size) added.

        >>> Moments.start(1).add(np.array([[1.0], [3.0]])).mean.round(3)
        array([2.])
        """
        count = len(rows)
        if not count:
            return self
        mean, variance = rows.mean(0), rows.var(0)
        total, apart = self.weight + count, mean - self.mean
        squares = self.variance * self.weight + variance * count + apart**2 * (self.weight * count / total)
        return Moments(total, self.mean + apart * (count / total), squares / total)

    @property
    def deviation(self) -> Array:
        """The standard deviations; 1 for what does not vary."""
        return np.where(self.variance > LEAST, np.sqrt(self.variance + 1e-8), 1.0)
