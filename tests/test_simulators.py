"""Simulators and rollouts: CartPole against Gymnasium's, tables against their models, episodes by hand."""

import gymnasium
import numpy as np
import pytest

import painless
from painless import CartPole, InputError
from painless.bellman import policy_value
from painless.problems.cartpole import reference_step
from painless.simulation.normalised_simulator import NormalisedSimulator
from painless.simulation.rollouts import draw_actions, roll_out
from painless.simulation.simulator import Outcome, Specification, TableSimulator, discounted_steps


class Fixed:
    """A policy that is the same everywhere."""

    def __init__(self, *probabilities):
        self.probabilities = np.array(probabilities)

    def at(self, states):
        return np.tile(self.probabilities, (len(states), 1))


class Countdown:
    """An episode of as many steps as the state says; each pays 2 and costs 1."""

    specification = Specification(
        actions=1,
        discount=0.5,
        threshold=np.array([-3.0]),
        low=np.array([0.0, -1.0]),
        high=np.array([2.0, 0.0]),
        time_limit=3,
        sense=("<=",),
    )

    def reset(self, count, rng):
        return 1.0 + np.arange(count)

    def step(self, states, actions, rng):
        return Outcome(states - 1, np.tile([2.0, -1.0], (len(states), 1)), states <= 1)


def test_cartpole_is_gymnasium_s():
    ours, theirs = CartPole(), gymnasium.make("CartPole-v1").unwrapped
    rng = np.random.default_rng(0)
    for episode in range(5):
        state, _ = theirs.reset(seed=episode)
        state = np.array(theirs.state, dtype=float)
        for _ in range(200):
            action = int(rng.integers(2))
            _, _, fell, _, _ = theirs.step(action)
            outcome = ours.step(state[None], np.array([action]), rng)
            np.testing.assert_allclose(
                outcome.states[0], np.array(theirs.state, dtype=float), rtol=1e-12, atol=1e-14
            )
            assert outcome.terminated[0] == fell
            state = np.array(theirs.state, dtype=float)
            if fell:
                break
    theirs.close()


def test_cartpole_kernel_is_its_reference():
    rng = np.random.default_rng(1)
    states = rng.uniform(-1, 1, (2000, 4)) * [2.6, 3.0, 0.25, 3.0]
    actions = rng.integers(2, size=2000)
    kernel, reference = CartPole().step(states, actions, rng), reference_step(states, actions)
    np.testing.assert_allclose(kernel.states, reference.states, rtol=1e-14)
    np.testing.assert_array_equal(kernel.utilities, reference.utilities)
    np.testing.assert_array_equal(kernel.terminated, reference.terminated)


@pytest.mark.parametrize(
    ("place", "lean", "expected"),
    [
        (0.0, 0.0, [1, 1, 1]),
        (1.2, 0.0, [1, 0, 1]),
        (-2.3, 0.0, [1, 0, 1]),
        (1.5, np.radians(5), [1, 1, 0]),
        (2.5, 0.0, [0, 0, 0]),
        (0.0, np.radians(12.5), [0, 0, 0]),
    ],
)
def test_cartpole_utilities(place, lean, expected):
    outcome = CartPole().step(np.array([[place, 0.0, lean, 0.0]]), np.array([0]), np.random.default_rng(0))
    np.testing.assert_array_equal(outcome.utilities[0], expected)
    assert outcome.terminated[0] == (expected[0] == 0)


def test_cartpole_specification():
    specification = CartPole().specification
    assert specification.return_range[1] == pytest.approx([86.6020325] * 3)
    np.testing.assert_array_equal(specification.limit, [79.0, 80.0])


def test_hand_made_controller_meets_both_constraints():
    class Controller:
        def at(self, states):
            push = states @ [0.4, 0.7, 8.0, 1.6] > 0
            return np.eye(2)[push.astype(int)]

    value = roll_out(CartPole(), Controller(), 200, np.random.default_rng(0)).value
    assert value[0] == pytest.approx(86.6, abs=0.1)
    assert (value[1:] >= [79, 80]).all()


