"""Feature maps: hand-computed indices, the kernels against their reference, and what every map must satisfy."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from painless.common.errors import InputError
from painless.evaluators.trajectories import build_system
from painless.features import (
    BinaryFeatures,
    Fourier,
    OneHot,
    TileCoding,
    Transformed,
    feature_matrix,
    linear_action_value,
)
from painless.features.base import batches
from painless.features.tile_coding import reference_active, reference_cells, slot
from painless.simulation.rollouts import Trajectories

BOX = np.array([4.8, 3.0, 0.25, 3.0])
CARTPOLE = TileCoding(-BOX, BOX, tiles=4, tilings=8, actions=2, size=4096)
GRIDWORLD = TileCoding(0, 25, tiles=14, tilings=1, actions=4)


class Squares:
    """A transformer of scikit-learn's kind: x, x² of every coordinate."""

    def __init__(self, form=np.asarray):
        self.form = form

    def transform(self, X):
        return self.form(np.hstack([X, X**2]))


def box_states(rng: np.random.Generator, count: int, spread: float = 1.3) -> np.ndarray:
    return rng.uniform(-spread, spread, (count, 4)) * BOX


MAPS = {
    "one-hot": (OneHot(6, 3), lambda rng, n: rng.integers(6, size=n)),
    "gridworld": (GRIDWORLD, lambda rng, n: rng.integers(25, size=n)),
    "cartpole": (CARTPOLE, box_states),
    "exact": (TileCoding(-BOX, BOX, [2, 3, 1, 2], 4, 3), box_states),
    "transformed": (Transformed(Squares(), 3, np.zeros((1, 4))), box_states),
    "sparse": (Transformed(Squares(sparse.csr_matrix), 2, np.zeros((1, 4))), box_states),
}
BINARY = [name for name, (features, _) in MAPS.items() if isinstance(features, BinaryFeatures)]


@pytest.fixture(params=MAPS)
def case(request):
    features, draw = MAPS[request.param]
    return features, draw(np.random.default_rng(3), 50)


@pytest.fixture(params=BINARY)
def binary(request):
    features, draw = MAPS[request.param]
    return features, draw(np.random.default_rng(4), 400)


# What every map must satisfy


def test_shapes_and_independence_of_neighbours(case):
    features, states = case
    dense = features.at(states)
    assert dense.shape == (len(states), features.actions, features.dimension)
    np.testing.assert_array_equal(features.at(states[7:8])[0], dense[7])
    assert features.at(states[:0]).shape == (0, *dense.shape[1:])


def test_the_action_value_is_the_inner_product(case):
    features, states = case
    weight = np.random.default_rng(0).normal(size=(3, 2, features.dimension))
    value = linear_action_value(features, weight, states)
    np.testing.assert_allclose(value, np.einsum("nad,bjd->bjna", features.at(states), weight), atol=1e-12)


def test_the_action_value_of_a_run_does_not_depend_on_its_neighbours(case):
    features, states = case
    weight = np.random.default_rng(1).normal(size=(5, 2, features.dimension))
    together = linear_action_value(features, weight, states)
    alone = [linear_action_value(features, weight[i : i + 1], states)[0] for i in range(5)]
    assert np.array_equal(together, np.array(alone))


def test_binary_maps_agree_with_their_dense_form(binary):
    features, states = binary
    active = features.active(states[:50])
    assert active.shape == (50, features.actions, features.active_count)
    assert active.dtype == np.int64
    dense = features.at(states[:50])
    np.testing.assert_array_equal(np.take_along_axis(dense, active, -1), 1.0)
    np.testing.assert_array_equal(dense.sum(-1), features.active_count)  # so all m indices differ


def test_states_share_a_cell_exactly_if_they_share_their_features(binary):
    features, states = binary
    active = features.active(states).reshape(len(states), -1)
    cells = features.cells(states)
    assert cells.min() >= 0
    assert cells.max() < features.cell_count
    same_cell = cells[:, None] == cells
    same_features = (active[:, None] == active).all(-1)
    np.testing.assert_array_equal(same_cell, same_features)


def test_no_two_actions_share_a_feature(binary):
    features, states = binary
    owner = np.full(features.dimension, -1)
    for action, indices in enumerate(np.moveaxis(features.active(states), 1, 0)):
        assert set(owner[indices].ravel()) <= {-1, action}
        owner[indices] = action


