"""Elimination in one order for all chains of a model: against dense systems, with states that all others lead to, and where too much fills in."""

import numpy as np
import pytest
import scipy

import painless
from painless.engines.ending_soon import EndingSoon
from painless.engines.engine import engine_of
from painless.engines.sweeps import elimination_order
from painless.engines.sweeps.chain import Chain, as_matrix, chain_of
from painless.engines.sweeps.elimination import eliminate
from painless.engines.sweeps.elimination_order import EliminationOrder
from painless.engines.sweeps.policy_steps import uniform_chain
from painless.engines.sweeps.pricing import Pricer
from painless.engines.sweeps.sparse_rows import sparse_rows
from painless.engines.swept import Swept
from painless.planning import LinearProgram
from painless.problem.units import normalise

DISCOUNT = 0.99


def chain_with(matrix):
    """The chain with transitions γP, a matrix without self-loops."""
    rows = scipy.sparse.csr_array(matrix)
    pointer = rows.indptr.astype(np.uint32)
    states = rows.shape[0]
    return Chain(
        *(pointer[:-1], pointer[1:], rows.indices.astype(np.uint32), rows.data),
        *(np.zeros(states), np.zeros((states, 1))),
    )


def random_graph(states, degree, rng):
    """A sparse matrix whose rows sum to less than 1, without a diagonal."""
    matrix = scipy.sparse.random_array((states, states), density=degree / states, rng=rng).tolil()
    matrix.setdiag(0)
    matrix = scipy.sparse.csr_array(matrix)
    matrix.data /= 1 + np.repeat(np.maximum(matrix.sum(1), 1e-9), np.diff(matrix.indptr))
    return matrix


@pytest.mark.parametrize("seed", range(12))
def test_random_chains_equal_dense_systems(monkeypatch, seed):
    """Of any graph: with states alone, in several parts, and with states that lead to many."""
    monkeypatch.setattr(elimination_order, "ENTRIES", 1000)
    monkeypatch.setattr(elimination_order, "SPARSE", 1000.0)
    monkeypatch.setattr(elimination_order, "HUB", (0.3, 10.0)[seed % 2])
    monkeypatch.setattr(elimination_order, "USUAL", 0)  # there is little room at first
    monkeypatch.setattr(elimination_order, "PIECE", (1000, 1)[seed % 3 == 0])
    rng = np.random.default_rng(seed)
    states = int(rng.integers(2, 60))
    matrix = random_graph(states, float(rng.uniform(0.3, 4)), rng)
    chain, right = chain_with(matrix), rng.random((states, 2))
    order = EliminationOrder(lambda: chain)
    system = np.eye(states) - matrix.toarray()
    np.testing.assert_allclose(order.solve(chain, right), np.linalg.solve(system, right), rtol=1e-10)
    found = order.solve(chain, right[:, 0], transposed=True)
    np.testing.assert_allclose(found, np.linalg.solve(system.T, right[:, 0]), rtol=1e-10)
    assert order.is_known


def test_one_order_serves_all_policies():
    rows = sparse_rows(painless.problems.slippery_grid(height=25, width=25, seed=3, dense=False))
    states, rng = len(rows.first) - 1, np.random.default_rng(0)
    order = EliminationOrder(lambda: uniform_chain(rows)[0])
    for _ in range(3):
        moves = rng.integers(0, 4, (2, states)).astype(np.uint32)
        shares = np.array([np.full(states, 0.3), np.full(states, 0.7)])
        for chain in (
            chain_of(rows, DISCOUNT, rows.first[:-1] + moves[0]),
            chain_of(rows, DISCOUNT, rows.first[:-1] + moves, shares),
        ):
            system = np.eye(states) - as_matrix(chain).toarray()
            found = order.solve(chain, chain.gain)
            np.testing.assert_allclose(found, np.linalg.solve(system, chain.gain), rtol=1e-9, atol=1e-12)


def test_a_state_that_all_others_lead_to_goes_last():
    """Otherwise all others would be its neighbours' neighbours; there are two entries for it in each row."""
    states = 5000
    ahead = scipy.sparse.diags_array(np.full(states - 1, 0.9), offsets=1, format="lil")
    ahead[:, 0] = 0.05
    ahead[0, 0] = 0.0
    chain = chain_with(ahead)
    order = EliminationOrder(lambda: chain)
    found = order.solve(chain, np.ones(states))
    np.testing.assert_allclose(found - as_matrix(chain) @ found, 1.0, rtol=1e-12)
    assert order._structure.order[-1] == 0
    assert len(order._structure.lower_column) < 3 * states
    assert order.is_thin


def test_graphs_that_fill_in_are_given_up():
    rng = np.random.default_rng(0)
    chain = chain_with(random_graph(3000, 5, rng))
    order = EliminationOrder(lambda: chain)
    assert order.solve(chain, np.ones(3000)) is None
    assert order.solve(chain, np.ones(3000)) is None
    assert not order.is_known
    assert not order.is_thin
    assert order.least_width > 20


