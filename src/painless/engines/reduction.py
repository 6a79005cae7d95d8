"""A total-reward problem without what cannot matter: what is never reached, rests, and ways from which nothing ends.

A *rest* is a maximal end component of pairs whose utilities are all 0: one may stay there for ever, worth 0, as after the end. A
policy that stops almost surely takes only pairs from whose successors one can still stop almost surely; the others are removed.

For weights of the utilities, the maximal end components of pairs without any weighted utility are one node each, since one may go everywhere in
them at no price. So what is left has no loop that is worth nothing, but for utilities that cancel.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.bellman import reachable
from painless.common.arrays import Array, Mask, any_of_row
from painless.engines.components import (
    COMPILED,
    ComponentOrder,
    EndComponents,
    component_order,
    end_components,
    reached_states,
)
from painless.engines.pair_rows import PairRows, Places, nodes_in_order
from painless.engines.row_sweeps import RowSweeps
from painless.engines.sweeps import _row_kernels as kernels
from painless.engines.sweeps._ordered_kernels import share_behind
from painless.engines.sweeps.sparse_rows import Indices, inverse, unsigned
from painless.problem import CMDP
from painless.problem.ending import missing, positive_entries

NOWHERE = np.uint32(2**32 - 1)  # the number of a state that is no node
DENSE_NODES = 500  # nodes up to which systems are dense


AnyActions = TypeVar("AnyActions", bound=NDArray[np.integer])


class Reduction:
    """The pairs of a total-reward problem that a policy may take if it stops almost surely."""

    def __init__(self, problem: CMDP) -> None:
        kernel: Any = problem.transition
        self.problem = problem
        self.states, self.actions = problem.shape[:2]
        flat = kernel.reshape(-1, self.states) if isinstance(kernel, np.ndarray) else kernel
        self.flat = positive_entries(flat)  # (S·A, S)
        self.start = np.flatnonzero(problem.initial)
        self.ending = missing(self.flat).reshape(problem.actions.shape)  # (S, A)
        self.order: ComponentOrder | None = None  # the components of all available pairs of a large model
        if self.flat.nnz > COMPILED:
            self.order = component_order(self.flat, problem.actions, self.start)
        self.reached = self.reached_by(problem.actions) if self.order is None else self.order.reached
        self.pairs = problem.actions
        if not self.reached.all():
            self.pairs = problem.actions & self.reached[:, None]
        known = None if self.order is None else self.order.label
        staying = end_components(
            self.flat, self.pairs & (self.ending == 0), label=known
        )  # where one can stay for ever
        idle = self.idle_among(staying.pairs, np.ones(1 + problem.shape[2], dtype=bool))
        self.rests: EndComponents = (
            staying if np.array_equal(idle, staying.pairs) else end_components(self.flat, idle)
        )
        self.loops = staying.pairs & ~self.rests.pairs  # (S, A) the pairs with which one can stay elsewhere
        self.always_stops = not self.loops.any()  # whatever one does
        self.sure = self.pairs if self.always_stops else self._sure()  # (S, A)

    def idle_among(self, pairs: Mask, used: Mask) -> Mask:
        """Return which of some pairs (S, A) earn nothing in some utilities, `used` (J,), and do not end, (S, A)."""
        found, at = np.zeros(pairs.size, dtype=bool), np.flatnonzero(pairs)
        at = at[self.ending.reshape(-1)[at] == 0]
        found[at] = (self.problem.pair_utility[used, at] == 0).all(0)
        return found.reshape(pairs.shape)

    def relevant(self, used: Mask) -> Mask:
        """Return all utilities, (J,), in place of those that are used if the others do not change where one can go at no price."""
        everything = np.ones_like(used)
        if self.always_stops or used.all():
            return everything
        idle = self.idle_among(self.pairs, used)
        same = not (idle & self.loops).any() or idle.sum() == self.idle_among(idle, everything).sum()
        return everything if same else used

    def reached_by(self, pairs: Mask) -> Mask:
        """The states that some policy comes to that takes some pairs (S, A) only, (S,)."""
        if self.flat.nnz > COMPILED:
            pointer, successor = unsigned(self.flat.indptr), unsigned(self.flat.indices)
            mask = np.ascontiguousarray(pairs).reshape(-1)
            return reached_states(pointer, successor, mask, self.problem.initial, self.actions)
        taken = np.flatnonzero(pairs)
        pick = scipy.sparse.csr_array(
            (np.ones(len(taken)), (taken // self.actions, taken)), (self.states, self.flat.shape[0])
        )
        return reachable(scipy.sparse.csr_array(pick @ self.flat), self.problem.initial)

    def _sure(self) -> Mask:
        """The pairs from which one can still stop almost surely, (S, A)."""
        left = self.pairs.copy()
        resting = self.rests.label >= 0
        pair = np.repeat(np.arange(self.flat.shape[0]), np.diff(self.flat.indptr))
        source, target = pair // self.actions, self.flat.indices
        while True:
            inside = left.reshape(-1)[pair]
            stops = resting | any_of_row(left & (self.ending > 0))
            starts = np.flatnonzero(stops)
            back = scipy.sparse.csr_array(
                (
                    np.ones(int(inside.sum()) + len(starts)),
                    (
                        np.append(target[inside], np.full(len(starts), self.states)),
                        np.append(source[inside], starts),
                    ),
                ),
                (self.states + 1, self.states + 1),
            )
            found = np.zeros(self.states + 1, dtype=bool)
            found[scipy.sparse.csgraph.breadth_first_order(back, self.states, return_predecessors=False)] = (
                True
            )
            dead = ~found[:-1] & self.reached
            if not dead.any():
                break
            leads = np.asarray(self.flat @ dead.astype(np.float64)).reshape(left.shape) > 0
            gone = left & (leads | dead[:, None])
            if not gone.any():
                break
            left &= ~gone
        return self.pairs if np.array_equal(left, self.pairs) else left & self.reached_by(left)[:, None]

    @cached_property
    def hopeless(self) -> NDArray[np.intp]:
        """The initial states from which no policy stops almost surely."""
        return self.start[~(self.sure[self.start].any(1) | (self.rests.label[self.start] >= 0))]

    def quotient(self, used: Mask, pairs: Mask | None = None, everywhere: bool = False) -> Quotient:
        """Return the nodes for weights of some utilities, `used` (J,).

        With `pairs`, all of these are kept; with `everywhere`, one may stop in every node.
        """
        return Quotient(self, used, self.sure if pairs is None else pairs, everywhere)


class Quotient:
    """Nodes, and the rows that lead from node to node or stop."""

    def __init__(self, whole: Reduction, used: Mask, pairs: Mask, everywhere: bool) -> None:
        self.whole, self.pairs = whole, pairs
        problem = whole.problem
        if whole.always_stops or (used.all() and pairs is whole.pairs):
            self.loops = whole.rests
        else:
            self.loops = end_components(whole.flat, whole.idle_among(pairs, used))
        label, count = self.loops.label, self.loops.number
        kept = any_of_row(pairs) | (label >= 0)
        stops = kept & (whole.rests.label >= 0)
        alone = count == int((label >= 0).sum()) and not everywhere  # each node is a single state
        alone = alone and int(kept.sum()) > DENSE_NODES and pairs is whole.sure
        if whole.order is None or not alone or not self._number_states(whole.order, kept, stops):
            self._number_components(kept, stops, everywhere)
        self.initial: Array = np.zeros(self.count)
        np.add.at(self.initial, self.node[whole.start], problem.initial[whole.start])

    def _number_states(self, order: ComponentOrder, kept: Mask, stops: Mask) -> bool:
        """Make a node of every state that is kept, (S,), with a row to stop where it `stops`, and number the nodes so that each comes after those that it leads to, as far as there is no cycle.

        Return whether rows lead to these states only. Sweeps then go through memory from one end to the other, and more of what they find is carried on.
        """
        flat, pairs = self.whole.flat, self.pairs & ~self.loops.pairs
        arrays = unsigned(flat.indptr), unsigned(flat.indices), flat.data
        known = None if kept.all() else kept
        place, label = (order.order if known is None else order.order[known[order.order]]), order.label
        self.count = len(place)
        self.has_cycles = self.count > 1 and bool((np.diff(label[place].astype(np.intp)) == 0).any())
        if self.has_cycles:
            first = np.arange(0, flat.shape[0] + 1, self.whole.actions, dtype=np.uint32)
            upward, behind = share_behind(first, *arrays, label, inverse(order.order))
            if behind >= min(upward, 1 - upward):
                place = np.flatnonzero(kept).astype(np.uint32)
        number = np.full(len(kept), NOWHERE, np.uint32)
        number[place] = np.arange(self.count, dtype=np.uint32)
        begin, self.pair, pointer, successor, probability = kernels.rows_of_states(
            *arrays, pairs.reshape(-1), stops, place, number
        )
        if int(successor.max(initial=0)) >= self.count:
            return False
        self.rows = PairRows.of_arrays(begin, pointer, successor, probability, _consecutive(label[place]))
        self.is_stop = self.pair < 0
        self.node = np.where(kept, number.astype(np.intp), -1)
        return True

    def _number_components(self, kept: Mask, stops: Mask, everywhere: bool) -> None:
        """Make a node of every component of pairs that are worth nothing, and of every other state that is kept, (S,), with a row to stop where one may, (S,), or `everywhere`."""
        pairs, actions = self.pairs, self.whole.actions
        label, count = self.loops.label, self.loops.number
        between = np.flatnonzero(kept & (label < 0))
        self.node = label.copy()  # (S,) −1 for states that are not there
        self.node[between] = count + np.arange(len(between))
        self.count = count + len(between)
        resting = np.zeros(self.count, dtype=bool)
        resting[self.node[stops]] = True
        stop = np.flatnonzero(resting | everywhere)
        taken = np.flatnonzero(pairs & ~self.loops.pairs)
        place = np.append(stop, self.node[taken // actions])
        self.pair = np.append(np.full(len(stop), -1), taken)  # (n,) s·A + a, −1 to stop
        order = None
        if (place[1:] < place[:-1]).any():
            order = np.argsort(place, kind="stable")  # stopping comes first
            place, self.pair = place[order], self.pair[order]
        self.is_stop = self.pair < 0
        kernel = self._kernel(taken, order, len(stop))
        dense: Any = kernel.toarray() if self.count <= DENSE_NODES else scipy.sparse.csr_array(kernel)
        self.rows = PairRows(dense, place, self.count)
        self.has_cycles = True  # unless it is known that there is none
        if self.count > DENSE_NODES and kernel.nnz > COMPILED:
            self._order_nodes()

    def _order_nodes(self) -> None:
        """Number the nodes as `_number_states` does, if they are not in such an order by their states."""
        order, self.has_cycles = nodes_in_order(self.rows)
        if order is None:
            return
        number = np.empty(self.count, np.uint32)
        number[order] = np.arange(self.count, dtype=np.uint32)
        row, self.rows = self.rows.in_order(order, number)
        self.pair, self.is_stop = self.pair[row], self.is_stop[row]
        self.node[self.node >= 0] = number[self.node[self.node >= 0]]

    @cached_property
    def ends(self) -> Mask:
        """Whether a row may stop at once, (n,)."""
        return self.is_stop | (self.whole.ending.reshape(-1)[self.pair] > 0)

    @cached_property
    def sweeps(self) -> RowSweeps:
        """Sweeps of value iteration over the rows."""
        return RowSweeps(self.rows)

    @cached_property
    def has_choice_to_rest(self) -> bool:
        """Whether one may rest in a node, or go on from there."""
        begin = self.rows.begin
        return bool((self.is_stop[begin[:-1]] & (np.diff(begin) > 1)).any())

    def rows_of(self, actions: NDArray[np.integer]) -> Places:
        """Return the rows that a policy (S,) takes, (N,): in rests, to stop."""
        choice = self.rows.first.copy()
        if self._state is not None:
            begin, pair = self.rows.begin, self.pair
            kernels.rows_of_actions(begin, pair, self._state, actions, self.whole.actions, choice)
            return choice
        going = np.flatnonzero((self.node >= 0) & (self.loops.label < 0))
        choice[self.node[going]] = self._row_of[going * self.whole.actions + actions[going]]
        return choice

    def _kernel(self, taken: NDArray[np.intp], order: NDArray[np.intp] | None, stops: int) -> Any:
        """Return the transitions of pairs `taken` (m,) to the nodes, after as many empty rows as there are ways to stop, in another order (n,) if given."""
        flat = self.whole.flat
        some = flat if len(taken) == flat.shape[0] else _chosen(flat, taken)
        target = self.node[some.indices]
        shape = (stops + len(taken), self.count)
        if (
            self.count < np.count_nonzero(self.node >= 0) or (target < 0).any()
        ):  # some go together, or are not there
            known = np.flatnonzero(self.node >= 0)
            places = (known, self.node[known])
            some = some @ scipy.sparse.csr_array(
                (np.ones(len(known)), places), (self.whole.states, self.count)
            )
            target = some.indices
        pointer = np.concatenate([np.zeros(stops, dtype=some.indptr.dtype), some.indptr])
        kernel = scipy.sparse.csr_array((some.data, target.astype(some.indptr.dtype), pointer), shape)
        return kernel if order is None else kernel[order]

    @cached_property
    def _row_of(self) -> Places:
        """The row of each pair, (S·A,); −1 for those that are not there."""
        found = np.full(self.whole.states * self.whole.actions, -1)
        found[self.pair[~self.is_stop]] = np.flatnonzero(~self.is_stop)
        return found

    @cached_property
    def _state(self) -> Indices | None:
        """The state of each node, (N,), of a large model in which each is a single one that rests or goes on; None if some are put together, or compiled code is not worth its loading."""
        known = np.flatnonzero(self.node >= 0)
        if self.whole.flat.nnz <= COMPILED or len(known) != self.count or not self.is_plain:
            return None
        found = np.empty(self.count, np.uint32)
        found[self.node[known]] = known
        return found

    @cached_property
    def is_plain(self) -> bool:
        """Whether only rests are put together, so that no utility is earned inside a node."""
        return not (self.loops.pairs & ~self.whole.rests.pairs).any()

    def utility(self, utility: Array) -> Array:
        """Return utilities (..., S, A) of the rows, (..., n); stopping is worth 0."""
        flat = utility.reshape(*utility.shape[:-2], -1)
        found = np.take(flat, self.pair, -1)
        found[..., self.is_stop] = 0.0
        return found

    @cached_property
    def utilities(self) -> Array:
        """The utilities of the rows, (J, n); stopping is worth 0."""
        if self._state is None:
            return np.ascontiguousarray(self.utility(self.whole.problem.utility))
        utilities = self.whole.problem.pair_utility
        found = np.empty((len(utilities), len(self.pair)))
        kernels.utilities_of_rows(utilities.parts, self.pair, found)
        return found

    @cached_property
    def first(self) -> Places:
        """A row for each node that together stop almost surely, (N,)."""
        return self.towards(self.ends) if self.has_cycles else self.rows.first

    @cached_property
    def leaving(self) -> Places:
        """A row for each node that together stop almost surely, outside rests where they can, (N,)."""
        choice = self.towards(self.ends & ~self.is_stop)
        return np.where(choice >= 0, choice, self.first)

    def towards(self, aims: Mask) -> Places:
        """Return a row for each node that leads to rows `aims` (n,) with positive probability; such a row where there is one."""
        aimed = np.flatnonzero(aims)
        targets = np.zeros(self.count, dtype=bool)
        targets[self.rows.state[aimed]] = True
        choice = self.rows.leading_to(targets)
        choice[self.rows.state[aimed][::-1]] = aimed[::-1]
        return choice

    def stops_surely(self, choice: Places) -> Mask:
        """Return from which nodes the policy that takes the rows `choice` (N,) may stop, (N,); if from all, it stops almost surely."""
        if self.whole.always_stops or self.ends[choice].all():
            return np.ones(self.count, dtype=bool)
        if not self.has_cycles and (self.sweeps.known.place[choice] >= 0).all():  # none stays where it is
            return np.ones(self.count, dtype=bool)
        chain = scipy.sparse.coo_array(self.rows.chain(choice))
        positive = chain.data > 0
        source, target = (part[positive] for part in chain.coords)
        return leads_to(source, target, self.ends[choice])

    def lifted(self, choice: NDArray[np.integer], fallback: AnyActions) -> AnyActions:
        """Return the actions (S,) that take the rows `choice` (N,): in a loop, they lead to where it is left, or to its rest."""
        whole, actions = self.whole, self.whole.actions
        found = fallback.copy()
        if self._state is not None:
            kernels.actions_of_rows(choice, self.pair, self._state, whole.rests.pairs, found)
            return found
        pair = self.pair[choice]
        leaving = pair[pair >= 0]
        found[leaving // actions] = leaving % actions
        inside = np.flatnonzero(self.loops.label >= 0)
        if not len(inside):
            return found
        goals = np.zeros(whole.states, dtype=bool)
        goals[leaving // actions] = True
        rests = (whole.rests.label >= 0) & (self.node >= 0)
        rests &= np.where(self.node >= 0, pair[self.node] < 0, False)
        goals |= rests
        if not goals[inside].all():
            lead = leading(whole.flat, self.loops.pairs, goals)
            way = inside[(lead[inside] >= 0) & ~goals[inside]]
            found[way] = lead[way] % actions
        stay = np.flatnonzero(rests)
        found[stay] = whole.rests.pairs[stay].argmax(1)
        return found


def _chosen(flat: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of a sparse matrix, in ascending order; without a copy of their entries if the others have none."""
    begin, end = flat.indptr[rows], flat.indptr[rows + 1]
    if int((end - begin).sum()) < flat.nnz:
        return flat[rows]
    pointer = np.append(begin, end[-1:])
    return scipy.sparse.csr_array((flat.data, flat.indices, pointer), (len(rows), flat.shape[1]))