# One-hot


def test_one_hot_is_the_table():
    np.testing.assert_array_equal(feature_matrix(OneHot(4, 3), 4), np.eye(12))
    np.testing.assert_array_equal(OneHot(4, 3).cells([3, 0]), [3, 0])


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ([0, 4], r"states\[1\] is 4, outside the table 0..3"),
        ([-1], "is -1"),
        ([0.5], "float64"),
        ([[1]], r"\(1, 1\)"),
    ],
)
def test_one_hot_refuses_what_is_no_state(states, message):
    with pytest.raises(InputError, match=message):
        OneHot(4, 2).cells(states)


def test_a_table_has_states_and_actions():
    with pytest.raises(InputError, match="not 0 and 2"):
        OneHot(0, 2)


# Tile coding


@pytest.mark.parametrize(("tiles", "dimension"), [(10, 40), (14, 56), (20, 80)])
def test_gridworld_dimensions(tiles, dimension):
    features = TileCoding(0, 25, tiles, 1, 4)
    matrix = feature_matrix(features, 25)
    assert matrix.shape == (100, features.dimension) == (100, dimension)
    assert np.linalg.matrix_rank(matrix) == dimension  # every tile holds a state
    tile = np.arange(25) * tiles // 25  # in whole numbers, so exact at the edges of tiles
    np.testing.assert_array_equal(features.active(np.arange(25))[:, :, 0], tile[:, None] * 4 + np.arange(4))


def test_one_tile_for_each_state_is_one_hot():
    np.testing.assert_array_equal(feature_matrix(TileCoding(0, 7, 7, 1, 3), 7), np.eye(21))


def test_exact_indices_by_hand():
    """Two tilings of [0, 2] in two tiles: the second is displaced by half a tile, and has three."""
    features = TileCoding(0.0, 2.0, tiles=2, tilings=2, actions=1)
    assert features.dimension == 6
    active = features.active([0.0, 0.49, 0.5, 0.99, 1.0, 1.5, 2.0])[:, 0]
    np.testing.assert_array_equal(active, [[0, 3], [0, 3], [0, 4], [0, 4], [1, 4], [1, 5], [1, 5]])
    np.testing.assert_array_equal(features.cells([0.0, 0.49, 0.5, 0.99, 1.0, 1.5]), [0, 0, 1, 1, 2, 3])


