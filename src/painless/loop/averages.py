"""Averages over the iterates: the multipliers as candidates for the dual bound, and the output policies.

The paper bounds the average of the iterates. The stationary policy of a weighted average of their occupancy
measures has exactly the averaged values. Weights: uniform (the paper's), linear (∝ t + 1), or the tail (the
second half). Over several runs a mean has a standard error, and a band of 95 % by Student's t: with 5 runs 2.78 standard errors
on each side, and not the 1.96 of many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum

import numpy as np

from painless.common.arrays import Array
from painless.common.registry import find

MEASURES = ("average", "tail", "last")  # of the iterates: all, the second half, the last

# Standard errors on each side of an estimate, for a band of 95 % where many draws are behind it.
CONFIDENCE = 1.96


class Output(Enum):
    """Which policy a run returns."""

    POLISHED = "the feasible mixture of iterates with the largest reward"
    UNIFORM = "the average of all iterates, as in the paper"
    LINEAR = "the average with weights proportional to t + 1"
    TAIL = "the average of the second half"
    LAST = "the last iterate"

    def weight(self, iteration: int, iterations: int) -> float:
        """Return the weight of iteration t of T, up to a constant."""
        if self is Output.LINEAR:
            return iteration + 1.0
        if self is Output.LAST:
            return float(iteration == iterations - 1)
        return 1.0 if self is Output.UNIFORM or iteration >= iterations // 2 else 0.0


class MultiplierAverages:
    """Uniform, linear and tail averages of the dual's weights, in memory that grows as log T.

    The average weights of the constraints, relative to that of the reward, are multipliers: for a Lagrangian
    dual the averages of λ, for CRPO how often it served each constraint per step for the reward.
    """

    def __init__(self, utilities: int) -> None:
        self.count = 0
        self._uniform = np.zeros(utilities)
        self._linear = np.zeros(utilities)
        self._marks: list[Array] = []  # the sum of the first 1, 2, 4, 8, … weights

    def add(self, weight: Array) -> None:
        """Count the weights (J,) of one iteration."""
        self.count += 1
        self._uniform = self._uniform + weight
        self._linear = self._linear + self.count * weight
        if self.count & (self.count - 1) == 0:
            self._marks.append(self._uniform)

    def __iter__(self) -> Iterator[Array]:
        sums = [self._linear, self._uniform]
        if self.count >= 2:
            sums.insert(0, self._uniform - self._marks[self.count.bit_length() - 2])
        for total in sums:
            if total[0] > 0:
                yield total[1:] / total[0]


def running_average(values: Array) -> Array:
    """Return the average of the first 1, 2, …, T rows, (T, …).

    >>> running_average(np.array([1.0, 3.0, 5.0]))
    array([1., 2., 3.])
    """
    counts = np.arange(1, len(values) + 1).reshape(-1, *(1,) * (values.ndim - 1))
    return values.cumsum(0) / counts


def tail_average(values: Array) -> Array:
    """Return the average of the second half of the rows.

    >>> tail_average(np.array([9.0, 1.0, 3.0]))
    array(2.)
    """
    return np.asarray(values[len(values) // 2 :].mean(0))


def measured(values: Array, measure: str) -> Array:
    """Return a measure of the rows: "average", "tail" (of the second half) or "last".

    >>> [float(measured(np.array([9.0, 1.0, 3.0]), name)) for name in MEASURES]
    [4.333333333333333, 2.0, 3.0]
    """
    if measure == "average":
        return np.asarray(values.mean(0))
    return (
        tail_average(values)
        if find("measure", measure, dict.fromkeys(MEASURES, measure)) == "tail"
        else values[-1]
    )


def running_measure(values: Array, measure: str) -> Array:
    """Return a measure of the first 1, 2, …, T rows, (T, …)."""
    running: dict[str, Callable[[Array], Array]] = {
        "average": running_average,
        "tail": running_tail,
        "last": np.asarray,
    }
    return find("measure", measure, running)(values)


def running_tail(values: Array) -> Array:
    """Return the average of the second half of the first 1, 2, …, T rows, (T, …).

    >>> running_tail(np.array([9.0, 1.0, 3.0, 5.0]))
    array([9., 1., 2., 4.])
    """
    sums = np.concatenate([np.zeros_like(values[:1]), values.cumsum(0)])
    counts = np.arange(1, len(values) + 1)
    return (sums[counts] - sums[counts // 2]) / (counts - counts // 2).reshape(-1, *(1,) * (values.ndim - 1))


def band(values: Array) -> Array:
    """Return half the width of the 95 % band around the mean of n runs (n, …), by Student's t; 0 for a single one."""
    if len(values) == 1:
        return np.zeros(values.shape[1:])
    return np.asarray(student(len(values) - 1) * values.std(0, ddof=1) / np.sqrt(len(values)))


def student(freedom: float) -> float:
    """Return how many standard errors are on each side of a mean in a 95 % interval, by Student's t.

    >>> round(student(4), 2), round(student(1e9), 2)
    (2.78, 1.96)
    """
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))


def standard_error(values: Array) -> float:
    """Return the standard error of the mean of values (n,); not a number for a single one."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
