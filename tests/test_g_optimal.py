"""Designs: the greedy coreset, the theorem of Kiefer and Wolfowitz, and Lemma 3 with and without noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from painless.common.errors import InputError
from painless.features import (
    Design,
    TileCoding,
    design_norm,
    extrapolation_bound,
    feature_matrix,
    g_optimal,
    g_optimal_design,
    greedy_coreset,
)

GRID = feature_matrix(TileCoding(0, 25, 14, 1, 4), 25)  # (100, 56)


def on_a_line(degree: int, count: int = 201) -> np.ndarray:
    return np.vander(np.linspace(-1, 1, count), degree + 1)


def rank(features: np.ndarray) -> int:
    scale = np.abs(features).max(0)
    return int(np.linalg.matrix_rank(features / np.where(scale > 0, scale, 1), rtol=1e-8))


@st.composite
def feature_matrices(draw):
    """Random matrices with what can go wrong: low rank, equal rows, zero rows, many scales, binary entries."""
    shape = draw(st.tuples(st.integers(1, 40), st.integers(1, 8)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(
        st.sampled_from(["normal", "low rank", "scales", "binary", "small integers", "far away", "tiles"])
    )
    if kind == "tiles":
        tiles, tilings = draw(st.integers(1, 4)), draw(st.integers(1, 4))
        coding = TileCoding([0, 0], [1, 1], tiles, tilings, 2, draw(st.sampled_from([None, 8 * tilings])))
        features = coding.at(rng.random((shape[0], 2))).reshape(-1, coding.dimension)
    else:
        features = {
            "normal": lambda: rng.normal(size=shape),
            "low rank": lambda: rng.normal(size=(shape[0], 2)) @ rng.normal(size=(2, shape[1])),
            "scales": lambda: rng.normal(size=shape) * 10.0 ** rng.integers(-9, 9, shape[1]),
            "binary": lambda: (rng.random(shape) < 0.4).astype(float),
            "small integers": lambda: rng.integers(-2, 3, shape).astype(float),
            "far away": lambda: rng.normal(size=shape) + 100.0,
        }[kind]()
    features = features[rng.integers(len(features), size=len(features) + draw(st.integers(0, 5)))]
    features[rng.random(len(features)) < draw(st.sampled_from([0.0, 0.2]))] = 0.0
    if not features.any():
        features[0, 0] = 1.0
    return features


def well_conditioned(features: np.ndarray) -> bool:
    singular = np.linalg.svd(features, compute_uv=False)
    return not ((singular > 1e-12 * singular[0]) & (singular < 1e-3 * singular[0])).any()


entries = st.integers(-3, 3).map(float) | st.floats(-10, 10, allow_subnormal=False)
drawn_matrices = hnp.arrays(
    float, hnp.array_shapes(min_dims=2, max_dims=2, max_side=8), elements=entries
).filter(np.any)


def check_design(features: np.ndarray, design: Design) -> None:
    assert (design.weights > 0).all()
    assert design.weights.sum() == pytest.approx(1)
    assert (np.diff(design.indices) > 0).all()
    assert design.norm == design_norm(features, design.indices, design.weights).max()


# The norm


@settings(deadline=None)
@given(feature_matrices(), st.integers(0, 2**32 - 1))
def test_the_norm_is_that_of_the_pseudoinverse(features, seed):
    rng = np.random.default_rng(seed)
    features = features / np.where(features.any(0), np.abs(features).max(0), 1.0)
    indices = np.flatnonzero(rng.random(len(features)) < 0.5)
    indices = indices if indices.size else np.array([0])
    weights = rng.dirichlet(np.ones(len(indices))) * 0.9 + 0.1 / len(indices)
    assume(well_conditioned(features) and well_conditioned(features[indices]))  # for the reference's sake
    gram = (features[indices] * weights[:, None]).T @ features[indices]
    inverse = np.linalg.pinv(gram, rcond=1e-11, hermitian=True)
    norm = design_norm(features, indices, weights)
    square = np.einsum("nd,de,ne->n", features, inverse, features)
    expected = np.sqrt(np.maximum(square, 0.0))  # rounding may leave less than nothing
    inside = np.linalg.norm(features - features @ inverse @ gram, axis=1) <= 1e-6
    np.testing.assert_array_equal(np.isfinite(norm), inside)
    np.testing.assert_allclose(norm[inside], expected[inside], rtol=1e-4, atol=1e-6)


def test_the_norm_is_infinite_exactly_outside_the_range():
    features = np.array([[1.0, 1, 0], [2, 2, 0], [0, 0, 0], [1, 0, 0], [0, 0, 1]])
    np.testing.assert_allclose(design_norm(features, [0], [1.0]), [1, 2, 0, np.inf, np.inf])
    np.testing.assert_allclose(design_norm(features, [2], [1.0]), [np.inf, np.inf, 0, np.inf, np.inf])


# The greedy coreset


@pytest.mark.parametrize(("tiles", "pairs"), [(10, 40), (14, 56), (20, 80)])
def test_the_gridworld_coreset_has_one_pair_for_each_feature(tiles, pairs):
    """56 pairs at d = 56, as in the paper's experiments."""
    features = feature_matrix(TileCoding(0, 25, tiles, 1, 4), 25)
    coreset = greedy_coreset(features, tolerance=1 / np.sqrt(2))
    assert len(coreset.indices) == pairs
    np.testing.assert_array_equal(coreset.counts, 1)
    np.testing.assert_array_equal(features[coreset.indices].sum(0), 1)
    assert coreset.norm == pytest.approx(np.sqrt(pairs))  # in G_ω, not the 1/√2 in I + Σφφᵀ


