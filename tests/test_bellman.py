"""The Bellman equations: closed forms, dense against sparse, and the lemmas of the paper."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import painless
from painless import bellman
from painless.evaluators import ExactEvaluator
from painless.learners import CoinBetting
from painless.policies.learning_table import LearningTable
from painless.policies.table import dirichlet_policy, uniform_policy

from .problems import garnets


def chain():
    """Two states: "go" leads from 0 to 1 with reward 1, and 1 keeps paying 2; "stay" pays nothing."""
    transition = np.array([[[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]])
    return painless.CMDP(transition, [[1.0, 0.0], [2.0, 2.0]], initial=[1.0, 0.0], discount=0.5)


def test_values_of_a_chain_by_hand():
    problem = chain()
    policy = np.array([[0.5, 0.5], [1.0, 0.0]])
    # V(1) = 4, V(0) = ½(1 + ½·4) + ½·½·V(0) = 2.
    assert bellman.policy_value(problem, policy) == pytest.approx([2.0])
    inverse = bellman.resolvent(bellman.policy_transition(problem, policy), 0.5)
    value = inverse.state_value(bellman.policy_utility(problem.utility, policy))
    np.testing.assert_allclose(value, [[2.0, 4.0]])
    np.testing.assert_allclose(
        bellman.action_value(problem, problem.utility, value), [[[3.0, 1.0], [4.0, 4.0]]]
    )
    # d(0) = 1/(1 − ¼), d(1) = 2 − d(0).
    np.testing.assert_allclose(bellman.occupancy(problem, policy), [[2 / 3, 2 / 3], [2 / 3, 0.0]])


@given(garnets(), st.integers(0, 2**32 - 1))
def test_occupancy_and_values_agree(problem, seed):
    policy = dirichlet_policy(problem.actions, np.random.default_rng(seed))
    occupancy = bellman.occupancy(problem, policy)
    assert occupancy.sum() == pytest.approx(1 / (1 - problem.discount))
    values = bellman.policy_value(problem, policy)
    np.testing.assert_allclose(bellman.occupancy_value(problem, occupancy), values, rtol=1e-9, atol=1e-9)
    reached = occupancy.sum(-1) > 0
    again = bellman.occupancy_policy(occupancy, uniform_policy(problem.actions))
    np.testing.assert_allclose(again[reached], policy[reached], atol=1e-12)


@given(garnets(), st.integers(0, 2**32 - 1))
def test_dense_and_sparse_models_have_the_same_values(problem, seed):
    states, actions, _ = problem.shape
    flat = problem.transition.reshape(-1, states) if not problem.is_sparse else problem.transition.toarray()
    both = [
        painless.CMDP(
            kernel,
            problem.reward,
            initial=problem.initial,
            discount=problem.discount,
            actions=problem.actions,
        )
        for kernel in (flat.reshape(states, actions, states), sparse.csr_array(flat))
    ]
    policy = dirichlet_policy(problem.actions, np.random.default_rng(seed))
    dense, thin = (
        ExactEvaluator(one).evaluate(LearningTable.start(CoinBetting(), policy[None])) for one in both
    )
    np.testing.assert_allclose(dense.value, thin.value, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        dense.q.values[:, :, problem.actions], thin.q.values[:, :, problem.actions], rtol=1e-9, atol=1e-9
    )


@given(garnets(), st.integers(0, 2**32 - 1))
def test_value_difference_lemma(problem, seed):
    """V' − V = (I − γP')⁻¹ (T'V − V) (paper, app. B)."""
    rng = np.random.default_rng(seed)
    first, second = (dirichlet_policy(problem.actions, rng) for _ in range(2))
    inverses = [
        bellman.resolvent(bellman.policy_transition(problem, p), problem.discount) for p in (first, second)
    ]
    values = [
        inverse.state_value(bellman.policy_utility(problem.utility, p))
        for inverse, p in zip(inverses, (first, second), strict=True)
    ]
    q = bellman.action_value(problem, problem.utility, values[0])
    residual = (bellman.advantage(q, first) * second).sum(-1)
    difference = inverses[1].state_value(residual)
    scale = np.abs(values).max()
    np.testing.assert_allclose(difference, values[1] - values[0], atol=1e-9 * max(scale, 1.0))


def test_masked_actions_are_never_taken():
    mask = np.array([[True, False], [True, True]])
    problem = painless.CMDP(
        chain().transition, [[0.0, np.nan], [0.0, 1.0]], initial=[1.0, 0.0], discount=0.5, actions=mask
    )
    np.testing.assert_array_equal(uniform_policy(mask), [[1.0, 0.0], [0.5, 0.5]])
    solution = painless.solve(problem)
    assert solution.policy.probabilities[0, 1] == 0
    assert solution.reward_value == pytest.approx(1.0)
