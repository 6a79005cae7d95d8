"""Pricing on a model given as functions: the best policy for weights of the utilities, and the values of a policy.

Rounds of three steps, until the bounds meet: an even sweep of the Bellman equation, which proves bounds and improves the policy; another one
in the order of the states if many of them changed their action, so that an improvement spreads at once; and sweeps of the policy alone,
which cost as much as one action. The values are those of the last policy under every utility, so that a new weight starts warm.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from painless.common.arrays import Array
from painless.engines.sweeps.function_krylov import Krylov
from painless.engines.sweeps.function_sweeps import FunctionSweeps, Swept
from painless.problem.function_model import FunctionModel

SWEPT = 8  # sweeps of the policy in a row
LONG = 60  # sweeps; where more of them are expected, Krylov's method is tried
FEW_STEPS, STEPS = 20, 60  # of that method for a policy that is improved next, and for one that stays
INEXACT = 0.05  # residual of a policy's values, relative to the range of the last improvement
MANY = 0.01  # share of the states that change their action from which a second improvement pays
LONGEST = 10_000  # rounds; who needs more is at the limits of rounding
IDLE = 4  # rounds in a row that leave more than `IDLE_SHARE`, near the limits of rounding
IDLE_SHARE = 0.9


class FunctionPricer:
    """Prices one weight vector after another, each from where the last one ended."""

    def __init__(self, problem: FunctionModel, tick: Callable[[], None]) -> None:
        self.sweeps = FunctionSweeps(problem, tick)
        self._krylov = Krylov(self.sweeps)

    def price(self, weight: Array, tolerance: float) -> float:
        """Find a policy within `tolerance` of the best for `weight` (J,), which sums to 1; return the bound on every policy."""
        sweeps = self.sweeps
        bound, last, idle = np.inf, np.inf, 0
        for _ in range(LONGEST):
            swept = sweeps.improve(weight, even=True)
            size = float(weight @ sweeps.sizes) + abs(swept.most)
            rounding = float(sweeps.rounding(size))
            bound = min(bound, swept.weighted + sweeps.tail * swept.most + rounding)
            range_ = swept.most - swept.least
            width, goal = sweeps.tail * range_, max(tolerance, 4 * rounding)
            sweeps.extrapolate(swept)
            idle = idle + 1 if width > IDLE_SHARE * last and width < 64 * rounding else 0
            if width <= goal or idle > IDLE:
                break
            last = width
            if swept.changed > MANY * sweeps.states:
                sweeps.improve(weight, even=False)
            needed = max(INEXACT * range_, 0.3 * goal / sweeps.tail)
            self._approach(needed, weight, FEW_STEPS)
        return float(bound)

    def evaluate(self, precision: float) -> tuple[Array, Array]:
        """Return the values of the current policy at ρ, (J,), and their errors, at most `precision` but for rounding.

        They are less exact if `tick` raises TimeoutError on the way.
        """
        last, idle = np.inf, 0
        try:
            while True:
                value, error, rounding = self._proved(self.sweeps.follow(even=True))
                worst = float(error.max())
                idle = idle + 1 if worst > IDLE_SHARE * last and worst < 64 * rounding else 0
                if worst <= max(precision, 2 * rounding) or idle > IDLE:
                    return value, error
                last = worst
                needed = 1.8 * max(precision - rounding, rounding) / self.sweeps.tail
                self._approach(needed, None, STEPS)
        except TimeoutError:
            tick, self.sweeps.tick = self.sweeps.tick, lambda: None
            value, error, _ = self._proved(self.sweeps.follow(even=True))
            self.sweeps.tick = tick
            return value, error

    def _approach(self, needed: float, weight: Array | None, steps: int) -> None:
        """Sweep the policy until its residuals have about the width that is needed; if sweeps are slow, take Krylov's steps.

        The width is that of the weighted residual, or the largest of all utilities.
        """

        def width(widths: Array) -> float:
            return float(widths.max() if weight is None else weight @ widths)

        found = self._swept(SWEPT, width, needed)
        if found[-1] <= needed:
            return
        rate = min((found[-1] / found[1]) ** (1 / (len(found) - 2)), 0.999)
        expected = np.log(needed / found[-1]) / np.log(rate)
        if expected > LONG and self._krylov.improve(lambda widths: width(widths) <= needed, steps):
            return
        self._swept(int(min(expected, LONG)), width, needed)

    def _swept(self, count: int, width: Callable[[Array], float], needed: float) -> list[float]:
        """Sweep the policy at most so many times, until the width is the one that is needed; return the widths."""
        found = []
        for _ in range(count):
            swept = self.sweeps.follow(even=False)
            found.append(width(swept.high - swept.low))
            if found[-1] <= needed:
                break
        return found

    def _proved(self, swept: Swept) -> tuple[Array, Array, float]:
        """Return the values at ρ, in the middle of their bounds, with their errors, (J,) each, and what of these is rounding."""
        self.sweeps.extrapolate(swept)
        rounding = self.sweeps.rounding(self.sweeps.sizes + np.abs(swept.high))
        error = 0.5 * self.sweeps.tail * (swept.high - swept.low) + rounding
        middle = swept.value + 0.5 * self.sweeps.tail * (swept.low + swept.high)
        return middle, error, float(rounding.max())
