"""The certificate: weak duality, polishing, bounded memory, and mixing in the Slater policy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import painless
from painless.bellman import policy_value
from painless.engines.engine import engine_of
from painless.loop.algorithm_case import AlgorithmCase
from painless.loop.averages import MultiplierAverages
from painless.planning import LinearProgram
from painless.planning.certificate import MEMORY, Certifier
from painless.planning.feasibility import Feasibility, slater_policy
from painless.policies.table import dirichlet_policy

from .problems import garnets


def certifier_of(problem, memory=MEMORY):
    prepared = AlgorithmCase.of(problem)
    return Certifier(prepared.engine, prepared.slater, memory=memory), prepared


@settings(max_examples=60)
@given(garnets(constraints=(1, 3)), st.integers(0, 2**32 - 1))
def test_weak_duality_never_fails(problem, seed):
    certifier, prepared = certifier_of(problem)
    if prepared.feasibility is Feasibility.NONE or not prepared.normal.shape[2]:
        return
    optimum = LinearProgram().plan(prepared.normal)
    if optimum is None:  # infeasible by less than the tolerance
        return
    value = (optimum.occupancy * prepared.normal.reward).sum()
    rng = np.random.default_rng(seed)
    for scale in (0.0, 0.1, 1.0, 100.0):
        multiplier = scale * rng.random(prepared.normal.shape[2])
        assert certifier.bound(multiplier) >= value - 1e-8 / (1 - problem.discount)
    assert certifier.bound(optimum.multiplier) == pytest.approx(
        value, abs=1e-7 * (1 + optimum.multiplier.sum()) / (1 - problem.discount)
    )


def test_polishing_mixes_at_most_one_policy_more_than_constraints():
    problem = painless.gridworld(constraints=3)
    certifier, prepared = certifier_of(problem)
    rng = np.random.default_rng(0)
    for _ in range(100):
        policy = dirichlet_policy(problem.actions, rng)
        certifier.add(policy_value(prepared.normal, policy), policy)
    mixture = certifier.polish()
    assert (mixture.weights > 1e-12).sum() <= 4
    answer = certifier.answer(mixture.weights)
    assert answer.feasible
    assert answer.value[0] == pytest.approx(mixture.value)


def test_memory_does_not_grow():
    problem = painless.garnet(50, 4, 5, 1, seed=0)
    certifier, prepared = certifier_of(problem, memory=16 * problem.actions.size * 8)
    rng = np.random.default_rng(0)
    best = -np.inf
    for _ in range(300):
        policy = dirichlet_policy(problem.actions, rng)
        certifier.add(policy_value(prepared.normal, policy), policy)
        value = certifier.polish().value
        assert len(certifier.game.columns) <= 16
        assert value >= best - 1e-9  # what is dropped was of no use
        best = value
    np.testing.assert_array_equal(certifier.game.columns[0].policy, prepared.slater.policy)


def test_slater_is_mixed_in_until_the_policy_is_feasible():
    problem = painless.gridworld()
    certifier, prepared = certifier_of(problem)
    certifier.bound(np.zeros(1))
    greedy = certifier.game.columns[1].policy
    assert not certifier.assess(greedy).feasible
    answer = certifier.judge(greedy)
    assert answer.feasible
    assert answer.value[1] == pytest.approx(1.5, abs=1e-6)
    assert answer.value[0] > prepared.slater.value[0]


def test_candidates_of_an_empty_mixture_fall_back_on_slater():
    problem = painless.gridworld()
    slater = slater_policy(problem)
    certifier = Certifier(engine_of(problem.with_limits([2.6])), slater)
    mixture = certifier.polish()
    np.testing.assert_array_equal(mixture.weights, [1.0])


def test_averages_of_the_multipliers():
    averages = MultiplierAverages(2)
    weights = [np.array([1.0, float(t)]) for t in range(10)]
    for weight in weights:
        averages.add(weight)
    tail, linear, uniform = (float(one[0]) for one in averages)
    assert uniform == pytest.approx(4.5)
    assert linear == pytest.approx(sum((t + 1) * t for t in range(10)) / 55)
    assert tail == pytest.approx(np.mean(range(4, 10)))  # since the last power of two below half


def test_averages_of_switching_are_relative_to_the_reward():
    averages = MultiplierAverages(2)
    for weight in ([0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]):
        averages.add(np.array(weight))
    assert float(list(averages)[-1][0]) == pytest.approx(1.0)
    never = MultiplierAverages(2)
    never.add(np.array([0.0, 1.0]))
    assert list(never) == []
