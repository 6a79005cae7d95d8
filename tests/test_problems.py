"""The registered problems, and the checks for people who write their own."""

import numpy as np
import pytest

import painless
from painless import InputError
from painless.bellman import policy_value
from painless.checks import check_evaluator, check_problem
from painless.engines import policy_iteration
from painless.evaluators import ExactEvaluator
from painless.problems import REGISTRY
from painless.problems.garnet import _successors


@pytest.mark.parametrize("name", REGISTRY)
def test_registered_problems_pass_the_check(name):
    check_problem(lambda: painless.make(name))


@pytest.mark.parametrize("name", REGISTRY)
def test_evaluator_passes_the_check(name):
    check_evaluator(ExactEvaluator, painless.make(name))


def test_gridworld_by_hand():
    world = painless.gridworld()
    assert world.shape == (25, 4, 1)
    assert (world.transition.sum(-1) == 1).all()
    assert world.transition[0, 0, 0] == 1  # off the grid: stay
    assert world.transition[7, 2, 2] == 1  # up from (1, 2)
    assert (world.transition[1, :, 21] == 1).all()
    assert (world.transition[3, :, 13] == 1).all()
    assert world.name("states", 7) == "(1, 2)"
    assert world.name("actions", 3) == "down"


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("constraints", [1, 2, 3])
def test_garnet_constraints_bind(seed, constraints):
    problem = painless.garnet(20, 3, 4, constraints, seed=seed)
    greedy = policy_iteration(problem, problem.reward).policy(3)
    value = policy_value(problem, greedy)
    assert (value[1:] < problem.threshold).all()
    solution = painless.solve(problem)
    assert solution.feasible
    assert solution.reward_value < value[0]


def test_large_garnets_have_distinct_successors_and_form_nothing_of_size_s_squared():
    """20,000 states and 4 actions: a number for each pair and state would be 13 GB."""
    large = painless.garnet(20_000, branching=6, constraints=0, seed=3, dense=False)
    assert large.transition.nnz == 20_000 * 4 * 6
    large.transition.sum_duplicates()
    assert large.transition.nnz == 20_000 * 4 * 6
    crowded = _successors(np.random.default_rng(0), pairs=10**7, states=12, branching=5)
    assert (np.diff(np.sort(crowded, 1), axis=1) > 0).all()
    np.testing.assert_allclose(np.bincount(crowded.ravel()) / crowded.size, 1 / 12, rtol=0.01)


def test_garnet_is_the_same_dense_and_sparse():
    dense, thin = (painless.garnet(15, 3, 4, 2, seed=5, dense=kind) for kind in (True, False))
    np.testing.assert_array_equal(dense.transition.reshape(45, 15), thin.transition.toarray())
    np.testing.assert_allclose(dense.threshold, thin.threshold)
    assert (np.diff(thin.transition.indptr) == 4).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"branching": 60}, "60 successors"),
        ({"tightness": 2.0}, "tightness is 2"),
        ({"states": 0}, "states is 0"),
    ],
)
def test_garnet_refuses(arguments, message):
    with pytest.raises(InputError, match=message):
        painless.garnet(**arguments)


def test_unknown_problem_suggests_the_nearest():
    with pytest.raises(InputError, match="did you mean 'garnet'"):
        painless.make("garnett")


def test_check_problem_catches_a_problem_that_changes():
    rng = np.random.default_rng(0)
    with pytest.raises(AssertionError, match="two different problems"):
        check_problem(lambda: painless.garnet(5, 2, 2, seed=int(rng.integers(100))))


def test_check_evaluator_catches_wrong_shapes_and_shared_noise():
    class Transposed(ExactEvaluator):
        def evaluate(self, policy, rngs=()):
            found = super().evaluate(policy, rngs)
            return type(found)(found.q, found.value.T)

    with pytest.raises(AssertionError, match=r"not \(B, J\)"):
        check_evaluator(Transposed, painless.gridworld())

    class Noisy(ExactEvaluator):
        def evaluate(self, policy, rngs=()):
            found = super().evaluate(policy, rngs)
            return type(found)(found.q, found.value + len(rngs))

    with pytest.raises(AssertionError, match="differs from the run alone"):
        check_evaluator(Noisy, painless.gridworld())
