"""The totals of a chain until it stops: in a rest, where every utility is 0, or outside the model.

The states that a chain may come to are transient, or in a recurrent class. A class without utilities is a rest. One with some never
stops, and its totals are infinite. Over the transient states

    V = u + P V,        V(ρ) − ρ·V̂ = Σ d(s)·r(s),      r = u + P V̂ − V̂

and a function E with E ≥ |r| + P E bounds the error of V̂ in every state; it is checked with outward rounding.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.bellman import Resolvent, reachable, resolvent
from painless.common.arrays import Array, Mask
from painless.engines.engine import UNIT_ROUNDOFF, Bracket
from painless.engines.total_iteration import Factorise, grouped, stationary

STEPS = 8  # roundings of a residual beside those of its sums
FLOOR = 1e-9  # the least residual that is covered, relative to the largest
DENSE = 500  # states up to which systems are dense


class TransientChain:
    """One chain from an initial distribution.

    Arguments:
        chain: P_π, (S, S), whose rows may sum to less than 1.
        leaves: (S,) whether a state may stop the process at once.
        gain: u_π, (J, S).
        pays: (S,) whether some utility of a pair that is taken there is not 0.
        roundings: of one entry of P_π or u_π.
    """

    def __init__(
        self,
        chain: Any,
        initial: Array,
        leaves: Mask,
        gain: Array,
        pays: Mask,
        roundings: int,
        factorise: Factorise = resolvent,
    ) -> None:
        self.total, self.factorise, self.roundings = len(initial), factorise, roundings
        reached = np.flatnonzero(reachable(chain, initial))
        sparse = scipy.sparse.csr_array(chain)[reached][:, reached]
        sparse.eliminate_zeros()
        label, closed = _classes(sparse, leaves[reached])
        loops = np.zeros(len(closed), dtype=bool)
        loops[label[pays[reached]]] = True
        self.rest = np.zeros(self.total, dtype=bool)  # where it rests
        self.rest[reached[(closed & ~loops)[label]]] = True
        self.loops = [reached[members] for members in grouped(label, closed & loops)]  # where it never stops
        self.way = reached[~closed[label]]  # the transient states
        inside = ~closed[label]
        self._chain = sparse[inside][:, inside]
        self._into = (sparse[inside], reached)  # from transient states to all that are reached
        self.initial, self.gain, self._whole = initial, gain, chain

    @cached_property
    def _inverse(self) -> Resolvent:
        small = len(self.way) <= DENSE
        return self.factorise(self._chain.toarray() if small else self._chain, 1.0)

    @cached_property
    def state_values(self) -> Array:
        """V̂ of all utilities, (J, S); 0 in rests, and not a number where the chain never stops."""
        value = np.zeros(self.gain.shape)
        if len(self.way):
            value[:, self.way] = self._inverse.state_value(self.gain[:, self.way])
        for states in self.loops:
            value[:, states] = np.nan
        return value

    def values(self) -> Bracket:
        """Return proved bounds on V(ρ), (J,) each; infinite where the chain never stops."""
        value, start = self.state_values[:, self.way], self.initial[self.way]
        guess = value @ start
        error = np.zeros(len(self.gain))
        if len(self.way):  # where no error is proved, it is infinite, but counts only where the chain starts
            error = self._error(value)[:, start > 0] @ start[start > 0]
        error = error * (1 + 1e-9) + 3 * (len(self.way) + STEPS) * UNIT_ROUNDOFF * np.abs(value) @ start
        low, high = guess - error, guess + error
        for states in self.loops:
            share = stationary(scipy.sparse.csr_array(self._whole)[states][:, states])
            earned = self.gain[:, states] * share
            paid, size = earned.sum(1), np.abs(earned).sum(1)
            low = np.where(paid < 1e-9 * size, -np.inf, low)  # 0 but for rounding has no total, either
            high = np.where(paid > -1e-9 * size, np.inf, high)
            low, high = np.where(size == 0, guess - error, low), np.where(size == 0, guess + error, high)
            guess = np.where(size == 0, guess, np.where(paid > 1e-9 * size, np.inf, -np.inf))
            low, high = np.minimum(low, guess), np.maximum(high, guess)
        return Bracket(low, high, guess)

    def _error(self, value: Array) -> Array:
        """Return a bound on |V − V̂| in the transient states, (J, T); infinite if none is proved."""
        ahead, size = (np.asarray((self._chain @ one.T).T) for one in (value, np.abs(value)))
        gain = self.gain[:, self.way]
        terms = 3 * int(np.diff(self._chain.indptr).max(initial=1)) + self.roundings + STEPS
        left = np.abs(gain + ahead - value)
        left = left + terms * UNIT_ROUNDOFF * (size + np.abs(gain) + np.abs(value))
        most = np.maximum(left.max(1, keepdims=True), np.finfo(float).tiny)
        if len(self.way) <= DENSE:
            return self._over(np.maximum(left, np.maximum(FLOOR * most, np.finfo(float).tiny)), terms)
        return most * self._over(np.ones((1, len(self.way))), terms)

    def _over(self, left: Array, terms: int) -> Array:
        """Return a proved E ≥ left + P E for rows (n, T) above 0; infinite if none is found."""
        bound = np.maximum(self._inverse.state_value(left), 0.0)
        on = np.asarray((self._chain @ bound.T).T)
        held = bound - on - terms * UNIT_ROUNDOFF * (bound + on)
        with np.errstate(invalid="ignore"):
            share = (held / left).min(1)
        good = np.isfinite(share) & (share > 0)
        return np.where(good[:, None], bound / np.where(good, share, 1.0)[:, None], np.inf)

    @cached_property
    def visits(self) -> Array:
        """How often each state is visited before the chain stops, (S,); in a rest, how often the chain comes there to rest."""
        found = np.where(self.rest, self.initial, 0.0)
        if len(self.way):
            often = np.maximum(self._inverse.state_occupancy(self.initial[self.way]), 0.0)
            found[self.way] = often
            rows, reached = self._into
            arrived = np.zeros(self.total)
            arrived[reached] = rows.T @ often
            found += np.where(self.rest, arrived, 0.0)
        for states in self.loops:
            found[states] = np.inf
        return found


def _classes(chain: Any, leaves: Mask) -> tuple[NDArray[np.intp], Mask]:
    """Return the strongly connected component of each state, and which of them are never left."""
    number, label = scipy.sparse.csgraph.connected_components(chain, connection="strong")
    arrows = scipy.sparse.coo_array(chain)
    source, target = (label[part] for part in arrows.coords)
    closed = np.ones(number, dtype=bool)
    closed[source[source != target]] = False
    closed[label[leaves]] = False
    return np.asarray(label, dtype=np.intp), np.asarray(closed, dtype=bool)
