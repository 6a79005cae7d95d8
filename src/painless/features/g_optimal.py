"""The G-optimal design: the distribution ω over rows with the smallest largest norm ‖φ‖_{G_ω†}.

By the equivalence theorem of Kiefer & Wolfowitz (1960) it is also the D-optimal one: it maximises log det G_ω,
its largest norm is √r for features of rank r, and r(r + 1)/2 rows suffice. In coordinates u of the features' range,
with g_i = uᵢᵀ G⁻¹ uᵢ,

    min  −log det Σ ωᵢ uᵢ uᵢᵀ + r Σ ωᵢ   over ω ≥ 0;       z = r − g ≥ 0,   ωᵢ zᵢ = 0 at the optimum

is solved by a primal-dual interior-point method. On its path ωᵢ zᵢ = μ, the norms satisfy g ≤ r and Σω = 1 + nμ/r,
so that μ alone bounds how far the normalised design is from optimal. A Newton step towards μ:

    (D∘D + diag(z/ω)) dω = μ/ω − (r − g),       dz = μ/ω − z − (z/ω)·dω,       D = U G⁻¹ Uᵀ

It runs on a working set of rows: first r well-spread ones, then joined by those whose norm is too large, until no
row's is. At the end rows of negligible weight are dropped, and the rest is reduced to r(r + 1)/2 rows with the same
G_ω (Carathéodory).

References:
    Kiefer & Wolfowitz, "The equivalence of two extremum problems", Canadian J. Math. 12, 1960.
    Sun & Freund, "Computation of minimum-volume covering ellipsoids", Operations Research 52, 2004.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from painless.common.arrays import Array, one_thread
from painless.common.errors import InputError
from painless.features.base import Indices
from painless.features.design import Design, design_norm, feature_rows, leverage, whiten

CENTRE = 0.1  # how much smaller a μ each step aims at
ROUNDS = 500  # of enlarging the working set; it takes about ten
STEPS = 60  # of the interior-point method; it takes about ten
FINEST = 1e-9  # the smallest tolerance that rounding allows for


class Support(NamedTuple):
    """Rows and their weights."""

    indices: Indices
    weights: Array


def g_optimal_design(features: ArrayLike, tolerance: float = 1e-6) -> Design:
    """Return a design over the rows of `features` (n, d) with ‖φ‖²_{G_ω†} ≤ r·(1 + tolerance), r the rank.

    Its support has at most r(r + 1)/2 rows; of equal rows, the first is taken.

    >>> design = g_optimal_design([[1, 0], [0, 1], [0.1, 0.1], [0, 1]])
    >>> design.indices, design.weights
    (array([0, 1]), array([0.5, 0.5]))
    >>> round(design.norm**2, 6)
    2.0
    """
    if not tolerance >= FINEST:
        raise InputError(f"tolerance is {tolerance:g}, below {FINEST:g}; rounding allows no finer design")
    rows = feature_rows(features)
    distinct = np.sort(np.unique(rows, axis=0, return_index=True)[1])
    with one_thread():
        unit = whiten(rows[distinct])
        support = _thin(unit, _optimum(unit, tolerance), tolerance)
    indices = distinct[support.indices]
    return Design(indices, support.weights, float(design_norm(rows, indices, support.weights).max()))


def _optimum(unit: Array, tolerance: float) -> Support:
    """Return a design within half the tolerance, by interior-point solves on a growing working set."""
    rank = unit.shape[1]
    support = _spanning_rows(unit)
    for _ in range(ROUNDS):
        squared = leverage(unit, *support)
        gap = squared.max() / rank - 1
        if gap <= tolerance / 2:
            return support
        support = _enlarge(support, squared, rank)
        target = max(tolerance / 100, min(gap / 100, 1e-2))
        support = support._replace(weights=_interior_point(unit[support.indices], support.weights, target))
    raise RuntimeError(
        f"no design within {tolerance:g} after {ROUNDS} rounds (gap {gap:g}); ask for a larger tolerance"
    )


def _spanning_rows(unit: Array) -> Support:
    """Return r rows that span a large volume: the pivots of a QR factorisation."""
    from scipy.linalg import qr

    rank = unit.shape[1]
    pivots = qr(unit.T, mode="r", pivoting=True)[1][:rank]
    return Support(np.sort(pivots).astype(np.int64), np.full(rank, 1 / rank))


def _enlarge(support: Support, squared: Array, rank: int) -> Support:
    """Join the rows of largest norm to those that carry weight, and start them all with some."""
    largest = np.argsort(-squared, kind="stable")[: 3 * rank + 10]
    indices = np.union1d(support.indices, largest[squared[largest] > rank])
    weights = np.full(len(indices), 0.5 / len(indices))
    weights[np.searchsorted(indices, support.indices)] += 0.5 * support.weights
    return Support(indices, weights)


def _interior_point(unit: Array, weights: Array, target: float) -> Array:
    """Return weights of the rows (s, r) with a largest norm² among them of at most r·(1 + target)."""
    rank = unit.shape[1]
    squared = leverage(unit, np.arange(len(unit)), weights)
    scale = 1.1 * squared.max() / rank  # so that all norms² are below r
    weights, slack = weights * scale, rank - squared / scale
    for _ in range(STEPS):
        products = _products(unit, weights)
        squared = products.diagonal().copy()
        if squared.max() * weights.sum() <= rank * (1 + target):
            break
        try:
            step, slack_step = _newton(products, rank - squared, weights, slack)
        except np.linalg.LinAlgError:  # as close as rounding allows
            break
        length = min(_longest(weights, step), _longest(slack, slack_step))
        weights, slack = weights + length * step, slack + length * slack_step
    return weights / weights.sum()


def _products(unit: Array, weights: Array) -> Array:
    """D = U G⁻¹ Uᵀ, (s, s)."""
    from scipy.linalg import solve_triangular

    factor = np.linalg.qr(np.sqrt(weights)[:, None] * unit, mode="r")
    half = solve_triangular(factor, unit.T, trans="T")
    return half.T @ half


def _newton(products: Array, gradient: Array, weights: Array, slack: Array) -> tuple[Array, Array]:
    """Return dω and dz towards a smaller μ."""
    from scipy.linalg import cho_factor, cho_solve

    centre = CENTRE * (weights @ slack) / len(weights)
    matrix = products**2
    matrix.reshape(-1)[:: len(weights) + 1] += slack / weights
    step = cho_solve(cho_factor(matrix, overwrite_a=True), centre / weights - gradient)
    return step, centre / weights - slack - slack / weights * step


def _longest(values: Array, step: Array) -> float:
    """Return the length ≤ 1 of a step that keeps the values well above 0."""
    return 1 / max(1.0, float((-step / values).max()) / 0.99)


def _thin(unit: Array, support: Support, tolerance: float) -> Support:
    """Leave out as many rows of small weight as the tolerance allows; keep r(r + 1)/2 rows at most."""
    rank = unit.shape[1]
    if len(support.indices) > rank:
        finer = _interior_point(unit[support.indices], support.weights, tolerance / 1000)
        support = _without_smallest(unit, support._replace(weights=finer), tolerance)
    if len(support.indices) > rank * (rank + 1) // 2:
        weights = _caratheodory(unit[support.indices], support.weights)
        support = Support(support.indices[weights > 0], weights[weights > 0] / weights.sum())
    return support


def _without_smallest(unit: Array, support: Support, tolerance: float) -> Support:
    """Leave out the rows of smallest weight, as many as the tolerance allows."""
    rank = unit.shape[1]
    order = np.argsort(support.weights, kind="stable")
    # Rows that weigh less than 1/(2r) together can go: G_ω stays at least half of what it is, hence invertible.
    most = int(np.searchsorted(support.weights[order].cumsum(), 0.5 / rank))

    def rest(count: int) -> Support:
        kept = np.sort(order[count:])
        return Support(support.indices[kept], support.weights[kept] / support.weights[kept].sum())

    def too_many(count: int) -> bool:
        return bool(leverage(unit, *rest(count)).max() > rank * (1 + tolerance))

    return rest(bisect_left(range(1, most + 1), True, key=too_many))


def _caratheodory(unit: Array, weights: Array) -> Array:
    """Return weights with the same G_ω and no larger sum, of which at most r(r + 1)/2 are positive.

    A vector v with Σ vᵢ uᵢ uᵢᵀ = 0 is taken off until a weight is 0; the others of a basis of such vectors
    are then rotated so that they leave that weight alone.
    """
    from scipy.linalg import null_space

    i, j = np.triu_indices(unit.shape[1])
    null = null_space((unit[:, i] * unit[:, j]).T)  # (s, ·)
    while null.shape[1]:
        direction = null[:, 0] if null[:, 0].sum() >= 0 else -null[:, 0]
        limit = np.where(direction > 0, weights, np.inf) / np.where(direction > 0, direction, 1.0)
        out = int(limit.argmin())
        weights = np.maximum(weights - limit[out] * direction, 0.0)
        weights[out] = 0.0
        mirror = null[out].copy()
        mirror[0] += np.copysign(np.linalg.norm(mirror), mirror[0])
        null = (null - np.outer(null @ mirror, 2 * mirror / (mirror @ mirror)))[:, 1:]
        null[out] = 0.0
    return weights
