"""The sampling evaluators: kernels against references, rates of convergence, and the loop that learns from them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import painless
from painless import CBP, CMDP, CRPO, GDA, InputError
from painless.bellman import policy_value
from painless.checks import check_evaluator
from painless.common.arrays import one_thread
from painless.evaluators import EVALUATORS as EVALUATORS_BY_NAME
from painless.evaluators import ExactEvaluator, _table_kernels
from painless.evaluators.averaged_lstdq import AveragedLSTDQ
from painless.evaluators.evaluation_error import evaluation_error
from painless.evaluators.least_squares import LeastSquares
from painless.evaluators.lstdq import LSTDQ, solve_lstdq
from painless.evaluators.monte_carlo import MonteCarlo, reference_returns
from painless.evaluators.td import TemporalDifference, level, reference_update
from painless.features import (
    Design,
    OneHot,
    Single,
    TileCoding,
    extrapolation_bound,
    feature_matrix,
    g_optimal_design,
    greedy_coreset,
)
from painless.learners import CoinBetting
from painless.loop.algorithm_case import AlgorithmCase
from painless.loop.framework import Recorder, iterate
from painless.policies.learning_table import LearningTable
from painless.policies.table import dirichlet_policy, uniform_policy
from painless.simulation.sampling import draw, policy_sums, stream, table_sampler, uniform, uniforms
from painless.study.unit import make_evaluator

from .problems import garnets

OPTIMUM, THRESHOLD = 1.6527218430, 1.5  # of the gridworld


def masked():
    """A Garnet in which a third of the actions are missing, with odd numbers in their place."""
    base = painless.garnet(12, 3, 4, 2, seed=3)
    mask = np.random.default_rng(0).random((12, 3)) < 0.67
    mask[:, 1] = True
    reward = np.where(mask, base.reward, np.nan)
    return CMDP(
        base.transition,
        reward,
        initial=base.initial,
        discount=0.8,
        constraint_reward=base.constraint_reward,
        threshold=base.threshold,
        actions=mask,
    )


def without_future():
    base = painless.garnet(6, 2, 3, 1, seed=1)
    return base.with_discount(0.0)


def single():
    return CMDP([[[1.0], [1.0]]], [[1.0, 0.25]], initial=[1.0], discount=0.9)


PROBLEMS = {
    "gridworld": painless.gridworld,
    "garnet": lambda: painless.garnet(10, 3, 4, 1, seed=0),
    "sparse": lambda: painless.garnet(10, 3, 4, 1, seed=0, dense=False),
    "long rows": lambda: painless.garnet(40, 2, 40, 1, seed=2),
    "masked": masked,
    "no future": without_future,
    "one state": single,
}


def one_hot(problem):
    return OneHot(problem.shape[0], problem.shape[1])


def everywhere(problem):
    """The design with equal weight on all available pairs."""
    pairs = np.flatnonzero(problem.actions)
    return Design(pairs, np.full(len(pairs), 1 / len(pairs)), float(np.sqrt(len(pairs))))


def coarse(problem):
    states, actions, _ = problem.shape
    return TileCoding(0, states, tiles=max(1, states // 2), tilings=1, actions=actions)


EVALUATORS = {
    "TD(0)": lambda problem: TemporalDifference(problem, samples=20, rate=0.1),
    "TD(0), drawn action": lambda problem: TemporalDifference(problem, samples=20, expected=False),
    "TD(0) from zero": lambda problem: TemporalDifference(problem, samples=20, levelled=False),
    "Monte Carlo": lambda problem: MonteCarlo(problem, rollouts=3),
    "LSTDQ": lambda problem: LSTDQ(problem, coarse(problem), samples=10),
    "LSTDQ, ridge": lambda problem: LSTDQ(problem, one_hot(problem), samples=10, ridge=1e-3),
    "LSTDQ on a coreset": lambda problem: EVALUATORS_BY_NAME["lstdq"](
        problem, samples=10, tiles=max(1, problem.shape[0] // 2), coreset=True
    ),
    "averaged LSTDQ": lambda problem: AveragedLSTDQ(problem, coarse(problem), samples=10),
    "averaged LSTDQ, ridge": lambda problem: AveragedLSTDQ(problem, one_hot(problem), 10, ridge=1e-3),
    "averaged LSTDQ, exact model": lambda problem: AveragedLSTDQ(problem, coarse(problem), samples=None),
    "least squares on a coreset": lambda problem: EVALUATORS_BY_NAME["least-squares"](
        problem, rollouts=3, tiles=max(1, problem.shape[0] // 2)
    ),
    "least squares": lambda problem: LeastSquares(problem, coarse(problem), everywhere(problem), rollouts=3),
}


def table_of(policy):
    return LearningTable.start(CoinBetting(), policy if policy.ndim == 3 else policy[None])


def random_policy(problem, seed=0):
    return dirichlet_policy(problem.actions, np.random.default_rng(seed))


def rngs(count, seed=0):
    return [np.random.default_rng((seed, i)) for i in range(count)]


def estimate(evaluator, policy, seed=0):
    return evaluator.evaluate(table_of(policy), rngs(1, seed))


def exact_q(problem, policy):
    return ExactEvaluator(problem).evaluate(table_of(policy)).q.values[0]


def slope(problem, make, counts, repeats=8):
    """Return the slope of log(mean error of Q) over log(number of samples)."""
    policy = np.repeat(random_policy(problem)[None], repeats, axis=0)
    truth = exact_q(problem, policy[0])
    errors = []
    for count in counts:
        q = make(count).evaluate(table_of(policy), rngs(repeats, count)).q.values
        errors.append(np.sqrt(((q - truth)[:, :, problem.actions] ** 2).mean()))
    return np.polyfit(np.log(counts), np.log(errors), 1)[0], errors


# The contract.


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
@pytest.mark.parametrize("make", EVALUATORS.values(), ids=EVALUATORS.keys())
def test_contract(make, problem):
    check_evaluator(make, problem())


@pytest.mark.parametrize("make", EVALUATORS.values(), ids=EVALUATORS.keys())
def test_values_are_those_of_q_and_generators_move_on(make):
    problem = masked()
    evaluator, rng = make(problem), np.random.default_rng(0)
    policy = random_policy(problem)
    first, second = (evaluator.evaluate(table_of(policy), [rng]) for _ in range(2))
    value = (problem.initial[:, None] * policy * first.q.values[0]).sum((1, 2))
    np.testing.assert_allclose(first.value[0], value, rtol=1e-12)
    assert (first.q.values[0][:, ~problem.actions] == 0).all()
    drawn = getattr(evaluator, "samples", 1) is not None
    assert np.array_equal(first.value, second.value) != drawn


@pytest.mark.parametrize("make", EVALUATORS.values(), ids=EVALUATORS.keys())
def test_sparse_and_dense_models_give_the_same_bits(make):
    thin = painless.garnet(10, 3, 4, 1, seed=0, dense=False)
    dense = CMDP(
        thin.transition.toarray().reshape(10, 3, 10),
        thin.reward,
        initial=thin.initial,
        discount=thin.discount,
        constraint_reward=thin.constraint_reward,
        threshold=thin.threshold,
    )
    policy = random_policy(thin)
    one, other = (estimate(make(problem), policy) for problem in (thin, dense))
    assert np.array_equal(one.q.values, other.q.values)
    assert np.array_equal(one.value, other.value)


@pytest.mark.parametrize("make", EVALUATORS.values(), ids=EVALUATORS.keys())
def test_the_memory_layout_of_the_policy_does_not_matter(make):
    problem = painless.garnet(10, 3, 4, 1, seed=0)
    policy = random_policy(problem)
    other = np.asfortranarray(policy)[None]
    other.flags.writeable = False
    found = make(problem).evaluate(LearningTable.start(CoinBetting(), other), rngs(1))
    expected = estimate(make(problem), policy)
    assert np.array_equal(found.q.values, expected.q.values)
    assert np.array_equal(found.value, expected.value)


# Kernels.


def test_the_stream_is_splitmix64():
    """The first numbers from seed 1234567, as published with its reference implementation."""
    known = np.array([6457827717110365317, 3203168211198807973, 9817491932198370423], dtype=np.uint64)
    assert (uniforms(np.uint64(1234567), np.arange(3)) == (known >> np.uint64(11)) * 2.0**-53).all()


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**62))
def test_the_kernel_draws_the_same_uniforms_as_numpy(key, position):
    expected = uniforms(np.uint64(key), np.array([position]))[0]
    assert uniform(np.uint64(key), position) == expected
    assert 0 <= expected < 1


@given(st.integers(1, 70), st.integers(0, 2**32 - 1), st.floats(0, 1, exclude_max=True))
def test_a_draw_inverts_the_running_sums_and_avoids_zeros(length, seed, u):
    rng = np.random.default_rng(seed)
    row = rng.dirichlet(np.ones(length)) * (rng.random(length) < 0.6)
    row[rng.integers(length)] += 0.1
    cumulative = policy_sums(np.vstack([row, row]))
    index = draw(cumulative, length, 2 * length, u) - length
    assert index == np.searchsorted(cumulative[length:], u, side="right")
    assert row[index] > 0
    largest = draw(cumulative, length, 2 * length, np.nextafter(1.0, 0.0)) - length
    assert row[largest] > 0


def test_the_sampler_keeps_positive_probabilities_of_available_pairs():
    problem = masked()
    sampler = table_sampler(problem)
    rows = problem.transition.reshape(-1, 12)
    for pair, available in enumerate(problem.actions.ravel()):
        row = slice(sampler.pointer[pair], sampler.pointer[pair + 1])
        expected = np.flatnonzero(rows[pair]) if available else []
        assert sampler.successor[row].tolist() == list(expected)
        np.testing.assert_allclose(sampler.probability[row], rows[pair, expected] if available else [])
    stored_zero = sparse.csr_array(([1.0, 0.0, 1.0], [0, 1, 1], [0, 2, 3]), shape=(2, 2))
    thin = CMDP(stored_zero, [[0.0], [0.0]], initial=[1.0, 0.0], discount=0.5)
    assert table_sampler(thin).successor.tolist() == [0, 1]


def test_a_large_sparse_table_needs_no_square_of_its_states():
    states = 200_000  # a square of them would be 320 GB
    chain = sparse.csr_array(
        (np.ones(states), (np.arange(states) + 1) % states, np.arange(states + 1)), shape=(states, states)
    )
    reward = np.zeros((states, 1))
    reward[::2] = 1.0
    problem = CMDP(chain, reward, initial=np.full(states, 1 / states), discount=0.5)
    value = estimate(MonteCarlo(problem, rollouts=1, horizon=60), np.ones((states, 1))).value
    np.testing.assert_allclose(value, [[1.0]])


@pytest.mark.parametrize("expected", [True, False])
@pytest.mark.parametrize("name", ["gridworld", "masked", "long rows", "no future", "one state"])
def test_td_kernels_follow_the_reference_step_by_step(name, expected):
    problem = PROBLEMS[name]()
    sampler, policy = table_sampler(problem), random_policy(problem)
    pairs, key = np.flatnonzero(problem.actions), np.uint64(2**63 + 11)
    kernel = _table_kernels.expected_updates if expected else _table_kernels.sampled_updates
    weights = policy.reshape(-1) if expected else policy_sums(policy)
    q = np.random.default_rng(1).normal(size=sampler.utility.shape)
    for k in range(100):
        after = reference_update(sampler, pairs, policy, 0.3, problem.discount, key, k, q, expected=expected)
        kernel(sampler, pairs, weights, 0.3, problem.discount, key, k, 1, q)
        np.testing.assert_allclose(q, after, rtol=1e-13, atol=1e-13)


def test_td_keeps_its_state_values_in_step_over_many_updates():
    problem = painless.garnet(10, 3, 4, 1, seed=0)
    sampler, policy = table_sampler(problem), random_policy(problem)
    pairs, key = np.arange(30), np.uint64(5)
    once, singly = np.zeros_like(sampler.utility), np.zeros_like(sampler.utility)
    arguments = (sampler, pairs, policy.reshape(-1), 0.1, problem.discount, key)
    _table_kernels.expected_updates(*arguments, 0, 5000, once)
    for k in range(5000):
        _table_kernels.expected_updates(*arguments, k, 1, singly)
    np.testing.assert_allclose(once, singly, rtol=1e-11)


@pytest.mark.parametrize("name", ["gridworld", "masked", "long rows", "no future", "one state"])
def test_monte_carlo_kernel_follows_the_reference(name):
    problem = PROBLEMS[name]()
    sampler, cumulative = table_sampler(problem), policy_sums(random_policy(problem))
    pairs = np.flatnonzero(problem.actions)
    for entries in (pairs[:, None], [pairs[k::2] for k in range(2) if len(pairs[k::2])]):
        rest = (cumulative, problem.discount, 7, 15, np.uint64(3))
        mean, squares = _table_kernels.returns(sampler, _table_kernels.Starts.of(entries), *rest)
        reference = reference_returns(sampler, entries, *rest)
        np.testing.assert_allclose(mean, reference.mean(1), rtol=1e-12)
        np.testing.assert_allclose(squares, reference.var(1) * 7, rtol=1e-9, atol=1e-12)


@given(garnets(), st.integers(0, 2**32 - 1), st.booleans())
def test_kernels_follow_their_references_on_any_garnet(problem, seed, expected):
    sampler, policy = table_sampler(problem), random_policy(problem, seed)
    pairs, key = np.flatnonzero(problem.actions), np.uint64(seed)
    q = np.random.default_rng(seed).normal(size=sampler.utility.shape)
    weights = policy.reshape(-1) if expected else policy_sums(policy)
    kernel = _table_kernels.expected_updates if expected else _table_kernels.sampled_updates
    after = reference_update(sampler, pairs, policy, 0.5, problem.discount, key, 9, q, expected=expected)
    kernel(sampler, pairs, weights, 0.5, problem.discount, key, 9, 1, q)
    np.testing.assert_allclose(q, after, rtol=1e-12, atol=1e-12)
    rest = (policy_sums(policy), problem.discount, 2, 5, key)
    mean, _ = _table_kernels.returns(sampler, _table_kernels.Starts.of(pairs[:, None]), *rest)
    expected = reference_returns(sampler, pairs[:, None], *rest).mean(1)
    np.testing.assert_allclose(mean, expected, rtol=1e-12, atol=1e-12)


# TD(0).


def test_td_of_one_pair_has_a_closed_form():
    problem = CMDP([[[1.0]]], [[2.0]], initial=[1.0], discount=0.9)
    evaluator = TemporalDifference(problem, samples=250, levelled=False)
    q = estimate(evaluator, np.ones((1, 1))).q.values.item()
    assert evaluator.bias_factor == pytest.approx((1 - 0.01 * 0.1) ** 250)
    assert q == pytest.approx(20 * (1 - evaluator.bias_factor), rel=1e-12)


@pytest.mark.parametrize("expected", [True, False])
@pytest.mark.parametrize("name", ["gridworld", "masked"])
def test_the_expectation_of_td_is_known(name, expected):
    """E Q_k = Q − (I − (α/N)(I − γPΠ))ᵏ Q, within five standard errors."""
    problem = PROBLEMS[name]()
    states, actions, _ = problem.shape
    policy, pairs, runs = random_policy(problem), np.flatnonzero(problem.actions), 300
    evaluator = TemporalDifference(problem, samples=300, expected=expected, levelled=False)
    tables = np.repeat(policy[None], runs, axis=0)
    q = evaluator.evaluate(table_of(tables), rngs(runs)).q.values.reshape(runs, -1, states * actions)
    forward = problem.transition.reshape(-1, states)[pairs]
    step = np.zeros((states, states * actions))
    step[np.repeat(np.arange(states), actions), np.arange(states * actions)] = policy.ravel()
    operator = np.eye(len(pairs)) - 0.01 / len(pairs) * (
        np.eye(len(pairs)) - problem.discount * (forward @ step)[:, pairs]
    )
    truth = exact_q(problem, policy).reshape(-1, states * actions)[:, pairs].T
    mean = truth - np.linalg.matrix_power(operator, 300 * len(pairs)) @ truth
    found = q[:, :, pairs].mean(0).T
    error = q[:, :, pairs].std(0, ddof=1).T / np.sqrt(runs)
    assert (np.abs(found - mean) <= 5 * error + 1e-12).all()
    assert (np.abs(mean - truth).max(0) <= evaluator.bias_factor * np.abs(truth).max(0)).all()


def test_td_comes_closer_with_samples_until_its_step_size_keeps_it_away():
    problem = painless.garnet(10, 3, 4, 1, seed=0)
    policy = table_of(random_policy(problem))
    errors = [
        evaluation_error(TemporalDifference(problem, n, levelled=False), problem, policy, rngs(1)).max()
        for n in (300, 1000, 3000, 10_000)
    ]
    assert errors[0] > 1.8 * errors[1] > 1.8**2 * errors[2] > 1.8 * errors[3]
    assert errors[3] < 0.05 * 10


@pytest.mark.parametrize("expected", [True, False])
@pytest.mark.parametrize("name", ["gridworld", "masked", "garnet"])
def test_levelled_td_knows_nothing_of_shifts(name, expected):
    """A utility plus a constant has the same estimate plus constant/(1−γ), whatever the samples; a constant is exact."""
    problem = PROBLEMS[name]()
    policy, level = random_policy(problem), 3.0 / (1 - problem.discount)
    shifted = problem.with_constraints(
        problem.reward + 3.0, 0 * problem.constraint_reward + 3.0, problem.threshold
    )
    plain, moved = (
        estimate(TemporalDifference(one, samples=15, expected=expected), policy) for one in (problem, shifted)
    )
    available = problem.actions
    np.testing.assert_allclose(
        moved.q.values[0, 0][available], plain.q.values[0, 0][available] + level, rtol=1e-9
    )
    np.testing.assert_allclose(moved.q.values[0, 1:][:, available], level, rtol=1e-9)
    np.testing.assert_allclose(moved.value[0, 1:], level, rtol=1e-9)
    assert (moved.q.values[:, :, ~available] == 0).all()


def test_levelled_td_keeps_the_advantages_and_loses_nearly_all_bias():
    problem = painless.garnet(20, 3, 4, 1, seed=3, discount=0.99)
    policy = random_policy(problem)
    exact = exact_q(problem, policy)
    errors = {}
    for levelled in (True, False):
        evaluator = TemporalDifference(problem, samples=500, levelled=levelled)
        error = estimate(evaluator, policy).q.values[0] - exact
        errors[levelled] = np.abs(error).max(), np.abs(error - (error * policy).sum(-1, keepdims=True)).max()
    assert errors[True][0] < 0.05 * errors[False][0]
    assert errors[True][1] < 1.1 * errors[False][1]


def test_sweeps_keep_the_td_of_the_paper_unless_told_otherwise():
    settings = {"name": "td", "samples": 20}
    policy = random_policy(WORLD)
    plain, other = (
        estimate(make_evaluator({**settings, **more})(WORLD), policy).q.values
        for more in ({}, {"levelled": True})
    )
    np.testing.assert_array_equal(
        plain, estimate(TemporalDifference(WORLD, 20, levelled=False), policy).q.values
    )
    np.testing.assert_array_equal(other, estimate(TemporalDifference(WORLD, 20), policy).q.values)
    assert not np.array_equal(plain, other)


def test_levelling_needs_some_weight_that_was_learned():
    q = np.array([[[1.0, 0.0]]])
    assert np.array_equal(level(q, np.zeros((1, 2)), np.array([[0.0, 1.0]])), q)


# Monte Carlo.


@pytest.mark.parametrize("name", ["gridworld", "garnet"])
def test_monte_carlo_converges_at_its_rate(name):
    problem = PROBLEMS[name]()
    rate, errors = slope(problem, lambda m: MonteCarlo(problem, m, horizon=150), [10, 40, 160, 640])
    assert rate == pytest.approx(-0.5, abs=0.06)
    assert errors[-1] < 0.1


def test_monte_carlo_is_below_the_truth_by_its_bias_bound_at_most():
    world = painless.gridworld()
    policy = np.zeros((25, 4))
    policy[:, 0] = 1.0  # deterministic, so that only the truncation errs
    truth = exact_q(world, policy)
    for horizon in (1, 5, 20):
        evaluator = MonteCarlo(world, rollouts=1, horizon=horizon)
        missing = truth - estimate(evaluator, policy).q.values[0]
        assert (missing >= -1e-12).all()
        assert (missing <= evaluator.bias_bound[:, None, None] + 1e-12).all()
    always = CMDP([[[1.0]]], [[1.0]], initial=[1.0], discount=0.9)
    assert estimate(MonteCarlo(always, 1, horizon=3), np.ones((1, 1))).value == pytest.approx(10.0)


def test_the_default_horizon_keeps_the_bias_below_a_thousandth():
    for discount, steps in ((0.0, 1), (1e-9, 1), (0.5, 10), (0.9, 66), (0.99, 688)):
        evaluator = MonteCarlo(painless.gridworld().with_discount(discount), rollouts=1)
        assert evaluator.steps == steps
        assert (evaluator.bias_bound <= 1e-3 / (1 - discount)).all()


def test_monte_carlo_shifts_with_the_utility():
    problem = painless.garnet(10, 3, 4, 1, seed=0)
    shifted = problem.with_constraints(
        problem.reward - 7.0, problem.constraint_reward + 3.0, problem.threshold
    )
    policy = random_policy(problem)
    one, other = (estimate(MonteCarlo(p, rollouts=4, horizon=9), policy) for p in (problem, shifted))
    np.testing.assert_allclose(other.value - one.value, [[-70.0, 30.0]], rtol=1e-9)


@pytest.mark.parametrize(
    "make",
    [
        lambda problem: MonteCarlo(problem, rollouts=30, horizon=80),
        lambda problem: LeastSquares(problem, one_hot(problem), everywhere(problem), 30, horizon=80),
    ],
    ids=["Monte Carlo", "least squares"],
)
def test_standard_errors_are_those_of_the_values(make):
    problem, runs = PROBLEMS["masked"](), 400
    policy = random_policy(problem)
    found = make(problem).evaluate(table_of(np.repeat(policy[None], runs, axis=0)), rngs(runs))
    score = (found.value - policy_value(problem, policy)) / found.standard_error
    assert np.abs(score.mean(0)).max() < 4 / np.sqrt(runs)
    assert score.std(0) == pytest.approx(1.0, abs=0.12)


def test_one_rollout_has_no_standard_error():
    evaluation = estimate(MonteCarlo(painless.gridworld(), rollouts=1), random_policy(painless.gridworld()))
    assert np.isposinf(evaluation.standard_error).all()


def test_given_pairs_only_are_sampled():
    world = painless.gridworld()
    policy = random_policy(world)
    found = estimate(MonteCarlo(world, rollouts=5, pairs=[7, 3]), policy)
    known = np.isfinite(found.q.values[0, 0]).ravel()
    assert np.flatnonzero(known).tolist() == [3, 7]
    assert np.isnan(found.value).all()
    assert np.isnan(found.standard_error).all()
    start = CMDP(world.transition, world.reward, initial=np.eye(25)[0], discount=0.9)
    found = estimate(MonteCarlo(start, rollouts=2000, pairs=[0, 1, 2, 3]), policy)
    np.testing.assert_allclose(found.value[0], policy_value(start, policy), atol=0.1)


# LSTDQ.


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
def test_lstdq_with_one_hot_features_and_exact_counts_is_exact(problem):
    problem = problem()
    policy = random_policy(problem)
    found = estimate(AveragedLSTDQ(problem, one_hot(problem), samples=None), policy)
    np.testing.assert_allclose(
        found.q.values[0][:, problem.actions], exact_q(problem, policy)[:, problem.actions], rtol=1e-9
    )


@given(garnets(), st.integers(0, 2**32 - 1))
def test_lstdq_is_exact_on_any_garnet(problem, seed):
    policy = random_policy(problem, seed)
    truth = exact_q(problem, policy)[:, problem.actions]
    found = estimate(AveragedLSTDQ(problem, one_hot(problem), samples=None), policy).q.values[0]
    np.testing.assert_allclose(found[:, problem.actions], truth, atol=1e-8 * max(1.0, np.abs(truth).max()))


def test_one_sample_of_a_deterministic_model_is_exact_if_averaged():
    world = painless.gridworld()
    policy = random_policy(world)
    found = estimate(AveragedLSTDQ(world, one_hot(world), samples=1), policy)
    np.testing.assert_allclose(found.q.values[0], exact_q(world, policy), atol=1e-12)


@pytest.mark.parametrize("kind", [LSTDQ, AveragedLSTDQ])
@pytest.mark.parametrize("name", ["garnet", "masked", "long rows"])
def test_lstdq_converges_at_its_rate(name, kind):
    problem = PROBLEMS[name]()
    rate, _ = slope(
        problem, lambda n: kind(problem, one_hot(problem), n), [30, 120, 480, 1920, 7680], repeats=40
    )
    assert rate == pytest.approx(-0.5, abs=0.06)


def test_lstdq_draws_pairs_and_next_actions_even_where_moves_are_certain():
    """Seeds differ, more samples come closer, and the mean of many runs is what averaging gives, to first order."""
    features, policy = TileCoding(0, 25, tiles=14, tilings=1, actions=4), random_policy(WORLD)
    averaged = estimate(AveragedLSTDQ(WORLD, features, samples=1), policy).q.values[0]
    errors = []
    for samples in (30, 480):
        found = [estimate(LSTDQ(WORLD, features, samples), policy, seed).q.values[0] for seed in range(20)]
        assert np.std(found, 0).max() > 1e-3
        errors.append(np.abs(np.array(found) - averaged).mean())
    assert errors[1] < 0.4 * errors[0]
    assert np.abs(np.mean(found, 0) - averaged).max() < 0.02


def test_lstdq_counts_are_those_of_its_draws():
    problem = painless.garnet(6, 3, 4, 1, seed=0)
    coreset = greedy_coreset(feature_matrix(coarse(problem), 6))
    evaluator, rng = LSTDQ(problem, coarse(problem), samples=40, pairs=coreset), np.random.default_rng(0)
    policy = random_policy(problem)
    drawn = [evaluator._draw(policy, rng) for _ in range(1500)]
    pairs = np.array([pair for pair, _ in drawn])
    assert (pairs.sum(1) == evaluator.transitions).all()
    assert evaluator.transitions == 40 * 9
    np.testing.assert_allclose(pairs.mean(0), 40 / 2, rtol=0.02)  # two states share each of the 9 features
    following = np.mean([one.toarray() for _, one in drawn], 0)
    order = np.concatenate(coreset.entries)
    forward = problem.transition.reshape(18, 6)[order]
    expected = 20 * (forward[:, :, None] * policy).reshape(18, 18)
    assert (np.abs(following - expected) <= 5 * np.sqrt(expected / 1500) + 0.01).all()


def test_lstdq_solves_the_projected_equation():
    """Φᵀ(u + γPΠΦθ − Φθ) = 0 over the sampled pairs."""
    problem = painless.garnet(20, 3, 5, 1, seed=4)
    features, policy, pairs = coarse(problem), random_policy(problem), np.arange(0, 60, 2)
    evaluator = AveragedLSTDQ(problem, features, samples=None, pairs=pairs)
    weight = evaluator.weight(policy, np.random.default_rng(0))
    matrix = feature_matrix(features, 20)
    value = ((matrix @ weight.T).reshape(20, 3, 2) * policy[:, :, None]).sum(1)
    target = problem.utility.reshape(2, -1).T + 0.9 * problem.transition.reshape(60, 20) @ value
    residual = (
        matrix.T @ np.where(np.isin(np.arange(60), pairs)[:, None], target - matrix @ weight.T, 0.0)
    ).T
    assert np.abs(residual).max() < 1e-9


def test_averaged_lstdq_draws_multinomial_successors():
    problem = painless.garnet(10, 3, 4, 1, seed=0)
    model = table_sampler(problem)
    evaluator, rng = AveragedLSTDQ(problem, one_hot(problem), samples=50), np.random.default_rng(0)
    counts = np.array([evaluator._model_matrix(rng).data * 50 for _ in range(2000)])
    np.testing.assert_allclose(counts, counts.round(), rtol=1e-12)
    counts = counts.round()
    assert (np.add.reduceat(counts, model.pointer[:-1], axis=1) == 50).all()
    np.testing.assert_allclose(counts.mean(0), 50 * model.probability, atol=0.5)
    np.testing.assert_allclose(
        counts.var(0), 50 * model.probability * (1 - model.probability), rtol=0.2, atol=0.2
    )


@given(st.integers(1, 12), st.integers(0, 12), st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_the_solution_has_minimum_norm(size, rank, absent, seed):
    rng = np.random.default_rng(seed)
    rank = min(rank, size)
    left, right = rng.normal(size=(size, rank)), rng.normal(size=(rank, size))
    matrix = np.zeros((size + absent, size + absent))
    kept = np.sort(rng.permutation(size + absent)[:size])
    matrix[np.ix_(kept, kept)] = left @ right
    target = rng.normal(size=(2, size + absent))
    expected = target @ np.linalg.pinv(matrix, rcond=1e-8).T
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(solve_lstdq(matrix, target), expected, atol=1e-6 * scale)
    solution = solve_lstdq(matrix, target, ridge=50.0, previous=expected)
    shifted = matrix + 50.0 * np.eye(len(matrix))
    np.testing.assert_allclose(solution @ shifted.T, target + 50 * expected, atol=1e-8 * scale)


def test_the_cut_off_is_relative_to_the_largest_singular_value():
    matrix, right = np.diag([1e6, 1.0, 1e-3]), np.ones((1, 3))
    np.testing.assert_allclose(solve_lstdq(matrix, right, cutoff=1e-7), [[1e-6, 1.0, 0.0]])
    np.testing.assert_allclose(solve_lstdq(matrix, right, cutoff=1e-10), [[1e-6, 1.0, 1e3]])
    np.testing.assert_allclose(solve_lstdq(matrix, right, cutoff=1e-5), [[1e-6, 0.0, 0.0]])
    np.testing.assert_array_equal(solve_lstdq(np.zeros((2, 2)), np.ones((1, 2))), [[0.0, 0.0]])


# Least squares.


def test_least_squares_on_all_pairs_with_one_hot_features_is_monte_carlo():
    problem = masked()
    policy = random_policy(problem)
    design = everywhere(problem)
    fitted = estimate(LeastSquares(problem, one_hot(problem), design, rollouts=4), policy)
    direct = estimate(MonteCarlo(problem, rollouts=4), policy)
    np.testing.assert_allclose(fitted.q.values, direct.q.values, rtol=1e-12)
    np.testing.assert_allclose(fitted.standard_error, direct.standard_error, rtol=1e-12)


def test_least_squares_weighs_by_the_design():
    problem = painless.garnet(20, 3, 5, 1, seed=4)
    features, policy = coarse(problem), random_policy(problem)
    matrix = feature_matrix(features, 20)
    weights = np.random.default_rng(0).dirichlet(np.ones(40))
    design = Design(np.arange(10, 50), weights, np.inf)
    found = estimate(LeastSquares(problem, features, design, rollouts=4), policy).q.values[0].reshape(2, -1)
    sampled = estimate(MonteCarlo(problem, rollouts=4, pairs=design.indices), policy).q.values[0]
    residual = (sampled.reshape(2, -1) - found)[:, design.indices] * weights
    assert np.abs(residual @ matrix[design.indices]).max() < 1e-12
    seen = matrix[design.indices].any(0)
    assert not seen.all()
    unseen = found[:, ~matrix[:, seen].any(1)]
    assert np.abs(unseen).max() < 1e-12  # minimum norm where the design says nothing


@pytest.mark.parametrize("choose", [greedy_coreset, g_optimal_design])
def test_least_squares_converges_and_keeps_the_bound_of_lemma_3(choose):
    problem = painless.garnet(10, 3, 4, 1, seed=0)
    features = one_hot(problem)
    matrix = feature_matrix(features, 10)
    design = choose(matrix)

    def make(rollouts):
        return LeastSquares(problem, features, design, rollouts, horizon=150)

    rate, errors = slope(problem, make, [10, 40, 160, 640])
    assert rate == pytest.approx(-0.5, abs=0.06)
    bound = extrapolation_bound(
        matrix, design, bias=0.0, value_range=10.0, rollouts=640, failure_probability=0.01, estimates=16
    )
    assert errors[-1] < bound.max()


# Errors.


def test_evaluation_error_is_the_largest_over_runs_and_available_pairs():
    problem = masked()
    tables = np.array([random_policy(problem, seed) for seed in range(3)])
    assert (evaluation_error(ExactEvaluator(problem), problem, table_of(tables), rngs(3)) == 0).all()
    evaluator = MonteCarlo(problem, rollouts=2)
    q = evaluator.evaluate(table_of(tables), rngs(3)).q.values
    truth = np.array([exact_q(problem, policy) for policy in tables])
    expected = np.abs(q - truth)[:, :, problem.actions].max((0, 2))
    found = evaluation_error(evaluator, problem, table_of(tables), rngs(3))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


WORLD = painless.gridworld()
TILES = TileCoding(0, 25, tiles=14, tilings=1, actions=4)
OTHER_TILES = TileCoding(0, 25, tiles=14, tilings=1, actions=3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TemporalDifference(WORLD, 0), "samples is 0; give a whole number, 1 or more"),
        (lambda: TemporalDifference(WORLD, 1.5), "samples is 1.5"),
        (lambda: TemporalDifference(WORLD, True), "samples is True"),
        (lambda: TemporalDifference(WORLD, 1, rate=0.0), r"rate is 0.0, outside \(0, 1\]"),
        (lambda: TemporalDifference(WORLD, 1, rate=float("nan")), "rate is nan"),
        (lambda: MonteCarlo(WORLD, 0), "rollouts is 0"),
        (lambda: MonteCarlo(WORLD, 1, horizon=0), "horizon is 0"),
        (lambda: MonteCarlo(WORLD, 1, pairs=[]), r"pairs have shape \(0,\)"),
        (lambda: MonteCarlo(WORLD, 1, pairs=[[1]]), r"not \(n,\) and whole numbers"),
        (lambda: MonteCarlo(WORLD, 1, pairs=[0.5]), "type float64"),
        (lambda: MonteCarlo(WORLD, 1, pairs=[3, 100]), r"pairs\[1\] is 100, outside the table 0..99"),
        (lambda: MonteCarlo(WORLD, 1, pairs=[-1]), "is -1, outside"),
        (lambda: MonteCarlo(WORLD, 1, pairs=[3, 3]), "pair 3 is given 2 times; give each once"),
        (lambda: LSTDQ(WORLD, TILES, 0), "samples is 0"),
        (lambda: LSTDQ(WORLD, TILES, 1, cutoff=1.0), r"cutoff is 1.0, outside \[0, 1\)"),
        (lambda: LSTDQ(WORLD, TILES, 1, ridge=0.0), "ridge is 0.0; it must be a positive number"),
        (lambda: LSTDQ(WORLD, TILES, 1, pairs=[400]), "is 400, outside"),
        (lambda: LSTDQ(WORLD, OTHER_TILES, 1), "the features have 3 actions, the problem 4"),
        (lambda: LSTDQ(WORLD, OneHot(24, 4), 1), r"states\[24\] is 24, outside the table"),
        (lambda: LeastSquares(WORLD, TILES, everywhere(WORLD), 0), "rollouts is 0"),
        (lambda: LeastSquares(WORLD, OTHER_TILES, everywhere(WORLD), 1), "the features have 3 actions"),
        (
            lambda: LeastSquares(WORLD, TILES, Design(np.array([100]), np.ones(1), 1.0), 1),
            "is 100, outside",
        ),
        (lambda: solve_lstdq(np.eye(2), np.ones((1, 2)), cutoff=-1.0), "cutoff is -1.0"),
        (lambda: solve_lstdq(np.eye(2), np.ones((1, 2)), ridge=np.inf), "ridge is inf"),
        (
            lambda: solve_lstdq(np.eye(2), np.ones((1, 2)), previous=np.ones((1, 2))),
            "give ridge, or leave them out",
        ),
        (lambda: solve_lstdq(-np.eye(2), np.ones((1, 2)), ridge=1.0), r"A \+ 1·I is singular"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_masked_pairs_are_refused():
    problem = masked()
    state, action = np.argwhere(~problem.actions)[0]
    with pytest.raises(InputError, match=rf"pairs\[0\]: state {state} does not have action {action}"):
        MonteCarlo(problem, 1, pairs=[state * 3 + action])


def test_bad_policies_and_generators_are_refused():
    problem = masked()
    policy, evaluator = random_policy(problem), MonteCarlo(problem, 1)
    with pytest.raises(InputError, match=r"0 generators for 1 runs; give each run its own"):
        evaluator.evaluate(table_of(policy), ())
    with pytest.raises(
        InputError, match=r"the policy has shape \(1, 11, 3\), not \(B, S, A\) = \(B, 12, 3\)"
    ):
        estimate(evaluator, policy[:11])
    state = int(np.argwhere(~problem.actions)[0][0])
    for wrong in (np.full_like(policy, 1 / 3), policy * 0.5, np.where(policy > 0, np.nan, 0.0), -policy):
        with pytest.raises(
            InputError, match=r"policy\[0, \d+\] is not a distribution over the state's actions"
        ):
            estimate(evaluator, wrong)
    with pytest.raises(InputError, match=rf"policy\[0, {state}\]"):
        estimate(evaluator, np.full_like(policy, 1 / 3))


# The loop, with the learner on estimates and the trace on exact values.


def gaps(evaluator, algorithm, iterations, starts):
    """Return OG and CV of every start on the gridworld."""
    prepared = AlgorithmCase.of(WORLD)
    with one_thread():
        learner, dual = algorithm.build(prepared.situation(iterations))
        recorder = Recorder(monitor=ExactEvaluator(prepared.normal))
        steps = iterate(
            prepared.normal,
            evaluator(prepared.normal),
            LearningTable.start(learner, np.array(starts)),
            dual,
            multiplier=np.ones((len(starts), 1)),
            rngs=rngs(len(starts)),
        )
        for _ in range(iterations):
            recorder.add(next(steps))
    trace = recorder.trace()
    assert trace.exact
    return OPTIMUM - trace.reward_value.mean(0), THRESHOLD - trace.constraint_value[..., 0].mean(0)


def test_cbp_comes_closer_with_the_samples_of_td():
    starts = [random_policy(WORLD, seed) for seed in range(2)]
    gap = [
        gaps(lambda normal, n=n: TemporalDifference(normal, n, levelled=False), CBP(), 150, starts)[0].mean()
        for n in (1000, 2000, 3000)
    ]
    assert gap[0] > gap[1] + 0.1 > gap[2] + 0.1
    assert gap[2] < 0.12


@pytest.mark.parametrize("tiles", [10, 14, 20])
def test_cbp_with_averaged_lstdq_holds_its_own_on_tiles(tiles):
    start = [uniform_policy(WORLD.actions)]

    def evaluator(normal):
        return AveragedLSTDQ(normal, TileCoding(0, 25, tiles, 1, actions=4), samples=300)

    gap, violation = gaps(evaluator, CBP(0.25), 400, start)
    others = [gaps(evaluator, other, 400, start)[0].item() for other in (GDA(1.0, 0.1), CRPO(0.75))]
    assert gap.item() < min(others) + 0.02
    assert violation.item() < 0.0
    assert gap.item() < {10: 0.16, 14: 0.40, 20: 0.12}[tiles]


def test_a_coreset_serves_as_well_as_all_pairs():
    """An entry is a feature with all its pairs: 56 entries do what 100 pairs do, for LSTDQ and for rollouts."""
    start, coreset = [uniform_policy(WORLD.actions)], greedy_coreset(feature_matrix(TILES, 25))
    assert len(coreset.entries) == 56
    assert sum(map(len, coreset.entries)) == 100
    whole, _ = gaps(lambda normal: LSTDQ(normal, TILES, 300), CBP(0.25), 200, start)
    few, _ = gaps(lambda normal: LSTDQ(normal, TILES, 300, pairs=coreset), CBP(0.25), 200, start)
    assert few.item() == pytest.approx(whole.item(), abs=0.08)
    assert LSTDQ(WORLD, TILES, 300, pairs=coreset).transitions == 16_800
    design = everywhere(WORLD)
    whole, _ = gaps(lambda normal: LeastSquares(normal, TILES, design, 50), CBP(0.25), 200, start)
    few, _ = gaps(lambda normal: LeastSquares(normal, TILES, coreset, 50), CBP(0.25), 200, start)
    assert few.item() == pytest.approx(whole.item(), abs=0.05)


@pytest.mark.parametrize("kind", [LSTDQ, AveragedLSTDQ])
def test_one_pair_for_each_entry_knows_only_what_it_sees(kind):
    """The rewards are paid in states 1 and 3, each the second of its tile: from the first of each, all is 0."""
    coreset, policy = greedy_coreset(feature_matrix(TILES, 25)), random_policy(WORLD)
    first, last = coreset.single(Single.FIRST), coreset.single(Single.LAST)
    assert (estimate(kind(WORLD, TILES, 300, pairs=first), policy).q.values == 0).all()
    assert (estimate(kind(WORLD, TILES, 300, pairs=last), policy).q.values != 0).any()
    assert (estimate(kind(WORLD, TILES, 300, pairs=coreset), policy).q.values != 0).any()
    rollouts = MonteCarlo(WORLD, 300, pairs=first.indices)
    assert (estimate(rollouts, policy).q.values[0].reshape(2, -1)[:, first.indices] > 0).any()


def test_an_entry_averages_over_its_pairs():
    """Rollouts from an entry estimate the mean of the pairs' action values."""
    coreset, policy = greedy_coreset(feature_matrix(TILES, 25)), random_policy(WORLD)
    fitted = LeastSquares(WORLD, TILES, coreset, rollouts=4000)
    mean, variance = fitted.monte_carlo.entry_returns(policy, rngs(1)[0], coreset.entries)
    exact = exact_q(WORLD, policy).reshape(2, -1)
    expected = np.array([exact[:, entry].mean(1) for entry in coreset.entries])
    assert (np.abs(mean - expected) <= 5 * np.sqrt(variance) + 0.01).all()


def test_choices_by_name():
    make = EVALUATORS_BY_NAME["lstdq"]
    settings = {"samples": 1, "tiles": 14}
    whole = make(WORLD, **settings, coreset=True)
    assert [len(entry) for entry in whole.pairs.entries] == [
        len(entry) for entry in make(WORLD, **settings, coreset="shared").pairs.entries
    ]
    drawn = [make(WORLD, **settings, coreset="random", choice_seed=k).pairs.indices for k in (0, 0, 1)]
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])
    with pytest.raises(InputError, match="unknown choice of pairs 'frist'; did you mean 'first'"):
        make(WORLD, **settings, coreset="frist")
    with pytest.raises(InputError, match="a random row needs a generator"):
        whole.pairs.single(Single.RANDOM)


def test_streams_of_two_generators_differ():
    first, second = (stream(rng) for rng in rngs(2))
    assert first != second
    assert np.array_equal(stream(np.random.default_rng((0, 0))), first)