def sutton_tiles(tilings: int, scaled: np.ndarray) -> list[tuple[int, ...]]:
    """`tiles` of Sutton's tiles3, without its table: the coordinates of the tile in each tiling."""
    whole = [int(np.floor(x * tilings)) for x in scaled]
    result = []
    for tiling in range(tilings):
        coordinates, shift = [tiling], tiling
        for q in whole:
            coordinates.append((q + shift) // tilings)
            shift += 2 * tiling
        result.append(tuple(coordinates))
    return result


@pytest.mark.parametrize("tilings", [1, 2, 3, 4, 5, 8])
def test_tiles_are_those_of_tiles3(tilings):
    """Two states share a tile of ours exactly if they share one in tiles3, whose names of tiles differ."""
    features = TileCoding(-BOX, BOX, tiles=4, tilings=tilings, actions=1)
    states = box_states(np.random.default_rng(5), 300, spread=1.0)
    ours = features.active(states)[:, 0]
    theirs = [sutton_tiles(tilings, (x + BOX) / (2 * BOX) * 4) for x in states]
    pairs = {
        (int(i), t) for row, tiles in zip(ours, theirs, strict=True) for i, t in zip(row, tiles, strict=True)
    }
    assert len(pairs) == len({i for i, _ in pairs}) == len({t for _, t in pairs})


def test_states_outside_the_bounds_count_as_the_nearest_inside():
    outside = np.array([[9.0, -9.0, 0.1, np.inf], [-np.inf, 3.5, -0.3, 0.0]])
    clipped = np.clip(outside, -BOX, BOX)
    np.testing.assert_array_equal(CARTPOLE.active(outside), CARTPOLE.active(clipped))
    np.testing.assert_array_equal(CARTPOLE.cells(outside), CARTPOLE.cells(clipped))


def test_tilings_refine_each_other():
    """With a power of two, m tilings tell apart every 1/m of a tile in every dimension."""
    assert CARTPOLE.cell_count == (4 * 8) ** 4
    assert TileCoding([0, 0], [1, 1], tiles=4, tilings=3, actions=1).cell_count == 12 * 4  # gcd(3, 3) = 3


@st.composite
def tile_codings(draw):
    dimensions = draw(st.integers(1, 4))
    tiles = draw(st.lists(st.integers(1, 6), min_size=dimensions, max_size=dimensions))
    tilings, actions = draw(st.integers(1, 9)), draw(st.integers(1, 3))
    size = draw(st.none() | st.integers(1, 60).map(lambda slots: slots * tilings * actions))
    lower = np.array(draw(st.lists(st.floats(-5, 5), min_size=dimensions, max_size=dimensions)))
    return TileCoding(lower, lower + draw(st.floats(0.01, 10)), tiles, tilings, actions, size)


@settings(deadline=None, max_examples=150)
@given(tile_codings(), st.integers(0, 2**32 - 1))
def test_kernels_equal_their_reference(features, seed):
    rng = np.random.default_rng(seed)
    lower, upper = features.grid.lower, features.grid.upper
    states = rng.uniform(lower - 1, upper + 1, (40, len(lower)))
    edges = lower + (upper - lower) * rng.integers(0, 13, (20, len(lower))) / 12
    states = np.vstack([states, edges])
    active = features.active(states)
    np.testing.assert_array_equal(active, reference_active(features.grid, states))
    np.testing.assert_array_equal(features.cells(states), reference_cells(features.grid, states))
    assert active.min() >= 0
    assert active.max() < features.dimension
    assert features.cells(states).max() < features.cell_count
    if features.size is None:
        assert features.dimension == features.tilings * prod(features.grid.radix.tolist()) * features.actions


def test_the_hash_is_that_of_splitmix64():
    """The published outputs for seed 0 are the hashes of the multiples of its increment."""
    codes = np.arange(3, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    np.testing.assert_array_equal(
        slot(codes.astype(np.int64), 2**32 - 1), [(p >> 32) * (2**32 - 1) >> 32 for p in published]
    )


def test_the_hash_spreads_neighbouring_codes_evenly():
    counts = np.bincount(slot(np.arange(64_000), 256), minlength=256)
    statistic = ((counts - 250) ** 2 / 250).sum()  # χ² with 255 degrees of freedom
    assert 180 < statistic < 340


def test_hashed_tiles_collide_no_more_than_by_chance():
    exact = TileCoding(-BOX, BOX, 4, 8, 2)
    states = box_states(np.random.default_rng(6), 60, spread=0.4)
    tiles, slots = (np.unique(f.active(states)).size for f in (exact, CARTPOLE))
    expected = 4096 * (1 - (1 - 1 / 4096) ** tiles)
    assert tiles > 200
    assert abs(slots - expected) < 20


def test_read_only_states_and_settings_that_compare():
    states = np.zeros((3, 4))
    states.flags.writeable = False
    np.testing.assert_array_equal(CARTPOLE.cells(states), CARTPOLE.cells(np.zeros((3, 4))))
    assert TileCoding(0, 25, 14, 1, 4) == GRIDWORLD
    assert len({TileCoding([0], [25.0], [14], 1, 4), GRIDWORLD}) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lower": [0, 0]}, r"lower has shape \(2,\), upper \(1,\)"),
        ({"tiles": [2, 2]}, r"tiles \(2,\)"),
        ({"lower": 25}, r"lower\[0\] is 25 and upper\[0\] 25"),
        ({"upper": np.inf}, "finite"),
        ({"tiles": 0}, "tiles 0"),
        ({"tiles": 2.5}, "whole numbers"),
        ({"tilings": 0}, "tilings 0"),
        ({"actions": 0}, "actions 0"),
        ({"size": 50}, "size 50 is not a multiple of tilings × actions = 8; give 48"),
        ({"size": 4}, "give 8"),
        ({"size": 2**40}, f"give {8 * (2**32 - 1)}"),
        ({"tiles": 2**62}, "more than 2\\^63 cells"),
    ],
)
def test_tile_coding_refuses(change, message):
    with pytest.raises(InputError, match=message):
        TileCoding(**{"lower": 0, "upper": 25, "tiles": 5, "tilings": 2, "actions": 4, **change})


