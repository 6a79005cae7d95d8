"""The values of one policy of a model given as functions by BiCGSTAB (van der Vorst 1992), for all utilities at once.

    (I − γP) V = u

Where a policy leads to many places that it does not leave, each of them keeps an error of its own, which sweeps shrink by γ alone. The system has the same eigenvalue
1 − γ for all of these, and Krylov's methods need one step for it. A product with P is one sweep; every utility has steps of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.engines.sweeps.function_sweeps import FunctionSweeps

TINY = 1e-300


class Krylov:
    """Solves for the values of the current policy; its vectors are made on first use and kept."""

    def __init__(self, sweeps: FunctionSweeps) -> None:
        self.sweeps, self.call = sweeps, sweeps.blocks.call

    def improve(self, enough: Callable[[Array], bool], steps: int) -> bool:
        """Bring the values closer to those of the policy until the widths of the residuals, (J,), are enough; return whether they are.

        There are at most so many steps, of two sweeps each.
        """
        rho = self._summed(self.call("begin", reads="value"))
        self._swept()
        before = alpha = omega = np.ones(self.sweeps.utilities)
        for _ in range(steps):
            beta = _ratio(rho, before) * _ratio(alpha, omega)
            self.call("turn", beta, omega, lends="along")
            (moved,) = self._apply("along", "moved", "shadow")
            alpha = _ratio(rho, moved)
            self._step(alpha, "along", "moved", lends="residual")
            turned, square = self._apply("residual", "spare", "residual", "spare")
            omega = _ratio(turned, square)
            before, (widths, rho) = rho, self._step(omega, "residual", "spare")
            if not np.isfinite(widths).all():
                return False
            if enough(widths):
                return True
        return False

    def _apply(self, source: str, target: str, *others: str) -> Array:
        """Write y = (I − γP)x to another vector; return the products of y with others, (n, J)."""
        found = self.call("apply", source, target, *others, reads=source)
        self._swept()
        return self._summed(found)

    def _step(self, size: Array, along: str, product: str, lends: str = "") -> tuple[Array, Array]:
        """V += size·along and r −= size·product, where product is that of `along`; return the width of r, and its product with its shadow, (J,) each."""
        found = self.call("step", size, along, product, lends=lends)
        low, high, dots = (np.array(side) for side in zip(*found, strict=True))
        return high.max(0) - low.min(0), self._summed(dots)

    def _swept(self) -> None:
        self.sweeps.swept(1 / self.sweeps.actions)

    @staticmethod
    def _summed(pieces: Any) -> Array:
        return np.asarray(np.sum(pieces, 0))


def _ratio(one: Array, other: Array) -> Array:
    """Return one/other, (J,), and 0 for a utility that is done."""
    found = np.zeros(len(one))
    np.divide(one, other, out=found, where=np.abs(other) > TINY)
    return found
