"""A mixture of deterministic policies as one stationary policy with exactly the mixed values.

    d(s, a) = Σ_k w_k d_k(s) 1[a = π_k(s)],        π(a|s) = d(s, a)/d(s)

Where no policy of the mixture comes, the one with the largest weight decides. Where rounding leaves a constraint
missed, the Slater mixture is mixed in until it is met.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from painless.arrays import Array
from painless.planners.chain import occupancy
from painless.planners.column_generation import Point
from painless.planners.pricing import Pricer
from painless.planners.sparse_rows import Indices
from painless.problem import CMDP
from painless.units import TOLERANCE

PRECISION = 0.02 * TOLERANCE  # of occupancies and values, relative to 1/(1−γ), where nothing is to spare


class Column(NamedTuple):
    """A deterministic policy, compactly, and its values (J,)."""

    choice: NDArray[np.unsignedinteger]  # (S,)
    value: Array
    multiplier: Array | None  # (K,) that it was the best for; None where the reward did not count


class Mixer:
    """Turns mixtures into points; keeps the occupancies of the columns that were used last."""

    def __init__(self, problem: CMDP, pricer: Pricer) -> None:
        self.problem, self.pricer = problem, pricer
        self._occupancy: dict[int, Array] = {}  # to within `_precision`
        self._precision = PRECISION
        self._last: tuple[tuple[bytes, int], Point] | None = None

    def any_column(self) -> Column:
        """Return some policy, unevaluated."""
        return Column(self.pricer.compact(), np.zeros(len(self.pricer.rows.utility)), None)

    def is_feasible(self, value: Array) -> bool:
        """Whether values (J,) meet every constraint, to the tolerance of the definition."""
        scale = np.maximum(np.abs(self.problem.threshold), 1 / (1 - self.problem.discount))
        return bool((value[1:] >= self.problem.threshold - TOLERANCE * scale).all())

    def point(
        self, columns: list[Column], weights: Array, slater: Array | None, precision: float = 0.0
    ) -> Point:
        """Return the stationary policy of a mixture, evaluated anew, feasible if `slater` can make it so.

        Its values may differ from the mixture's by about `precision`, and are known to within as much.
        """
        weights = np.pad(weights, (0, len(columns) - len(weights)))
        key = (weights.tobytes().rstrip(b"\0"), 0 if slater is None else 1)
        if self._last is not None and self._last[0] == key:
            return self._last[1]
        safe = None if slater is None else np.pad(slater, (0, len(columns) - len(slater)))
        precision = max(precision * (1 - self.problem.discount), PRECISION)
        if precision < self._precision:
            self._occupancy = {}
        self._precision = precision
        point = self._point(columns, weights)
        for factor in (1.0, 2.0, 1e3, np.inf):
            if safe is None or self.is_feasible(point.value):
                break
            share = self._needed(point, columns, safe, factor)
            point = self._point(columns, (1 - share) * weights + share * safe)
        self._last = (key, point)
        return point

    def _needed(self, point: Point, columns: list[Column], safe: Array, factor: float) -> float:
        """Return `factor` times the share of the Slater mixture that linearity asks for."""
        slack = safe @ np.array([c.value for c in columns])[:, 1:] - self.problem.threshold
        short = np.maximum(self.problem.threshold - point.value[1:], 0.0)
        whole = short + np.maximum(slack, 0.0)
        needed = np.where(whole > 0, short / np.where(whole > 0, whole, 1.0), 0.0)
        return 1.0 if factor == np.inf else float(min(factor * needed.max(initial=0.0), 1.0))

    def _point(self, columns: list[Column], weights: Array) -> Point:
        used = [int(k) for k in np.argsort(-weights, kind="stable") if weights[k] > 0]
        choices = np.array([self.pricer.pairs(columns[k].choice) for k in used])
        shares = self._shares(used, choices, weights)
        chain = self.pricer.chain(choices, shares)
        # Solved from the policy priced last, which is like the mixture at the end.
        value, error = self.pricer.value_of(chain, self._precision / (1 - self.problem.discount))
        return Point(self._table(choices, shares), value, float(2 * error.max()))

    def _shares(self, used: list[int], choices: Indices, weights: Array) -> Array:
        """Return the probability of each used column's choice in every state, (n, S)."""
        if len(used) == 1:
            return np.ones(choices.shape)
        self._occupancy = {k: d for k, d in self._occupancy.items() if k in used}
        for k, choice in zip(used, choices, strict=True):
            if k not in self._occupancy:
                warm = next(iter(self._occupancy.values()), None)
                self._occupancy[k] = occupancy(
                    self.pricer.chain(choice),
                    self.problem.discount,
                    self.problem.initial,
                    self._precision,
                    self.pricer.count,
                    warm,
                    along_flow=self.pricer.along_flow,
                )
        shares = np.array([weights[k] * self._occupancy[k] for k in used])
        total = shares.sum(0)
        shares[0, total == 0] = 1.0
        shares /= np.where(total == 0, 1.0, total)
        for n in range(1, len(used)):
            for m in range(n):  # what they agree on is one choice
                same = choices[n] == choices[m]
                shares[m, same] += shares[n, same]
                shares[n, same] = 0.0
        return shares

    def _table(self, choices: Indices, shares: Array) -> Array:
        """Return the policy as a table of probabilities, (S, A)."""
        rows, states = self.pricer.rows, np.arange(choices.shape[1])
        table = np.zeros(self.problem.actions.shape)
        for choice, share in zip(choices, shares, strict=True):
            action = choice - rows.first[:-1] if rows.action is None else rows.action[choice]
            np.add.at(table, (states, action), share)
        return table / table.sum(1, keepdims=True)