def _consecutive(label: Indices) -> Indices:
    """Return labels of which some numbers may be missing as consecutive ones.

    >>> _consecutive(np.array([2, 4, 2], dtype=np.uint32))
    array([0, 1, 0], dtype=uint32)
    """
    found = np.zeros(int(label.max(initial=0)) + 1, dtype=bool)
    found[label] = True
    return label if found.all() else (np.cumsum(found, dtype=np.uint32) - np.uint32(1))[label]


def leads_to(source: Any, target: Any, goals: Mask) -> Mask:
    """Return from which nodes the arrows may lead to one of the goals (N,), (N,).

    >>> leads_to(np.array([0, 2]), np.array([1, 2]), np.array([False, True, False]))
    array([ True,  True, False])
    """
    count, starts = len(goals), np.flatnonzero(goals)
    back: Any = scipy.sparse.csr_array(
        (
            np.ones(len(source) + len(starts)),
            (np.append(target, np.full(len(starts), count)), np.append(source, starts)),
        ),
        (count + 1, count + 1),
    )
    found = np.zeros(count + 1, dtype=bool)
    found[scipy.sparse.csgraph.breadth_first_order(back, count, return_predecessors=False)] = True
    return found[:-1]


def leading(flat: Any, pairs: Mask, targets: Mask) -> NDArray[np.intp]:
    """Return for each state a pair s·A + a, one of `pairs` (S, A), that may lead closer to the targets (S,); −1 where there is none."""
    states, actions = pairs.shape
    chosen = np.flatnonzero(pairs)
    rows = PairRows(flat[chosen], chosen // actions, states)
    lead = rows.leading_to(targets)
    return np.where(lead >= 0, chosen[lead], -1)
