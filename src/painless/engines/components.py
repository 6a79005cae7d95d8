"""Maximal end components: the largest sets of states in which a process can stay for ever and go everywhere.

An end component is a set of states with some of their pairs, at least one each, whose successors all lie in the set and which
connect every state with every other. Two that share a state make one together, so that each state is in at most one that is
maximal. Whatever policy is played, the states and pairs that it takes infinitely often are an end component, with probability 1.

They are found by de Alfaro's method (1997): take strongly connected components, remove the pairs that may leave theirs, and
repeat until there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from painless.common.arrays import Array, Mask, any_of_row
from painless.common.compiling import njit
from painless.engines.sweeps._component_kernels import ordered_components
from painless.engines.sweeps.sparse_rows import Indices, unsigned

COMPILED = 10_000  # transitions from which compiled code is worth its loading


class EndComponents(NamedTuple):
    """The maximal end components of a model, numbered from 0 in the order of their first states."""

    label: NDArray[np.intp]  # (S,) the component of each state; −1 if it is in none
    pairs: Mask  # (S, A) the pairs that stay in their component

    @property
    def number(self) -> int:
        """The number of components."""
        return int(self.label.max(initial=-1)) + 1

    def members(self) -> list[NDArray[np.intp]]:
        """Return the states of each component, in order."""
        order = np.argsort(self.label, kind="stable")
        start = np.searchsorted(self.label[order], np.arange(self.number + 1))
        return [order[start[i] : start[i + 1]] for i in range(self.number)]


class ComponentOrder(NamedTuple):
    """The strongly connected components of some pairs, each numbered after those that it leads to."""

    label: Indices  # (S,) the component of each state
    order: Indices  # (S,) the states by their components, in each after those that they lead to as far as there is no cycle
    reached: Mask  # (S,) which states the initial ones lead to

    @property
    def has_cycles(self) -> bool:
        """Whether a component has several states."""
        return int(self.label.max(initial=0)) + 1 < len(self.label)


def component_order(transition: Any, pairs: Mask, start: NDArray[np.intp]) -> ComponentOrder:
    """Return the components of a large sparse model (S·A, S) without stored zeros that takes some pairs (S, A) only, and starts in some states.

    >>> P = scipy.sparse.csr_array(np.array([[0.0, 0.0, 1.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]))
    >>> found = component_order(P, np.ones((3, 1), dtype=bool), np.array([0]))
    >>> found.label, found.order, found.reached
    (array([1, 2, 0], dtype=uint32), array([2, 0, 1], dtype=uint32), array([ True, False,  True]))
    """
    pointer, successor = unsigned(transition.indptr), unsigned(transition.indices)
    mask, actions = np.ascontiguousarray(pairs).reshape(-1), pairs.shape[1]
    begin = np.ascontiguousarray(pointer[::actions])
    if has_other_rows(pointer, mask):
        begin, successor = kept_transitions(pointer, successor, transition.data, mask, actions)
    return ComponentOrder(*ordered_components(begin[:-1], begin[1:], successor, start.astype(np.uint32))[:3])


@njit
def has_other_rows(pointer: Indices, pairs: Mask) -> bool:
    """Return whether a pair that is not among some, (S·A,), has transitions."""
    for pair in range(np.uint64(len(pairs))):
        if not pairs[pair] and pointer[pair] != pointer[pair + np.uint64(1)]:
            return True
    return False


class _Arrows(NamedTuple):
    """Transitions with a positive probability, of the pairs that are left."""

    pair: NDArray[np.intp]  # s·A + a
    source: NDArray[np.intp]
    target: NDArray[np.intp]

    def of(self, kept: Mask) -> _Arrows:
        return _Arrows(*(part[kept] for part in self))


def end_components(
    transition: Any, pairs: Mask, tick: Callable[[], None] = lambda: None, label: Indices | None = None
) -> EndComponents:
    """Return the maximal end components of a model that may take some pairs only.

    Arguments:
        transition: P(s'|s, a), dense (S, A, S), or sparse (S·A, S) with row s·A + a.
        pairs: (S, A), the pairs that may be taken.
        tick: called between passes over the model; it may raise.
        label: (S,) strongly connected components of these pairs, or of more, if they are known.

    >>> P = np.array([[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]], [[0.0, 0.0, 1.0], [0.0, 0.5, 0.5]], [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]])
    >>> end_components(P, np.ones((3, 2), dtype=bool)).label
    array([0, 0, 0])
    >>> found = end_components(P, np.array([[True, True], [True, True], [True, False]]))
    >>> found.label, found.pairs.tolist()
    (array([0, 1, 1]), [[True, False], [True, True], [True, False]])
    """
    states, actions = pairs.shape
    if _is_whole(transition, pairs):
        return EndComponents(np.zeros(states, dtype=np.intp), pairs.copy())
    tick()
    left = pairs.reshape(-1).copy()
    if not isinstance(transition, np.ndarray) and transition.nnz > COMPILED:
        found = _compiled(transition, left, actions, tick, label)
        kept = left.reshape(states, actions)
        return EndComponents(_renumbered(found, any_of_row(kept)), kept)
    arrows = _arrows(transition, left.reshape(pairs.shape))
    while True:
        tick()
        arrows, left = _without_dead_ends(arrows, left, states, actions)
        tick()
        found = _strongly_connected(arrows, states)
        leaving = found[arrows.source] != found[arrows.target]
        if not leaving.any():
            break
        left[arrows.pair[leaving]] = False
        arrows = arrows.of(left[arrows.pair])
    kept = left.reshape(states, actions)
    return EndComponents(_renumbered(found, any_of_row(kept)), kept)


def _compiled(
    transition: Any, left: Mask, actions: int, tick: Callable[[], None], known: Indices | None
) -> NDArray[np.intp]:
    """Clear in `left` (S·A,) the pairs that leave their component, in place, and return the component of each state, (S,)."""
    arrays = unsigned(transition.indptr), unsigned(transition.indices), transition.data
    label = known
    while True:
        tick()
        if label is None:
            first, target = kept_transitions(*arrays, left, actions)
            label = ordered_components(first[:-1], first[1:], target, np.empty(0, np.uint32))[0]
        removed = remove_leaving(*arrays, label, left, actions)
        if known is not None and all_stay(*arrays[:2], np.flatnonzero(left), actions):
            return np.arange(len(label))
        if not removed and label is not known:
            return label.astype(np.intp)
        label = None


@njit
def all_stay(pointer: Indices, successor: Indices, pairs: NDArray[np.intp], actions: int) -> bool:
    """Return whether all of some pairs, s·A + a, lead nowhere else than to their own state."""
    for n in range(len(pairs)):
        pair = np.uint64(pairs[n])
        for k in range(pointer[pair], pointer[pair + np.uint64(1)]):
            if np.uint64(successor[k]) != pair // np.uint64(actions):
                return False
    return True


@njit
def kept_transitions(
    pointer: Indices, successor: Indices, probability: Array, left: Mask, actions: int
) -> tuple[Indices, Indices]:
    """Return the successors of all pairs that are left (S·A,), state by state, and where those of each state begin, (S + 1,)."""
    states = len(left) // actions
    first, target = np.zeros(states + 1, np.uint32), np.empty(len(successor), np.uint32)
    count = np.uint32(0)
    for s in range(states):
        for pair in range(np.uint64(s * actions), np.uint64((s + 1) * actions)):
            if left[pair]:
                for k in range(pointer[pair], pointer[pair + np.uint64(1)]):
                    if probability[k] > 0.0:
                        target[count] = successor[k]
                        count += np.uint32(1)
        first[s + 1] = count
    return first, target[:count].copy()


@njit
def remove_leaving(
    pointer: Indices, successor: Indices, probability: Array, label: Indices, left: Mask, actions: int
) -> int:
    """Clear in `left` (S·A,) the pairs that may leave the component of their state, (S,), then those that may lead to a state without a pair, and so on; return how many."""
    states, count, end = len(label), 0, 0
    pairs_left, begin = np.zeros(states, np.uint32), np.zeros(states + 1, np.uint32)
    todo = np.empty(states, np.uint32)
    for s in range(np.uint64(states)):
        for pair in range(s * np.uint64(actions), (s + np.uint64(1)) * np.uint64(actions)):
            if left[pair]:
                for k in range(pointer[pair], pointer[pair + np.uint64(1)]):
                    if probability[k] > 0.0 and label[np.uint64(successor[k])] != label[s]:
                        left[pair] = False
                        count += 1
                        break
            if left[pair]:
                pairs_left[s] += np.uint32(1)
                for k in range(pointer[pair], pointer[pair + np.uint64(1)]):
                    if probability[k] > 0.0:
                        begin[np.uint64(successor[k])] += np.uint32(1)
        if pairs_left[s] == 0:
            todo[end] = s
            end += 1
    if count == 0:
        return 0
    # The pairs into each state, of those that are left
    for n in range(states):
        begin[n + 1] += begin[n]
    into = np.empty(begin[states], np.uint32)
    for s in range(np.uint64(states)):
        for pair in range(s * np.uint64(actions), (s + np.uint64(1)) * np.uint64(actions)):
            if left[pair]:
                for k in range(pointer[pair], pointer[pair + np.uint64(1)]):
                    if probability[k] > 0.0:
                        t = np.uint64(successor[k])
                        begin[t] -= np.uint32(1)
                        into[begin[t]] = pair
    while end > 0:
        end -= 1
        t = np.uint64(todo[end])
        for k in range(begin[t], begin[t + np.uint64(1)]):
            taken = np.uint64(into[k])
            if left[taken]:
                left[taken] = False
                count += 1
                source = taken // np.uint64(actions)
                pairs_left[source] -= np.uint32(1)
                if pairs_left[source] == 0:
                    todo[end] = source
                    end += 1
    return count


@njit
def reached_states(pointer: Indices, successor: Indices, pairs: Mask, initial: Array, actions: int) -> Mask:
    """Return which states may be reached from those with a positive initial probability, (S,), by some pairs, (S·A,), only."""
    states = len(initial)
    reached, todo, end = np.zeros(states, np.bool_), np.empty(states, np.uint32), 0
    for n in range(states):
        if initial[n] > 0.0:
            reached[n] = True
            todo[end] = n
            end += 1
    while end > 0:
        end -= 1
        s = np.uint64(todo[end])
        for pair in range(s * np.uint64(actions), (s + np.uint64(1)) * np.uint64(actions)):
            if pairs[pair]:
                for k in range(pointer[pair], pointer[pair + np.uint64(1)]):
                    t = np.uint64(successor[k])
                    if not reached[t]:
                        reached[t] = True
                        todo[end] = t
                        end += 1
    return reached


def _is_whole(transition: Any, pairs: Mask) -> bool:
    """Whether all pairs of a sparse model may be taken and connect every state with every other."""
    graph = shared_graph(transition, pairs)
    if graph is None:
        return False
    search = partial(scipy.sparse.csgraph.breadth_first_order, i_start=0, return_predecessors=False)
    return len(search(graph)) == len(pairs) and len(search(graph.T.tocsr())) == len(pairs)


def shared_graph(transition: Any, pairs: Mask) -> Any:
    """Return the graph of all transitions of a sparse model, (S, S), without a copy of them; None if there is a mask, or a 0 is stored.

    Its rows may have the same successor more than once, which breadth-first searches allow, and SciPy's strong components do not.
    """
    if isinstance(transition, np.ndarray) or not pairs.all() or not (transition.data > 0).all():
        return None
    first = np.ascontiguousarray(transition.indptr[:: pairs.shape[1]])  # of each state
    return scipy.sparse.csr_array((transition.data, transition.indices, first), (len(pairs),) * 2)


def _arrows(transition: Any, pairs: Mask) -> _Arrows:
    states, actions = pairs.shape
    dense = isinstance(transition, np.ndarray)
    kernel: Any = scipy.sparse.csr_array(transition.reshape(-1, states)) if dense else transition
    pair = np.repeat(np.arange(states * actions), np.diff(kernel.indptr))
    found = _Arrows(pair, pair // actions, kernel.indices.astype(np.intp))
    kept = pairs.reshape(-1)[pair] & (kernel.data > 0)
    return found if kept.all() else found.of(kept)


def _strongly_connected(arrows: _Arrows, states: int) -> NDArray[np.intp]:
    graph = scipy.sparse.csr_array(
        (np.ones(len(arrows.pair)), (arrows.source, arrows.target)), (states, states)
    )
    found = scipy.sparse.csgraph.connected_components(graph, connection="strong")[1]
    return np.asarray(found, dtype=np.intp)


def _renumbered(label: NDArray[np.intp], inside: Mask) -> NDArray[np.intp]:
    """Return labels in the order of each component's first state; −1 for states without a pair."""
    result = np.full(len(label), -1)
    _, first, place = np.unique(label[inside], return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    result[inside] = rank[place]
    return result


def _without_dead_ends(arrows: _Arrows, left: Mask, states: int, actions: int) -> tuple[_Arrows, Mask]:
    """Remove the pairs that may lead to a state without a pair, and so on."""
    pairs_left = left.reshape(states, actions).sum(1)
    dead = np.flatnonzero(pairs_left == 0)
    if not (pairs_left[arrows.target] == 0).any():
        return arrows, left
    order = np.argsort(arrows.target, kind="stable")
    pointer = np.searchsorted(arrows.target[order], np.arange(states + 1))
    remove = remove_towards if len(order) > COMPILED else layers_towards
    left = remove(dead, pointer, arrows.pair[order], left.copy(), pairs_left, actions)
    return arrows.of(left[arrows.pair]), left


def layers_towards(
    dead: NDArray[np.intp],
    pointer: NDArray[np.intp],
    into: NDArray[np.intp],
    left: Mask,
    pairs_left: NDArray[np.integer],
    actions: int,
) -> Mask:
    """Clear in `left` the pairs that may lead to a dead state, layer by layer; a state whose pairs are all gone is dead, too.

    `into[pointer[s]:pointer[s + 1]]` are the pairs that may lead to state s. This is the reference of `remove_towards`.
    """
    while len(dead):
        pairs = np.unique(np.concatenate([into[pointer[s] : pointer[s + 1]] for s in dead]))
        pairs = pairs[left[pairs]]
        left[pairs] = False
        sources = pairs // actions
        np.subtract.at(pairs_left, sources, 1)
        dead = np.unique(sources[pairs_left[sources] == 0])
    return left


@njit
def remove_towards(
    dead: NDArray[np.intp],
    pointer: NDArray[np.intp],
    into: NDArray[np.intp],
    left: Mask,
    pairs_left: NDArray[np.integer],
    actions: int,
) -> Mask:
    """Do what `layers_towards` does, with a list of states in place of layers."""
    todo = np.empty(len(pairs_left), dtype=np.intp)
    todo[: len(dead)] = dead
    end = len(dead)
    while end > 0:
        end -= 1
        state = todo[end]
        for k in range(pointer[state], pointer[state + 1]):
            pair = into[k]
            if left[pair]:
                left[pair] = False
                source = pair // actions
                pairs_left[source] -= 1
                if pairs_left[source] == 0:
                    todo[end] = source
                    end += 1
    return left
