"""Where to settle: a process on its way stops in an end component, which is worth the best gain of the component.

Each component is one state here, in which one may stop; so is each state that is in none. The pairs of components are gone, so that
every policy stops sooner or later, and

    v(c) = max( g_c, max P v ),      v(s) = max P v

is solved by policy iteration. No policy averages more than ρ·v for any v ≥ g with v ≥ Pv at every pair (v along the way is a
supermartingale, and it ends at the gain of the component where the process stays). A v that misses this by δ is raised
by δ·W, W ≥ 1 + PW, until the check passes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask
from painless.engines.chain_gains import STEPS
from painless.engines.components import EndComponents
from painless.engines.engine import UNIT_ROUNDOFF
from painless.engines.gain_iteration import Factorise
from painless.engines.pair_rows import PairRows, Places
from painless.problem import CMDP

ROUNDING = 1e-14  # relative to the largest value; a smaller improvement is none
ROUNDS = 1000
RAISES = 4  # attempts to prove a bound, each with ten times as much to spare


class Settled(NamedTuple):
    """The best way to a component."""

    stops: Mask  # (C,) whether to stay in each component that is reached
    pair: NDArray[np.intp]  # (S,) s·A + a that is taken on the way, or to leave a component; −1 elsewhere
    upper_bound: float  # of the expected gain of every policy, at ρ


class Settling:
    """The components of a model and the states between them."""

    def __init__(self, problem: CMDP, components: EndComponents, reached: Mask) -> None:
        actions = problem.shape[1]
        self.initial, self.count, self.actions = problem.initial, components.number, actions
        between = np.flatnonzero(reached & (components.label < 0))
        self.node = components.label.copy()  # (S,) −1 where the process never comes
        self.node[between] = self.count + np.arange(len(between))
        pairs = np.flatnonzero(problem.actions & reached[:, None] & ~components.pairs)
        nodes = self.count + len(between)
        place = np.append(np.arange(self.count), self.node[pairs // actions])
        order = np.argsort(place, kind="stable")  # in each component, stopping comes first
        self.pair = np.append(np.full(self.count, -1), pairs)[order]
        kernel = scipy.sparse.vstack(
            [scipy.sparse.csr_array((self.count, nodes)), self._between_nodes(problem, pairs, nodes)],
            format="csr",
        )[order]
        dense: Any = kernel.toarray() if nodes <= 500 else scipy.sparse.csr_array(kernel)
        self.rows = PairRows(dense, place[order], nodes)

    def _between_nodes(self, problem: CMDP, pairs: Places, nodes: int) -> Any:
        kernel: Any = problem.transition
        flat = kernel.reshape(-1, len(self.node)) if isinstance(kernel, np.ndarray) else kernel
        known = np.flatnonzero(self.node >= 0)
        member = scipy.sparse.csr_array(
            (np.ones(len(known)), (known, self.node[known])), (len(self.node), nodes)
        )
        return scipy.sparse.csr_array(scipy.sparse.csr_array(flat[pairs]) @ member)

    @property
    def trivial(self) -> bool:
        """Whether the process can do nothing but stay in the component where it starts."""
        return len(self.pair) == self.count

    def settle(self, upper: Array, factorise: Factorise, tick: Callable[[], None]) -> Settled:
        """Return the best way to components that are worth `upper` (C,), and a bound on every way."""
        pair = np.full(len(self.node), -1)
        if self.trivial:
            return Settled(np.ones(self.count, dtype=bool), pair, self._at_start(upper))
        worth = np.zeros(len(self.pair))
        worth[self.rows.first[: self.count]] = upper
        choice, value = self.improved(worth, self.rows.first, factorise, tick)
        taken = self.pair[choice]
        leaving = taken[taken >= 0]
        pair[leaving // self.actions] = leaving
        return Settled(taken[: self.count] < 0, pair, self._bound(worth, choice, value, factorise, tick))

    def improved(
        self, worth: Array, choice: Places, factorise: Factorise, tick: Callable[[], None]
    ) -> tuple[Places, Array]:
        """Return the best choice among the rows of each node, and its values, by policy iteration."""
        best: tuple[Places, Array] | None = None
        for _ in range(ROUNDS):
            tick()
            value = factorise(self.rows.chain(choice), 1.0).state_value(worth[choice][None])[0]
            if best is not None and not value.sum() > best[1].sum():
                break
            best = choice, value
            q = worth + np.asarray(self.rows.kernel @ value)
            most, place = self.rows.best(q)
            better = most > q[choice] + ROUNDING * np.abs(value).max(initial=0.0)
            if not better.any():
                break
            choice = np.where(better, place, choice)
        assert best is not None
        return best

    def _bound(
        self, worth: Array, choice: Places, value: Array, factorise: Factorise, tick: Callable[[], None]
    ) -> float:
        """Return a proved bound on every way, at ρ: that of v + δW, which is checked at every pair."""
        # No way ends better than in the best component
        anyway = float(worth[self.rows.first[: self.count]].max())
        over = self._excess(worth, value)
        one = np.ones(len(worth))
        time = factorise(self.rows.chain(choice), 1.0).state_value(one[choice][None])[0]
        for attempt in range(RAISES):
            raised = value + 10.0**attempt * over * time * (1 + 1e-9)
            if np.isfinite(raised).all() and self._excess(worth, raised) <= 0:
                return min(self._at_start(raised), anyway)
            if attempt == 0:  # W for all policies, not for the best one alone
                time = self.improved(one, choice, factorise, tick)[1]
        return anyway

    def _excess(self, worth: Array, value: Array) -> float:
        """Return by how much at most the worth of a row may exceed the value of its node, rounded up."""
        ahead, size = (np.asarray(self.rows.kernel @ one) for one in (value, np.abs(value)))
        here = value[self.rows.state]
        rounding = (3 * self.rows.terms + STEPS) * UNIT_ROUNDOFF * (size + np.abs(here))
        over = worth + ahead - here + np.where(self.pair < 0, 0.0, rounding)
        return max(float(over.max()), 0.0)

    def _at_start(self, value: Array) -> float:
        """ρ·v, rounded up."""
        start = np.flatnonzero(self.initial)
        there = value[self.node[start]]
        found = float(there @ self.initial[start])
        return found + (3 * len(start) + STEPS) * UNIT_ROUNDOFF * float(np.abs(there) @ self.initial[start])
