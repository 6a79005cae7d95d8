"""Planners and feasibility: against each other, against brute force, and in the corners."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import painless
from painless.bellman import policy_value
from painless.engines import policy_iteration
from painless.planning import LinearProgram
from painless.planning.feasibility import (
    Feasibility,
    attainable_slack,
    conflict,
    multiplier_bound,
    slater_policy,
)
from painless.planning.master import best_mixture, largest_slack
from painless.problem.units import normalise

from .problems import garnets


def brute_force(problem, utility):
    """Return the best value of one utility over all deterministic policies."""
    alone = painless.CMDP(
        problem.transition,
        utility,
        initial=problem.initial,
        discount=problem.discount,
        actions=problem.actions,
    )
    choices = [np.flatnonzero(row) for row in problem.actions]
    tables = (np.eye(problem.shape[1])[list(actions)] for actions in itertools.product(*choices))
    return max(policy_value(alone, table)[0] for table in tables)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dense", [True, False])
def test_policy_iteration_against_brute_force(seed, dense):
    problem = painless.garnet(4, 3, 2, 1, seed=seed, dense=dense)
    plan = policy_iteration(problem, problem.reward)
    best = brute_force(problem, problem.reward)
    assert plan.value == pytest.approx(best, abs=1e-10)
    assert best <= plan.upper_bound <= best + 1e-9


@settings(max_examples=50)
@given(garnets(constraints=(0, 0)))
def test_policy_iteration_against_the_linear_program(problem):
    plan = policy_iteration(problem, problem.reward)
    value = policy_value(problem, plan.policy(problem.shape[1]))[0]
    scale = max(np.abs(problem.reward[problem.actions]).max(), 1e-9) / (1 - problem.discount)
    assert plan.value == pytest.approx(value, abs=1e-9 * scale)
    assert value <= plan.upper_bound + 1e-12 * scale
    occupancy = LinearProgram().plan(problem).occupancy
    assert value == pytest.approx((occupancy * problem.reward).sum(), abs=1e-7 * scale)


def test_programs_on_which_the_presolve_of_highs_gives_up():
    transition, reward = np.zeros((3, 5, 3)), np.zeros((3, 5))
    rows = {
        (0, 2): (0.01836212265387688, 0.0, 94.14457231590396),
        (0, 3): (0.0, 0.18631485097793776, 45.436513333975405),
        (0, 4): (0.508485435373535, 0.0, 36.4143119832772),
        (1, 0): (0.16152913401706648, 0.0, 71.51605865246292),
        (1, 2): (0.0, 0.22590099749688092, 10.157906666046335),
        (1, 3): (0.9825098257559151, 0.0, 49.73384378010724),
        (2, 3): (0.0, 0.07940708425109848, 68.47449668623857),
    }
    for pair, (first, second, paid) in rows.items():
        transition[pair], reward[pair] = (first, second, 1 - first - second), paid
    initial, actions = np.full(3, 1 / 3), transition.any(-1)
    problem = painless.CMDP(transition, reward, initial=initial, discount=1.192092896e-07, actions=actions)
    occupancy = LinearProgram().plan(problem).occupancy
    assert (occupancy * reward).sum() == pytest.approx(painless.solve(problem).reward_value, rel=1e-9)


def test_policy_iteration_does_not_cycle_on_ties():
    transition = np.random.default_rng(0).dirichlet(np.ones(30), (30, 6))
    problem = painless.CMDP(transition, np.ones((30, 6)), initial=np.full(30, 1 / 30), discount=0.9999)
    plan = policy_iteration(problem, problem.reward)
    assert plan.value == pytest.approx(1e4)
    assert plan.upper_bound == pytest.approx(1e4, rel=1e-7)


def test_policy_iteration_continues_from_a_start():
    problem = painless.garnet(20, 4, 5, 1, seed=1)
    plan = policy_iteration(problem, problem.reward)
    np.testing.assert_array_equal(
        policy_iteration(problem, problem.reward, plan.actions).actions, plan.actions
    )


def test_linear_program_says_when_nothing_is_feasible():
    assert LinearProgram().plan(painless.gridworld(threshold=3.0)) is None


def test_best_mixture_by_hand():
    value = np.array([[1.0, 0.0], [0.0, 1.0], [0.2, 0.2]])
    mixture = best_mixture(value, np.array([0.25]))
    np.testing.assert_allclose(mixture.weights, [0.75, 0.25, 0.0], atol=1e-12)
    assert mixture.multiplier == pytest.approx([1.0])
    assert mixture.value == pytest.approx(0.75)
    assert best_mixture(value, np.array([1.5])) is None
    assert best_mixture(value[:, :1], np.empty(0)).value == 1.0


@settings(max_examples=200)
@given(st.integers(1, 12), st.booleans(), st.booleans(), st.integers(0, 2**32 - 1))
def test_mixtures_with_one_constraint_are_proved_by_their_price(count, whole, tight, seed):
    """No policy has more reward and priced slack than the mixture is worth, also where rewards, slacks or policies are the same."""
    rng = np.random.default_rng(seed)
    value = rng.normal(size=(count, 2)) * 10 ** rng.uniform(-3, 3, 2)
    value = np.round(value) if whole else value
    threshold = value[:1, 1] if tight else value[:, 1].mean(keepdims=True)
    mixture, slack = best_mixture(value, threshold), value[:, 1] - threshold
    if (slack < 0).all():
        assert mixture is None
        return
    size, room = 1e-9 * (1 + np.abs(value[:, 0]).max()), 1e-12 * (1 + np.abs(slack).max())
    assert (mixture.weights >= 0).all()
    assert mixture.weights.sum() == pytest.approx(1.0)
    assert mixture.weights @ slack >= -room
    assert mixture.weights @ value[:, 0] == pytest.approx(mixture.value, abs=size)
    assert mixture.multiplier[0] >= 0
    assert (value[:, 0] + mixture.multiplier * slack).max() == pytest.approx(mixture.value, abs=size)


def test_largest_slack_by_hand():
    mixture = largest_slack(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.1, 0.3]))
    np.testing.assert_allclose(mixture.weights, [0.4, 0.6], atol=1e-12)
    assert mixture.value == pytest.approx(0.3)
    assert mixture.multiplier == pytest.approx([0.5, 0.5])


def test_slater_policy_of_the_gridworld():
    world = painless.gridworld()
    slater = slater_policy(world)
    assert slater.slack == pytest.approx([1.0572731808], abs=1e-9)
    assert multiplier_bound(slater.slack, 1 - 0.9) == pytest.approx([18.9165869], abs=1e-6)
    assert slater.feasibility is Feasibility.SLACK


@settings(max_examples=50)
@given(garnets(constraints=(1, 3)))
def test_slater_policy_has_the_largest_joint_slack(problem):
    """The game's value is bracketed: the weights that come with it prove that no policy has more slack."""
    normal, _ = normalise(problem)
    if not normal.shape[2]:
        return
    slater = slater_policy(normal)
    scale = 1 / (1 - problem.discount)
    np.testing.assert_allclose(
        policy_value(normal, slater.policy)[1:] - normal.threshold, slater.slack, atol=1e-9 * scale
    )
    bound = policy_iteration(normal, np.tensordot(slater.weight, normal.constraint_reward, 1)).upper_bound
    assert bound - slater.weight @ normal.threshold == pytest.approx(slater.slack.min(), abs=1e-8 * scale)


