"""Confidence intervals for the mean of bounded samples, by betting (Waudby-Smith & Ramdas 2023).

For each candidate mean m two gamblers bet that the true mean is larger, or smaller. If m is the true mean,
neither can get rich: by Ville's inequality the average of their fortunes exceeds 1/α with probability at most α. The
interval holds every m at which they stayed poorer, at all times. It needs no normality, holds for any
number of samples, and adapts to the variance.

    K_t(m) = ½ Π_i (1 + λ_i⁺·(x_i − m)) + ½ Π_i (1 − λ_i⁻·(x_i − m)),     x within [0, 1]
    λ_i = min(√(2 ln(2/α) / (n σ²_{i−1})), ½/m or ½/(1−m)),   σ² the running variance before x_i
"""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array
from painless.common.errors import InputError

FEW = 10  # samples of an unknown range below which they prove nothing: two that are equal have no deviation
RARE = 30  # samples with an event below which their number gives the interval
MANY = 100  # samples from which their deviation counts as known
GRID = 2000  # candidate means; the interval is widened by one of them on each side
LIMIT = 0.5  # of the share of its fortune that a gambler stakes


class Interval(NamedTuple):
    """A mean and an interval that holds it with the stated confidence."""

    mean: float
    low: float
    high: float


def betting_interval(samples: Array, low: float, high: float, confidence: float = 0.95) -> Interval:
    """Return a confidence interval for the mean of independent samples (n,) within [low, high].

    >>> draws = np.random.default_rng(0).random(1000)
    >>> interval = betting_interval(draws, 0.0, 1.0)
    >>> bool(interval.low < 0.5 < interval.high), interval.high - interval.low < 0.1
    (True, True)
    """
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence}; it must lie between 0 and 1, such as 0.95")
    mean = float(np.mean(samples))
    if high <= low:
        return Interval(mean, mean, mean)
    scaled = (np.asarray(samples, dtype=float) - low) / (high - low)
    if (scaled < -1e-9).any() or (scaled > 1 + 1e-9).any():
        raise InputError(f"a sample lies outside the declared range [{low:g}, {high:g}]; widen the range")
    edges = _kept(np.clip(scaled, 0.0, 1.0), 1 - confidence)
    return Interval(mean, *(float(low + edge * (high - low)) for edge in edges))


def _kept(samples: Array, alpha: float) -> tuple[float, float]:
    """Return the ends of the candidate means that the gamblers could not refute, within [0, 1]."""
    candidates = np.linspace(0, 1, GRID + 1)
    stakes = _stakes(samples, alpha)
    refuted = np.zeros(GRID + 1, dtype=bool)
    up, down = np.zeros(GRID + 1), np.zeros(GRID + 1)  # logarithms of the two fortunes
    with np.errstate(divide="ignore"):
        most_up, most_down = LIMIT / candidates, LIMIT / (1 - candidates)
    rich = np.log(2 / alpha)  # half of either fortune alone is enough
    for sample, stake in zip(samples, stakes, strict=True):
        gain = sample - candidates
        up += np.log1p(np.minimum(stake, most_up) * gain)
        down += np.log1p(-np.minimum(stake, most_down) * gain)
        refuted |= np.maximum(up, down) >= rich
    kept = np.flatnonzero(~refuted)
    if not len(kept):
        return 0.0, 1.0
    return max(candidates[kept[0]] - 1 / GRID, 0.0), min(candidates[kept[-1]] + 1 / GRID, 1.0)


def _stakes(samples: Array, alpha: float) -> Array:
    """Return λ_i from the mean and variance of the samples before each, (n,)."""
    count = np.arange(1, len(samples) + 1)
    mean = (0.5 + samples.cumsum()) / (count + 1)
    variance = (0.25 + ((samples - mean) ** 2).cumsum()) / (count + 1)
    before = np.append(0.25, variance[:-1])
    return np.sqrt(2 * np.log(2 / alpha) / (len(samples) * before))


def about(samples: Array, confidence: float, largest: float) -> tuple[float, float]:
    """Return an interval for the mean of samples (n,) of an unknown range, about right.

    `largest` is the largest size of an event, whether one was seen or not.

    >>> low, high = about(np.zeros(1000), 0.95, largest=1.0)
    >>> low, round(high, 4)
    (0.0, 0.0037)
    """
    count = len(samples)
    spread = float(samples.std(ddof=1) / np.sqrt(count)) if count > 1 else np.inf
    signs = float((samples > 0).sum()), float((samples < 0).sum())
    return about_moments(count, float(samples.mean()), spread, signs, confidence, largest)


def about_moments(
    count: int, mean: float, spread: float, signs: tuple[float, float], confidence: float, largest: float
) -> tuple[float, float]:
    """Return the interval of `about` from the number of samples, their mean, its standard error, and how many are above and below 0."""
    tail = (1 - confidence) / 2
    events = sum(signs)
    if events < min(RARE, count) and min(signs) == 0:
        total = abs(mean) * count
        square = count * mean**2 + (count * (count - 1) * spread**2 if count > 1 else 0.0)
        low, high = (end / count for end in weighted_events(total, square, abs(largest), tail))
        return (low, high) if (mean or largest) >= 0 else (-high, -low)
    width = _quantile(count, 1 - tail) * spread
    return mean - width, mean + width


def weighted_events(total: float, square: float, largest: float, tail: float) -> tuple[float, float]:
    """Return an interval for the expected sum of rare events of different sizes, given their sum and that of their squares (Fay & Feuer 1997).

    Without an event more they are as many, of one size, as have the same mean and variance; with one more, of the largest size, for the upper end. What is
    discounted differs by orders of magnitude: seven late events and an early one are hardly more than one.

    >>> [round(end, 3) for end in weighted_events(3.0, 3.0, 1.0, 0.025)]  # three of one size: as of a Poisson distribution
    [0.619, 8.767]
    """
    from scipy.special import gammaincinv

    low = float(gammaincinv(total**2 / square, tail)) * square / total if square > 0 else 0.0
    one = max(largest, square / total if total > 0 else 0.0)
    if one == 0:
        return low, low
    more, squares = total / one + 1, square / one / one + 1
    return low, float(gammaincinv(more**2 / squares, 1 - tail)) * squares / more * one


def _quantile(count: int, level: float) -> float:
    """Return the quantile of the standard normal distribution, or of Student's t where few samples give the deviation."""
    if count >= MANY:
        return NormalDist().inv_cdf(level)
    from scipy.special import stdtrit

    return float(stdtrit(max(count - 1, 1), level))


def intervals(
    samples: Array, extent: tuple[Array, Array] | None, confidence: float, sizes: Array
) -> tuple[Array, Array]:
    """Return simultaneous intervals (J,) for the means of samples (n, J).

    Arguments:
        extent: the least and the largest that a sample can be, (J,) each, if that is known.
        confidence: the probability that all intervals hold together; without an extent, about that.
        sizes: of an event, (J,), for utilities in which none was seen.
    """
    single = 1 - (1 - confidence) / max(samples.shape[1], 1)  # a union bound
    if extent is not None:
        triples = zip(samples.T, *extent, strict=True)
        parts = [betting_interval(x, least, most, single)[1:] for x, least, most in triples]
    else:
        parts = [about(x, single, size) for x, size in zip(samples.T, sizes, strict=True)]
    low, high = np.array(parts).reshape(-1, 2).T
    return low, high
