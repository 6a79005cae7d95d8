"""The Markov chain of one policy, solved by sweeps of two kinds, whichever the chain likes better.

    V = u + γPV for all utilities at once,          d = ρ + γdP

- Even sweeps (Jacobi): the range of the residual shrinks as fast as the chain mixes, whatever γ; the constant that
  is left is known at the end.
- Sweeps along the flow (Gauss–Seidel): states are visited so that the most probable successor comes first, where
  there is no cycle. One sweep then carries a value along a whole path, and the error shrinks with what
  slips off the path, not with γ. The occupancy is pushed along the same order from its end.

The errors are proved (MacQueen 1966), with r = u + γPV − V and e = ρ + γdP − d:

    V + min r/(1−γ) ≤ V_π ≤ V + max r/(1−γ),           ‖d − d_π‖₁ ≤ ‖e‖₁/(1−γ)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from painless.arrays import Array
from painless.planners import _sweep_kernels as kernels
from painless.planners.sparse_rows import Indices, SparseRows
from painless.planners.two_threads import TwoThreads

EPSILON = float(np.finfo(np.float64).eps)
BURST = 6  # sweeps between two looks at the error, at most
SLUGGISH = 0.8  # an error that shrinks by less in a sweep makes the other kind worth a try
STRETCH = 12  # sweeps of one kind before the other is tried, doubled with every turn


class Chain(NamedTuple):
    """The rows of one policy, in the order of the sweeps."""

    order: Indices  # (S,)
    start: Indices  # (S,)
    stop: Indices  # (S,)
    target: Indices  # (nnz,)
    weight: Array  # (nnz,) γp without self-loops
    stay: Array  # (S,) γp of the self-loop
    gain: Array  # (S, J) u_π


def chain_of(rows: SparseRows, discount: float, choices: Indices, shares: Array | None = None) -> Chain:
    """Return the chain of the policy that takes pair choices[n, s] with probability shares[n, s]."""
    choices = np.atleast_2d(choices)
    shares = np.ones(choices.shape) if shares is None else shares
    likely = choices[shares.argmax(0), np.arange(choices.shape[1])] if len(choices) > 1 else choices[0]
    order = kernels.flow_order(rows.pointer, rows.successor, rows.probability, likely)
    start = kernels.chain_sizes(rows.pointer, order, choices, shares)
    target, weight = np.empty(start[-1], np.uint32), np.empty(start[-1])
    stay, gain = np.empty(len(order)), np.empty((len(order), len(rows.utility)))
    stop = kernels.chain_rows(
        *(rows.pointer, rows.successor, rows.probability, rows.utility, discount, order, choices, shares),
        *(start, target, weight, stay, gain),
    )
    return Chain(order, start[:-1], stop, target, weight, stay, gain)


class Values:
    """The values of one policy after another, each solved from where the last one ended.

    It remembers which kind of sweep served best.
    """

    def __init__(
        self, value: Array, discount: float, tick: Callable[[int], None], threads: TwoThreads | None = None
    ) -> None:
        self.threads = threads or TwoThreads()
        self.value, self.discount, self.tick = value, discount, tick  # (S, J)
        self.along_flow = False
        self._spare = np.empty_like(value)
        self._low, self._high = np.empty(value.shape[1]), np.empty(value.shape[1])

    def solve(self, chain: Chain, tolerance: float) -> Array:
        """Bring the values to within `tolerance` of V_π; return the error that is proved, (J,)."""
        width, rate, turns = self._sweep(chain, 1), 0.0, 0
        done, entered = 1, width  # sweeps of this kind, and the width when they began
        while True:
            rounding = 8 * EPSILON * float(np.abs(self.value).max()) / (1 - self.discount)
            goal = 2 * (1 - self.discount) * max(tolerance, rounding)
            if width <= goal or (rate > 0.9 and width <= 16 * (1 - self.discount) * rounding):
                self._centre()
                return (self._high - self._low) / (2 * (1 - self.discount)) + rounding
            count = BURST if rate == 0.0 else int(np.clip(np.log(goal / width) / np.log(rate), 1, BURST))
            before, width = width, self._sweep(chain, count)
            rate = min((width / before) ** (1 / count), 0.999999)
            done += count
            if done > STRETCH << turns and width > entered * SLUGGISH**done and rate > SLUGGISH:
                self._turn()
                turns += 1
                if turns % 4 == 0:
                    self._krylov(chain, tolerance)
                done, entered, rate = 1, self._sweep(chain, 1), 0.0
                width = entered

    def _turn(self) -> None:
        if not self.along_flow:
            self._centre()
        self.along_flow = not self.along_flow

    def _sweep(self, chain: Chain, count: int) -> float:
        """Sweep, and return how wide the residual's range is at most."""
        for _ in range(count):
            if self.along_flow:
                kernels.flow_sweep(*chain, self.value, self._low, self._high)
            else:
                self._even_sweep(chain)
                self.value, self._spare = self._spare, self.value
        self.tick(count)
        self._low, self._high = self.discount * self._low, self.discount * self._high
        return float((self._high - self._low).max())

    def _even_sweep(self, chain: Chain) -> None:
        def part(start: int, stop: int) -> tuple[Array, Array]:
            low, high = np.empty_like(self._low), np.empty_like(self._high)
            kernels.even_sweep(*chain, self.value, low, high, self._spare, start, stop)
            return low, high

        parts = np.array(self.threads.share(part, len(chain.order)))  # (parts, 2, J)
        self._low, self._high = parts[:, 0].min(0), parts[:, 1].max(0)

    def _centre(self) -> None:
        """Move V to the middle of what is proved."""
        self.value += (self._low + self._high) / (2 * (1 - self.discount))

    def _krylov(self, chain: Chain, tolerance: float) -> None:
        """Improve V by GMRES, preconditioned by a sweep; keep it where that leaves less to do."""
        from scipy.sparse.linalg import LinearOperator, gmres

        low, high = np.empty(1), np.empty(1)
        silent = chain._replace(gain=np.zeros((len(chain.order), 1)))

        def remainder(part: Chain, x: Array) -> Array:
            swept = np.array(x, order="C").reshape(-1, 1)
            kernels.flow_sweep(*part, swept, low, high)
            self.tick(1)
            return swept[:, 0] - x.ravel()

        size = len(chain.order)
        operator = LinearOperator((size, size), matvec=lambda x: -remainder(silent, x), dtype=np.float64)
        for j in range(self.value.shape[1]):
            single = chain._replace(gain=np.ascontiguousarray(chain.gain[:, j : j + 1]))
            right = remainder(single, self.value[:, j])
            step, _ = gmres(
                operator, right, rtol=1e-9, atol=tolerance * (1 - self.discount), restart=20, maxiter=5
            )
            after = remainder(single, self.value[:, j] + step)
            if np.abs(after).max() < np.abs(right).max():
                self.value[:, j] += step


