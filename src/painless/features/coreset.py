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

Several rows can have the same features, such as the states of a tile. The gains of such rows are equal, so that what is chosen is a
*feature*, and an entry of a coreset is a feature with all the rows that share it. A sample of the entry takes any of them, drawn
uniformly, as in the code that the paper's authors released. The printed algorithm picks one row; `Coreset.single` picks the first, the
last or a random one, and what is then known of the others depends on which.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike

from painless.common.arrays import Array, one_thread
from painless.common.errors import InputError
from painless.features.base import Indices
from painless.features.design import Design, design_norm, feature_rows

SLACK = 1e-9  # g ≤ ε' holds to this relative precision, or rounding would decide at ε' = 1/√2
TIE = 1e-12  # norms² this close are equal; the first row is taken


class Single(Enum):
    """Which of the rows that share a feature stands for all of them."""

    FIRST = "first"
    LAST = "last"
    RANDOM = "random"


@dataclass(frozen=True, eq=False)
class Coreset(Design):
    """A design over features, weighted by how often each was chosen; an entry is a feature with all the rows that share it."""

    counts: Indices  # (k,)
    shared: tuple[Indices, ...]  # of each entry the rows with its features, increasing

    @property
    def entries(self) -> tuple[Indices, ...]:
        """The rows of each entry, of which a sample takes any."""
        return self.shared

    def single(self, choice: Single, rng: np.random.Generator | None = None) -> Design:
        """Return the design with one row for each entry, as the printed algorithm has it.

        >>> coreset = greedy_coreset([[1, 0], [1, 0], [0, 1]])
        >>> coreset.single(Single.LAST).indices
        array([1, 2])
        """
        if choice is Single.RANDOM:
            if rng is None:
                raise InputError("a random row needs a generator; give rng=np.random.default_rng(seed)")
            places = [int(rng.integers(len(rows))) for rows in self.shared]
        else:
            places = [0 if choice is Single.FIRST else -1] * len(self.shared)
        chosen = np.array([rows[k] for rows, k in zip(self.shared, places, strict=True)])
        order = np.argsort(chosen)
        return Design(chosen[order], self.weights[order], self.norm)


def greedy_coreset(features: ArrayLike, tolerance: float = 2**-0.5, ridge: float = 1.0) -> Coreset:
    """Choose rows of `features` (n, d) until every ‖φ‖ in (ridge·I + Σφφᵀ)⁻¹ is at most `tolerance`.

    >>> coreset = greedy_coreset([[1, 0], [1, 0], [0, 1]])
    >>> coreset.indices, coreset.counts
    (array([0, 2]), array([1, 1]))
    >>> coreset.entries
    (array([0, 1]), array([2]))
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
    return Coreset(indices, weights, norm, counts[indices], _sharing(rows, indices))


def _sharing(rows: Array, indices: Indices) -> tuple[Indices, ...]:
    """Return for each of the indices all rows that have the same features."""
    group = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.stack([group[indices], group[indices] + 1]))
    return tuple(order[low:high] for low, high in bounds.T)


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
