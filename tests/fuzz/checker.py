"""The judge: values, optima, verdicts and prices of a small model, without any of the library's code.

HiGHS at 1e-10 answers first, in units in which all utilities span 1. What it calls wrong, or too close to call, is
decided in whole numbers (`exact`) where the model is small enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np
from scipy.optimize import linprog

from tests.fuzz.exact import Exact, Optimum, rational
from tests.fuzz.model import Model

OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
SMALL = 300  # (S + K)·A up to which the simplex method in whole numbers takes about a second at most
TINY = 40  # … up to which it decides everything
STEP = Fraction(1, 2**40)  # by which a limit moves, relative to its rounding, where a derivative is taken


class Judge:
    """What is true of one model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        states, actions = model.actions.shape
        self.size = (states + len(model.limit)) * actions
        self.exact = Exact(model)
        self._values: dict[bytes, tuple[list[Fraction], np.ndarray]] = {}

    @property
    def decides(self) -> bool:
        """Whether the model is small enough for the simplex method in whole numbers."""
        return self.size <= SMALL

    def values(self, policy: np.ndarray) -> tuple[list[Fraction], np.ndarray]:
        """Return V_u of a policy, as good as exactly, and V_|u|, (J,) each."""
        key = np.ascontiguousarray(policy).tobytes()
        if key not in self._values:
            size = np.array([float(x) for x in self.exact.values(policy, size=True)])
            self._values[key] = self.exact.values(policy), size
        return self._values[key]

    @cached_property
    def limits(self) -> list[Fraction | None]:
        """The limits in fractions; None where there is none."""
        return [Fraction(b) if np.isfinite(b) else None for b in self.model.limit]

    def solved(self, limits: list[Fraction | None], index: int | None = None) -> Optimum:
        """Return the optimum in whole numbers under other limits: of the reward, or of V_c of one constraint."""
        key = (tuple(limits), index)
        cache = self.__dict__.setdefault("_solved", {})
        if key not in cache:
            objective = None if index is None else self.exact.utility[1 + index]
            cache[key] = self.exact.optimum(limits, objective)
        return cache[key]

    def optimum(self) -> float | Fraction | None:
        """Return the largest reward value of a feasible policy; None where there is none."""
        return self.solved(self.limits).value

    def can_meet(self, limits: list[Fraction | None], share: float) -> bool:
        """Whether V_c + share·ε·(V_|c| + |b| + floor) ≥ b has a solution, exactly."""
        part = Fraction(share) * Fraction(self.model.epsilon)
        rows = self.exact.utility[1:]
        relaxed = [row + part * np.abs(row) for row in rows]
        floors = rational(self.model.floor)
        bounds = [None if b is None else b - part * (abs(b) + f) for b, f in zip(limits, floors, strict=True)]
        return self.exact.optimum(bounds, 0 * self.exact.utility[0], relaxed).value is not None

    def price_range(self, index: int, own: int = 0, others: int = 0) -> tuple[float, float] | None:
        """Return the left and the right derivative of the optimum in one limit, as prices ≥ 0; None where infeasible.

        `own` and `others` move that limit and the rest by a rounding, outwards (−1) or inwards (+1): at a vertex of the
        trade-off, and where two limits coincide, the last bit decides which derivatives a problem has.
        """
        limits = [
            None if b is None else b + (own if i == index else others) * self._rounding(i)
            for i, b in enumerate(self.limits)
        ]
        limit = limits[index]
        if limit is None:
            return 0.0, 0.0
        step = STEP * self._rounding(index)
        looser, tighter = ([*limits[:index], limit + d, *limits[index + 1 :]] for d in (-step, step))
        here, low, high = (self.solved(each).value for each in (limits, looser, tighter))
        if here is None or low is None:
            return None
        return float((low - here) / step), np.inf if high is None else float((here - high) / step)

    def price_ranges(self, index: int) -> Iterator[tuple[float, float]]:
        """Yield the derivatives in one limit of the problem itself, then of those that differ by rounding alone."""
        for own, others in sorted(product((0, -1, 1), repeat=2), key=lambda moved: moved != (0, 0)):
            found = self.price_range(index, own, others)
            if found is not None:
                yield found

    def _rounding(self, index: int) -> Fraction:
        size = np.abs(self.model.utility[1 + index]).max() * self.model.unit + abs(
            float(self.limits[index] or 0)
        )
        return Fraction(64 * 2.0**-53 * self.model.unit * size + 1e-300)

    def remedy(self, index: int) -> Fraction | None:
        """Return the tightest limit of one constraint that can be met beside the others; None where there is none."""
        others = list(self.limits)
        others[index] = None
        return self.solved(others, index).value

    # ------------------------------------------------------------ in double precision

    @cached_property
    def approximate(self) -> tuple[float | None, np.ndarray, float]:
        """The optimum by HiGHS (None where it sees none), the multipliers, and how far to trust the first."""
        return highs(self.model, self.model.limit)


def highs(model: Model, limit: np.ndarray) -> tuple[float | None, np.ndarray, float]:
    """Solve the linear program over occupancies that sum to 1, of utilities that span 1."""
    span = np.where(model.span > 0, model.span, 1.0)
    inside = model.utility[:, model.actions]
    low = inside.min(1)
    scaled = (inside - low[:, None]) / span[:, None]
    kept = np.flatnonzero(np.isfinite(limit) & (model.span[1:] > 0))
    bound = (limit * (1 - model.discount) - low[1:]) / span[1:]
    constant = np.flatnonzero(model.span[1:] == 0)
    size = np.abs(inside).max(1) / span  # what is lost where a utility hardly varies
    trust = 1e-9 + 2**-50 * (model.unit + size.max()) + (1e-8 if model.discount > 0.999 else 0.0)
    prices = np.zeros(len(limit))
    if (bound[constant] > 4 * trust * size[1:][constant]).any():
        return None, prices, trust
    states = np.arange(len(model.start))[:, None]
    stay = (states == np.argwhere(model.actions)[:, 0]).astype(float)
    result = linprog(
        -scaled[0],
        A_ub=-scaled[1:][kept] if len(kept) else None,
        b_ub=-np.clip(bound[kept], -10, 10) if len(kept) else None,
        A_eq=stay - model.discount * model.kernel[model.actions].T,
        b_eq=model.start * (1 - model.discount),
        method="highs",
        options=OPTIONS,
    )
    if result.status != 0:
        return None, prices, trust if result.status == 2 else np.inf
    if len(kept):
        prices[kept] = np.maximum(-result.ineqlin.marginals, 0.0) * span[0] / span[1 + kept]
    value = (-result.fun * span[0] + low[0]) * model.unit
    return (
        float(value),
        prices,
        trust * float(span[0]) * model.unit * (1 + float((prices * span[1:]).sum()) / span[0]),
    )
