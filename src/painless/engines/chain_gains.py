"""The long-run averages of a chain: its recurrent classes, what each earns per step, and where it settles.

A chain ends up in one of its recurrent classes, and earns the gain g of that class per step from then on. With one reference state in each class, N the other
states that it may come to, and B = I − P_NN, one factorisation gives everything:

    a = B⁻¹ u,    b = B⁻¹ 1,     g_c = (u(r) + P_r a)/(1 + P_r b)         what a round trip from the reference state r earns, per step
    v = B⁻¹ P_N,R g                                                      the expected gain of the class where the chain settles
    h = B⁻¹ (u − v)                                                      the bias
    y = ρ_N B⁻¹,   x ∝ P_r B⁻¹                                            visits on the way, and in the long run

None of it is trusted. For any h, the gain of a class lies between the least and the largest u + Ph − h of its states; and if
|v − Pv| ≤ δ on the way, V(ρ) is off by at most δ·ρ·W for any W ≥ 1 + PW. Both are checked with outward rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.bellman import Resolvent, reachable, resolvent
from painless.common.arrays import Array, Mask
from painless.engines.engine import UNIT_ROUNDOFF, Bracket
from painless.engines.iterated import OneClass, fills
from painless.problem import Transition

STEPS = 8  # roundings of a residual beside those of its sums
LEVELLED = 5000  # states from which on a chain with one class is swept, or solved on several levels
WALKS = 16  # steps that look for a state that is often visited
Labels = NDArray[np.intp]


class RecurrentChain:
    """A chain from an initial distribution, restricted to the states that it may come to.

    Arguments:
        factorise: how to make (I − P)⁻¹, of which the answers are checked.
        tick: called between sweeps; it may raise.
    """

    def __init__(
        self,
        chain: Transition,
        initial: Array,
        factorise: Callable[[Transition, float], Resolvent] = resolvent,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        self.states = np.flatnonzero(reachable(chain, initial))
        self.total = len(initial)
        whole = len(self.states) == self.total
        self.chain: Any = chain if whole else chain[self.states][:, self.states]
        self.initial = initial[self.states]
        self.label, self.recurrent = recurrent_classes(self.chain)
        self.classes = int(self.label.max()) + 1
        self._factorise = factorise
        large = len(self.states) > LEVELLED and not isinstance(self.chain, np.ndarray)
        tick()
        alone = self.classes == 1 and (large or fills(self.chain))
        self._alone = OneClass(self.chain, tick) if alone else None

    @cached_property
    def references(self) -> NDArray[np.intp]:
        """A state of each class, one that is visited often."""
        share = (
            self.recurrent
            / np.maximum(np.bincount(self.label + 1, minlength=self.classes + 1), 1)[self.label + 1]
        )
        for _ in range(WALKS):
            share = 0.5 * (share + self.chain.T @ share)
        order = np.lexsort((-share, self.label))
        return order[np.searchsorted(self.label[order], np.arange(self.classes))]

    @cached_property
    def others(self) -> NDArray[np.intp]:
        """The states that are no reference."""
        return np.setdiff1d(np.arange(len(self.states)), self.references)

    @cached_property
    def _inverse(self) -> Resolvent | None:
        if not len(self.others):
            return None
        return self._factorise(self.chain[self.others][:, self.others], 1.0)

    def _solved(self, right: Array) -> Array:
        """B⁻¹ u for each row u of (n, N), with 0 in the references: (n, S')."""
        result = np.zeros((len(right), len(self.states)))
        if self._inverse is not None:
            result[:, self.others] = self._inverse.state_value(right)
        return result

    def ahead(self, value: Array) -> Array:
        """Σ_s' P(s, s') V(s') for each row of (n, S')."""
        return np.asarray((self.chain @ value.T).T)

    def gain_and_bias(self, utility: Array) -> tuple[Array, Array]:
        """Return the gain (J, S') and the bias (J, S') of utilities (J, S') of the states.

        If probabilities are so small that these overflow, both are 0, from which bounds can still be proved.
        """
        with np.errstate(all="ignore"):
            gain, bias = self._gain_and_bias(utility)
        sound = (np.isfinite(gain) & np.isfinite(bias)).all(1, keepdims=True)
        return np.where(sound, gain, 0.0), np.where(sound, bias, 0.0)

    def _gain_and_bias(self, utility: Array) -> tuple[Array, Array]:
        if self._alone is not None:
            gain, bias = self._alone.gain_and_bias(utility)
            if not self._alone.is_precise and not fills(self.chain):
                self._alone = None
                return self._gain_and_bias(utility)
            return np.broadcast_to(gain[:, None], bias.shape), self._centred(bias)
        sums = self._solved(np.vstack([utility, np.ones(len(self.states))])[:, self.others])
        around = self.ahead(sums)[:, self.references]
        earned = (utility[:, self.references] + around[:-1]) / (1 + around[-1])  # (J, classes)
        settled = np.where(self.recurrent, earned[:, self.label], 0.0)
        gain = settled
        if self.classes == 1:
            gain = np.broadcast_to(earned, settled.shape)
        elif not self.recurrent.all():
            at_references = np.zeros_like(settled)
            at_references[:, self.references] = earned
            on_the_way = self._solved(self.ahead(at_references)[:, self.others])
            gain = np.where(self.recurrent, settled, on_the_way)
        bias = self._solved((utility - gain)[:, self.others])
        left = utility - gain + self.ahead(bias) - bias
        bias = bias + self._solved(left[:, self.others])  # one step of refinement
        return gain, self._centred(bias)

    def _centred(self, bias: Array) -> Array:
        """Return a bias whose numbers are small; it is given up to a constant in each class."""
        if self.classes > 1:
            return bias
        inside = bias[:, self.recurrent]
        return bias - (0.5 * (inside.min(1) + inside.max(1)))[:, None]

    def values(self, utility: Array, terms: float) -> Bracket:
        """Return proved bounds on V(ρ), (J,) each, from sums that are rounded `terms` times."""
        gain, bias = self.gain_and_bias(utility)
        size = np.abs(utility) + self.ahead(np.abs(bias)) + np.abs(bias)
        error = (terms + STEPS) * UNIT_ROUNDOFF * size
        earned = utility + self.ahead(bias) - bias
        low, high = (self._over_classes(side) for side in (earned - error, -(earned + error)))
        inside = np.where(self.recurrent, gain, 0.0)
        guess = np.zeros((len(utility), self.classes))
        guess[:, self.label[self.recurrent]] = inside[:, self.recurrent]
        at_start = gain @ self.initial
        below = np.maximum(guess - low, 0.0).max(1)
        above = np.maximum(-high - guess, 0.0).max(1)
        slip = self._slip(gain, terms) + len(self.initial) * UNIT_ROUNDOFF * (np.abs(gain) @ self.initial)
        return Bracket(at_start - below - slip, at_start + above + slip, at_start)

    def _slip(self, gain: Array, terms: float) -> Array:
        """Bound what errors on the way to the classes may add up to, (J,)."""
        on_the_way = ~self.recurrent
        if not on_the_way.any():
            return np.zeros(len(gain))
        if (gain == gain[:, :1]).all():  # wherever it settles
            return np.zeros(len(gain))
        rounding = (terms + STEPS) * UNIT_ROUNDOFF
        off = np.abs(self.ahead(gain) - gain) + rounding * (self.ahead(np.abs(gain)) + np.abs(gain))
        time = np.maximum(self._solved(np.ones((1, len(self.others))))[0], 0.0)
        time[self.recurrent] = 0.0
        ahead = self.chain @ time
        least = float((time - ahead - rounding * (time + ahead))[on_the_way].min())
        if least < 0.5:  # W proves nothing
            return np.full(len(gain), np.inf)
        longest = float(time @ self.initial) * (1 + len(time) * UNIT_ROUNDOFF) / least
        return off[:, on_the_way].max(1) * longest * (1 + 1e-12)

    def _over_classes(self, value: Array) -> Array:
        """Return the least of (J, S') in each class, (J, classes)."""
        inside = np.flatnonzero(self.recurrent)
        order = inside[np.argsort(self.label[inside], kind="stable")]
        start = np.searchsorted(self.label[order], np.arange(self.classes))
        return np.minimum.reduceat(value[:, order], start, axis=1)

    def visits(self) -> tuple[Array, Array]:
        """Return the share of time in each state in the long run, and the expected visits on the way, (S,) each."""
        long_run, way = np.zeros(self.total), np.zeros(self.total)
        if self._alone is not None:
            share = np.where(self.recurrent, np.maximum(self._alone.shares(), 0.0), 0.0)
            long_run[self.states], before = share / share.sum(), np.flatnonzero(~self.recurrent)
            if len(before):
                inverse = self._factorise(self.chain[before][:, before], 1.0)
                way[self.states[before]] = np.maximum(inverse.state_occupancy(self.initial[before]), 0.0)
            return long_run, way
        mass, share = self.initial[self.references].copy(), np.zeros(len(self.states))
        share[self.references] = 1.0
        if self._inverse is not None:
            on_the_way = np.zeros(len(self.states))
            on_the_way[self.others] = np.maximum(
                self._inverse.state_occupancy(self.initial[self.others]), 0.0
            )
            mass = mass + (self.chain.T @ on_the_way)[self.references]
            arrive = self.chain.T @ share
            share[self.others] = np.maximum(self._inverse.state_occupancy(arrive[self.others]), 0.0)
            way[self.states] = np.where(self.recurrent, 0.0, on_the_way)
        share = np.where(self.recurrent, share, 0.0)
        whole = np.bincount(self.label[self.recurrent], share[self.recurrent], self.classes)
        found = np.where(self.recurrent, share * (mass / whole)[self.label], 0.0)
        if not found.any():  # the way is too long to say where it leads
            found = np.where(self.recurrent, share, 0.0)
        long_run[self.states] = found / found.sum()
        return long_run, way


def recurrent_classes(chain: Transition) -> tuple[Labels, Mask]:
    """Return the class of each recurrent state, −1 for others, and which are recurrent, (S,) each.

    >>> recurrent_classes(np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    (array([-1,  0,  0]), array([False,  True,  True]))
    """
    matrix = scipy.sparse.coo_array(chain)
    matrix.eliminate_zeros()
    number, label = scipy.sparse.csgraph.connected_components(matrix, connection="strong")
    source, target = matrix.coords
    closed = np.ones(number, dtype=bool)
    closed[label[source[label[source] != label[target]]]] = False
    rank = np.where(closed, np.cumsum(closed) - 1, -1)
    return np.asarray(rank[label], dtype=np.intp), np.asarray(closed[label])
