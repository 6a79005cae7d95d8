"""Multipliers interpolated between those of columns, on frontiers that are known."""

import numpy as np
import pytest
from scipy.interpolate import KroghInterpolator

from painless.planning.interpolation import _hermite, _Point, interpolated
from painless.planning.master import Column


def column(at, height, multiplier):
    value = np.array([height, at])
    own = None if multiplier is None else np.array([1.0, multiplier])
    return Column(np.zeros(1, np.uint8), value, value, own)


def on(curve, slope, *places):
    return [column(x, curve(x), -slope(x)) for x in places]


@pytest.mark.parametrize("seed", range(5))
def test_the_polynomial_is_that_of_scipy(seed):
    rng = np.random.default_rng(seed)
    other, t = rng.uniform(-3, 4), rng.random()
    slopes, heights = rng.normal(size=3), rng.normal(size=2)
    data = [0.0, slopes[0], heights[0], slopes[1], heights[1], slopes[2]]
    wanted = KroghInterpolator([0, 0, 1, 1, other, other], data).derivative(t)
    points = (
        _Point(0.0, 0.0, slopes[0]),
        _Point(1.0, heights[0], slopes[1]),
        _Point(other, heights[1], slopes[2]),
    )
    assert _hermite(*points, t) == pytest.approx(wanted)
    wanted = KroghInterpolator([0, 0, 1, 1], data[:4]).derivative(t)
    assert _hermite(*points[:2], None, t) == pytest.approx(wanted)


def test_a_smooth_frontier_is_hit_where_its_slope_is_wanted():
    columns = on(lambda x: -np.exp(x), lambda x: -np.exp(x), -1.0, 1.0, 2.0)
    weights = np.array([0.5, 0.5, 0.0])
    [multiplier] = interpolated(columns, weights, np.array([0.2]))
    assert multiplier == pytest.approx(np.exp(0.2), rel=0.02)


def test_it_aims_beyond_a_threshold_that_one_column_has_nearly_reached():
    columns = on(lambda x: -np.exp(x), lambda x: -np.exp(x), -0.2, 0.21)
    [multiplier] = interpolated(columns, np.array([0.1, 0.9]), np.array([0.2]))
    assert np.exp(0.19) < multiplier < np.exp(0.2)


def test_columns_off_any_frontier_are_left_to_the_master():
    threshold, half = np.array([0.5]), np.array([0.5, 0.5])
    assert interpolated([column(0.0, 1.0, 0.1), column(1.0, 0.0, None)], half, threshold) is None
    assert interpolated([column(0.0, 1.0, 0.1), column(1.0, 5.0, 0.2)], half, threshold) is None, (
        "not concave"
    )
    assert interpolated([column(0.5, 1.0, 0.1), column(0.5, 1.0, 0.2)], half, threshold) is None, (
        "one and the same"
    )


def test_several_constraints_take_the_secant():
    columns = [
        Column(np.zeros(1, np.uint8), np.array([1.0, 0.0, 1.0]), np.zeros(3), np.array([1.0, 0.0, 2.0])),
        Column(np.zeros(1, np.uint8), np.array([1.0, 1.0, 0.0]), np.zeros(3), np.array([1.0, 4.0, 0.0])),
    ]
    np.testing.assert_allclose(interpolated(columns, np.array([0.25, 0.75]), np.zeros(2)), [3.0, 0.5])
