"""Compiled passes over the rows of single states, against NumPy."""

import numpy as np
import pytest
import scipy

from painless.engines.components import component_order, end_components
from painless.engines.sweeps import _row_kernels as kernels
from painless.engines.total import Total
from painless.problem.pair_utilities import PairUtilities
from tests.test_in_order import layered


def some_rows(seed, states=30, actions=3):
    """Return transitions (S·A, S), which pairs are rows, (S, A), which states stop, an order of most states, and their numbers."""
    rng = np.random.default_rng(seed)
    kernel = scipy.sparse.random_array((states * actions, states), density=0.1, rng=rng, format="csr")
    pairs, stops = rng.random((states, actions)) < 0.6, rng.random(states) < 0.2
    order = rng.permutation(states)[: states - 4].astype(np.uint32)
    number = np.full(states, 2**32 - 1, np.uint32)
    number[order] = np.arange(len(order))
    return kernel, pairs, stops, order, number


def rows_by_loop(pairs, stops, order):
    """Return the pairs of the rows, −1 to stop, and where those of each state begin."""
    rows = [([-1] if stops[s] else []) + (3 * s + np.flatnonzero(pairs[s])).tolist() for s in order.tolist()]
    return np.concatenate(rows), np.append(0, np.cumsum([len(row) for row in rows]))


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_those_of_the_states_in_their_order(seed):
    kernel, pairs, stops, order, number = some_rows(seed)
    arrays = kernel.indptr.astype(np.uint32), kernel.indices.astype(np.uint32), kernel.data
    begin, pair, pointer, target, chance = kernels.rows_of_states(
        *arrays, pairs.ravel(), stops, order, number
    )
    expected, first = rows_by_loop(pairs, stops, order)
    np.testing.assert_array_equal(pair, expected)
    np.testing.assert_array_equal(begin, first)
    for row, one in enumerate(expected.tolist()):
        entries = slice(pointer[row], pointer[row + 1])
        there = kernel[[one]].tocoo() if one >= 0 else scipy.sparse.coo_array((1, 30))
        np.testing.assert_array_equal(target[entries], number[there.coords[1]])
        np.testing.assert_array_equal(chance[entries], there.data)


@pytest.mark.parametrize("seed", range(5))
def test_rows_actions_utilities_and_tables_belong_together(seed):
    _, pairs, stops, order, _ = some_rows(seed)
    pairs[order, 0] |= ~pairs[order].any(1)
    pair, begin = rows_by_loop(pairs, stops, order)
    rng, rests = np.random.default_rng(seed), np.random.default_rng(seed).random(pairs.shape) < 0.5
    choice, found = rng.integers(begin[:-1], begin[1:]), np.full(30, 2, np.uint8)
    kernels.actions_of_rows(choice, pair, order, rests, found)
    taken = pair[choice]
    np.testing.assert_array_equal(found[order], np.where(taken >= 0, taken % 3, rests[order].argmax(1)))
    elsewhere = np.setdiff1d(np.arange(30), order)
    assert (found[elsewhere] == 2).all()
    again = np.empty(len(order), np.int64)
    kernels.rows_of_actions(begin.astype(np.uint32), pair, order, found, 3, again)
    for n, s in enumerate(order.tolist()):
        rows = pair[begin[n] : begin[n + 1]]
        at = np.flatnonzero((rows < 0) | (rows == 3 * s + found[s]))
        assert again[n] == (begin[n] + at[0] if len(at) else -1)
    reward, constraint = rng.random(90), rng.random((2, 90))
    parts = PairUtilities(reward, constraint, np.array([0, 2]), np.array([0.5, 0.0]), np.array([1.0, 4.0]))
    utility = np.empty((2, len(pair)))
    kernels.utilities_of_rows(parts.parts, pair, utility)
    np.testing.assert_array_equal(utility, np.where(pair >= 0, parts[:, pair], 0.0))
    policies, shares, node = rng.integers(0, 3, (2, 30)), rng.random((2, len(order))), np.full(30, -1)
    node[order] = np.arange(len(order))
    table, expected = np.full((30, 3), np.nan), np.eye(3)[policies[0]]
    kernels.write_table(policies, shares, node, table)
    for n, s in enumerate(order.tolist()):
        expected[s] = np.eye(3)[policies[:, s]].T @ shares[:, n] / shares[:, n].sum()
    np.testing.assert_allclose(table, expected, rtol=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_components_of_some_pairs_are_those_of_scipy(seed):
    """Also where other pairs have transitions, and what is reached from some states."""
    rng = np.random.default_rng(seed)
    kernel = scipy.sparse.random_array((120, 40), density=0.03, rng=rng, format="csr")
    pairs = rng.random((40, 3)) < 0.8
    graph = scipy.sparse.csr_array(
        sum(scipy.sparse.diags_array(1.0 * pairs[:, a]) @ kernel[a::3] for a in range(3))
    )
    found = component_order(kernel, pairs, np.array([3, 5]))
    number, label = scipy.sparse.csgraph.connected_components(graph, connection="strong")
    assert found.label.max() + 1 == number
    assert len(set(zip(label.tolist(), found.label.tolist(), strict=True))) == number
    source, target = graph.nonzero()
    assert (found.label[source] >= found.label[target]).all()
    assert (np.diff(found.label[found.order].astype(int)) >= 0).all()
    ahead = [scipy.sparse.csgraph.breadth_first_order(graph, s, return_predecessors=False) for s in (3, 5)]
    np.testing.assert_array_equal(np.flatnonzero(found.reached), np.unique(np.concatenate(ahead)))


@pytest.mark.parametrize("back", [0.0, 0.2])
def test_end_components_are_the_same_with_known_components(back):
    whole = Total(layered(3, 6_000, back)).whole
    pairs = whole.pairs & (whole.ending == 0)
    plain, known = (
        end_components(whole.flat, pairs),
        end_components(whole.flat, pairs, label=whole.order.label),
    )
    np.testing.assert_array_equal(plain.label, known.label)
    np.testing.assert_array_equal(plain.pairs, known.pairs)