def test_a_coreset_is_a_multiset():
    coreset = greedy_coreset(np.diag([2.0, 1.0]), tolerance=0.5)
    np.testing.assert_array_equal(coreset.counts, [4, 3])  # 4/(1 + 4n) and 1/(1 + n) are at most 1/4
    np.testing.assert_allclose(coreset.weights, [4 / 7, 3 / 7])


def step_by_step(features: np.ndarray, tolerance: float, ridge: float) -> np.ndarray:
    """Alg. 3 as it is meant, with an inverse in each round."""
    gram, counts = ridge * np.eye(features.shape[1]), np.zeros(len(features), int)
    while True:
        gain = np.sqrt(np.einsum("nd,de,ne->n", features, np.linalg.inv(gram), features))
        if gain.max() <= tolerance:
            return counts
        counts[gain.argmax()] += 1
        gram += np.outer(features[gain.argmax()], features[gain.argmax()])


@pytest.mark.parametrize(("tolerance", "ridge"), [(0.7, 1.0), (0.3, 1.0), (0.5, 0.01)])
def test_rank_one_updates_choose_what_the_algorithm_chooses(tolerance, ridge):
    features = np.random.default_rng(0).normal(size=(60, 7))
    coreset = greedy_coreset(features, tolerance, ridge)
    counts = step_by_step(features, tolerance, ridge)
    np.testing.assert_array_equal(coreset.indices, np.flatnonzero(counts))
    np.testing.assert_array_equal(coreset.counts, counts[counts > 0])


@settings(deadline=None, max_examples=60)
@given(feature_matrices(), st.floats(0.2, 0.9), st.sampled_from([0.1, 1.0, 10.0]))
def test_the_coreset_meets_its_tolerance(features, share, ridge):
    features = features / np.linalg.norm(features, axis=1).max()
    tolerance = share / np.sqrt(ridge)  # a share of the largest norm
    coreset = greedy_coreset(features, tolerance, ridge)
    check_design(features, coreset)
    np.testing.assert_allclose(coreset.weights, coreset.counts / coreset.counts.sum())
    chosen = features[coreset.indices]
    gram = ridge * np.eye(features.shape[1]) + (chosen * coreset.counts[:, None]).T @ chosen
    gain = np.sqrt(np.einsum("nd,de,ne->n", features, np.linalg.inv(gram), features))
    assert gain.max() <= tolerance * (1 + 1e-8)
    known = design_norm(features, coreset.indices, coreset.weights)
    gained = np.sqrt(coreset.counts.sum()) * gain  # ν I + Σφφᵀ ≥ |C| G_ω: the norm grows by √|C| and more
    assert (known >= gained * (1 - 1e-6) - 1e-6).all()


def test_a_coreset_refuses():
    with pytest.raises(InputError, match=r"met without a single row; give less than max .* = 1"):
        greedy_coreset(np.eye(2), tolerance=1.0)
    for setting in ({"tolerance": 0.0}, {"ridge": 0.0}, {"tolerance": np.nan}):
        with pytest.raises(InputError, match="must be above 0"):
            greedy_coreset(np.eye(2), **{"tolerance": 0.5, **setting})


# The G-optimal design


def check_kiefer_wolfowitz(features: np.ndarray, tolerance: float = 1e-6) -> Design:
    design, r = g_optimal_design(features, tolerance), rank(features)
    check_design(features, design)
    assert design.norm <= np.sqrt(r * (1 + tolerance)) * (1 + 1e-9)
    assert design.norm >= np.sqrt(r) * (1 - 1e-9)  # no design does better
    assert r <= len(design.indices) <= r * (r + 1) // 2
    assert len(np.unique(features[design.indices], axis=0)) == len(design.indices)
    return design


