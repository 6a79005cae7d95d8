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
from painless.planners.chain_occupancy import chain_occupancy
from painless.planners.column_generation import Point
from painless.planners.engine import Bracket
from painless.planners.pricing import Pricer
from painless.planners.sparse_rows import Indices
from painless.problem import CMDP
from painless.units import TOLERANCE

PRECISION = 0.02 * TOLERANCE  # of occupancies and values, relative to 1/(1−γ), where nothing is to spare
# Errors of occupancies matter only where the policies differ, and there they cancel but for a thirtieth or less. That is
# not proved; the mixture's values are.
CANCELLED = 30.0
LEAST = 1e-3  # a smaller share of states on which policies differ counts as this
COARSEST = 1e-4


class Column(NamedTuple):
    """A deterministic policy, compactly, and its values (J,)."""

    choice: NDArray[np.unsignedinteger]  # (S,)
    value: Array
    multiplier: Array | None  # (K,) that it was the best for; None where the reward did not count
    low: Array  # (J,) proved: it has at least these values


class Mixer:
    """Turns mixtures into points; keeps the occupancies of the columns that were used last."""

    def __init__(self, problem: CMDP, pricer: Pricer) -> None:
        self.problem, self.pricer = problem, pricer
        self._occupancy: dict[int, tuple[Array, float]] = {}  # of columns, and how exact
        self._precision = PRECISION
        self._last: tuple[tuple[bytes, int], Point] | None = None

    def any_column(self) -> Column:
        """Return some policy, unevaluated."""
        least = self.pricer.rows.utility.min(1) / (1 - self.problem.discount)
        return Column(self.pricer.compact(), least, None, least)

    def single(self, column: Column) -> Point:
        """Return the point of one column by what is known of it."""
        choices = self.pricer.pairs(column.choice)[None]
        error = float(np.abs(column.value - column.low).max(initial=0.0))
        return Point(self._table(choices, np.ones(choices.shape)), column.low, column.value, 2 * error)

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
        self._precision = max(precision * (1 - self.problem.discount), PRECISION)
        point = self._point(columns, weights)
        for factor in (1.0, 2.0, 1e3, np.inf):
            if safe is None or (point.value[1:] >= self.problem.threshold).all():
                break
            share = self._needed(point, columns, safe, factor)
            weights = (1 - share) * weights + share * safe  # after the first time what is left is rounding
            point = self._point(columns, weights)
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
        low, error = self.pricer.value_of(chain, self._precision / (1 - self.problem.discount))
        value = Bracket(low, low + 2 * error, low + error).within(self.problem)
        return Point(
            self._table(choices, shares), value.low, value.guess, float((value.high - value.low).max())
        )

    def _shares(self, used: list[int], choices: Indices, weights: Array) -> Array:
        """Return the probability of each used column's choice in every state, (n, S)."""
        if len(used) == 1:
            return np.ones(choices.shape)
        self._occupancy = {k: known for k, known in self._occupancy.items() if k in used}
        precision = self._precision
        if precision > PRECISION:  # there is something to spare
            differ = float((choices[1:] != choices[0]).any(0).mean())
            precision = min(CANCELLED * precision / max(differ, LEAST), COARSEST)
        for k, choice in zip(used, choices, strict=True):
            warm, exact = self._occupancy.get(k, next(iter(self._occupancy.values()), (None, 0.0)))
            if k not in self._occupancy or exact > precision:
                visits = chain_occupancy(
                    self.pricer.chain(choice),
                    self.problem.discount,
                    self.problem.initial,
                    precision,
                    self.pricer.count,
                    warm,
                    along_flow=self.pricer.along_flow,
                    threads=self.pricer.threads,
                )
                self._occupancy[k] = visits, precision
        shares = np.array([weights[k] * self._occupancy[k][0] for k in used])
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
        table: Array = np.zeros(self.problem.actions.shape)
        for choice, share in zip(choices, shares, strict=True):
            action = choice - rows.first[:-1] if rows.action is None else rows.action[choice]
            np.add.at(table, (states, action), share)
        table /= (table @ np.ones(self.problem.shape[1]))[:, None]
        return table
