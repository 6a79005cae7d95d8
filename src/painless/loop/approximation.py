"""How far estimated action values can be from the truth: ε_b, ε_s and ε̃ of the paper's corollaries, with nothing left out.

ε_b is how far action values are from the span of the features. The paper assumes it for all policies; for a run it is known
afterwards, as the largest over its iterates and utilities:

    ε_b = min_θ max_z |Q(z) − ⟨φ(z), θ⟩|                         a linear program
        = ½ max over cells of (max Q − min Q within the cell)     if the features are a partition into cells

Sampling adds what Hoeffding's inequality leaves open, for |C| entries, K + 1 utilities and T iterations at once,

    ε_s = range·√( ln(2(K+1)|C|T/δ) / (2m) ) + γᴴ·range_u/(1−γ)

where the last term is what rollouts of H steps cut off. On a table ε̃ = ε_s with C all pairs; over features, by Lemma 3, with the
measured norm ‖φ‖ = max ‖φ(z)‖_{G_ω†} in place of its smallest possible value √d,

    ε̃ = ε_b·(1 + ‖φ‖) + ‖φ‖·ε_s
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from painless.common.arguments import as_floats
from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.features.design import feature_rows, hoeffding


def approximation_error(features: ArrayLike, values: ArrayLike) -> Array:
    """ε_b: the error of the best uniform approximation of values (…, n) by features (n, d), (…).

    >>> tiles = [[1, 0], [1, 0], [0, 1]]
    >>> approximation_error(tiles, [1.0, 3.0, 7.0])
    array(1.)
    """
    rows, given = feature_rows(features), as_floats("values", values)
    if given.shape[-1:] != (len(rows),):
        raise InputError(f"values have shape {given.shape}, not (…, {len(rows)}); give one for each row")
    flat = given.reshape(-1, len(rows))
    if _is_partition(rows):
        errors = _half_range(rows.argmax(1), flat)
    else:
        errors = np.array([_chebyshev(rows, one) for one in flat])
    return errors.reshape(given.shape[:-1])


def _is_partition(rows: Array) -> bool:
    """Whether each row is in exactly one cell: one feature is 1, the others are 0."""
    return bool(((rows == 0) | (rows == 1)).all() and (rows.sum(1) == 1).all())


def _half_range(cell: Array, values: Array) -> Array:
    """Return half the largest range within a cell, for values (k, n): (k,)."""
    order = np.argsort(cell, kind="stable")
    starts = np.flatnonzero(np.diff(cell[order], prepend=-1))
    sorted_values = values[:, order]
    high = np.maximum.reduceat(sorted_values, starts, axis=1)
    low = np.minimum.reduceat(sorted_values, starts, axis=1)
    return np.asarray((high - low).max(1) / 2)


def _chebyshev(rows: Array, values: Array) -> float:
    """The least t with −t ≤ Φθ − q ≤ t for some θ."""
    from scipy.optimize import linprog

    used = rows[:, rows.any(0)]
    ones = np.ones((len(rows), 1))
    matrix = np.block([[used, -ones], [-used, -ones]])
    cost = np.append(np.zeros(used.shape[1]), 1.0)
    bounds = [(None, None)] * used.shape[1] + [(0.0, None)]
    found = linprog(cost, A_ub=matrix, b_ub=np.concatenate([values, -values]), bounds=bounds)
    if found.x is None:
        raise RuntimeError(f"the best uniform approximation was not found: {found.message}")
    return float(found.x[-1])


@dataclass(frozen=True)
class Sampling:
    """How action values were estimated, in normalised units.

    Arguments:
        entries: |C|, the pairs or entries of a coreset from which rollouts start.
        rollouts: m, for each of them.
        failure_probability: δ.
        horizon: H, the steps of a rollout; None if nothing is cut off.
        norm: max ‖φ‖ in G_ω†; None for a table, whose pairs are all sampled.
        bias: ε_b.
    """

    entries: int
    rollouts: int
    failure_probability: float
    horizon: int | None = None
    norm: float | None = None
    bias: float = 0.0

    def __post_init__(self) -> None:
        if self.entries < 1 or self.rollouts < 1 or (self.horizon is not None and self.horizon < 1):
            raise InputError(
                f"entries {self.entries}, rollouts {self.rollouts} and horizon {self.horizon} must be 1 or more"
            )
        if not 0 < self.failure_probability < 1:
            raise InputError(f"failure_probability is {self.failure_probability:g}, outside (0, 1)")
        if self.bias < 0 or (self.norm is not None and self.norm < 0):
            raise InputError(f"bias {self.bias:g} and norm {self.norm} must be 0 or more")

    def sampling_error(self, discount: float, estimates: int) -> float:
        """ε_s for so many estimates at once, (K + 1)·T, of utilities in a range of 1."""
        cut = 0.0 if self.horizon is None else discount**self.horizon
        largest = (1 - cut) / (1 - discount)  # the range of what a rollout collects
        chance = self.failure_probability / (self.entries * estimates)
        return hoeffding(largest, self.rollouts, chance) + cut / (1 - discount)

    def error(self, discount: float, estimates: int) -> float:
        """ε̃: a bound on |Q̂ − Q| everywhere, in all estimates at once, but for δ."""
        deviation = self.sampling_error(discount, estimates)
        if self.norm is None:
            return deviation
        return self.bias * (1 + self.norm) + self.norm * deviation
