"""Duals: what they weigh, by hand."""

import numpy as np

from painless.duals import Lagrangian, Switching
from painless.learners import Cocob, ProjectedGradient


def test_lagrangian_clips_and_writes_back():
    dual = Lagrangian(Cocob(1.0), upper=np.array([1.2, 50.0]))
    state = dual.init(np.array([[1.0, 1.0]]))
    for _ in range(5):
        state = dual.update(np.array([[1.0, 1.0]]), state)
    assert state.decision[0, 0] == 1.2
    # The first bettor's winnings count what was played, 0.2 a round, and not what it wished for.
    np.testing.assert_allclose(state.winnings[0, 0], 4 * 0.2)
    assert state.winnings[0, 1] > state.winnings[0, 0]


def test_lagrangian_starts_within_its_bound():
    dual = Lagrangian(ProjectedGradient(1.0), upper=np.array([0.25]))
    np.testing.assert_array_equal(dual.weigh(np.zeros((1, 1)), dual.init(np.ones((1, 1)))), [[1.0, 0.25]])


def test_lagrangian_without_constraints_weighs_the_reward_alone():
    dual = Lagrangian(Cocob(), upper=np.empty(0))
    state = dual.update(np.empty((2, 0)), dual.init(np.empty((2, 0))))
    np.testing.assert_array_equal(dual.weigh(np.empty((2, 0)), state), [[1.0], [1.0]])


def test_switching_takes_the_first_violated_constraint():
    dual = Switching()
    shortfall = np.array([[-1.0, 0.3, 0.5], [0.0, 0.0, 0.0], [0.1, -1.0, 2.0]])
    np.testing.assert_array_equal(dual.weigh(shortfall, dual.init(shortfall)).argmax(1), [2, 0, 1])


def test_switching_at_random_takes_any_violated_constraint():
    dual = Switching(seed=np.arange(200))
    shortfall = np.tile([0.1, -1.0, 2.0], (200, 1))
    chosen = dual.weigh(shortfall, dual.init(shortfall)).argmax(1)
    assert set(chosen) == {1, 3}
    later = dual.weigh(shortfall, dual.update(shortfall, dual.init(shortfall))).argmax(1)
    assert not np.array_equal(chosen, later)


def test_switching_lets_its_tolerance_pass():
    dual = Switching(tolerance=np.array([0.0, 0.5]))
    shortfall = np.array([[0.4], [0.4]])
    np.testing.assert_array_equal(dual.weigh(shortfall, dual.init(shortfall)), [[0.0, 1.0], [1.0, 0.0]])


def test_switching_without_constraints():
    np.testing.assert_array_equal(
        Switching().weigh(np.empty((2, 0)), Switching().init(np.empty((2, 0)))), [[1.0]] * 2
    )
