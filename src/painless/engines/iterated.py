"""Large sparse chains without a discount: (I − P)⁻¹ by sweeps, and by factors where sweeps are slow and factors stay sparse.

Sweeps (see `component_sweeps`) are fast if the chain goes somewhere, or mixes fast. A chain that wanders about on a line or a grid does neither, but its
factors are small; where successors lie anywhere they fill the matrix. The bandwidth after Cuthill and McKee's ordering tells which of both it
is. Whoever uses the answers checks them, so that no error bound is needed here.

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

from painless.bellman import FiniteResolvent, Resolvent, resolvent
from painless.common.arrays import Array
from painless.engines.sweeps.chain import Chain, bandwidth
from painless.engines.sweeps.component_sweeps import SweptInverse
from painless.engines.sweeps.multilevel import Multilevel, width_of
from painless.engines.sweeps.recent_answers import RecentAnswers
from painless.problem import Transition

FACTORISED = 500  # states up to which factors always serve
QUICK = 1e10  # states times the square of the bandwidth up to which they are faster than sweeps
QUICK_STATES = 50_000  # states up to which that is tried
WIDEST = 0.3  # of the states; a chain with a larger bandwidth leads anywhere, so that it mixes fast
WORK = 1e11  # up to which they serve at all
PRECISE = 1e-13  # relative residual of an iteration
RESTART, CYCLES = 40, 50  # steps of a cycle of GMRES, and cycles
LEAVING = 1e-7  # ε of the system that is solved on several levels
REFINED, SHARE = 40, 1e-3  # times that what is left is solved again, and how much of it each time leaves
ENOUGH = 1e-10  # what is left of an answer that counts as precise
SWEEPS, CHECKED, SLOW = 600, 20, 0.3  # sweeps at most; every 20 of them must leave less than this share


def fills(chain: Transition, work: float = WORK, widest: float = 1.0) -> bool:
    """Whether the factors of I − P would fill a large matrix, so that they take more than some work, or its bandwidth is a large share of the states."""
    if isinstance(chain, np.ndarray) or chain.shape[0] <= FACTORISED:
        return False
    states, width = chain.shape[0], bandwidth(chain)
    return states * float(width) ** 2 > work or width > widest * states


class Inverses:
    """Makes (I − γP)⁻¹ of one chain (S, S) after another, each of which leaves its states sooner or later.

    Arguments:
        tick: called between sweeps; it may raise.
    """

    def __init__(self, tick: Callable[[], None] = lambda: None) -> None:
        self._tick, self._recent = tick, RecentAnswers()
        self._quick = QUICK_STATES
        self.error = 0.0  # what answers for large chains may be off; 0 for next to nothing

    def __call__(self, chain: Transition, discount: float) -> Resolvent:
        """Return the inverse of a chain."""
        if discount < 1 or isinstance(chain, np.ndarray) or chain.shape[0] <= FACTORISED:
            return resolvent(chain, discount)
        if chain.shape[0] <= self._quick:
            if not fills(chain, QUICK, WIDEST):
                return resolvent(chain, discount)
            self._quick = 0  # neither would others like it
        swept = SweptInverse(chain, self._tick, self._recent, self.error)
        return FiniteResolvent(SweptOrFactorised(chain, swept))


class SweptOrFactorised:
    """(I − P)⁻¹ by sweeps, and once these do not suffice by factors, unless they fill the matrix."""

    def __init__(self, chain: Any, swept: SweptInverse) -> None:
        self._chain, self._swept = chain, swept

    def state_value(self, utility: Array) -> Array:
        """Return (I − P)⁻¹ u for each row u of `utility`, (n, S)."""
        return self._solved(lambda inverse: inverse.state_value(utility))

    def state_occupancy(self, initial: Array) -> Array:
        """Return ρ (I − P)⁻¹, (S,)."""
        return self._solved(lambda inverse: inverse.state_occupancy(initial))

    def _solved(self, solve: Callable[[Resolvent], Array]) -> Array:
        if self._swept.settled:
            found = solve(self._swept)
            if self._swept.settled or self._factors is None:
                return found
        return solve(self._swept if self._factors is None else self._factors)

    @cached_property
    def _factors(self) -> Resolvent | None:
        return None if fills(self._chain) else resolvent(self._chain, 1.0)


class OneClass:
    """The gain, the bias and the long-run shares of a chain (S, S) with one recurrent class.

    Sweeps z ← u + Pz are the fastest way if it mixes fast. Others are solved on several levels (see `multilevel`), of the system I − (1−ε)P, which is far
    from singular but for constants; what that leaves is solved again. GMRES without levels does the rest.
    """

    def __init__(self, chain: Any, tick: Callable[[], None] = lambda: None) -> None:
        self.chain, self._tick = chain, tick
        self.is_precise = True  # whether all answers are

    @cached_property
    def _turned(self) -> Any:
        return scipy.sparse.csr_array(self.chain.T)

    @cached_property
    def _levels(self) -> Multilevel:
        matrix = scipy.sparse.csr_array(self.chain)
        stay = matrix.diagonal()
        others = matrix - scipy.sparse.diags_array(stay, format="csr")
        others.eliminate_zeros()
        pointer = others.indptr.astype(np.uint32)
        parts = (pointer[:-1], pointer[1:], others.indices.astype(np.uint32), (1 - LEAVING) * others.data)
        return Multilevel.of(
            Chain(*parts, (1 - LEAVING) * stay, np.empty((len(stay), 0))), lambda _: self._tick()
        )

    def gain_and_bias(self, utility: Array) -> tuple[Array, Array]:
        """Return the gain (n,) and the bias (n, S) of each row of utilities (n, S)."""
        found = self._swept(utility)
        if found is not None:
            return found
        bias = np.array([self._levelled(row) for row in utility])
        rest = utility + (self.chain @ bias.T).T - bias
        return 0.5 * (rest.min(1) + rest.max(1)), bias

    def _levelled(self, utility: Array) -> Array:
        """Return a bias (S,) of one utility (S,)."""
        bias, rest, last = np.zeros(len(utility)), utility, np.inf
        size = float(np.abs(utility).max())
        for _ in range(REFINED):
            width = width_of(rest)
            if width <= PRECISE * (size + float(np.abs(bias).max())):
                return bias
            if not width < 0.5 * last:
                break
            step, last = np.zeros(len(utility)), width
            self._levels.improve(rest - 0.5 * (rest.min() + rest.max()), step, width_of, SHARE * width)
            bias = bias + step - step.mean()
            rest = utility + self.chain @ bias - bias
        if width_of(rest) > ENOUGH * (size + float(np.abs(bias).max())):
            self.is_precise = False
            system = self._operator(self.chain, lambda z: z.mean())
            other = _solved(system, utility, self._tick)
            if width_of(utility + self.chain @ other - other) < width_of(rest):
                return other - other.mean()
        return bias

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
                self._tick()
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
                self._tick()
                if off > SLOW * last:
                    break
                last = off
        return self._levelled_shares(found)

    def _levelled_shares(self, found: Array) -> Array:
        """Return the shares (S,), from some that are nearly right."""
        states, last = len(found), np.inf
        levels = self._levels.transposed()
        for _ in range(REFINED):
            rest = self._turned @ found - found
            off = float(np.abs(rest).sum())
            if off <= PRECISE or not off < 0.5 * last:
                break
            step, last = np.zeros(states), off
            levels.improve(rest, step, lambda left: float(np.abs(left).sum()), SHARE * off)
            found = found + step
            found /= found.sum()
        if off > ENOUGH:
            self.is_precise = False
            system = self._operator(self._turned, lambda x: x.sum() / states)
            return _solved(system, np.full(states, 1 / states), self._tick)
        return found

    def _operator(self, matrix: Any, added: Callable[[Array], Any]) -> Any:
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator(self.chain.shape, matvec=lambda x: x - matrix @ x + added(x), dtype=np.float64)


def _solved(system: Any, right: Array, tick: Callable[[], None]) -> Array:
    from scipy.sparse.linalg import gmres

    if not right.any():
        return np.zeros(len(right))
    found, _ = gmres(
        *(system, right),
        rtol=PRECISE,
        restart=RESTART,
        maxiter=CYCLES,
        callback=lambda _: tick(),
        callback_type="pr_norm",
    )
    return np.asarray(found)