def test_a_thousand_states_need_no_order(monkeypatch):
    """Its kernels take longer to compile than anything that they could save; a grid of that size lies in a band."""
    monkeypatch.setattr(EliminationOrder, "solve", lambda *_, **__: pytest.fail("an order was looked for"))
    rng = np.random.default_rng(0)
    anywhere = chain_with(random_graph(1000, 5, rng))
    assert eliminate(anywhere, np.ones(1000)) is None
    rows = sparse_rows(painless.problems.slippery_grid(height=30, width=30, seed=3, dense=False))
    states = len(rows.first) - 1
    shuffled = rng.permutation(states)
    matrix = as_matrix(uniform_chain(rows, DISCOUNT)[0])[shuffled][:, shuffled]
    chain = chain_with(matrix)
    found = eliminate(chain, np.ones(states))
    np.testing.assert_allclose(found - matrix @ found, 1.0, rtol=1e-9)


def test_a_wide_grid_is_known_to_be_wide_from_its_edge():
    """The state in the middle of an even number of rows lies at an edge, from where half as many states are near."""
    side = 200
    cell = np.arange(side * side).reshape(side, side)
    pairs = np.concatenate(
        [
            np.stack([cell[:, :-1], cell[:, 1:]]).reshape(2, -1),
            np.stack([cell[:-1], cell[1:]]).reshape(2, -1),
        ],
        1,
    )
    grid = scipy.sparse.csr_array((np.full(pairs.shape[1], 0.2), tuple(pairs)), shape=(side**2,) * 2)
    order = EliminationOrder(lambda: chain_with(grid + grid.T))
    assert order.solve(chain_with(grid + grid.T), np.ones(side**2)) is None
    assert order.least_width > 20


@pytest.mark.parametrize(("entries", "sparse"), [(1, 1000.0), (1000, 1.0)])
def test_entries_are_bounded_for_a_piece_and_for_all(monkeypatch, entries, sparse):
    monkeypatch.setattr(elimination_order, "ENTRIES", entries)
    monkeypatch.setattr(elimination_order, "SPARSE", sparse)
    monkeypatch.setattr(elimination_order, "WHOLE", 0)
    rows = sparse_rows(painless.problems.slippery_grid(height=40, width=40, seed=3, dense=False))
    chain = uniform_chain(rows, DISCOUNT)[0]
    assert EliminationOrder(lambda: chain).solve(chain, chain.stay) is None


@pytest.mark.parametrize("constraints", [0, 1])
def test_mazes_agree_with_the_linear_program(constraints):
    """Best responses by policy iteration with values by elimination, from the uniform policy."""
    maze = painless.problems.slippery_grid(height=40, width=40, seed=5, discount=0.999, dense=False)
    if not constraints:
        maze = painless.CMDP(maze.transition, maze.reward, initial=maze.initial, discount=maze.discount)
    problem = normalise(maze)[0]
    best = LinearProgram().plan(problem)
    exact = float((best.occupancy * problem.reward).sum())
    found = painless.ColumnGeneration().plan(problem, 1e-6)
    order = found.certifier.engine.pricer.values.elimination
    assert order.is_known
    assert not order.is_thin
    assert found.answer.value[0] <= exact + 1e-7 * abs(exact)
    assert found.answer.upper_bound >= exact - 1e-7 * abs(exact)
    assert found.answer.gap <= 1e-6 * abs(found.answer.upper_bound)


def test_the_uniform_policy_shows_the_way_through_a_tree():
    """Where values fall off by orders of magnitude, the smallest differences count: two policies suffice."""
    side = 2000  # a corridor with side rooms, so that no band is narrow in the order given
    rng = np.random.default_rng(1)
    label = rng.permutation(2 * side)
    here = np.arange(side)
    arrows = [(here, np.minimum(here + 1, side - 1)), (here, np.maximum(here - 1, 0)), (here, here + side)]
    kernel = np.zeros((2 * side, 3), dtype=np.intp)
    for a, (source, target) in enumerate(arrows):
        kernel[source, a] = target
    kernel[side:] = np.arange(side)[:, None]
    target = label[kernel[np.argsort(label)]].ravel()
    slip = scipy.sparse.csr_array((np.ones(len(target)), (np.arange(len(target)), target)))
    reward = np.zeros((2 * side, 3))
    reward[label[side - 1]] = 1.0
    problem = painless.CMDP(slip, reward, initial=np.full(2 * side, 0.5 / side), discount=0.999)
    pricer = Pricer(normalise(problem)[0])
    pricer.price(np.ones(1), 1e-6, 1e-6)
    assert pricer.values.elimination.is_thin
    assert pricer.bellman_sweeps < 40


@pytest.mark.parametrize(("discount", "engine"), [(0.9999, Swept), (0.99999, EndingSoon)])
def test_a_maze_keeps_a_discount_that_is_close_to_one(discount, engine):
    maze = painless.problems.slippery_grid(height=40, width=40, seed=5, discount=discount, dense=False)
    assert isinstance(engine_of(maze), engine)


def test_successors_that_repeat_count_once():
    """As often as a byte can count, a sum of ones would be 0."""
    states, often = 50, 256
    here = np.arange(states)
    ahead = np.repeat(np.column_stack([(here + 1) % states, (here - 1) % states]), often, axis=1)
    start = (2 * often * here).astype(np.uint32)
    weight = np.full(ahead.size, DISCOUNT / (2 * often))
    chain = Chain(
        *(start, start + np.uint32(2 * often), ahead.ravel().astype(np.uint32), weight),
        *(np.zeros(states), np.zeros((states, 1))),
    )
    utility = np.random.default_rng(0).random(states)
    found = EliminationOrder(lambda: chain).solve(chain, utility)
    np.testing.assert_allclose(utility + as_matrix(chain) @ found, found, rtol=1e-12)