@pytest.mark.parametrize(
    ("states", "message"),
    [
        (np.zeros(4), r"shape \(4,\), not \(n, D\) = \(n, 4\)"),
        (np.zeros((2, 3)), r"\(2, 3\)"),
        ([[0, 0, np.nan, 0]], r"states\[0, 2\] is not a number"),
        ([["a", "b", "c", "d"]], "not a numeric array"),
    ],
)
def test_tile_coding_refuses_what_is_no_state(states, message):
    for ask in (CARTPOLE.active, CARTPOLE.cells, CARTPOLE.at):
        with pytest.raises(InputError, match=message):
            ask(states)


def test_numba_is_imported_on_first_use_only():
    script = (
        "import sys, painless.features as f; assert 'numba' not in sys.modules;"
        "f.TileCoding(0, 25, 14, 1, 4).cells([0]); assert 'numba' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


# Transformers of scikit-learn's kind


def test_actions_are_blocks():
    features = Transformed(Squares(), actions=3, example=[0, 1])
    assert features.dimension == 6
    np.testing.assert_array_equal(features.at([2, 3])[1], np.kron(np.eye(3), [3, 9]))


def test_sparse_output_equals_dense():
    states = box_states(np.random.default_rng(7), 10)
    dense, thin = (Transformed(Squares(form), 2, states[:1]) for form in (np.asarray, sparse.csr_array))
    np.testing.assert_array_equal(dense.at(states), thin.at(states))


def test_transformed_refuses():
    with pytest.raises(InputError, match="float has no transform method"):
        Transformed(1.0, 2, [[0.0]])
    with pytest.raises(InputError, match="at least 1 action, not 0"):
        Transformed(Squares(), 0, [[0.0]])
    with pytest.raises(InputError, match=r"output has shape \(2,\), not \(1, d\)"):
        Transformed(Squares(np.ravel), 2, [[0.0]])
    with pytest.raises(InputError, match="gave 4 features, and 2 for the example"):
        Transformed(Squares(), 2, [[0.0]]).at([[0.0, 1.0]])


def test_dense_features_are_formed_in_parts():
    """Values and equations of many states are those of the parts together."""
    features, count = Fourier([0.0, 0.0], [1.0, 1.0], order=2, actions=2), 250_000
    assert len(batches(features, count)) == 3
    rng = np.random.default_rng(0)
    steps, policy = random_steps(count, rng), rng.dirichlet(np.ones(2), count)
    weight = rng.random((3, features.dimension))
    value = linear_action_value(features, weight, steps.states)
    np.testing.assert_allclose(
        value[:, -9:], linear_action_value(features, weight, steps.states[-9:]), rtol=1e-12
    )
    whole = build_system(features, steps, policy, 0.9, None)
    cuts = [slice(0, 100_000), slice(100_000, 200_000), slice(200_000, count)]
    parts = [build_system(features, some(steps, cut), policy[cut], 0.9, None) for cut in cuts]
    np.testing.assert_allclose(whole.matrix, sum(part.matrix for part in parts), rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(whole.right, sum(part.right for part in parts), rtol=1e-9)


def test_the_equations_of_dense_features_by_hand():
    """Σ φ(s, a)·(φ(s, a) − γ Σ_a' π(a'|s') φ(s', a'))ᵀ, step by step."""
    features, rng = Fourier([0.0, 0.0], [1.0, 1.0], order=2, actions=2), np.random.default_rng(1)
    steps, policy = random_steps(30, rng), rng.dirichlet(np.ones(2), 30)
    total = np.zeros((features.dimension, features.dimension))
    for k in range(30):
        here = features.at(steps.states[k : k + 1])[0, steps.actions[k]]
        ahead = policy[k] @ features.at(steps.successors[k : k + 1])[0]
        total += np.outer(here, here - 0.9 * (not steps.terminated[k]) * ahead)
    np.testing.assert_allclose(build_system(features, steps, policy, 0.9, None).matrix, total, atol=1e-12)


def random_steps(count, rng):
    """Return steps between random points of the unit square, with three utilities."""
    points = (
        rng.random((count, 2)),
        rng.integers(0, 2, count),
        rng.random((count, 3)),
        rng.random((count, 2)),
    )
    return Trajectories(*points, rng.random(count) < 0.1, np.zeros((1, 3)))


def some(steps, part):
    """Return a part of the steps."""
    names = ("states", "actions", "utilities", "successors", "terminated")
    return replace(steps, **{name: getattr(steps, name)[part] for name in names})
