"""Theorem 1 and the corollaries, with measured regrets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import painless
from painless import CBP, GDA
from painless.bellman import occupancy, occupancy_policy, policy_value
from painless.evaluators.monte_carlo import MonteCarlo
from painless.features import TileCoding, feature_matrix, greedy_coreset
from painless.learners import LOG_FLOOR, coin_betting_regret
from painless.loop.algorithm_case import AlgorithmCase
from painless.loop.approximation import Sampling, approximation_error
from painless.loop.guarantees import Regrets, cbp_bound, error_factor, gda_bound, policy_divergence
from painless.planning import LinearProgram
from painless.planning.feasibility import Feasibility
from painless.policies.table import dirichlet_policy, uniform_policy

from .problems import garnets

ALGORITHMS = [CBP(), CBP.theoretical(), GDA(), GDA.theoretical()]


def run(problem, algorithm, iterations, seed=None):
    """Return the prepared problem, its optimum, and the regrets of a run against the optimal policy.

    The prior is uniform, or drawn with a seed, over the actions that the presolve leaves.
    """
    prepared = AlgorithmCase.of(problem)
    if prepared.feasibility is not Feasibility.SLACK or prepared.slater.slack.min(initial=1.0) < 1e-6:
        return None
    optimum = LinearProgram().plan(prepared.normal)
    uniform = uniform_policy(prepared.normal.actions)
    prior = uniform
    if seed is not None:
        prior = dirichlet_policy(prepared.normal.actions, np.random.default_rng(seed))
    policy = occupancy_policy(optimum.occupancy, uniform)
    regrets = Regrets(prepared.normal, policy)
    steps = prepared.steps(algorithm, prior[None], iterations, 0)
    for _ in range(iterations):
        regrets.add(next(steps))
    return prepared, optimum, policy, regrets


@settings(max_examples=60)
@given(garnets(), st.sampled_from(ALGORITHMS), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_first_half_of_theorem_1_is_an_identity(problem, algorithm, iterations, seed):
    result = run(problem, algorithm, iterations, seed)
    if result is None:
        return
    prepared, _, policy, regrets = result
    best = policy_value(prepared.normal, policy)
    gap = best[0] - regrets.value[0]
    surplus = regrets.multiplier @ (best[1:] - prepared.normal.threshold)
    scale = (1 + regrets.multiplier.sum()) / (1 - problem.discount)
    assert regrets.optimality_gap_bound() - gap == pytest.approx(surplus, abs=1e-8 * scale)


@settings(max_examples=60)
@given(garnets(constraints=(1, 3)), st.sampled_from(ALGORITHMS), st.integers(1, 60))
def test_corrected_second_half_of_theorem_1(problem, algorithm, iterations):
    result = run(problem, algorithm, iterations)
    if result is None:
        return
    prepared, optimum, _, regrets = result
    upper = prepared.situation(iterations).multiplier_bound
    violation = np.maximum(prepared.normal.threshold - regrets.value[1:], 0.0)
    weighted = (upper - optimum.multiplier) @ violation
    assert weighted <= regrets.violation_bound(upper) + 1e-7 * (1 + upper.sum()) / (1 - problem.discount)


def test_second_half_as_printed_is_false():
    """With measured regrets R^d(U) can be so negative that the printed bound is below zero."""
    result = run(painless.gridworld(), CBP(), 1500)
    assert result is not None
    prepared, optimum, _, regrets = result
    upper = prepared.situation(1500).multiplier_bound
    printed = regrets.primal + 0.1 * regrets.dual(upper).sum()
    printed /= (upper[0] - optimum.multiplier[0]) * 0.1 * 1500
    assert printed < 0 <= np.maximum(prepared.normal.threshold - regrets.value[1:], 0)[0]


@settings(max_examples=30)
@given(garnets(constraints=(1, 2)), st.integers(1, 60))
def test_closed_forms_hold(problem, iterations):
    for algorithm in (GDA.theoretical(), CBP.theoretical()):
        result = run(problem, algorithm, iterations)
        if result is None:
            return
        prepared, _, policy, regrets = result
        situation = prepared.situation(iterations)
        if algorithm == GDA.theoretical():
            form = gda_bound(situation)
        else:
            visits = (1 - problem.discount) * occupancy(prepared.normal, policy).sum(-1)
            prior = uniform_policy(prepared.normal.actions)
            logs = np.log(np.where(policy > 0, policy, 1.0) / np.where(prior > 0, prior, 1.0))
            form = cbp_bound(situation, float(visits @ (policy * logs).sum(-1)))
        gap = policy_value(prepared.normal, policy)[0] - regrets.value[0]
        rounding = 1e-8 / (1 - problem.discount)
        assert gap <= form.optimality_gap + rounding
        assert form.vacuous == (form.optimality_gap > 1 / (1 - problem.discount))


def test_closed_forms_fall_as_one_over_root_t():
    prepared = AlgorithmCase.of(painless.gridworld())
    short, long = (gda_bound(prepared.situation(t)) for t in (10**4, 10**6))
    assert short.optimality_gap == pytest.approx(10 * long.optimality_gap)
    assert short.vacuous
    assert not gda_bound(prepared.situation(10**9)).vacuous
    with pytest.raises(ValueError, match="known horizon"):
        gda_bound(prepared.situation(None))


def test_error_factor():
    assert error_factor(np.array([1.0, 2.0]), 0.5) == 2 * 4 / 0.5 + 3


@settings(max_examples=30)
@given(garnets(constraints=(1, 1)), st.floats(1.1, 5), st.integers(0, 2**32 - 1))
def test_constraint_violation_lemma(problem, factor, seed):
    """[b − V_c]₊ ≤ β/(C − λ*) where V_r* − V_r + C·[b − V_c]₊ ≤ β (paper, app. B)."""
    prepared = AlgorithmCase.of(problem)
    if prepared.feasibility is not Feasibility.SLACK or not prepared.normal.shape[2]:
        return
    normal = prepared.normal
    optimum = LinearProgram().plan(normal)
    best = (optimum.occupancy * normal.reward).sum()
    value = policy_value(normal, dirichlet_policy(problem.actions, np.random.default_rng(seed)))
    violation = max(float(normal.threshold[0] - value[1]), 0.0)
    constant = factor * optimum.multiplier[0] + 0.1
    beta = best - value[0] + constant * violation
    assert violation <= beta / (constant - optimum.multiplier[0]) + 1e-6 / (1 - problem.discount)


# Errors of action values.


@settings(max_examples=40)
@given(st.integers(1, 8), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_the_best_uniform_approximation(rows, cells, seed):
    """For tiles it is half the largest range within a cell, which the linear program finds too; no weights do better."""
    rng = np.random.default_rng(seed)
    tiles = np.eye(cells)[rng.integers(cells, size=rows)]
    values = rng.normal(size=(2, rows)) * 10
    closed = approximation_error(tiles, values)
    program = approximation_error(tiles * 2.0, values)  # the same span, but no partition
    np.testing.assert_allclose(closed, program, atol=1e-8)
    features = rng.normal(size=(rows, 2))
    best = approximation_error(features, values[0])
    tried = [np.abs(features @ rng.normal(size=2) * 10 - values[0]).max() for _ in range(20)]
    fitted = np.linalg.lstsq(features, values[0], rcond=None)[0]
    assert best <= min([*tried, np.abs(features @ fitted - values[0]).max()]) + 1e-8


def test_values_of_another_length_are_refused():
    with pytest.raises(painless.InputError, match=r"values have shape \(3,\), not \(…, 2\)"):
        approximation_error(np.eye(2), np.ones(3))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"entries": 0}, "must be 1 or more"),
        ({"rollouts": 0}, "must be 1 or more"),
        ({"horizon": 0}, "must be 1 or more"),
        ({"failure_probability": 1.0}, "outside"),
        ({"bias": -1.0}, "must be 0 or more"),
        ({"norm": -1.0}, "must be 0 or more"),
    ],
)
def test_sampling_refuses(change, message):
    with pytest.raises(painless.InputError, match=message):
        Sampling(**{"entries": 1, "rollouts": 1, "failure_probability": 0.1, **change})


def test_errors_by_hand():
    plain = Sampling(entries=10, rollouts=50, failure_probability=0.1)
    expected = 10 * np.sqrt(np.log(2 * 10 * 6 / 0.1) / 100)  # range 1/(1 − 0.9), 2 utilities × 3 iterations
    assert plain.error(0.9, 6) == pytest.approx(expected)
    cut = Sampling(entries=10, rollouts=50, failure_probability=0.1, horizon=2, norm=3.0, bias=0.5)
    sampled = (1 - 0.81) * expected + 0.81 * 10
    assert cut.error(0.9, 6) == pytest.approx(0.5 * 4 + 3 * sampled)


@settings(max_examples=15)
@given(garnets(constraints=(1, 1)), st.integers(0, 2**32 - 1))
def test_the_error_of_rollouts_keeps_its_bound(problem, seed):
    """|Q̂ − Q| ≤ ε̃ over features, with ε_b of the policy and the measured norm; δ is small enough never to be seen."""
    from painless.evaluators import ExactEvaluator
    from painless.evaluators.least_squares import LeastSquares
    from painless.learners import CoinBetting
    from painless.policies.learning_table import LearningTable

    normal = AlgorithmCase.of(problem).normal
    states, actions, _ = normal.shape
    if not normal.actions.all():
        return
    features = TileCoding(0, states, tiles=max(1, states // 2), tilings=1, actions=actions)
    matrix = feature_matrix(features, states)
    coreset = greedy_coreset(matrix)
    policy = dirichlet_policy(normal.actions, np.random.default_rng(seed))
    table = LearningTable.start(CoinBetting(), policy[None])
    exact = ExactEvaluator(normal).evaluate(table).q.values[0]
    for rollouts in (1, 30):
        evaluator = LeastSquares(normal, features, coreset, rollouts)
        found = evaluator.evaluate(table, [np.random.default_rng(seed)]).q.values[0]
        sampling = Sampling(
            entries=len(coreset.entries),
            rollouts=rollouts,
            failure_probability=1e-9,
            horizon=evaluator.monte_carlo.steps,
            norm=coreset.norm,
            bias=float(approximation_error(matrix, exact.reshape(len(exact), -1)).max()),
        )
        assert np.abs(found - exact).max() <= sampling.error(normal.discount, len(exact)) + 1e-9


@settings(max_examples=20)
@given(
    garnets(constraints=(1, 2)),
    st.sampled_from([CBP(), GDA()]),
    st.integers(1, 15),
    st.integers(0, 2**32 - 1),
)
def test_theorem_1_with_errors_of_evaluation(problem, algorithm, iterations, seed):
    """OG ≤ {R^p + (1−γ) R^d(0)}/((1−γ)T) + ε g, with regrets in the estimates and ε the largest error that occurred."""
    prepared = AlgorithmCase.of(problem)
    if prepared.feasibility is not Feasibility.SLACK or prepared.slater.slack.min(initial=1.0) < 1e-6:
        return
    normal = prepared.normal
    optimum = LinearProgram().plan(normal)
    policy = occupancy_policy(optimum.occupancy, uniform_policy(normal.actions))
    regrets, evaluator = Regrets(normal, policy), MonteCarlo(normal, rollouts=3)
    prior = uniform_policy(normal.actions)[None]
    steps = prepared.steps(algorithm, prior, iterations, seed, evaluator)
    gaps, worst = [], 0.0
    best = policy_value(normal, policy)
    from painless.evaluators import ExactEvaluator

    for _ in range(iterations):
        step = next(steps)
        regrets.add(step)
        exact = ExactEvaluator(normal).evaluate(step.policy)
        worst = max(
            worst, float(np.abs(step.evaluation.q.values - exact.q.values)[:, :, normal.actions].max())
        )
        gaps.append(best[0] - exact.value[0, 0])
    factor = error_factor(prepared.situation(iterations).multiplier_bound, problem.discount)
    assert np.mean(gaps) <= regrets.optimality_gap_bound() + worst * factor + 1e-7 * factor


def test_the_corollary_over_features_adds_its_error():
    situation = AlgorithmCase.of(painless.gridworld()).situation(400)
    plain = cbp_bound(situation, 1.0)
    sampling = Sampling(entries=56, rollouts=50, failure_probability=0.05, horizon=66, norm=56**0.5, bias=0.1)
    sampled = cbp_bound(situation, 1.0, sampling=sampling)
    factor = error_factor(situation.multiplier_bound, 0.9)
    assert sampled.error == sampling.error(0.9, 800)
    assert sampled.optimality_gap == pytest.approx(plain.optimality_gap + sampled.error * factor)
    assert sampled.weighted_violation == pytest.approx(plain.weighted_violation + sampled.error * factor)
    assert sampled.vacuous
    table = Sampling(entries=100, rollouts=10**9, failure_probability=0.05)
    assert gda_bound(situation, sampling=table).error < 0.001
    assert gda_bound(situation, 0.5).optimality_gap < gda_bound(situation).optimality_gap
    assert gda_bound(situation, np.log(4)).optimality_gap == pytest.approx(
        gda_bound(situation).optimality_gap
    )


@settings(max_examples=30)
@given(garnets(constraints=(1, 2)), st.floats(0.001, 1.0), st.integers(1, 40))
def test_the_regularised_regret_is_bounded(problem, entropy, iterations):
    """R^p_ν ≤ (N + 25ν)·√(3T(3 + KL)): the bettor's own bound, for gains with their entropy."""
    prepared = AlgorithmCase.of(problem)
    if prepared.feasibility is not Feasibility.SLACK or prepared.slater.slack.min(initial=1.0) < 1e-6:
        return
    normal = prepared.normal
    prior = uniform_policy(normal.actions)
    policy = occupancy_policy(LinearProgram().plan(normal).occupancy, prior)
    regrets = Regrets(normal, policy, entropy)
    steps = prepared.steps(CBP(entropy=entropy), prior[None], iterations, 0)
    for _ in range(iterations):
        regrets.add(next(steps))
    visits = (1 - problem.discount) * occupancy(normal, policy).sum(-1)
    distance = float(visits @ policy_divergence(policy, prior))
    normaliser = prepared.situation(iterations).normaliser - LOG_FLOOR * entropy
    bound = normaliser * coin_betting_regret(distance, iterations, horizon_known=True)
    assert regrets.regularised <= bound + 1e-6 * normaliser
    most = entropy * iterations * np.log(normal.shape[1])
    assert regrets.primal - most - 1e-9 <= regrets.regularised_as_printed <= regrets.primal + 1e-9
    assert abs(regrets.regularised - regrets.primal) <= most + 1e-9


def test_without_entropy_the_regularised_regret_is_the_regret():
    _, _, _, regrets = run(painless.gridworld(), CBP(), 10)
    assert regrets.regularised == regrets.regularised_as_printed == regrets.primal
