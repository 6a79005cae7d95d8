"""The registered problems, and the checks for people who write their own."""

import re
from dataclasses import fields

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
from painless.problems.gridworld import THRESHOLDS


@pytest.mark.parametrize("name", REGISTRY)
def test_registered_problems_pass_the_check(name):
    check_problem(lambda: painless.make(name))


@pytest.mark.parametrize("name", REGISTRY)
def test_evaluator_passes_the_check(name):
    check_evaluator(ExactEvaluator, painless.make(name))


PAPER = [*((gamma, 1) for gamma in THRESHOLDS), (0.9, 3)]


def same(one, other):
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, tuple | list) and any(isinstance(part, np.ndarray) for part in one):
        return all(same(*parts) for parts in zip(one, other, strict=True))
    return type(one) is type(other) and one == other


@pytest.mark.parametrize(("discount", "constraints"), PAPER)
def test_the_gridworld_needs_no_check(discount, constraints):
    world = painless.gridworld(discount, constraints=constraints)
    checked = painless.CMDP(
        *(world.transition, world.reward),
        initial=world.initial,
        discount=world.discount,
        constraint_reward=world.constraint_reward,
        threshold=world.threshold,
        names={kind: list(names) for kind, names in world.names.items()},
    )
    given = painless.gridworld(discount, world.threshold, constraints)  # checked, since it is the user's
    derived = (
        "utility",
        "reward",
        "constraint_reward",
        "utility_range",
        "limit",
        "most_successors",
        "is_sparse",
    )
    for other in (checked, given):
        for name in (*(field.name for field in fields(painless.CMDP)), *derived):
            assert same(getattr(world, name), getattr(other, name)), name
        assert repr(world) == repr(other)
        for kind, names in world.names.items():
            assert same(names.texts, other.names[kind].texts)
            assert same(names.places, other.names[kind].places)


@pytest.mark.parametrize(
    "name", ["transition", "initial", "threshold", "actions", "utility", "reward", "sign"]
)
def test_the_gridworld_cannot_be_changed(name):
    array = getattr(painless.gridworld(), name)
    with pytest.raises(ValueError, match="read-only"):
        array[...] = 0
    if name != "sign":
        with pytest.raises(ValueError, match="cannot set WRITEABLE"):
            array.flags.writeable = True


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"discount": 2}, "outside [0, 1)"),
        ({"discount": "0.9"}, "must be a number"),
        ({"discount": [0.9]}, "must be a number"),
        ({"discount": None}, "discount is missing"),
        ({"discount": 0.5}, "no threshold for discount 0.5 and 1 constraint(s)"),
        ({"discount": 0.8, "constraints": 3}, "only for 0.9"),
        ({"discount": 2, "threshold": 1}, "outside [0, 1)"),
        ({"threshold": [1, 2]}, "threshold has 2 entries but constraint_reward has shape (1, 25, 4)"),
        ({"threshold": np.nan}, "threshold[0] is nan"),
        ({"threshold": "a"}, "not a numeric array"),
        ({"constraints": 2}, "1 or 3 constraints"),
    ],
)
def test_what_is_wrong_with_the_arguments_of_the_gridworld(arguments, message):
    with pytest.raises(InputError, match=re.escape(message)):
        painless.gridworld(**arguments)


def test_a_discount_of_any_kind_is_that_of_the_paper():
    for given in (np.float64(0.75), np.float32(0.75), np.array(0.75)):
        world = painless.gridworld(given)
        assert type(world.discount) is float
        assert world.threshold.tolist() == [0.5]


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
