"""Large sparse chains: (I − P)⁻¹ by factors where they stay sparse, and otherwise by iteration (GMRES).

Factors of a chain on a line or a grid are small; where successors lie anywhere they fill the matrix, but such a chain mixes fast, and a few
dozen products with it suffice. The bandwidth after Cuthill and McKee's ordering tells which of both it is. Whoever uses the answers checks
them, so that no error bound is needed here.

A chain with one recurrent class has a system that is far from singular if it mixes fast. With any distribution w,

    (I − P + 1wᵀ) z = u    gives    z − Pz = u − g·1,    g = w·z:    the gain and a bias;       μ = wᵀ(I − P + 1wᵀ)⁻¹

(Schweitzer, 1968), where w is uniform here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from painless.bellman import Resolvent, resolvent
from painless.common.arrays import Array
from painless.problem import Transition

FACTORISED = 500  # states up to which factors always serve
WORK = 1e11  # states times the square of the bandwidth up to which they do on a larger chain
PRECISE = 1e-13  # relative residual of an iteration
RESTART, CYCLES = 40, 50  # steps of a cycle of GMRES, and cycles
SWEEPS, CHECKED, SLOW = 600, 20, 0.3  # sweeps at most; every 20 of them must leave less than this share


def fills(chain: Transition) -> bool:
    """Whether the factors of I − P would fill a large matrix."""
    if isinstance(chain, np.ndarray) or chain.shape[0] <= FACTORISED:
        return False
    pattern = scipy.sparse.csr_array(chain)
    order = scipy.sparse.csgraph.reverse_cuthill_mckee(pattern, symmetric_mode=False)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    rows = np.repeat(np.arange(len(order)), np.diff(pattern.indptr))
    width = int(np.abs(place[rows] - place[pattern.indices]).max(initial=0))
    return len(order) * float(width) ** 2 > WORK


def inverse_of(chain: Transition, discount: float) -> Resolvent:
    """Return (I − γP)⁻¹, of a chain (S, S) that leaves its states sooner or later."""
    return IteratedInverse(chain, discount) if fills(chain) else resolvent(chain, discount)


class IteratedInverse:
    """(I − γP)⁻¹ by GMRES."""

    def __init__(self, chain: Any, discount: float) -> None:
        identity = scipy.sparse.eye_array(chain.shape[0], format="csr")
        self._system = scipy.sparse.csr_array(identity - discount * chain)

    @cached_property
    def _turned(self) -> Any:
        return scipy.sparse.csr_array(self._system.T)

    def state_value(self, utility: Array) -> Array:
        """Return (I − γP)⁻¹ u for each row u of `utility`, (n, S)."""
        return np.array([_solved(self._system, row) for row in utility])

    def state_occupancy(self, initial: Array) -> Array:
        """Return ρ (I − γP)⁻¹, (S,)."""
        return _solved(self._turned, initial)


class OneClass:
    """The gain, the bias and the long-run shares of a chain (S, S) with one recurrent class.

    Sweeps z ← u + Pz are the fastest way if it mixes fast; GMRES does the rest.
    """

    def __init__(self, chain: Any) -> None:
        self.chain = chain

    @cached_property
    def _turned(self) -> Any:
        return scipy.sparse.csr_array(self.chain.T)

    def gain_and_bias(self, utility: Array) -> tuple[Array, Array]:
        """Return the gain (n,) and the bias (n, S) of each row of utilities (n, S)."""
        found = self._swept(utility)
        if found is not None:
            return found
        system = self._operator(self.chain, lambda z: z.mean())
        bias = np.array([_solved(system, row) for row in utility])
        return bias.mean(1), bias

    def _swept(self, utility: Array) -> tuple[Array, Array] | None:
        """Sweep until the gain is known to full precision; None if that takes long."""
        bias = np.zeros_like(utility)
        size, last = np.abs(utility).max(), np.inf
        for sweep in range(SWEEPS):
            rest = utility + (self.chain @ bias.T).T - bias
            low, high = rest.min(1), rest.max(1)
            width = float((high - low).max())
            if width <= PRECISE * (size + np.abs(bias).max()):
                return 0.5 * (low + high), bias
            if sweep % CHECKED == 0:
                if width > SLOW * last:
                    return None
                last = width
            bias += rest - (0.5 * (low + high))[:, None]
        return None

    def shares(self) -> Array:
        """Return the share of time in each state, (S,)."""
        states = self.chain.shape[0]
        found, last = np.full(states, 1 / states), np.inf
        for sweep in range(SWEEPS):
            after = self._turned @ found
            off = float(np.abs(after - found).sum())
            found = after / after.sum()
            if off <= PRECISE:
                return found
            if sweep % CHECKED == 0:
                if off > SLOW * last:
                    break
                last = off
        system = self._operator(self._turned, lambda x: x.sum() / states)
        return _solved(system, np.full(states, 1 / states))

    def _operator(self, matrix: Any, added: Callable[[Array], Any]) -> Any:
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator(self.chain.shape, matvec=lambda x: x - matrix @ x + added(x), dtype=np.float64)


def _solved(system: Any, right: Array) -> Array:
    from scipy.sparse.linalg import gmres

    if not right.any():
        return np.zeros(len(right))
    return np.asarray(gmres(system, right, rtol=PRECISE, restart=RESTART, maxiter=CYCLES)[0])
