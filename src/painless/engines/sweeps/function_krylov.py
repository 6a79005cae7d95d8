"""The values of one policy of a model given as functions by BiCGSTAB (van der Vorst 1992), for all utilities at once.

    (I − γP) V = u

Where a policy leads to many places that it does not leave, each of them keeps an error of its own, which sweeps shrink by γ alone. The system has the same eigenvalue
1 − γ for all of these, and Krylov's methods need one step for it. A product with P is one sweep; every utility has steps of its own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from painless.common.arrays import Array
from painless.engines.sweeps import _vector_kernels as kernels
from painless.engines.sweeps.function_sweeps import FunctionSweeps

TINY = 1e-300


class Krylov:
    """Solves for the values of the current policy; its vectors are made on first use and kept."""

    def __init__(self, sweeps: FunctionSweeps) -> None:
        self.sweeps = sweeps
        self._vectors: list[Array] = []

    def improve(self, enough: Callable[[Array], bool], steps: int) -> bool:
        """Bring the values closer to those of the policy until the widths of the residuals, (J,), are enough; return whether they are.

        There are at most so many steps, of two sweeps each.
        """
        sweeps = self.sweeps
        if not self._vectors:
            self._vectors = [np.empty_like(sweeps.value) for _ in range(4)]
        residual, shadow, along, moved = self._vectors
        sweeps.residual(residual)
        shadow[:], along[:], moved[:] = residual, 0.0, 0.0
        columns = np.ones(sweeps.value.shape[1])
        rho, alpha, omega = columns, columns, columns
        for _ in range(steps):
            before, rho = rho, self._dot(shadow, residual)
            beta = _ratio(rho, before) * _ratio(alpha, omega)
            self._turn(beta, omega, along, residual, moved)
            sweeps.apply(along, moved)
            alpha = _ratio(rho, self._dot(shadow, moved))
            self._step(alpha, along, residual, moved)
            product = sweeps.apply(residual)
            omega = _ratio(self._dot(product, residual), self._dot(product, product))
            self._step(omega, residual, residual, product)
            low, high = sweeps.ends(residual)
            widths = high - low
            if not np.isfinite(widths).all():
                return False
            if enough(widths):
                return True
        return False

    def _turn(self, beta: Array, omega: Array, along: Array, residual: Array, moved: Array) -> None:
        """P = r + β(p − ωv)."""
        self.sweeps.share(lambda *part: kernels.turn(beta, omega, along, residual, moved, *part))

    def _step(self, size: Array, along: Array, residual: Array, product: Array) -> None:
        """V += size·along and r −= size·product, where product is that of `along`."""
        value = self.sweeps.value
        self.sweeps.share(lambda *part: kernels.step(size, along, product, value, residual, *part))

    def _dot(self, one: Array, other: Array) -> Array:
        def part(begin: int, end: int) -> Array:
            found = np.empty(one.shape[1])
            kernels.dot(one, other, found, begin, end)
            return found

        return np.sum(self.sweeps.share(part), 0)


def _ratio(one: Array, other: Array) -> Array:
    """Return one/other, (J,), and 0 for a utility that is done."""
    found = np.zeros(len(one))
    np.divide(one, other, out=found, where=np.abs(other) > TINY)
    return found
