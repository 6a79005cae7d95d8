"""Exact answers in whole numbers: values of a policy, and the linear program by the simplex method.

A tableau of integers with one common denominator (Edmonds' pivoting) is exact whatever the units are. It is slow,
and meant for models of up to some fifteen states.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from tests.fuzz.model import Model

BITS, ENOUGH = 1 << 700, 500  # visits are whole multiples of 1/BITS, refined to ENOUGH bits
CYCLE = 500  # pivots by the largest coefficient before the rule changes to Bland's, which ends


def rational(values) -> np.ndarray:
    """Return an array of doubles as one of fractions."""
    array = np.asarray(values)
    return np.array([Fraction(x) for x in array.ravel()], dtype=object).reshape(array.shape)


@dataclass(frozen=True)
class Optimum:
    """The exact end of a linear program; `value` is None where nothing is feasible."""

    value: Fraction | None
    multiplier: tuple[Fraction, ...]  # of the constraints; of one optimal dual


class Tableau:
    """Rows of integers over one denominator: [columns | right-hand side]."""

    def __init__(self, rows: np.ndarray) -> None:
        # The row has been multiplied with it
        self.scale = [lcm(*(x.denominator for x in row)) for row in rows]
        self.rows = np.array(
            [[int(x * scale) for x in row] for row, scale in zip(rows, self.scale, strict=True)], dtype=object
        )
        self.denominator = 1
        self.basis: dict[int, int] = {}  # row -> column

    def pivot(self, row: int, column: int) -> None:
        """Bring a column into the basis in place of the row's."""
        kept, pivot = self.rows[row].copy(), self.rows[row, column]
        self.rows = (self.rows * pivot - np.outer(self.rows[:, column], kept)) // self.denominator
        self.rows[row] = kept
        if pivot < 0:
            self.rows, pivot = -self.rows, -pivot
        self.denominator = pivot
        self.basis[row] = column

    def rise(self, objective: int, columns: list[int]) -> bool:
        """Maximise a row's objective over columns, from a feasible basis; return False where it has no end."""
        for count in range(100_000):
            gains = self.rows[objective]
            rising = [c for c in columns if gains[c] < 0]
            if not rising:
                return True
            column = min(rising, key=lambda c: gains[c]) if count < CYCLE else min(rising)
            rows = [r for r in self.basis if self.rows[r, column] > 0]
            if not rows:
                return False
            leaving = min(
                rows, key=lambda r: (Fraction(self.rows[r, -1], self.rows[r, column]), self.basis[r])
            )
            self.pivot(leaving, column)
        raise RuntimeError("the simplex method did not end")

    def value(self, row: int) -> Fraction:
        """Return the right-hand side of a row in its own units."""
        return Fraction(self.rows[row, -1], self.denominator * self.scale[row])


