"""Theorem 1 and the corollaries, with measured regrets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import painless
from painless import CBP, GDA
from painless.bellman import occupancy, occupancy_policy, policy_value
from painless.loop.guarantees import Regrets, cbp_bound, error_factor, gda_bound
from painless.loop.prepare import Prepared
from painless.planning import LinearProgram
from painless.planning.feasibility import Feasibility
from painless.policies.table import dirichlet_policy, uniform_policy

from .problems import garnets

ALGORITHMS = [CBP(), CBP.theoretical(), GDA(), GDA.theoretical()]


def run(problem, algorithm, iterations, prior=None):
    """Return the prepared problem, its optimum, and the regrets of a run against the optimal policy."""
    prepared = Prepared.of(problem)
    if prepared.feasibility is not Feasibility.SLACK or prepared.slater.slack.min(initial=1.0) < 1e-6:
        return None
    optimum = LinearProgram().plan(prepared.normal)
    prior = uniform_policy(problem.actions) if prior is None else prior
    policy = occupancy_policy(optimum.occupancy, uniform_policy(problem.actions))
    regrets = Regrets(prepared.normal, policy)
    steps = prepared.steps(algorithm, prior[None], iterations, 0)
    for _ in range(iterations):
        regrets.add(next(steps))
    return prepared, optimum, policy, regrets


@settings(max_examples=60)
@given(garnets(), st.sampled_from(ALGORITHMS), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_first_half_of_theorem_1_is_an_identity(problem, algorithm, iterations, seed):
    prior = dirichlet_policy(problem.actions, np.random.default_rng(seed))
    result = run(problem, algorithm, iterations, prior)
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
            prior = uniform_policy(problem.actions)
            logs = np.log(np.where(policy > 0, policy, 1.0) / np.where(prior > 0, prior, 1.0))
            form = cbp_bound(situation, float(visits @ (policy * logs).sum(-1)))
        gap = policy_value(prepared.normal, policy)[0] - regrets.value[0]
        rounding = 1e-8 / (1 - problem.discount)
        assert gap <= form.optimality_gap + rounding
        assert form.vacuous == (form.optimality_gap > 1 / (1 - problem.discount))


def test_closed_forms_fall_as_one_over_root_t():
    prepared = Prepared.of(painless.gridworld())
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
    prepared = Prepared.of(problem)
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
