"""The totals of a large sparse chain without a discount, by sweeps in the order in which it is left.

    V = u + P V,        d = ρ + d P

The strongly connected components of a chain form no cycle. They are solved one after the other, each after those that it leads to, so that a chain without
cycles takes one sweep. Inside a component the states are ordered along the flow, with the most probable successor first, and swept until
nothing changes (Gauss–Seidel). Between sweeps, combinations of answers for similar chains are taken out of the residual (see `recent_answers`). If that is
slow, GMRES goes on, preconditioned by a sweep: it finds what sweeps lose little by little, such as a constant that shrinks by the chance to
leave.

The time to leave, h = 1 + P h, tells how far an answer may be off: a residual r by max|r|·max h. A chain that hardly ever leaves has small residuals
and large errors; its answers do not count as `settled`. Nothing is proved here: whoever uses the answers checks them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy

from painless.common.arrays import Array
from painless.engines.sweeps import _component_kernels as kernels
from painless.engines.sweeps.chain import Chain, flow_order
from painless.engines.sweeps.recent_answers import RecentAnswers, Span
from painless.engines.sweeps.sparse_rows import Indices
from painless.engines.sweeps.state_threads import StateThreads

PRECISE = 2e-16  # the change of a sweep at which a component is done, relative to its largest value
NOISE = 8e-16  # a residual that is rounding, relative to the largest value
# The error of an answer that is settled, relative to its largest value; the latter if the residual is rounding
ENOUGH, LOOSEST = 1e-13, 1e-8
LONGEST = 1e8  # the expected time to leave beyond which residuals, being rounded, say nothing about errors
STEP = 0.3  # the residual of the time to leave
MIXED = 5  # sweeps in a row over a chain that mixes
MANY = 24  # sweeps in a row elsewhere, at first
WORK = 1500  # sweeps and steps of GMRES in all, at most
RESTART = 30  # steps of GMRES in a row
SLOW = 0.93  # by which a sweep shrinks a residual that is left to GMRES
FINEST, COARSEST = 1e-11, 0.1  # by which GMRES reduces a residual


class System(NamedTuple):
    """x = right + Mx, of values or of visits."""

    kind: str
    matrix: Any  # M without its diagonal, (S, S)
    # Improves a solution of a right-hand side, (S,) each, by some sweeps
    sweep: Callable[[Array, Array, int, float], None]


class SweptInverse:
    """(I − P)⁻¹ of a sparse chain (S, S) that leaves its states sooner or later.

    Arguments:
        tick: called between sweeps; it may raise.
        recent: answers to systems of similar chains.
        error: what an answer may be off; by default next to nothing.

    >>> chain = scipy.sparse.csr_array(np.array([[0.0, 0.5, 0.0], [0.5, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    >>> SweptInverse(chain).state_value(np.ones((1, 3))).round(9)
    array([[2., 2., 3.]])
    """

    def __init__(
        self,
        chain: Any,
        tick: Callable[[], None] = lambda: None,
        recent: RecentAnswers | None = None,
        error: float = 0.0,
    ) -> None:
        matrix = scipy.sparse.csr_array(chain)
        self._stay = matrix.diagonal()
        self._matrix = matrix - scipy.sparse.diags_array(self._stay, format="csr")  # without self-loops
        self._matrix.eliminate_zeros()
        pointer = self._matrix.indptr.astype(np.uint32)
        self._chain = Chain(
            *(pointer[:-1], pointer[1:], self._matrix.indices.astype(np.uint32), self._matrix.data),
            *(self._stay, np.empty((len(self._stay), 0))),
        )
        self._tick, self._error = tick, error
        self._recent = RecentAnswers() if recent is None else recent
        self._spans: dict[str, Span] = {}  # of recent answers, for each kind of system
        self._stale = False  # whether the order of the sweeps is that of another chain, and does not serve
        self.settled = True  # whether all answers are precise

    @cached_property
    def _along_flow(self) -> tuple[Indices, Indices]:
        """The states in the order of the sweeps, and where each component begins.

        SciPy numbers components so that each comes after those that it leads to; the order matters for speed alone.
        """
        label = scipy.sparse.csgraph.connected_components(self._matrix, connection="strong")[1]
        flow = flow_order(self._chain, StateThreads(len(label) + 1))
        order = flow[np.argsort(label[flow], kind="stable")]
        bounds = np.flatnonzero(np.diff(label[order], prepend=-1, append=-1))
        return order, bounds.astype(np.uint32)

    @property
    def _order(self) -> tuple[Indices, Indices]:
        """The order of the sweeps: that of the last chain, as long as it serves; that of the states' numbers if the chain mixes."""
        recent, states = self._recent, len(self._stay)
        if self._stale or recent.order is None or len(recent.order[0]) != states:
            natural = np.arange(states, dtype=np.uint32), np.array([0, states], dtype=np.uint32)
            recent.order = natural if recent.mixing else self._along_flow
            self._stale = False
        return recent.order

    @cached_property
    def _longest(self) -> float:
        """A bound on the expected time to leave; ∞ if it is not found."""
        time = self._solved(self._values, np.ones(len(self._stay)), STEP)
        return float(time.max()) / (1 - STEP) if time is not None and (time >= 0).all() else np.inf

    @cached_property
    def _values(self) -> System:
        return System("values", self._matrix, self._sweep_values)

    @cached_property
    def _visits(self) -> System:
        return System("visits", scipy.sparse.csr_array(self._matrix.T), self._sweep_visits)

    def state_value(self, utility: Array) -> Array:
        """Return (I − P)⁻¹ u for each row u of `utility`, (n, S); 0 if it is not `settled`."""
        return np.array([self._precise(self._values, row) for row in utility]).reshape(utility.shape)

    def state_occupancy(self, initial: Array) -> Array:
        """Return ρ (I − P)⁻¹, (S,); 0 if it is not `settled`."""
        return self._precise(self._visits, np.asarray(initial, dtype=np.float64))

    def _precise(self, system: System, right: Array) -> Array:
        found = self._solved(system, right) if self._longest <= LONGEST else None
        self.settled &= found is not None
        return np.zeros(len(right)) if found is None else found

    def _solved(self, system: System, right: Array, enough: float | None = None) -> Array | None:
        """Return a solution with a residual of at most `enough`, by default with an error of ENOUGH at most; None if it is not found."""
        kind, spent, count = (system.kind, len(right)), 0, MANY
        if system.kind not in self._spans:
            self._spans[system.kind] = self._recent.span(kind, lambda x: self._passed(system, x))
        span = self._spans[system.kind]
        found, rest = span.nearest(right)
        left, goal = self._left(rest, found, enough)
        while left > goal and spent < WORK:
            before, mixing = left, self._recent.mixing
            steps, count = (MIXED, count) if mixing else (count, 2 * count)
            system.sweep(right, found, steps, 0.5 * goal)
            step, rest = span.nearest(right + self._passed(system, found) - found)
            found += step
            left, goal = self._left(rest, found, enough)
            spent += steps
            if left > goal and left > SLOW**steps * before:  # False if it is not a number
                before = left
                found += self._correction(system, rest, 0.1 * goal / left)
                rest = right + self._passed(system, found) - found
                left, goal = self._left(rest, found, enough)
                spent += 2 * RESTART
                self._recent.mixing = left < SLOW ** (2 * RESTART) * before
            self._stale |= left > goal and not (mixing and self._recent.mixing)
        if not left <= goal:
            return None
        self._recent.add(kind, found)
        span.add(found, right - rest)
        return found

    def _left(self, rest: Array, found: Array, enough: float | None) -> tuple[float, float]:
        """Return the largest residual of a solution, (S,) each, and how large that may be."""
        left, size = (float(np.abs(part).max(initial=0.0)) for part in (rest, found))
        if enough is not None:
            return left, enough
        exact = size * max(ENOUGH / self._longest, min(NOISE, LOOSEST / self._longest))
        return left, max(exact, self._error / self._longest)

    def _passed(self, system: System, x: Array) -> Array:
        return np.asarray(system.matrix @ x) + self._stay * x

    def _sweep_values(self, gain: Array, value: Array, most: int, floor: float) -> None:
        """Sweep V = u + PV, (S,) each, in place, until residuals are at most `floor`."""
        self._tick()
        kernels.sweep_values(*self._chain[:-1], gain, *self._order, PRECISE, floor, most, value)

    def _sweep_visits(self, initial: Array, visits: Array, most: int, floor: float) -> None:
        """Sweep d = ρ + dP, (S,) each, in place, until residuals are at most `floor`."""
        self._tick()
        rest = initial + self._passed(self._visits, visits) - visits if visits.any() else initial.copy()
        kernels.sweep_visits(*self._chain[:-1], *self._order, PRECISE, floor, most, rest, visits)

    def _correction(self, system: System, rest: Array, reduced: float) -> Array:
        """Return a solution of y = rest + My, (S,), by GMRES, preconditioned by a sweep."""
        from scipy.sparse.linalg import LinearOperator, gmres

        def swept(x: Array) -> Array:
            y = np.zeros(len(x))
            system.sweep(x, y, 1, 0.0)
            return y

        def product(x: Array) -> Array:
            return swept(x.ravel() - self._passed(system, x.ravel()))

        aim = swept(rest)
        if not (np.isfinite(aim).all() and aim.any()):
            return np.zeros(len(rest))
        operator: Any = LinearOperator(system.matrix.shape, matvec=product, dtype=np.float64)
        reduced = min(max(reduced, FINEST), COARSEST)
        return np.asarray(gmres(operator, aim, rtol=reduced, restart=RESTART, maxiter=1)[0])