class Exact:
    """The occupancy polytope of a model in fractions."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.pairs = [(int(s), int(a)) for s, a in np.argwhere(model.actions)]
        self.transition, self.initial = rational(model.transition), rational(model.initial)
        self.discount = Fraction(model.discount)
        self.utility = rational(model.utility)
        self.mass = {pair: sum(self.transition[pair]) for pair in self.pairs}
        self._flow: Tableau | None = None

    def values(self, policy: np.ndarray, size: bool = False) -> list[Fraction]:
        """Return V_u of a policy (rows are divided by their sums), for every utility, or for |u|.

        The visits solve x = ρ + γ P_πᵀ x. Double precision gives a correction from the residual, whole numbers give
        the residual; the error is at most unit times the residual, and ends far below any double's.
        """
        taken = [(s, a) for s, a in self.pairs if policy[s, a]]
        share = {(s, a): Fraction(policy[s, a]) / sum(map(Fraction, policy[s])) for s, a in taken}
        kernel = np.einsum("sa,sat->st", np.where(self.model.actions, policy, 0.0), self.model.kernel)
        matrix = np.eye(len(policy)) - self.model.discount * (kernel / policy.sum(1, keepdims=True)).T
        start = [int(x / sum(self.initial) * BITS) for x in self.initial]
        visits = [0] * len(start)
        for _ in range(40):
            residual = self._residual(visits, start, share)
            largest = max(map(abs, residual))
            if largest < BITS >> ENOUGH:
                break
            step = np.linalg.solve(matrix, [float(Fraction(x, largest)) for x in residual])
            visits = [x + int(Fraction(d) * largest) for x, d in zip(visits, step, strict=True)]
        weigh = abs if size else (lambda x: x)
        parts = [(s, a, Fraction(visits[s], BITS) * share[s, a]) for s, a in taken]
        return [sum((part * weigh(u[s, a]) for s, a, part in parts), Fraction(0)) for u in self.utility]

    def _residual(self, visits: list[int], start: list[int], share: dict) -> list[int]:
        """ρ − x + γ P_πᵀ x, in units of 1/BITS."""
        result = [b - x for b, x in zip(start, visits, strict=True)]
        for (s, a), part in share.items():
            flow = self.discount * part / self.mass[s, a] * visits[s]
            for t in np.flatnonzero(self.model.transition[s, a]):
                result[t] += int(flow * self.transition[s, a, t])
        return result

    def optimum(self, limits, objective: np.ndarray | None = None, constraints=None) -> Optimum:
        """Maximise a utility (S, A) in fractions subject to V_{c_i} ≥ limits[i]; None is no limit."""
        utility = self.utility[0] if objective is None else objective
        rows = self.utility[1:] if constraints is None else constraints
        chosen = [i for i, limit in enumerate(limits) if limit is not None]
        tableau, surplus, spare = self._tableau(utility, [(rows[i], limits[i]) for i in chosen])
        last = len(tableau.rows) - 1  # the objective; before it stands that of the first phase
        columns = list(range(len(self.pairs))) + surplus
        if chosen and not self._feasible(tableau, columns, spare, last - 1):
            return Optimum(None, ())
        if not tableau.rise(last, columns):
            raise RuntimeError("a discounted value is bounded")
        price = [Fraction(0)] * len(limits)
        for k, i in enumerate(chosen):
            price[i] = Fraction(tableau.rows[last, surplus[k]], tableau.denominator * tableau.scale[last])
        return Optimum(tableau.value(last), tuple(price))

    def _feasible(self, tableau: Tableau, columns: list[int], spare: int, objective: int) -> bool:
        """Push the artificial variable out of the basis."""
        rows = [r for r in tableau.basis if tableau.rows[r, -1] < 0]
        if not rows:
            return True
        worst = min(rows, key=lambda r: Fraction(tableau.rows[r, -1], -tableau.rows[r, spare]))
        tableau.pivot(worst, spare)
        tableau.rise(objective, columns)
        row = next((r for r, c in tableau.basis.items() if c == spare), None)
        if row is None:
            return True
        if tableau.rows[row, -1] > 0:
            return False
        column = next((c for c in columns if tableau.rows[row, c] != 0), None)
        if column is not None:
            tableau.pivot(row, column)
        return True

    def _tableau(self, utility, constraints) -> tuple[Tableau, list[int], int]:
        """Return the program in the basis of some policy and the surplus variables, and where these stand."""
        states, pairs, count = len(self.initial), len(self.pairs), len(constraints)
        width = pairs + count + 2  # surpluses, the artificial variable, the right-hand side
        rows = np.full((states + count + 2, width), Fraction(0), dtype=object)
        for k, (s, a) in enumerate(self.pairs):  # columns times Σp, so that all stays a whole number
            rows[:states, k] = -self.discount * self.transition[s, a]
            rows[s, k] += self.mass[s, a]
            for i, (c, _) in enumerate(constraints):
                rows[states + i, k] = -c[s, a] * self.mass[s, a]
            rows[-1, k] = -utility[s, a] * self.mass[s, a]
        rows[:states, -1] = self.initial / sum(self.initial)
        for i, (c, limit) in enumerate(constraints):  # −Σ c·d + surplus − size·spare = −b
            rows[states + i, pairs + i] = Fraction(1)
            rows[states + i, -2] = -max(*(abs(c[p]) for p in self.pairs), abs(limit), Fraction(1, 10**300))
            rows[states + i, -1] = -Fraction(limit)
        rows[-2, -2] = Fraction(1)  # minimise the artificial variable
        tableau = Tableau(rows)
        chosen = {s: k for k, (s, _) in reversed(list(enumerate(self.pairs)))}
        for s in range(states):
            tableau.pivot(s, chosen[s])
        for i in range(count):  # brings the row's own scale into the common denominator
            tableau.pivot(states + i, pairs + i)
        return tableau, list(range(pairs, pairs + count)), width - 2
