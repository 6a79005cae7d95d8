"""Some pairs of a model, ordered by their states: their transitions, and choices among the pairs of each state."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask
from painless.common.compiling import njit
from painless.engines.sweeps._component_kernels import components_in_order
from painless.engines.sweeps._ordered_kernels import (
    leading_rows,
    rows_in_order,
    share_behind,
    states_in_order,
)
from painless.engines.sweeps.sparse_rows import Indices, inverse, unsigned
from painless.problem import Transition

COMPILED = 5000  # states from which compiled code is worth its loading

Places = NDArray[np.intp]


class PairRows:
    """Pairs of some states, each of which has at least one.

    Arguments:
        kernel: the transitions of the pairs to the states, (n, S).
        state: (n,) the state of each pair, in ascending order.
        count: S, the number of states.
    """

    def __init__(self, kernel: Any, state: Places, count: int) -> None:
        self.kernel, self.state = kernel, state
        self.first = np.concatenate([[0], np.cumsum(np.bincount(state, minlength=count))])[:count]

    @classmethod
    def of_arrays(
        cls, begin: Indices, pointer: Indices, successor: Indices, probability: Array, label: Indices
    ) -> PairRows:
        """Return the pairs of states, (S,), those of each from `begin` (S + 1,) on, and their components (S,)."""
        rows, signed = object.__new__(cls), (successor.view(np.int32), pointer.view(np.int32))
        rows.kernel = scipy.sparse.csr_array((probability, *signed), (len(pointer) - 1, len(label)))
        rows.arrays, rows.begin, rows.label = (pointer, successor, probability), begin, label
        return rows

    @cached_property
    def state(self) -> Places:
        """The state of each pair, (n,), in ascending order."""
        return np.repeat(np.arange(len(self.begin) - 1), np.diff(self.begin))

    @cached_property
    def first(self) -> Places:
        """The first pair of each state, (S,)."""
        return self.begin[:-1].astype(np.intp)

    @cached_property
    def arrays(self) -> tuple[Indices, Indices, Array]:
        """Where each pair begins, and its successors and their probabilities."""
        kernel: Any = scipy.sparse.csr_array(self.kernel)
        return unsigned(kernel.indptr), unsigned(kernel.indices), kernel.data

    @cached_property
    def label(self) -> Indices:
        """The strongly connected component of each state, (S,), numbered so that each comes after those that it leads to, if they are sparse."""
        return components_in_order(self.begin, *self.arrays[:2])

    @cached_property
    def begin(self) -> Indices:
        """Where the pairs of each state begin, and where the last ones end, (S + 1,)."""
        return np.append(self.first, len(self.state)).astype(np.uint32)

    def in_order(self, order: Indices, number: Indices) -> tuple[Places, PairRows]:
        """Return the pairs, sorted by their states in another order (S,), and their rows by the new numbers (S,) of the states, if they are sparse."""
        pointer, successor, probability = self.arrays
        pairs, count = len(self.state), len(order)
        row, begin = np.empty(pairs, np.uint32), np.empty(pairs + 1, np.uint32)
        target, chance = np.empty_like(successor), np.empty_like(probability)
        rows_in_order(self.begin, pointer, successor, probability, order, number, row, begin, target, chance)
        signed = target.view(np.int32), begin.view(np.int32)
        kernel: Any = scipy.sparse.csr_array((chance, *signed), (pairs, count))
        places = row.astype(np.intp)
        sorted_rows = PairRows(kernel, number[self.state[places]].astype(np.intp), count)
        sorted_rows.label = self.label[order]
        return places, sorted_rows

    @cached_property
    def terms(self) -> int:
        """The largest number of successors of a pair."""
        if isinstance(self.kernel, np.ndarray):
            return max(int(np.count_nonzero(self.kernel, axis=1).max(initial=1)), 1)
        return max(int(np.diff(self.kernel.indptr).max(initial=1)), 1)

    def chain(self, choice: Places) -> Transition:
        """Return the chain that takes the pair `choice` (S,) of each state."""
        chosen = self.kernel[choice]
        return chosen if isinstance(chosen, np.ndarray) else scipy.sparse.csr_array(chosen)

    def best(self, q: Array) -> tuple[Array, Places]:
        """Return the largest of (n,) in each state, and the first pair that has it, (S,) each."""
        most = np.maximum.reduceat(q, self.first)
        at = np.flatnonzero(q == most[self.state])
        return most, at[np.flatnonzero(np.diff(self.state[at], prepend=-1))]

    @cached_property
    def arrows(self) -> tuple[Places, Places, Array]:
        """The pairs, successors and probabilities of all transitions with a positive probability."""
        matrix = scipy.sparse.coo_array(self.kernel)
        positive = matrix.data > 0
        pair, target = (part[positive].astype(np.intp) for part in matrix.coords)
        return pair, target, matrix.data[positive]

    def leading_to(self, targets: Mask) -> Places:
        """Return for each state the pair that most probably leads closer to the targets (S,), and −1 where there is none, or no need."""
        if len(targets) > COMPILED and not isinstance(self.kernel, np.ndarray):
            return leading_rows(self.begin, *self.arrays, targets).astype(np.intp)
        pair, target, probability = self.arrows
        states, source = len(targets), self.state[pair]
        starts = np.flatnonzero(targets)
        back = scipy.sparse.csr_array(
            (
                np.ones(len(pair) + len(starts)),
                (np.append(target, np.full(len(starts), states)), np.append(source, starts)),
            ),
            (states + 1, states + 1),
        )
        order, before = scipy.sparse.csgraph.breadth_first_order(back, states)
        steps = steps_along(order.astype(np.intp), before.astype(np.intp), np.full(states + 1, states + 1))
        closer = (steps[target] < steps[source]) & ~targets[source]
        chance = np.bincount(pair[closer], probability[closer], len(self.state))
        some = np.flatnonzero(chance)
        some = some[np.argsort(chance[some], kind="stable")]
        choice = np.full(states, -1)
        choice[self.state[some]] = some  # the last one counts
        return choice


def nodes_in_order(rows: PairRows) -> tuple[Indices | None, bool]:
    """Return the states such that each comes after those that it leads to, as far as there is no cycle, (S,), and whether there is one.

    None if their numbers serve as well.
    """
    (pointer, successor, probability), first, label = rows.arrays, rows.begin, rows.label
    count = int(label.max()) + 1
    if count == len(label):
        is_sorted = (label[1:] > label[:-1]).all() or (label[1:] < label[:-1]).all()
        return None if is_sorted else inverse(label), False
    order, _ = states_in_order(first, pointer, successor, label, count)
    upward, behind = share_behind(first, pointer, successor, probability, label, inverse(order))
    return order if behind < min(upward, 1 - upward) else None, True


def steps_along(order: Places, before: Places, steps: Places) -> Places:
    """Return how many steps each place of a tree is from its root, order[0], in `steps` (n,); `before` is the one before each.

    >>> steps_along(np.array([2, 0, 1]), np.array([2, 0, -9]), np.zeros(3, dtype=np.intp))
    array([1, 2, 0])
    """
    steps[order[0]] = 0
    for k in range(1, len(order)):
        steps[order[k]] = steps[before[order[k]]] + 1
    return steps


compiled_steps = njit(steps_along)
