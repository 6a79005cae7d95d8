"""The greedy coreset (paper, Alg. 3): add the row with the largest uncertainty, until all are small enough.

    H = (ν I + Σ_{z ∈ C} φ(z) φ(z)ᵀ)⁻¹,     g(z) = √(φ(z)ᵀ H φ(z))
    repeat   C ← C + {argmax_z g(z)}   until   max_z g(z) ≤ ε'

C is a multiset: a row can be added again. An addition changes H by a matrix of rank one, and with it all n
norms at once (Sherman & Morrison):

    g²(z) ← g²(z) − (φ(z)ᵀ H φ*)² / (1 + φ*ᵀ H φ*)

Its cost is O(n·d + d²). The loop ends: each addition raises log det by at least ln(1 + ε'²).

Three things differ from the printed algorithm. Its loop runs while g ≤ ε', the opposite of what is meant; its ε' bounds the
norm in ν I + Σφφᵀ and not, as Lemma 3 needs, in G_ω, which is |C| times smaller: ω ∝ counts, and the norm in G_ω
is reported. And ε' is not given: at 1/√2 features that are one-hot within groups of rows are chosen once each, which on
the gridworld's 56 features gives the 56 pairs of the paper's experiments.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from painless.common.arrays import Array, one_thread
from painless.common.errors import InputError
from painless.features.base import Indices
from painless.features.design import Design, design_norm, feature_rows

SLACK = 1e-9  # g ≤ ε' holds to this relative precision, or rounding would decide at ε' = 1/√2
TIE = 1e-12  # norms² this close are equal; the first row is taken


@dataclass(frozen=True, eq=False)
class Coreset(Design):
    """A design whose weights are proportional to how often each row was chosen."""

    counts: Indices  # (k,)


def greedy_coreset(features: ArrayLike, tolerance: float = 2**-0.5, ridge: float = 1.0) -> Coreset:
    """Choose rows of `features` (n, d) until every ‖φ‖ in (ridge·I + Σφφᵀ)⁻¹ is at most `tolerance`.

    >>> coreset = greedy_coreset([[1, 0], [1, 0], [0, 1]])
    >>> coreset.indices, coreset.counts
    (array([0, 2]), array([1, 1]))
    >>> round(coreset.norm**2, 6)
    2.0
    """
    if not (tolerance > 0 and ridge > 0):
        raise InputError(f"tolerance {tolerance:g} and ridge {ridge:g} must be above 0")
    rows = feature_rows(features)
    with one_thread():
        counts = _counts(rows, (tolerance * (1 + SLACK)) ** 2, ridge)
    indices = np.flatnonzero(counts)
    if not len(indices):
        longest = np.sqrt((rows**2).sum(1).max() / ridge)
        raise InputError(
            f"tolerance {tolerance:g} is met without a single row; give less than max ‖φ‖/√ridge = {longest:g}"
        )
    weights = counts[indices] / counts.sum()
    norm = float(design_norm(rows, indices, weights).max())
    return Coreset(indices, weights, norm, counts[indices])


def _counts(rows: Array, limit: float, ridge: float) -> Indices:
    """Return how often each row is added until no g² exceeds `limit`, (n,)."""
    counts = np.zeros(len(rows), dtype=np.int64)
    inverse, squared = _fresh(rows, counts, ridge)
    while squared.max() > limit:
        best = int((squared >= squared.max() * (1 - TIE)).argmax())
        counts[best] += 1
        if counts.sum() % rows.shape[1] == 0:  # rounding must not pile up
            inverse, squared = _fresh(rows, counts, ridge)
            continue
        direction = inverse @ rows[best]
        pivot = 1 + rows[best] @ direction
        inverse -= np.outer(direction, direction / pivot)
        squared -= (rows @ direction) ** 2 / pivot
    return counts


def _fresh(rows: Array, counts: Indices, ridge: float) -> tuple[Array, Array]:
    """Return H (d, d) and g² (n,) from scratch."""
    chosen = rows[counts > 0]
    gram = chosen.T @ (chosen * counts[counts > 0, None])
    gram.reshape(-1)[:: len(gram) + 1] += ridge
    inverse = np.linalg.inv(gram).astype(np.float64, copy=False)
    return inverse, ((rows @ inverse) * rows).sum(1)