@settings(deadline=None, max_examples=150)
@given(feature_matrices())
def test_kiefer_wolfowitz_on_random_features(features):
    check_kiefer_wolfowitz(features)


@settings(deadline=None, max_examples=100)
@given(drawn_matrices)
def test_kiefer_wolfowitz_on_drawn_features(features):
    design = g_optimal_design(features)
    check_design(features, design)
    r = g_optimal.whiten(features).shape[1]  # entries of any size: the rank is a matter of the cut-off
    assert design.norm <= np.sqrt(r * (1 + 1e-6)) * (1 + 1e-9)
    assert len(design.indices) <= r * (r + 1) // 2


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("degree", [1, 2, 5, 9])
def test_neighbours_on_a_fine_grid(degree, tolerance):
    check_kiefer_wolfowitz(on_a_line(degree), tolerance)


def test_polynomials_of_degree_two_and_three_by_hand():
    """The optimal points are ±1 and the zeros of the derivative of a Legendre polynomial, equally weighted."""
    points = np.linspace(-1, 1, 201)
    design = g_optimal_design(on_a_line(2))
    np.testing.assert_allclose(points[design.indices], [-1, 0, 1], atol=1e-12)
    np.testing.assert_allclose(design.weights, 1 / 3, atol=1e-6)
    design = g_optimal_design(np.vander([-1, -0.7, -np.sqrt(0.2), -0.2, 0, 0.2, np.sqrt(0.2), 0.7, 1], 4))
    np.testing.assert_array_equal(design.indices, [0, 2, 6, 8])
    np.testing.assert_allclose(design.weights, 1 / 4, atol=1e-6)


def test_points_on_a_circle_are_thinned_to_three():
    angle = np.linspace(0, 2 * np.pi, 31)
    design = check_kiefer_wolfowitz(np.column_stack([np.cos(angle), np.sin(angle)]))
    assert len(design.indices) <= 3


def test_the_optimum_is_no_worse_than_a_coreset_and_smaller_than_all():
    rng = np.random.default_rng(1)
    features = rng.normal(size=(300, 20))
    optimum, coreset = g_optimal_design(features), greedy_coreset(features, 0.3)
    assert optimum.norm < coreset.norm
    logdet = [
        np.linalg.slogdet((features[d.indices] * d.weights[:, None]).T @ features[d.indices])[1]
        for d in (optimum, coreset)
    ]
    assert logdet[0] > logdet[1]


def test_tile_codings():
    design = check_kiefer_wolfowitz(GRID)
    np.testing.assert_allclose(design.weights, 1 / 56)
    box = np.array([4.8, 3.0, 0.25, 3.0])
    cartpole = TileCoding(-box, box, 4, 8, 2, 4096)
    states = np.random.default_rng(2).normal(size=(60, 4)) * box * 0.2
    check_kiefer_wolfowitz(cartpole.at(states).reshape(-1, 4096))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_the_design_does_not_depend_on_the_coordinates(seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(30, 4))
    turned = g_optimal_design(features @ (rng.normal(size=(4, 4)) + 4 * np.eye(4)))
    design = g_optimal_design(features)
    weights, others = np.zeros(30), np.zeros(30)
    weights[design.indices], others[turned.indices] = design.weights, turned.weights
    np.testing.assert_allclose(weights, others, atol=2e-3)  # weights are known to about √tolerance


def test_a_design_refuses(monkeypatch):
    with pytest.raises(InputError, match="tolerance is 1e-12, below 1e-09"):
        g_optimal_design(np.eye(2), 1e-12)
    monkeypatch.setattr("painless.features.g_optimal.ROUNDS", 1)
    with pytest.raises(RuntimeError, match=r"after 1 rounds .* ask for a larger tolerance"):
        g_optimal_design(on_a_line(5))


@pytest.mark.parametrize("build", [greedy_coreset, g_optimal_design])
@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.ones(3), r"shape \(3,\), not \(n, d\)"),
        ([[1.0, np.nan]], r"features\[0, 1\] is nan"),
        ([[1.0], [-1e200]], r"features\[1, 0\] is -1e\+200, .* scale the features"),
        (np.zeros((3, 2)), "every feature is 0"),
        (np.zeros((0, 2)), "every feature is 0"),
    ],
)
def test_features_that_are_refused(build, features, message):
    with pytest.raises(InputError, match=message):
        build(features)


