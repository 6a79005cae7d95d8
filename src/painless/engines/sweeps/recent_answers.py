"""Answers to linear systems of similar chains, of which the next answer is nearly a combination.

    x = u + M x,        start = Σ_k c_k x_k  with the least |u − Σ_k c_k (x_k − M x_k)|₂

A policy that is best for new weights is nearly that of the last ones, and its value a combination of the values of all utilities. The time to leave is
one of the answers: what sweeps lose little by little is nearly a multiple of it, so that it is taken out of what they leave.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable

import numpy as np

from painless.common.arrays import Array
from painless.engines.sweeps.sparse_rows import Indices

KEPT = 6  # answers of each kind
KINDS = 4  # kinds of systems: their sizes, and whether they are transposed
SINGULAR = 1e-12  # relative; combinations with a smaller image are left out


class RecentAnswers:
    """The latest answers to each kind of system, and what was learned about solving them."""

    def __init__(self) -> None:
        self._known: dict[Hashable, deque[Array]] = {}
        self.mixing = False  # whether chains mix, so that the order of sweeps does not matter
        self.order: tuple[Indices, Indices] | None = None  # of sweeps over such chains

    def add(self, kind: Hashable, answer: Array) -> None:
        """Remember an answer, (S,)."""
        if not np.isfinite(answer).all() or not answer.any():
            return
        known = self._known.pop(kind, deque(maxlen=KEPT))
        known.append(answer.copy())
        self._known[kind] = known
        while len(self._known) > KINDS:
            del self._known[next(iter(self._known))]

    def span(self, kind: Hashable, passed: Callable[[Array], Array]) -> Span:
        """Return the combinations of the answers, for a system in which `passed` is M x."""
        return Span([*self._known.get(kind, ())], passed)


class Span:
    """Combinations of some vectors, as answers to x = u + M x.

    >>> Span([np.array([2.0, 4.0])], lambda x: 0.5 * x).nearest(np.array([0.5, 1.0]))[0]
    array([1., 2.])
    """

    def __init__(self, vectors: list[Array], passed: Callable[[Array], Array]) -> None:
        self._vectors: list[Array] = []
        self._images: list[Array] = []
        self._gram: Array = np.zeros((0, 0))
        for vector in vectors:
            self.add(vector, vector - passed(vector))

    def add(self, vector: Array, image: Array) -> None:
        """Add a vector x with its image x − M x; the oldest goes if there are too many."""
        size = float(np.sqrt(image @ image))
        if not np.isfinite(size) or size == 0:
            return
        self._vectors.append(vector / size)
        self._images.append(image / size)
        grown = np.ones((len(self._images), len(self._images)))
        grown[:-1, :-1] = self._gram
        grown[-1, :-1] = grown[:-1, -1] = [one @ self._images[-1] for one in self._images[:-1]]
        if len(self._images) > KEPT:
            del self._vectors[0], self._images[0]
            grown = grown[1:, 1:]
        self._gram = grown

    def nearest(self, right: Array) -> tuple[Array, Array]:
        """Return the combination whose image comes closest to `right` (S,), and what is left of it."""
        aims = np.array([image @ right for image in self._images])
        share = np.linalg.lstsq(self._gram, aims, rcond=SINGULAR)[0] if len(aims) else aims
        found, rest = np.zeros(len(right)), right.copy()
        for c, vector, image in zip(share.tolist(), self._vectors, self._images, strict=True):
            found += c * vector
            rest -= c * image
        return found, rest