def test_slater_weights_prove_the_slack_of_a_tie():
    """Both constraints can only just be met: the last weights of the game prove nothing, earlier ones do."""
    problem = painless.CMDP(
        np.ones((1, 2, 1)),
        [[0.0, 0.0]],
        initial=[1.0],
        discount=0.0,
        constraint_reward=[[[0.0, 1.0]], [[1.0, 0.0]]],
        threshold=[0.0, 1.0],
    )
    slater = slater_policy(problem)
    best = (slater.weight @ (problem.constraint_reward[:, 0] - problem.threshold[:, None])).max()
    assert best == pytest.approx(slater.slack.min(), abs=1e-9)


@settings(max_examples=50)
@given(garnets(constraints=(1, 3)))
def test_multipliers_respect_their_bound(problem):
    normal, _ = normalise(problem)
    slater = slater_policy(normal)
    if slater.feasibility is Feasibility.SLACK and slater.slack.min(initial=1.0) > 1e-6:
        optimal = LinearProgram().plan(normal).multiplier
        bound = multiplier_bound(slater.slack, 1 - problem.discount)
        assert (optimal <= bound / 2 * (1 + 1e-6) + 1e-9).all()


def test_conflicts_are_irreducible():
    """Three constraints of which only the outer two conflict."""
    reward = [[0.0, 0.0, 0.0]]
    constraint = np.array([[[1.0, 0.0, 0.0]], [[1.0, 1.0, 1.0]], [[0.0, 0.0, 1.0]]])
    constraint[1, 0, 1] = 0.5
    problem = painless.CMDP(
        np.ones((1, 3, 1)),
        reward,
        initial=[1.0],
        discount=0.5,
        constraint_reward=constraint,
        threshold=[1.5, 0.5, 1.5],
    )
    assert conflict(problem) == [0, 2]
    np.testing.assert_allclose(attainable_slack(problem), [0.5, 1.5, 0.5])


def test_slater_weighs_constraints_by_their_span():
    """The same constraint in other units is the same constraint."""
    base = painless.garnet(15, 3, 4, 2, seed=4)
    scaled = painless.CMDP(
        base.transition,
        base.reward,
        initial=base.initial,
        discount=base.discount,
        constraint_reward=base.constraint_reward * np.array([1e3, 1e-3])[:, None, None],
        threshold=base.threshold * [1e3, 1e-3],
    )
    one, other = (slater_policy(normalise(problem)[0]) for problem in (base, scaled))
    np.testing.assert_allclose(one.slack, other.slack, atol=1e-9)