@pytest.mark.parametrize(
    ("indices", "weights", "message"),
    [
        ([], [], "0 rows"),
        ([0], [0.0], "above 0"),
        ([0, 1], [1.0], "2 rows"),
        ([0, 5], [0.5, 0.5], "up to 5, .* only 2 rows"),
    ],
)
def test_designs_that_are_refused(indices, weights, message):
    with pytest.raises(InputError, match=message):
        design_norm(np.eye(2), indices, weights)


# Lemma 3


def fit(features: np.ndarray, design: Design, value: np.ndarray) -> np.ndarray:
    """Weighted least squares at the rows of the design (paper, eq. lspg), for values (..., k): (..., d)."""
    root = np.sqrt(design.weights)
    return value * root @ np.linalg.pinv(features[design.indices] * root[:, None], rcond=1e-9).T


def either_design(features: np.ndarray, optimal: bool) -> Design:
    return g_optimal_design(features) if optimal else greedy_coreset(features / np.abs(features).max(), 0.4)


@settings(deadline=None, max_examples=60)
@given(feature_matrices(), st.booleans(), st.just(0.0) | st.floats(0.01, 3), st.integers(0, 2**32 - 1))
def test_lemma_3_holds_for_any_misspecification(features, optimal, bias, seed):
    """Noiseless q within ε_b of linear: |⟨φ, θ̂⟩ − q| ≤ ε_b(1 + ‖φ‖) at every row in range."""
    rng = np.random.default_rng(seed)
    features = features / np.where(features.any(0), np.abs(features).max(0), 1.0)
    design = either_design(features, optimal)
    q = features @ rng.normal(size=features.shape[1]) + bias * rng.choice([-1.0, 0.3, 1.0], len(features))
    bound = extrapolation_bound(
        features, design, bias=bias, value_range=0.0, rollouts=1, failure_probability=0.5
    )
    norm = design_norm(features, design.indices, design.weights)
    inside = np.isfinite(norm)
    np.testing.assert_allclose(bound[inside], bias * (1 + norm[inside]))
    error = np.abs(features @ fit(features, design, q[design.indices]) - q)
    assert (error <= bound + 1e-5 * (1 + bias)).all()


@pytest.mark.parametrize("optimal", [True, False])
def test_lemma_3_holds_for_sampled_returns_but_for_the_failure_probability(optimal):
    """Bernoulli returns, the widest in their range, of several utilities: errors above the bound are rare."""
    rng = np.random.default_rng(8)
    features = TileCoding([0, 0], [1, 1], 3, 2, 2).at(rng.random((60, 2))).reshape(120, -1)
    design = either_design(features, optimal)
    rollouts, utilities, repetitions, width, delta = 50, 3, 400, 10.0, 0.2
    q = features @ rng.random((utilities, features.shape[1])).T  # (n, J)
    q = width * q.T / q.max()
    mean = (
        width
        * rng.binomial(rollouts, q[:, design.indices] / width, (repetitions, *q[:, design.indices].shape))
        / rollouts
    )
    error = np.abs(fit(features, design, mean) @ features.T - q)  # (repetitions, J, n)
    bound = extrapolation_bound(
        features,
        design,
        bias=0.0,
        value_range=width,
        rollouts=rollouts,
        failure_probability=delta,
        estimates=utilities,
    )
    failed = (error > bound).any((1, 2)).mean()
    assert failed <= delta
    assert error.max() > 0.05 * bound.max()  # and the bound is not idle


def test_the_bound_by_hand():
    design = Design(np.array([0, 1]), np.array([0.5, 0.5]), np.sqrt(2))
    bound = extrapolation_bound(
        np.diag([1.0, 2.0, 3.0]),
        design,
        bias=0.1,
        value_range=4.0,
        rollouts=8,
        failure_probability=0.1,
        estimates=6,
    )
    deviation = 4 * np.sqrt(np.log(2 * 2 * 6 / 0.1) / 16)
    np.testing.assert_allclose(bound, [0.1 + np.sqrt(2) * (0.1 + deviation)] * 2 + [np.inf])


@pytest.mark.parametrize(
    "change",
    [
        {"bias": -1},
        {"value_range": -1},
        {"rollouts": 0},
        {"estimates": 0},
        {"failure_probability": 0},
        {"failure_probability": 1},
    ],
)
def test_a_bound_refuses(change):
    settings = {
        "bias": 0.0,
        "value_range": 1.0,
        "rollouts": 5,
        "failure_probability": 0.1,
        "estimates": 1,
        **change,
    }
    with pytest.raises(InputError, match=r"0 or more|outside"):
        extrapolation_bound(np.eye(2), greedy_coreset(np.eye(2), 0.8), **settings)
