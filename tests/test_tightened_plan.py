"""Plans at limits that are tightened until they are safe."""

import numpy as np
import pytest

import painless
from painless.counting.judgement import Judged
from painless.counting.learned_model import LearnedModel
from painless.counting.memory import Memory
from painless.counting.safe_plan import Candidate, Limits
from painless.counting.tightened_plan import Bracket, tightened_plans
from painless.simulation.simulator import TableSimulator
from painless.training.episodes import Player, SimulatedEpisodes


def world(steps, threshold):
    """Return a model of some steps in the gridworld, and its limits."""
    memory = Memory(4, 2)
    episodes = SimulatedEpisodes(TableSimulator(painless.gridworld(), 60))
    Player(episodes, memory, np.random.default_rng(0)).play([], steps, explore=True)
    limits = Limits(np.array([threshold]), np.zeros(1, dtype=bool), 60)
    return LearnedModel(memory, 0.9, limits.threshold), limits


def test_other_kinds_of_plans_are_left_out_where_they_could_gain_nothing():
    assert len(tightened_plans(*world(20_000, 0.0))) == 1


def test_tighter_limits_that_change_nothing_end_the_search():
    assert len(tightened_plans(*world(300, 1e6), imaginary=(0.0,))) == 2


def test_limits_are_tightened_and_loosened_again_until_a_plan_is_just_safe():
    limits = Limits(np.ones(1), np.zeros(1, dtype=bool), 1000)

    def judged(value, slack):
        one = Judged(np.ones((1, 1)), np.array([5.0, value]), np.ones(2), np.zeros((2, 3)), np.zeros((1, 1)))
        return Candidate(one, np.array([slack]), np.ones(1), slack >= 0, 0.0, np.zeros(1))

    bracket = Bracket(np.ones(1))
    tight = bracket.next(judged(1.0, -2.0), limits)
    assert tight > 3  # the margin was 2
    between = bracket.next(judged(6.0, 3.0), limits)  # a plan that keeps more than its margin
    assert between == pytest.approx((1 + tight) / 2)
    tighter = bracket.next(judged(2.0, -0.5), limits)
    assert tighter == pytest.approx((between + tight) / 2)
    assert bracket.next(judged(3.0, 0.01), limits) is None  # hardly more than its margin
    assert Bracket(np.ones(1)).next(judged(9.0, 5.0), limits) is None  # safe from the start