def occupancy(
    chain: Chain,
    discount: float,
    initial: Array,
    tolerance: float,
    tick: Callable[[int], None],
    start: Array | None = None,
    *,
    along_flow: bool = True,
) -> Array:
    """Return ρ(I − γP)⁻¹, (S,), to within `tolerance` of its sum 1/(1−γ)."""
    held = np.zeros(len(initial)) if start is None else start.copy()
    rest, spare = initial.copy(), np.empty_like(initial)
    if start is not None:
        kernels.occupancy_rest(*chain[:-1], held, rest)
    while True:
        if along_flow:
            kernels.occupancy_sweep(*chain[:-1], rest, held)
        else:
            kernels.even_occupancy_sweep(*chain[:-1], rest, held, spare)
            rest, spare = _extrapolated(held, rest, spare, discount), rest
        tick(1)
        if np.abs(rest).sum() <= max(tolerance, 64 * EPSILON):
            return np.maximum(held, 0.0)


def _extrapolated(held: Array, rest: Array, passed: Array, discount: float) -> Array:
    """Return what is left after all that would follow if γP only scaled the residual, where that is less.

    Adding Σ_n γⁿ·rest = rest/(1−γ) in place of rest leaves (passed − γ·rest)/(1−γ). Once the chain has mixed this is
    next to nothing, and it sums to 0, so that it shrinks as fast as the chain mixes.
    """
    left: Array = (passed - discount * rest) / (1 - discount)
    if np.abs(left).sum() >= np.abs(passed).sum():
        return passed
    held += discount / (1 - discount) * rest
    return left
