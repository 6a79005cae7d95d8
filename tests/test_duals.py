"""Duals: what they weigh, by hand."""

import numpy as np

from painless.duals import Lagrangian, Switching
from painless.learners import Cocob, ProjectedGradient


def test_lagrangian_clips_and_writes_back():
    dual = Lagrangian(Cocob(1.0), upper=np.array([1.2, 50.0]))
    state = dual.init(np.array([[1.0, 1.0]]))
    for _ in range(5):
        _, state = dual.play(np.array([[1.0, 1.0]]), state)
    assert state.decision[0, 0] == 1.2
    # The first bettor's winnings count what was played, 0.2 a round, and not what it wished for.
    np.testing.assert_allclose(state.winnings[0, 0], 4 * 0.2)
    assert state.winnings[0, 1] > state.winnings[0, 0]


def test_lagrangian_starts_within_its_bound():
    dual = Lagrangian(ProjectedGradient(1.0), upper=np.array([0.25]))
    np.testing.assert_array_equal(dual.play(np.zeros((1, 1)), dual.init(np.ones((1, 1))))[0], [[1.0, 0.25]])


def test_lagrangian_without_constraints_weighs_the_reward_alone():
    dual = Lagrangian(Cocob(), upper=np.empty(0))
    weight, state = dual.play(np.empty((2, 0)), dual.init(np.empty((2, 0))))
    np.testing.assert_array_equal(weight, [[1.0], [1.0]])
    np.testing.assert_array_equal(dual.play(np.empty((2, 0)), state)[0], [[1.0], [1.0]])


def test_switching_takes_the_first_violated_constraint():
    dual = Switching()
    shortfall = np.array([[-1.0, 0.3, 0.5], [0.0, 0.0, 0.0], [0.1, -1.0, 2.0]])
    weight, _ = dual.play(shortfall, dual.init(shortfall))
    np.testing.assert_array_equal(weight.argmax(1), [2, 0, 1])


def test_switching_at_random_takes_any_violated_constraint():
    dual = Switching(seed=np.arange(200))
    shortfall = np.tile([0.1, -1.0, 2.0], (200, 1))
    weight, state = dual.play(shortfall, dual.init(shortfall))
    assert set(weight.argmax(1)) == {1, 3}
    later, _ = dual.play(shortfall, state)
    assert not np.array_equal(weight, later)


def test_switching_lets_its_tolerance_pass():
    dual = Switching(tolerance=np.array([0.0, 0.5]))
    shortfall = np.array([[0.4], [0.4]])
    weight, _ = dual.play(shortfall, dual.init(shortfall))
    np.testing.assert_array_equal(weight, [[0.0, 1.0], [1.0, 0.0]])


def test_switching_without_constraints():
    weight, _ = Switching().play(np.empty((2, 0)), Switching().init(np.empty((2, 0))))
    np.testing.assert_array_equal(weight, [[1.0]] * 2)
