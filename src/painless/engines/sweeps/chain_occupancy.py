"""The occupancy d = ρ + γdP of a policy's chain, by sweeps that push what is left over along.

- Along the flow: each state in turn passes its residual on, from the end of the order in which values are swept (see `chain`).
- Evenly: all states at once, and what would follow if the residual kept its shape is added at once.

If neither is fast, a narrow chain is solved by elimination, and others on several levels (see `multilevel`).

With a discount the error is proved, with e = ρ + γdP − d:

    ‖d − d_π‖₁ ≤ ‖e‖₁/(1−γ)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from painless.common.arrays import Array
from painless.engines.sweeps import _chain_kernels as kernels
from painless.engines.sweeps.chain import Chain, flow_order
from painless.engines.sweeps.chain_values import EPSILON
from painless.engines.sweeps.elimination import SMALL, eliminate
from painless.engines.sweeps.elimination_order import EliminationOrder
from painless.engines.sweeps.multilevel import Multilevel
from painless.engines.sweeps.sparse_rows import Indices
from painless.engines.sweeps.state_threads import StateThreads

LONG = 60  # sweeps after which another way is worth a try


def chain_occupancy(
    chain: Chain,
    discount: float,
    initial: Array,
    tolerance: float,
    tick: Callable[[int], None],
    start: Array | None = None,
    *,
    along_flow: bool = True,
    on_levels: bool = False,
    threads: StateThreads | None = None,
    elimination: EliminationOrder | None = None,
) -> Array:
    """Return ρ(I − γP)⁻¹, (S,), to within `tolerance` of its sum 1/(1−γ), from `start` on.

    With `on_levels` it is known that sweeps are slow and that the chain fills in much; if an order of `elimination` is known, that it fills in little.
    """
    if elimination is not None and elimination.is_known:
        known = elimination.solve(chain, initial, transposed=True)
        assert known is not None
        return np.maximum(known, 0.0, out=known)
    pushed = Pushed(chain, discount, initial, start, threads or StateThreads())
    sweeps = LONG if on_levels or len(initial) <= SMALL else 0
    while True:
        if sweeps == LONG:
            direct = None if on_levels else eliminate(chain, initial, transposed=True, order=elimination)
            if direct is not None:
                return np.maximum(direct, 0.0)
            levels = Multilevel.of(chain, tick).transposed()
            if levels.improve(initial, pushed.held, _sum_of, tolerance) <= tolerance:
                return np.maximum(pushed.held, 0.0)
            pushed = Pushed(chain, discount, initial, pushed.held, pushed.threads)
        left = pushed.along_flow() if along_flow else pushed.evenly()
        sweeps += 1
        tick(1)
        if left <= max(tolerance, 64 * EPSILON):
            return np.maximum(pushed.held, 0.0)


def _sum_of(residual: Array) -> float:
    return float(np.abs(residual).sum())


def _share(passed: float, rest: float) -> float:
    """Return the share of what is left that goes on; 0 if signs cancel."""
    return passed / rest if 0 < passed < rest or rest < passed < 0 else 0.0


class Pushed:
    """What of the occupancy is `held`, and the `rest` that is still to be pushed along: d_π = held + rest(I − γP)⁻¹."""

    def __init__(
        self, chain: Chain, discount: float, initial: Array, start: Array | None, threads: StateThreads
    ) -> None:
        self.chain, self.discount, self.threads = chain, discount, threads
        self._order: Indices | None = None
        self._received = np.empty((2 if threads.several(len(initial)) else 1, len(initial)))  # by each thread
        self.held = np.zeros(len(initial)) if start is None else start.copy()
        self.rest = initial.copy()
        if start is not None:
            self._pass_on(start)
            self.rest += self._received.sum(0) - start
        self._spare = np.empty_like(self.rest)

    def along_flow(self) -> float:
        """Push in order of the flow; return ‖rest‖₁."""
        if self._order is None:
            self._order = flow_order(self.chain, self.threads)
        kernels.occupancy_sweep(*self.chain[:-1], self._order, self.rest, self.held)
        return float(np.abs(self.rest).sum())

    def evenly(self) -> float:
        """Push from all states at once; return ‖rest‖₁.

        Adding Σ_n γⁿ·rest = rest/(1−γ) in place of rest leaves (γ·rest·P − γ·rest)/(1−γ). Once the chain has mixed this is
        next to nothing, and it sums to 0, so that it shrinks as fast as the chain mixes. It is done where it leaves less. Without a discount,
        the share of the rest that goes on takes its place.
        """
        self._pass_on(self.rest)
        passed = self._received[0]
        for other in self._received[1:]:
            passed += other
        share = self.discount if self.discount < 1 else _share(float(passed.sum()), float(self.rest.sum()))
        np.multiply(self.rest, -share, out=self._spare)
        self._spare += passed
        self._spare *= 1 / (1 - share)
        plain, extrapolated = float(np.abs(passed).sum()), float(np.abs(self._spare).sum())
        if extrapolated < plain:
            self.rest /= 1 - share
            self.held += self.rest
            self.rest, self._spare = self._spare, self.rest
            return extrapolated
        self.held += self.rest
        self.rest[:] = passed
        return plain

    def _pass_on(self, moved: Array) -> None:
        """Write γdP for d = `moved`; each thread has what it passes on for itself."""

        def part(begin: int, end: int) -> None:
            received = self._received[0 if begin == 0 else 1]
            received.fill(0.0)
            kernels.pass_on(*self.chain[:-1], moved, received, begin, end)

        self.threads.share(part, len(moved))
