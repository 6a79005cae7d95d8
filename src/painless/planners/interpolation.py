"""The multipliers to price next, interpolated between those of the columns, where the frontier is smooth.

The best reward as a function f of the thresholds has the multipliers as its slope, and every column is a point of its
graph: a policy that is the best for multipliers λ_k has f(V_c) = V_r and f'(V_c) = −λ_k. Wanted is −f'(b).

- One constraint: Hermite interpolation of f, values and slopes, through the two columns around b and the nearest other.
- More: with the mixture's Σ w_k V_c(λ_k) = b, were V_c linear in λ, it would be b at Σ w_k λ_k, the secant.
"""

from __future__ import annotations

import numpy as np

from painless.arrays import Array
from painless.planners.mixing import Column

LOPSIDED = 0.1  # a column nearer to b than this share of the distance between both
BEYOND = 0.3  # of that column's distance is where to aim at, on the other side of b
OTHERS = 1  # columns besides the two around b; more make it worse on grids


def interpolated(columns: list[Column], weights: Array, threshold: Array) -> Array | None:
    """Return the multipliers (K,) that a smooth frontier would have at the thresholds.

    None where a column of the mixture is the best for no multipliers, or the columns do not lie on a smooth frontier.
    """
    used = [columns[k] for k in np.flatnonzero(weights)]
    own = [column.multiplier for column in used if column.multiplier is not None]
    if len(own) < len(used):
        return None
    if len(threshold) == 1 and len(used) == 2:
        return _slope(columns, used, float(threshold[0]))
    return np.asarray(weights[np.flatnonzero(weights)] @ np.array(own))


def _slope(columns: list[Column], around: list[Column], threshold: float) -> Array | None:
    """Return −f' at the threshold, or a little beyond if one of the columns around is much nearer than the other.

    The mixture of both is as good as both are near: where only one gets near, the other has to be replaced.
    """
    from scipy.interpolate import KroghInterpolator

    around = sorted(around, key=lambda column: float(column.value[1]))
    others = [
        column
        for column in sorted(columns, key=lambda column: abs(column.value[1] - threshold))
        if column.multiplier is not None and not any(column is one for one in around)
    ]
    points = around + others[:OTHERS]
    at = np.array([point.value[1] for point in points])
    if len(np.unique(at)) < len(points):
        return None
    origin, width = at[0], at[1] - at[0]
    below, above = (threshold - at[0]) / width, (at[1] - threshold) / width
    aim = below
    if below < LOPSIDED:
        aim += BEYOND * below
    elif above < LOPSIDED:
        aim -= BEYOND * above
    slopes = -np.concatenate([point.multiplier for point in points if point.multiplier is not None])
    data = np.stack([[point.value[0] - points[0].value[0] for point in points], slopes * width], axis=1)
    curve = KroghInterpolator(np.repeat((at - origin) / width, 2), data.ravel())
    slope = float(curve.derivative(aim)) / width
    return np.array([-slope]) if slopes[1] < slope < slopes[0] else None
