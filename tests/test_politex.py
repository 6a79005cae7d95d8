"""Algorithm 1 in one call: on a table, on a simulator that hides its table, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

import painless
from painless import CBP, InputError
from painless.bellman import policy_value
from painless.evaluators.design_rollouts import DesignRollouts, state_coreset
from painless.features import OneHot, TileCoding
from painless.learners import CoinBetting
from painless.policies import start_policy
from painless.simulation.simulator import TableSimulator
from painless.training.politex import coin_betting_politex, errors_afterwards, table_policy

WORLD = painless.gridworld()
TILES = TileCoding(0, 25, tiles=14, tilings=1, actions=4)


class Hidden:
    """A generative simulator that nobody knows to be a table."""

    def __init__(self, problem, **changes):
        self.inner = TableSimulator(problem)
        self.specification = replace(self.inner.specification, **changes)
        self.reset, self.step = self.inner.reset, self.inner.step


def test_algorithm_1_on_the_gridworld():
    found = coin_betting_politex(WORLD, features=TILES, rollouts=20, iterations=60)
    assert found.status == "Completed."
    assert len(found.coreset.entries) == 56
    assert found.trace.exact
    assert len(found.policy.policies) == len(found.trace) == 60
    slack = policy_value(WORLD, table_policy(found.slater_policy, WORLD))[1] - 1.5
    assert 0.7 < found.slater_gap[0] <= slack <= 1.0573
    assert found.multiplier_bound[0] == pytest.approx(2 / (0.1 * found.slater_gap[0]))
    assert found.trace.reward_value[0] < 0.4  # the uniform policy
    assert found.trace.reward_value[-20:].mean() > 1.3
    assert found.trace.constraint_value[-20:].mean() > 1.4
    values = [policy_value(WORLD, table_policy(one, WORLD))[0] for one in found.policy.policies[::20]]
    np.testing.assert_allclose(found.trace.reward_value[::20], values)


def test_the_seed_decides_and_algorithm_2_has_another_dual():
    runs = [coin_betting_politex(WORLD, features=TILES, rollouts=3, iterations=4, seed=s) for s in (0, 0, 1)]
    np.testing.assert_array_equal(runs[0].trace.reward_value, runs[1].trace.reward_value)
    assert not np.array_equal(runs[0].trace.reward_value, runs[2].trace.reward_value)
    other = coin_betting_politex(WORLD, CBP(8.0), features=TILES, rollouts=3, iterations=4)
    assert not np.array_equal(other.trace.multiplier, runs[0].trace.multiplier)


def test_a_simulator_with_generative_access():
    """The same algorithm without the table: estimates in the trace, a coreset of states that were met."""
    found = coin_betting_politex(
        Hidden(WORLD), features=TILES, rollouts=5, iterations=8, feasibility_iterations=20
    )
    assert found.found
    assert not found.trace.exact
    assert len(found.coreset.entries) == 56
    assert len(found.trace) == 8
    assert found.steps > 8 * 56 * 5


def test_rollouts_of_a_table_and_of_a_simulator_agree():
    """The kernel and lockstep estimate the same values, within five standard errors."""
    problem = painless.garnet(8, 3, 3, 1, seed=0, discount=0.8)
    features, states = OneHot(8, 3), np.arange(8)
    coreset = state_coreset(features, states, 2**-0.5, None)
    policy = start_policy(CoinBetting(), features)
    exact = policy_value(problem, np.full((8, 3), 1 / 3))
    for simulator in (TableSimulator(problem), Hidden(problem)):
        evaluator = DesignRollouts(simulator, features, states, coreset, rollouts=2000)
        found = evaluator.evaluate(policy, [np.random.default_rng(0)])
        assert (np.abs(found.value[0] - exact) <= 5 * found.standard_error[0] + 0.05).all()
        assert found.steps > 0


def test_masked_actions_are_left_out():
    base = painless.garnet(8, 3, 3, 1, seed=0)
    mask = np.ones((8, 3), dtype=bool)
    mask[2, 1] = mask[5, 0] = False
    problem = painless.CMDP(
        base.transition,
        base.reward,
        initial=base.initial,
        discount=0.8,
        constraint_reward=base.constraint_reward,
        threshold=0.5 * policy_value(base.with_discount(0.8), np.full((8, 3), 1 / 3))[1:],
        actions=mask,
    )
    found = coin_betting_politex(problem, features=OneHot(8, 3), rollouts=5, iterations=5)
    assert not np.isin([2 * 3 + 1, 5 * 3], np.concatenate(found.coreset.entries)).any()
    assert found.found


def test_without_constraints_it_is_politex():
    problem = painless.CMDP(WORLD.transition, WORLD.reward, initial=WORLD.initial, discount=0.9)
    found = coin_betting_politex(problem, features=OneHot(25, 4), rollouts=10, iterations=30)
    assert found.trace.reward_value[-5:].mean() > 1.3


def test_no_feasible_policy_found():
    found = coin_betting_politex(
        painless.gridworld(threshold=9.0), features=TILES, rollouts=2, iterations=3, feasibility_iterations=3
    )
    assert not found.found
    assert "no feasible policy found" in found.status
    assert len(found.trace) == 0


def test_ctrl_c_returns_what_was_done(monkeypatch):
    evaluate, calls = DesignRollouts.evaluate, []

    def interrupted(self, policy, rngs):
        calls.append(policy)
        if len(calls) == 40:
            raise KeyboardInterrupt
        return evaluate(self, policy, rngs)

    monkeypatch.setattr(DesignRollouts, "evaluate", interrupted)
    found = coin_betting_politex(WORLD, features=TILES, rollouts=2, iterations=500)
    assert found.status.startswith("Stopped: interrupted")
    assert len(found.trace) == len(found.policy.policies) > 0


def test_errors_are_known_afterwards():
    found = coin_betting_politex(WORLD, features=OneHot(25, 4), rollouts=200, iterations=5)
    bias, error = errors_afterwards(found, WORLD, OneHot(25, 4))
    assert bias == pytest.approx(0.0, abs=1e-9)
    assert 0 < error < 3
    coarse = coin_betting_politex(WORLD, features=TILES, rollouts=200, iterations=5)
    assert errors_afterwards(coarse, WORLD, TILES)[0] > 0.1


@pytest.mark.parametrize(
    ("problem", "options", "message"),
    [
        (WORLD, {}, "suggests no features"),
        (WORLD, {"features": OneHot(25, 3)}, "the features have 3 actions and the problem 4"),
        (WORLD, {"features": TILES, "rollouts": 0}, "rollouts is 0"),
        (WORLD, {"features": TILES, "iterations": 0}, "iterations"),
        (WORLD, {"features": TILES, "confidence": 2.0}, "confidence"),
        (Hidden(WORLD, generative=False), {"features": TILES}, "declare generative=True"),
        (Hidden(WORLD, time_limit=None), {"features": TILES}, "no time limit"),
    ],
)
def test_what_it_refuses(problem, options, message):
    with pytest.raises(InputError, match=message):
        coin_betting_politex(problem, **options)
