"""The next multipliers to price, interpolated between those of the columns if the frontier is smooth, and those that a policy implies.

The multipliers are the slope of f, the best reward as a function of the thresholds, and every column is a point of its
graph: a best response to λ_k has f(V_c) = V_r and f'(V_c) = −λ_k. The search is for −f'(b).

- One constraint: Hermite interpolation of f, values and slopes, through the two columns around b and the nearest other.
- More: the mixture has Σ w_k V_c(λ_k) = b. If V_c were linear in λ, it would be b at Σ w_k λ_k (the secant).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array
from painless.engines.engine import Engine
from painless.planning.master import Column

LOPSIDED = 0.1  # a column is much nearer to b below this share of the distance between both
BEYOND = 0.3  # share of that column's distance to aim at, on the other side of b
MIXED = 1e-6  # smaller probabilities count as 0
MOST_MIXED = 100  # states from which prices are read; K of them suffice
# How much farther a price moves than it seems to have to, so that it comes to lie on the other side.
FARTHER = 1.2
DISTINCT = 1e-6  # columns closer than this share of that distance count as one


def interpolated(columns: list[Column], weights: Array, threshold: Array) -> Array | None:
    """Return the multipliers (K,) that a smooth frontier would have at the thresholds.

    None if a column of the mixture has no multipliers, or the columns do not lie on a smooth frontier.
    """
    used = [columns[k] for k in np.flatnonzero(weights)]
    own = [column.multiplier for column in used if column.multiplier is not None]
    if len(own) < len(used) or any(column.is_loop for column in used):
        return None
    if len(threshold) == 1 and len(used) == 2:
        return _slope(columns, used, float(threshold[0]))
    return np.asarray(weights[np.flatnonzero(weights)] @ np.array(own))


def _slope(columns: list[Column], around: list[Column], threshold: float) -> Array | None:
    """Return −f' at the threshold, or a little beyond if one of the columns around is much nearer than the other.

    The mixture of both is good only if both are near; if only one is, the other must be replaced.
    """
    first, last = sorted(around, key=_limit)
    width = _limit(last) - _limit(first)
    if width <= 0:
        return None
    points = [
        _Point.of(column, first, width)
        for column in columns
        if column.multiplier is not None and not column.is_loop
    ]
    begin, end = _Point.of(first, first, width), _Point.of(last, first, width)
    aim = (threshold - _limit(first)) / width
    others = [point for point in points if min(abs(point.at), abs(point.at - 1)) > DISTINCT]
    nearest = min(others, key=lambda point: abs(point.at - aim), default=None)
    if aim < LOPSIDED:
        aim += BEYOND * aim
    elif aim > 1 - LOPSIDED:
        aim -= BEYOND * (1 - aim)
    slope = _hermite(begin, end, nearest, aim)
    return np.array([-slope / width]) if end.slope < slope < begin.slope else None


def _limit(column: Column) -> float:
    return float(column.value[1])


class _Point(NamedTuple):
    """A point of the graph of f, relative to one column, in units of the distance between two."""

    at: float
    height: float
    slope: float

    @staticmethod
    def of(column: Column, first: Column, width: float) -> _Point:
        assert column.multiplier is not None
        at = (_limit(column) - _limit(first)) / width
        return _Point(at, float(column.value[0] - first.value[0]), -float(column.multiplier[0]) * width)


def _hermite(begin: _Point, end: _Point, other: _Point | None, t: float) -> float:
    """Return the slope at t of the polynomial through points at 0 and 1, and another, with their slopes."""

    def cubic(t: float) -> tuple[float, float]:
        height = t * (1 - t) ** 2 * begin.slope + t**2 * (3 - 2 * t) * end.height + t**2 * (t - 1) * end.slope
        slope = (
            (1 - t) * (1 - 3 * t) * begin.slope + 6 * t * (1 - t) * end.height + t * (3 * t - 2) * end.slope
        )
        return height, slope

    def bump(t: float) -> tuple[float, float]:  # of degree 4: neither height nor slope at 0 and 1
        return (t * (1 - t)) ** 2, 2 * t * (1 - t) * (1 - 2 * t)

    if other is None:
        return cubic(t)[1]
    (height, slope), (size, growth) = cubic(other.at), bump(other.at)
    share = (other.height - height) / size
    tilt = (other.slope - slope - share * growth) / size
    size, growth = bump(t)
    return cubic(t)[1] + growth * (share + tilt * (t - other.at)) + size * tilt


def moved_price(price: Array, slack: float, prices: Array, slacks: Array, least: float) -> Array:
    """Return a price (1,) a little beyond the one at which the slack is likely to be 0, if it is `slack` at `price`.

    Best responses to `prices` (n, 1) of a similar model have the `slacks` (n, 1); those of this one are likely to have as much more or less
    everywhere. It moves by a share of at least `least`.

    >>> moved_price(np.array([1.0]), -0.5, np.array([[0.0], [2.0]]), np.array([[-1.0], [1.0]]), 1e-3)
    array([1.6])
    """
    order = np.argsort(prices[:, 0], kind="stable")
    at, there = prices[order, 0], np.maximum.accumulate(slacks[order, 0])  # rising, but for rounding
    step = np.interp(np.interp(price, at, there) - slack, there, at) - price
    side = -1.0 if slack >= 0 else 1.0
    far = np.maximum(FARTHER * side * step, least * price)
    return np.asarray(np.maximum(price + side * far, 0.0))


def implied_prices(engine: Engine, policy: Array, tolerance: float) -> Array | None:
    """Return the multipliers (K,) that make the actions mixed by a policy (S, A) equally good, by least squares.

        Q_r(s, a) + λ·Q_c(s, a) = Q_r(s, a') + λ·Q_c(s, a')     for a, a' with π(a|s), π(a'|s) > 0

    None if it mixes in too few states.
    """
    from scipy.optimize import nnls

    mixing = np.flatnonzero(policy.max(1) < 1 - MIXED)[:MOST_MIXED]
    constraints = engine.problem.shape[2]
    if not constraints or len(mixing) < constraints:
        return None
    q = engine.action_values(policy, mixing, tolerance)
    taken = [np.flatnonzero(policy[s] > MIXED) for s in mixing]
    gains = np.concatenate([(q[:, n, a[1:]] - q[:, n, a[:1]]).T for n, a in enumerate(taken)])
    try:
        return np.asarray(nnls(gains[:, 1:], -gains[:, 0])[0])
    except RuntimeError:  # too many iterations
        return None
