"""Sweeps over the components of a chain without a discount, against dense solves."""

import numpy as np
import pytest
import scipy

import painless
from painless.engines.iterated import Inverses, SweptOrFactorised
from painless.engines.pair_rows import PairRows
from painless.engines.row_sweeps import RowSweeps
from painless.engines.sweeps.component_sweeps import SweptInverse
from painless.engines.sweeps.recent_answers import RecentAnswers
from tests.totals import all_swept, check


def random_chain(seed, states=60, leaving=0.1):
    """Draw a chain with self-loops, several components, and a chance to leave."""
    rng = np.random.default_rng(seed)
    chain = scipy.sparse.random_array((states, states), density=3 / states, rng=rng).toarray()
    chain = np.triu(chain) if seed % 3 == 0 else chain
    chain += np.diag(rng.random(states) * (rng.random(states) < 0.3))
    chain /= np.maximum(chain.sum(1, keepdims=True), 1e-9) * (1 + leaving)
    return scipy.sparse.csr_array(chain)


@pytest.mark.parametrize("seed", range(12))
def test_swept_inverses_are_those_of_dense_solves(seed):
    chain = random_chain(seed, leaving=10.0 ** -(seed % 4))
    rng = np.random.default_rng(seed)
    utility, initial = rng.normal(size=(3, 60)), rng.dirichlet(np.ones(60))
    swept, exact = SweptInverse(chain), np.linalg.inv(np.eye(60) - chain.toarray())
    value, visits = swept.state_value(utility), swept.state_occupancy(initial)
    assert swept.settled
    np.testing.assert_allclose(value, utility @ exact.T, rtol=0, atol=1e-10 * np.abs(value).max())
    np.testing.assert_allclose(visits, initial @ exact, rtol=0, atol=1e-10 * visits.max())


def test_a_chain_without_cycles_takes_one_round():
    states = 5000
    order = np.random.default_rng(1).permutation(states)
    chain = scipy.sparse.csr_array((np.full(states - 1, 0.999), (order[:-1], order[1:])), (states, states))
    ticks = []
    found = SweptInverse(chain, lambda: ticks.append(0)).state_value(np.ones((1, states)))[0]
    assert found[order[0]] == pytest.approx((1 - 0.999**states) / 0.001, rel=1e-12)
    assert len(ticks) <= 2  # one for the time to leave, one for the values


def test_answers_of_similar_chains_are_used_again():
    chain, recent, fresh, ticks = random_chain(4, leaving=0.01), RecentAnswers(), [], []
    utility = np.random.default_rng(0).normal(size=(2, 60))
    SweptInverse(chain, lambda: fresh.append(0), recent).state_value(utility)
    again = SweptInverse(chain, lambda: ticks.append(0), recent).state_value(
        np.array([[1.0, -2.0]]) @ utility
    )
    assert len(ticks) < 0.4 * len(fresh)  # a combination of the answers is nearly exact
    exact = np.linalg.solve(np.eye(60) - chain.toarray(), utility[0] - 2 * utility[1])
    np.testing.assert_allclose(again[0], exact, rtol=0, atol=1e-10 * np.abs(exact).max())


def test_a_chain_that_hardly_ever_leaves_is_not_settled():
    """Its residuals are tiny, and its errors are not."""
    chain = scipy.sparse.csr_array(np.array([[0.0, 1.0], [1.0 - 1e-13, 0.0]]))
    swept = SweptInverse(chain)
    assert not swept.state_value(np.array([[1.0, -1.0]])).any()
    assert not swept.settled
    inverse = SweptOrFactorised(chain, SweptInverse(chain))
    assert inverse.state_value(np.ones((1, 2)))[0, 0] == pytest.approx(2e13, rel=0.01)


def test_inverses_of_chains_that_never_leave_are_finite():
    loop = scipy.sparse.csr_array((np.ones(600), (np.arange(600), np.roll(np.arange(600), 1))), (600, 600))
    assert np.isfinite(Inverses()(loop, 1.0).state_value(np.ones((1, 600)))).all()


def test_sweeps_of_value_iteration_find_the_way_home():
    """A line of states: one step to the left a step costs 1, and one to the right nothing but time."""
    states = 50
    place = np.arange(states)
    left = scipy.sparse.csr_array((np.ones(states - 1), (place[1:], place[:-1])), (states, states))
    stay = scipy.sparse.csr_array(np.eye(states))
    kernel = scipy.sparse.csr_array(scipy.sparse.vstack([left, stay]))[
        np.arange(2 * states).reshape(2, -1).T.ravel()
    ]
    rows = PairRows(kernel, np.repeat(place, 2), states)
    value, choice = np.full(states, -1e3), 2 * place
    found = RowSweeps(rows).improved(np.full(2 * states, -1.0), value, choice, 0.0, 1000, lambda: None)
    np.testing.assert_array_equal(found, 2 * place)  # staying for ever is never taken


@pytest.mark.parametrize("seed", range(7000, 7030))
def test_swept_totals_against_a_linear_program(seed):
    with all_swept():
        check(seed)


def test_a_large_shortest_path_with_a_budget():
    """1,200 states of a random graph: what is proved by sweeps holds the optimum of the linear program."""
    rng = np.random.default_rng(5)
    states, actions = 1200, 3
    successor = rng.integers(states, size=(states * actions, 4))
    share = rng.dirichlet(np.ones(4), size=states * actions)
    kernel = scipy.sparse.csr_array(
        (share.ravel(), (np.repeat(np.arange(states * actions), 4), successor.ravel())),
        (states * actions, states),
    )
    cost, risk = 1 + rng.random((states, actions)), rng.random((states, actions))
    problem = painless.CMDP(
        *(kernel,),
        cost=cost,
        constraint_cost=risk,
        budget=4.0,
        initial=np.full(states, 1 / states),
        discount=1.0,
        end=np.arange(20),
    )
    found = painless.solve(problem, tolerance=1e-7)
    assert found.gap <= 1e-7 * found.reward_value
    going = np.arange(20 * actions, states * actions)
    here = scipy.sparse.csr_array(
        (np.ones(len(going)), (going // actions - 20, np.arange(len(going)))), (states - 20, len(going))
    )
    flow = here - scipy.sparse.csr_array(kernel[going].T)[20:]
    truth = scipy.optimize.linprog(
        cost.ravel()[going],
        A_ub=risk.ravel()[going][None],
        b_ub=[4.0],
        A_eq=flow,
        b_eq=np.full(states - 20, 1 / states),
    )
    assert found.reward_value == pytest.approx(truth.fun, rel=2e-7)
    assert found.multiplier[0] == pytest.approx(-truth.ineqlin.marginals[0], rel=1e-4)


def test_chains_that_lead_anywhere_are_swept_and_those_on_a_line_factorised():
    rng, states = np.random.default_rng(0), 700
    here = np.repeat(np.arange(states), 3)
    anywhere = rng.integers(0, states, 3 * states)
    nearby = np.clip(here + rng.integers(-2, 3, 3 * states), 0, states - 1)
    for ahead, is_swept in ((anywhere, True), (nearby, False)):
        chain = scipy.sparse.csr_array((np.full(3 * states, 0.3), (here, ahead)), (states, states))
        found = Inverses()(chain, 1.0)
        assert isinstance(found.inner, SweptOrFactorised) == is_swept
        expected = np.linalg.solve(np.eye(states) - chain.toarray(), np.ones(states))
        np.testing.assert_allclose(found.state_value(np.ones((1, states)))[0], expected, rtol=1e-9)
