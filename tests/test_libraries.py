"""Layouts of QuantEcon and pymdptoolbox; the examples and their numbers are those of the libraries' documentation."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
import scipy
from numpy.testing import assert_allclose, assert_array_equal

import painless
from painless import InputError, from_mdptoolbox, from_quantecon
from tests.extras import library

# Puterman's two states: in 0 one stays or moves to 1, where one stays. The optimal values are -60/7 and -20.
R = np.array([[5, 10], [-1, -np.inf]])
Q = np.array([[(0.5, 0.5), (0, 1)], [(0, 1), (0.5, 0.5)]])
PAIRS = {"s_indices": [0, 0, 1], "a_indices": [0, 1, 0]}
FIRST = {"initial": [1.0, 0.0]}


def refused(message, make, *arguments, **options):
    with pytest.raises(InputError, match=re.escape(message)):
        make(*arguments, **options)


def quantecon_layouts():
    rewards, rows = [5, 10, -1], Q[[0, 0, 1], [0, 1, 0]]
    yield from_quantecon(R, Q, 0.95, **FIRST)
    yield from_quantecon(SimpleNamespace(R=R, Q=Q, beta=0.95, s_indices=None, a_indices=None), **FIRST)
    yield from_quantecon(rewards, rows, 0.95, **PAIRS, **FIRST)
    yield from_quantecon(rewards, scipy.sparse.csr_matrix(rows), 0.95, **PAIRS, **FIRST)
    order = [2, 0, 1]
    shuffled = {name: np.array(given)[order] for name, given in PAIRS.items()}
    yield from_quantecon(np.array(rewards)[order], rows[order], 0.95, **shuffled, **FIRST)


@pytest.mark.parametrize("problem", list(quantecon_layouts()))
def test_quantecons_own_example(problem):
    assert_array_equal(problem.actions, [[True, True], [True, False]])
    solution = painless.solve(problem, tolerance=1e-9)
    assert_allclose(solution.reward_value, -60 / 7)
    assert_array_equal(solution.policy.probabilities[0], [1.0, 0.0])


@pytest.mark.parametrize("cost", [[[1.0, 0.0], [0.0, 0.0]], [1.0, 0.0, 0.0], [[1.0, 0.0, 0.0]]])
def test_constraints_of_pairs_come_as_pairs_or_tables(cost):
    problem = from_quantecon(
        [5, 10, -1], Q[[0, 0, 1], [0, 1, 0]], 0.95, **PAIRS, **FIRST, constraint_cost=cost, budget=1.5
    )
    assert_array_equal(problem.constraint_reward, [[[-1.0, 0.0], [0.0, 0.0]]])


def test_a_real_discrete_dp():
    quantecon = library("quantecon")
    for given in ((R, Q, 0.95), ([5, 10, -1], Q[[0, 0, 1], [0, 1, 0]], 0.95, *PAIRS.values())):
        ddp = quantecon.markov.DiscreteDP(*given)
        assert_allclose(painless.solve(from_quantecon(ddp, **FIRST), tolerance=1e-9).reward_value, -60 / 7)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((R,), {}, "give R, Q and beta, or a DiscreteDP"),
        ((R, Q, 0.95), {"s_indices": [0]}, "give both s_indices and a_indices"),
        (([5, 10, -1], Q[0], 0.95), {}, "R has shape (3,), not (S, A); give s_indices and a_indices"),
        (
            ([5, 10], Q[0], 0.95),
            {"s_indices": [0, 2], "a_indices": [0, 1]},
            "pair 1 is state 2, action 1; Q has 2 states",
        ),
        (
            ([5, 10], Q[0], 0.95),
            {"s_indices": [0, 0], "a_indices": [1, 1]},
            "state 0, action 1 is listed twice",
        ),
        (([5, 10], Q[0], 0.95), {"s_indices": [0], "a_indices": [1, 1]}, "have [1, 2] entries"),
        (
            ([5, 10], Q[0], 0.95),
            {"s_indices": [0.5, 1], "a_indices": [1, 1]},
            "s_indices is not a list of whole numbers",
        ),
        (([5, 10], Q[0], 0.95), {"s_indices": [0, 0], "a_indices": [0, 1]}, "state 1 has no actions"),
    ],
)
def test_quantecon_layouts_are_checked(arguments, options, message):
    refused(message, from_quantecon, *arguments, **options, **FIRST)


# The forest of pymdptoolbox with p = 0.1: wait or cut; the optimal policy waits, with values 26.244, 29.484, 33.484.
P = np.array([[[0.1, 0.9, 0], [0.1, 0, 0.9], [0.1, 0, 0.9]], [[1, 0, 0]] * 3])
REWARD = np.array([[0, 0], [0, 1], [4, 2]])
YOUNG = {"initial": [1.0, 0.0, 0.0]}


def objects(matrices):
    array = np.empty(len(matrices), dtype=object)
    array[:] = matrices
    return array


FULL = np.repeat(REWARD.T[:, :, None], 3, 2).astype(float)  # (A, S, S)
SPARSE = [scipy.sparse.csr_matrix(one) for one in P]
each_transition = pytest.mark.parametrize(
    "transitions",
    [P, list(P), SPARSE, objects(SPARSE), tuple(P.tolist())],
    ids=["array", "list", "sparse", "objects", "lists"],
)
each_reward = pytest.mark.parametrize(
    "reward",
    [
        REWARD,
        FULL,
        [scipy.sparse.csr_matrix(one) for one in FULL],
        objects([scipy.sparse.csr_matrix(one) for one in FULL]),
    ],
    ids=["table", "array", "sparse", "objects"],
)


@each_transition
@each_reward
def test_the_forest_of_pymdptoolbox(transitions, reward):
    problem = from_mdptoolbox(transitions, reward, 0.9, **YOUNG)
    assert problem.is_sparse == scipy.sparse.issparse(transitions[0])
    assert_allclose(problem.reward, REWARD)
    solution = painless.solve(problem, tolerance=1e-9)
    policy = np.eye(2)[[0, 0, 0]]
    assert_allclose(painless.value(policy, problem).reward_value, solution.reward_value)
    assert_allclose(solution.reward_value, 26.244, rtol=1e-4)


def test_rewards_of_states_and_of_next_states():
    of_states = from_mdptoolbox(P, [0.0, 1.0, 2.0], 0.9, **YOUNG)
    assert_array_equal(of_states.reward, [[0, 0], [1, 1], [2, 2]])
    after = np.zeros((2, 3, 3))
    after[0, 0] = [10.0, 20.0, 30.0]
    assert_allclose(from_mdptoolbox(P, after, 0.9, **YOUNG).reward[0], [0.1 * 10 + 0.9 * 20, 0.0])
    sparse = from_mdptoolbox(SPARSE, [scipy.sparse.csr_array(one) for one in after], 0.9, **YOUNG)
    assert_allclose(sparse.reward[0], [19.0, 0.0])


def test_the_real_forest():
    example = library("mdptoolbox.example")
    for sparse in (False, True):
        transitions, reward = example.forest(is_sparse=sparse)
        assert_allclose(
            painless.solve(from_mdptoolbox(transitions, reward, 0.9, **YOUNG), tolerance=1e-6).reward_value,
            26.244,
            rtol=1e-4,
        )


@pytest.mark.parametrize(
    ("transitions", "reward", "message"),
    [
        (SPARSE[0], REWARD, "transitions is one sparse matrix; give a list"),
        (7, REWARD, "transitions is a int; give an array (A, S, S)"),
        ([], REWARD, "transitions is a list; give an array (A, S, S)"),
        ([P[0], P[1][:2]], REWARD, "transitions[1] has shape (2, 3); give a matrix (S, S)"),
        (
            P,
            np.zeros((3, 3, 3)),
            "reward has shape (3, 3, 3); give (S,) = (3,), (S, A) = (3, 2), or (A, S, S)",
        ),
        (P, SPARSE[:1], "reward has 1 matrices of shape (3, 3); transitions have 2 of (3, 3)"),
        (P, np.zeros((2, 2)), "reward has shape (2, 2), not (S, A) = (3, 2)"),
        (P * 0.5, REWARD, "transition[0, 0] sums to 0.500000"),
    ],
)
def test_pymdptoolbox_layouts_are_checked(transitions, reward, message):
    refused(message, from_mdptoolbox, transitions, reward, 0.9, **YOUNG)


# ---------------------------------------------------------------------------------------------- advice of CMDP


def test_the_constructor_recognises_other_layouts():
    options = {"initial": [1.0, 0.0, 0.0], "discount": 0.9}
    refused(
        "looks like (A, S, S); transpose it to (S, A, S): transition.transpose(1, 0, 2)",
        painless.CMDP,
        P,
        REWARD,
        **options,
    )
    dense = P.transpose(1, 0, 2)
    refused(
        "looks like (A, S, S); transpose it to (S, A, S): reward.transpose(1, 0, 2)",
        painless.CMDP,
        dense,
        FULL,
        **options,
    )
    refused(
        "use painless.from_mdptoolbox(transition, reward, discount", painless.CMDP, SPARSE, REWARD, **options
    )
    refused(
        "or use painless.from_quantecon(reward, transition, discount, s_indices",
        painless.CMDP,
        P[0],
        REWARD,
        **options,
    )
    with_holes = np.where(REWARD == 2, -np.inf, REWARD)
    refused(
        "reward[2, 1] is -inf; if that marks an action that the state does not have",
        painless.CMDP,
        dense,
        with_holes,
        **options,
    )
    advised = painless.CMDP(dense, with_holes, actions=np.isfinite(with_holes), **options)
    assert not advised.actions[2, 1]
    assert_array_equal(painless.CMDP(dense, FULL.transpose(1, 0, 2), **options).reward, REWARD)
