"""Totals on rows of which all policies lead in one direction: component after component, each after those that it leads to.

    V = max u + PV,       V_j = u_j + P_π V_j,       W = 1 + P_π W

The strongly connected components of all pairs together form no cycle. A model whose components are single states, such as a count that only goes down, takes one
sweep for the best policy, and one for its values. In larger components sweeps follow the numbers of the states, against
the direction in which most transitions lead, or up and down where there is none, until nothing changes; if that is slow, this way is given up. Where some
transitions lead back, changes are taken a little further than they are (successive over-relaxation), which halves the number of sweeps.

The components of one policy may be much smaller than those of all pairs. Then its values and visits are swept in the order of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from painless.common.arrays import Array
from painless.engines.sweeps import _component_kernels as kernels
from painless.engines.sweeps._ordered_kernels import mean_reach, share_behind
from painless.engines.sweeps.chain import Chain, ChangingChain
from painless.engines.sweeps.sparse_rows import Indices, SparseRows, inverse

PRECISE = 2e-15  # the change of a sweep at which a component is done, relative to its largest value
# Looks at a state, on average, after which this way is given up: along a direction, and up and down
WORK, TURNED = 400, 120
# Looks that take no time beside the other ways, and the most between two looks at the clock
NOTHING, MOST = 3_000_000, 60_000_000
ROUGH = 1e-3  # the same for times that are only bounds
SHARE = 0.25  # of the tolerance that the sweeps of components leave
BACK = 0.3  # of the transitions within components that lead back, from which on sweeps go up and down
# States of a window, relative to how far transitions lead; the sweeps that it may take; and how much larger a component is that has some
WINDOW, FEW, LARGE = 32, 80, 6
ATTEMPTS = 3  # until the time to stop is known, on which the error of a component counts
SPLIT = (
    0.9  # of the largest component of all rows: if that of a policy is larger, orders of its own do not help
)
EVEN = np.empty(0)  # no change is taken further than it is
LONGER = 2.0  # times the time that was expected: another attempt


class InOrder(NamedTuple):
    """A policy, its values, and its time to stop."""

    choice: Indices  # (S,)
    known: Array  # (S, J + 1) values, and the time to stop

    @property
    def value(self) -> Array:
        """The values, (S, J)."""
        return np.ascontiguousarray(self.known[:, :-1])

    @property
    def time(self) -> Array:
        """The time to stop, (S,)."""
        return np.ascontiguousarray(self.known[:, -1])


class InComponents(NamedTuple):
    """States by components, each after those that it leads to."""

    order: Indices  # (S,)
    bounds: Indices  # (n + 1,) where each component begins


class OrderedRows:
    """Rows in the order of their components.

    Arguments:
        rows: with the utilities (J, N); no pair stays where it is.
        tick: called between sweeps; it may raise.
        label: (S,) components, each numbered after those that it leads to, if they are known.
    """

    def __init__(self, rows: SparseRows, tick: Callable[[], None], label: Indices | None = None) -> None:
        self.rows, self._tick = rows, tick
        label = kernels.components_in_order(*rows[:3]) if label is None else label
        states = len(label)
        self.has_cycles = int(label.max()) + 1 < states
        upward = share_behind(*rows[:4], label, label)[0] if self.has_cycles else 0.0
        self._turns = min(upward, 1 - upward) > BACK
        self.order = _by_component(label, upward > 0.5) if self.has_cycles else inverse(label)
        self.bounds: Indices = np.flatnonzero(
            np.diff(label[self.order].astype(np.intp), prepend=-1, append=-1)
        ).astype(np.uint32)
        self._label, self._place = label, inverse(self.order)
        self._spans = _spans(rows, label, self.order, self.bounds, self._turns)
        self._most = min((TURNED if self._turns else WORK) * states, MOST + states) + NOTHING
        self._value = np.zeros(states)
        self._wanders = False  # whether the policies' own components are as large
        # How much further changes are taken by each pair, (N,), and how much of that is used for policies and for their values
        self._further, self._bold, self._part = EVEN, np.full(1, kernels.BOLD), np.full(1, kernels.BOLD)
        if self.has_cycles and not self._turns:
            further = kernels.pair_relaxation(*rows[:4], label, self._place)
            self._further = further if further.any() else EVEN

    @property
    def is_even(self) -> bool:
        """Whether sweeps follow one direction, and take no change further than it is, so that precise ones cost hardly more than rough ones."""
        return not (self._turns or len(self._further))

    def price(
        self,
        weight: Array,
        tolerance: float,
        precision: float,
        initial: Array,
        choice: Indices,
        chain: ChangingChain,
        known: Array,
        attempts: int = ATTEMPTS,
    ) -> InOrder | None:
        """Return a policy within about `tolerance` of the best for `weight` (J,) at ρ, with values exact to about `precision`; None if that is slow.

        It starts from other choices (S,), and values and times (S, J + 1). An attempt takes the last time to stop for that of the answer; others follow if it is much longer.
        """
        utility, time = weight @ self.rows.utility, max(float(initial @ known[:, -1]), 1.0)
        self._value[:] = known[:, :-1] @ weight
        choice, found = choice.copy(), known.copy()
        for _ in range(attempts if self.has_cycles else 1):
            self._tick()
            floor = SHARE * tolerance / time
            arrays = (
                *self.rows[:4],
                utility,
                self._further,
                self._bold,
                self.order,
                self._spans,
                self._turns,
            )
            if kernels.best_in_order(*arrays, PRECISE, floor, self._most, self._value, choice) < 0:
                return None
            if not self.evaluate(chain.follow(choice), precision / time, found, choice):
                return None
            expected, time = time, max(float(initial @ found[:, -1]), 1.0)
            if time <= LONGER * expected:
                break
        return InOrder(choice, found)

    def longest(
        self, steps: Array, choice: Indices, change: float | None = None, time: Array | None = None
    ) -> Array | None:
        """Return the largest totals of `steps` (N,) of any policy, (S,), from choices (S,) on, and totals (S,) if they are given; None if that is slow.

        They are rough, or such that another sweep changes no value by more than `change`.
        """
        value = np.zeros(len(choice)) if time is None else time.copy()
        arrays = (*self.rows[:4], steps, self._further, self._bold, self.order, self._spans, self._turns)
        precise = (ROUGH, 0.0) if change is None else (PRECISE, change)
        work = kernels.best_in_order(*arrays, *precise, self._most, value, choice.copy())
        return value if work >= 0 else None

    def evaluate(self, chain: Chain, left: float, value: Array, choice: Indices | None = None) -> bool:
        """Bring values and times (S, J + 1) to those of a chain, in place, so that at most about `left` is left of u + PV − V; return whether that was fast.

        `choice` (S,) are its pairs, if it takes one in each state.
        """
        self._tick()
        floor = np.full(value.shape[1], SHARE * left)
        floor[-1] = SHARE
        further = self._further
        if len(further):
            whole = (*chain[:5], self._label, self._place)
            further = kernels.chain_relaxation(*whole) if choice is None else further[choice]
        order, spans = self.order, self._spans
        own = self._own_order(chain)
        if own is not None:
            order, spans, further = own.order, _whole(own.bounds), EVEN
        arrays = (*chain, further, self._part, order, spans, self._turns)
        return bool(kernels.values_in_order(*arrays, PRECISE, floor, self._most, value) >= 0)

    def visits(self, chain: Chain, initial: Array) -> Array:
        """Return how often a chain comes to each state, (S,)."""
        self._tick()
        rest, visits = initial.copy(), np.zeros(len(initial))
        own = self._own_order(chain)
        order, bounds = (self.order, self.bounds) if own is None else own
        kernels.sweep_visits(*chain[:-1], order, bounds, PRECISE, 0.0, 2 * WORK, rest, visits)
        return visits

    def _own_order(self, chain: Chain) -> InComponents | None:
        """Return the states by the components of a chain, which may be much smaller than those of all rows; None if they are hardly."""
        if not self.has_cycles or self._turns or self._wanders:
            return None
        _, order, _, bounds = kernels.ordered_components(*chain[:3], np.empty(0, np.uint32))
        self._wanders = int(np.diff(bounds).max()) > SPLIT * int(np.diff(self.bounds).max())
        return None if self._wanders else InComponents(order, bounds)


def _by_component(label: Indices, descending: bool) -> Indices:
    """Return the states by their components (S,), within each by their numbers.

    >>> _by_component(np.array([1, 0, 1], dtype=np.uint32), True)
    array([1, 2, 0], dtype=uint32)
    """
    if descending:
        return (len(label) - 1 - np.argsort(label[::-1], kind="stable")).astype(np.uint32)
    return np.argsort(label, kind="stable").astype(np.uint32)


def _whole(bounds: Indices) -> Indices:
    """Return components, each to be swept as often as it takes, (n, 3)."""
    spans = np.zeros((len(bounds) - 1, 3), np.uint32)
    spans[:, 0], spans[:, 1] = bounds[:-1], bounds[1:]
    return spans


def _spans(rows: SparseRows, label: Indices, order: Indices, bounds: Indices, turns: bool) -> Indices:
    """Return what is swept one after the other, (n, 3): where it begins and ends in the order, and how often at most; 0 if as often as it takes.

    Sweeps along a direction carry a change on by a few states each if some transitions lead back. So windows come before a large component, each over half of the last one,
    which converge in a few sweeps; the component then has little left to do.
    """
    whole = _whole(bounds)
    large = np.flatnonzero(np.diff(bounds) > LARGE * WINDOW)
    if turns or not len(large):
        return whole
    reach = mean_reach(*rows[:4], label, inverse(order), len(bounds) - 1)
    parts, last = [], 0
    for c in large.tolist():
        low, high = int(bounds[c]), int(bounds[c + 1])
        width = WINDOW * int(reach[label[order[low]]])
        if high - low < LARGE * width:
            continue
        begin = np.arange(low, high - width // 2, width // 2)
        windows = np.column_stack([begin, np.minimum(begin + width, high), np.full(len(begin), FEW)])
        parts += [whole[last:c], windows.astype(np.uint32)]
        last = c
    return np.concatenate([*parts, whole[last:]])
