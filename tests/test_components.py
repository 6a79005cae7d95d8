"""Maximal end components against their definition."""

from itertools import chain, combinations

import numpy as np
import pytest
import scipy

from painless.engines import components
from painless.engines.components import COMPILED, end_components, layers_towards, remove_towards


def by_definition(transition, pairs):
    """Return the maximal end components: every set of states in which one can stay and go everywhere, and in no larger one."""
    states = range(len(pairs))
    found = []
    for members in map(set, chain.from_iterable(combinations(states, n) for n in range(len(pairs), 0, -1))):
        stay = {
            s: [a for a in np.flatnonzero(pairs[s]) if set(np.flatnonzero(transition[s, a])) <= members]
            for s in members
        }
        connected = all(stay.values()) and all(_reached(s, stay, transition) == members for s in members)
        if connected and not any(members < other for other, _ in found):
            found.append((members, stay))
    return found


def _reached(start, stay, transition):
    found, todo = {start}, [start]
    while todo:
        state = todo.pop()
        for successor in chain.from_iterable(np.flatnonzero(transition[state, a]) for a in stay[state]):
            if successor not in found:
                found.add(successor)
                todo.append(successor)
    return found


def random_model(rng):
    states, actions = rng.integers(1, 6), rng.integers(1, 4)
    transition = np.zeros((states, actions, states))
    for s, a in np.ndindex(states, actions):
        some = rng.choice(states, size=rng.integers(1, min(3, states) + 1), replace=False)
        transition[s, a, some] = rng.dirichlet(np.ones(len(some)))
    return transition, rng.random((states, actions)) < rng.choice([0.5, 0.8, 1.0])


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("seed", range(200))
def test_equal_to_the_definition(monkeypatch, seed, compiled):
    if compiled:
        monkeypatch.setattr(components, "COMPILED", -1)
    transition, pairs = random_model(np.random.default_rng(seed))
    expected = by_definition(transition, pairs)
    sparse = scipy.sparse.csr_array(transition.reshape(-1, len(pairs)))
    for kernel in (transition, sparse):
        found = end_components(kernel, pairs)
        assert sorted(map(sorted, (members for members, _ in expected))) == [
            m.tolist() for m in found.members()
        ]
        stay = np.zeros_like(pairs)
        for _, kept in expected:
            for s, actions in kept.items():
                stay[s, actions] = True
        np.testing.assert_array_equal(found.pairs, stay)
        assert ((found.label >= 0) == stay.any(1)).all()


def test_zeros_that_are_stored_lead_nowhere():
    kernel = scipy.sparse.csr_array(
        (np.array([1.0, 0.0, 1.0]), np.array([0, 1, 1]), np.array([0, 2, 3])), (2, 2)
    )
    assert end_components(kernel, np.ones((2, 1), dtype=bool)).label.tolist() == [0, 1]


def test_a_long_walk_with_an_exit():
    """Every state of a walk leads to both neighbours, and the first one out of it: none of them is in a component."""
    states = COMPILED
    here = np.arange(states)
    left, right = np.maximum(here - 1, 0), np.minimum(here + 1, states - 1)
    right[0] = 0  # once there, it stays
    parts = (np.full(2 * states, 0.5), (np.repeat(here, 2), np.column_stack([left, right]).reshape(-1)))
    line = scipy.sparse.csr_array(parts, (states, states))
    found = end_components(line, np.ones((states, 1), dtype=bool))
    assert found.number == 1
    assert found.label[0] == 0
    assert (found.label[1:] == -1).all()


def test_what_leaves_is_removed_with_all_that_it_takes_along():
    """On a line whose only way out is at one end, no round takes a single state: all are gone at once."""
    states = 50
    ahead = np.arange(states) + 1
    line = scipy.sparse.csr_array((np.ones(states), (ahead - 1, np.minimum(ahead, states - 1))))
    left = np.ones(states, dtype=bool)
    label = np.append(np.zeros(states - 1), 1).astype(np.uint32)  # as if all but the last were one component
    arrays = line.indptr.astype(np.uint32), line.indices.astype(np.uint32), line.data
    assert components.remove_leaving(*arrays, label, left, 1) == states - 1
    assert np.flatnonzero(left).tolist() == [states - 1]


@pytest.mark.parametrize("seed", range(20))
def test_the_kernel_does_what_its_reference_does(seed):
    rng = np.random.default_rng(seed)
    states, actions = 30, 3
    target = rng.integers(0, states, size=(states * actions, 2))
    left = rng.random(states * actions) < 0.6
    pair = np.repeat(np.arange(states * actions), 2)
    order = np.argsort(target.reshape(-1), kind="stable")
    pointer = np.searchsorted(target.reshape(-1)[order], np.arange(states + 1))
    remaining = left.reshape(states, actions).sum(1)
    dead = np.flatnonzero(remaining == 0)
    found = [
        remove(dead, pointer, pair[order], left.copy(), remaining.copy(), actions)
        for remove in (layers_towards, remove_towards)
    ]
    np.testing.assert_array_equal(*found)
