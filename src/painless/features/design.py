"""Designs: where to sample action values so that least squares extrapolates them well.

A design ω over rows φ(z) of a feature matrix, with support C, has the Gram matrix and the norms

    G_ω = Σ_{z ∈ C} ω(z) φ(z) φ(z)ᵀ,          ‖φ‖_{G_ω†} = √(φᵀ G_ω† φ),    ∞ outside the range of G_ω

Estimate each q(z), z ∈ C, as the mean of m rollouts, and fit θ̂ by least squares with weights ω. If some θ is
within ε_b of q everywhere, then with probability 1 − δ, for all rows at once (paper, Lemma 3),

    |⟨φ, θ̂⟩ − q| ≤ ε_b·(1 + ‖φ‖_{G_ω†}) + ‖φ‖_{G_ω†}·range·√(ln(2|C|/δ) / (2m))

The paper's range is 1/(1−γ). For the lemma to hold for several estimates at once, such as all utilities in all
iterations, δ is divided by their number.

Rank and range need a cut-off. Columns are scaled to a largest entry of 1; then directions with a singular value below
1e-8 of the largest count as absent, and a row that is outside the range by less than 1e-6 of its length as inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import ArrayLike

from painless.common.arguments import as_floats, first, require_finite
from painless.common.arrays import Array, one_thread
from painless.common.errors import InputError
from painless.features.base import Indices

RANK = 1e-8  # singular values below this part of the largest are 0
LARGEST = 1e100  # of a feature's size
RANGE = 1e-6  # a row whose part outside the range is shorter than this part of it is inside


@dataclass(frozen=True, eq=False)
class Design:
    """A distribution over the rows of a feature matrix."""

    indices: Indices  # (k,) the support C, increasing
    weights: Array  # (k,) ω, positive, with sum 1
    norm: float  # max ‖φ‖_{G_ω†} over all rows of the matrix

    @property
    def entries(self) -> tuple[Indices, ...]:
        """The rows of each entry, of which a sample takes any: here the row of the support alone."""
        return tuple(self.indices[:, None])


def feature_rows(features: ArrayLike) -> Array:
    """Check a feature matrix, (n, d)."""
    rows = as_floats("features", features)
    if rows.ndim != 2:
        raise InputError(
            f"features have shape {rows.shape}, not (n, d); give one row for each state and action"
        )
    require_finite("features", rows)
    wrong = np.abs(rows) > LARGEST
    if wrong.any():
        raise InputError(
            f"features{first(wrong)} is {rows[wrong][0]:g}, and its square overflows; scale the features"
        )
    if not rows.any():
        raise InputError("every feature is 0; a design needs a row that is not")
    return rows


def whiten(rows: Array) -> Array:
    """Return coordinates (n, r) of the rows in which Σ u uᵀ = I; designs and norms are the same in them."""
    scale = np.abs(rows).max(0)
    scaled = rows / np.where(scale > 0, scale, 1.0)
    _, singular, axes = np.linalg.svd(scaled, full_matrices=False)
    kept = singular > RANK * singular[0]
    return scaled @ (axes[kept].T / singular[kept])


def leverage(unit: Array, indices: Indices, weights: Array) -> Array:
    """‖u‖²_{G_ω⁻¹} of every row u, for a design that spans all of them."""
    from scipy.linalg import solve_triangular

    factor = np.linalg.qr(np.sqrt(weights)[:, None] * unit[indices], mode="r")
    return (solve_triangular(factor, unit.T, trans="T") ** 2).sum(0)


def design_norm(features: ArrayLike, indices: ArrayLike, weights: ArrayLike) -> Array:
    """‖φ‖_{G_ω†} of every row φ, (n,); ∞ outside the range of G_ω.

    >>> design_norm([[1, 0], [2, 0], [0, 1]], indices=[0], weights=[1.0])
    array([ 1.,  2., inf])
    """
    rows, chosen, weight = feature_rows(features), np.asarray(indices), as_floats("weights", weights)
    if not chosen.size or chosen.shape != weight.shape or not (weight > 0).all():
        raise InputError(
            f"a design of {chosen.size} rows needs as many weights above 0; leave out the others"
        )
    if not 0 <= chosen.min() <= chosen.max() < len(rows):
        raise InputError(f"the design has rows up to {chosen.max()}, the features only {len(rows)} rows")
    with one_thread():
        unit = whiten(rows)
        _, singular, axes = np.linalg.svd(unit[chosen], full_matrices=False)
        axes = axes[singular > RANK * singular.max(initial=0.0)]
        inside = unit @ axes.T
        outside = np.linalg.norm(unit - inside @ axes, axis=1) > RANGE * np.linalg.norm(unit, axis=1)
        norm = np.sqrt(leverage(inside, chosen, weight)) if len(axes) else np.zeros(len(rows))
    return np.where(outside, np.inf, norm)


def extrapolation_bound(
    features: ArrayLike,
    design: Design,
    *,
    bias: float,
    value_range: float,
    rollouts: int,
    failure_probability: float,
    estimates: int = 1,
) -> Array:
    """Bound |⟨φ, θ̂⟩ − q| for every row of the features (paper, Lemma 3), (n,).

    Arguments:
        features: the matrix (n, d) over whose rows the design is.
        design: where q was estimated, and the weights of the least squares.
        bias: ε_b, how far q is from linear in the features, at most.
        value_range: the length of the interval in which a rollout's return lies; 1/(1−γ) for rewards in [0, 1].
        rollouts: m, for each row of the design.
        failure_probability: δ, for all rows and estimates together.
        estimates: how many estimates θ̂ the bound is to hold for at once: iterations times utilities.

    >>> from painless.features import greedy_coreset
    >>> table = np.eye(2)
    >>> design = greedy_coreset(table, tolerance=0.8)
    >>> extrapolation_bound(
    ...     table, design, bias=0.0, value_range=10.0, rollouts=1000, failure_probability=0.05
    ... ).round(3)
    array([0.662, 0.662])
    """
    if bias < 0 or value_range < 0 or rollouts < 1 or estimates < 1:
        raise InputError(
            f"bias {bias:g} and value_range {value_range:g} must be 0 or more, "
            f"rollouts {rollouts} and estimates {estimates} 1 or more"
        )
    if not 0 < failure_probability < 1:
        raise InputError(f"failure_probability is {failure_probability:g}, outside (0, 1)")
    norm = design_norm(features, design.indices, design.weights)
    known = np.isfinite(norm)
    deviation = hoeffding(value_range, rollouts, failure_probability / (len(design.indices) * estimates))
    return np.where(known, bias + np.where(known, norm, 0.0) * (bias + deviation), np.inf)


def hoeffding(value_range: float, rollouts: int, failure_probability: float) -> float:
    """Return range·√(ln(2/δ) / (2m)): how far a mean of m draws is from its expectation, but for δ."""
    return value_range * sqrt(log(2 / failure_probability) / (2 * rollouts))