@pytest.mark.parametrize("dense", [True, False])
def test_table_simulator_draws_from_its_rows(dense):
    problem = painless.garnet(6, 3, 3, 1, seed=2, dense=dense)
    simulator, rng = TableSimulator(problem), np.random.default_rng(0)
    kernel = problem.transition if dense else problem.transition.toarray().reshape(6, 3, 6)
    outcome = simulator.step(np.full(20000, 4), np.full(20000, 1), rng)
    shares = np.bincount(outcome.states, minlength=6) / 20000
    np.testing.assert_allclose(shares, kernel[4, 1], atol=0.02)
    assert (kernel[4, 1, np.unique(outcome.states)] > 0).all()
    np.testing.assert_array_equal(outcome.utilities[0], problem.utility[:, 4, 1])
    starts = np.bincount(simulator.reset(20000, rng), minlength=6) / 20000
    np.testing.assert_allclose(starts, problem.initial, atol=0.02)


def test_rollouts_of_a_table_have_its_values():
    problem = painless.garnet(8, 2, 3, 1, seed=3, discount=0.8)
    policy = np.full((8, 2), 0.5)
    found = roll_out(TableSimulator(problem), painless.TabularPolicy(policy), 4000, np.random.default_rng(0))
    exact = policy_value(problem, policy)
    assert (np.abs(found.value - exact) < 5 * found.standard_error + 1e-3 / 0.2).all()


def test_episodes_end_when_they_end():
    found = roll_out(Countdown(), Fixed(1.0), 5, np.random.default_rng(0))
    np.testing.assert_allclose(found.returns[:, 0], [2.0, 3.0, 3.5, 3.5, 3.5])  # at most three steps
    np.testing.assert_allclose(found.returns[:, 1], found.returns[:, 0] / -2)
    assert len(found.actions) == 1 + 2 + 3 + 3 + 3
    assert found.terminated.sum() == 3
    one = roll_out(Countdown(), Fixed(1.0), 1, np.random.default_rng(0))
    assert np.isinf(one.standard_error).all()


def test_rollouts_need_an_end():
    class Endless(Countdown):
        specification = Specification(1, 0.5, np.empty(0), np.zeros(1), np.ones(1))

    with pytest.raises(InputError, match="no time limit"):
        roll_out(Endless(), Fixed(1.0), 1, np.random.default_rng(0))


def test_a_normalised_simulator_has_unit_spans():
    scaled = NormalisedSimulator(Countdown())
    np.testing.assert_array_equal(scaled.specification.span, [1.0, 1.0])
    np.testing.assert_array_equal(scaled.specification.threshold, [-3.0])
    outcome = scaled.step(np.array([2.0]), np.array([0]), np.random.default_rng(0))
    np.testing.assert_array_equal(outcome.utilities, [[1.0, -1.0]])
    np.testing.assert_array_equal(scaled.reset(2, np.random.default_rng(0)), [1.0, 2.0])


def test_draws_follow_the_probabilities():
    draws = np.random.default_rng(0).random(30000)
    actions = draw_actions(np.tile([0.2, 0.0, 0.8], (30000, 1)), draws)
    np.testing.assert_allclose(np.bincount(actions, minlength=3) / 30000, [0.2, 0.0, 0.8], atol=0.01)
    assert draw_actions(np.array([[1.0, 0.0]]), np.array([np.nextafter(1, 0)]))[0] == 0


def test_discounted_steps():
    assert discounted_steps(0.5, 3) == 1.75
    assert discounted_steps(0.5, None) == 2.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"low": np.zeros(1)}, "need ranges of 2 utilities"),
        ({"low": np.full(2, 2.0)}, "low end at most the high end"),
        ({"high": np.full(2, np.inf)}, "must be finite"),
        ({"time_limit": 0}, "at least 1"),
        ({"discount": 1.0}, "outside"),
        ({"actions": 0}, "actions is 0"),
    ],
)
def test_bad_specifications(changes, message):
    plain = {"actions": 1, "discount": 0.5, "threshold": np.zeros(1), "low": np.zeros(2), "high": np.ones(2)}
    with pytest.raises(InputError, match=message):
        Specification(**plain | changes)
