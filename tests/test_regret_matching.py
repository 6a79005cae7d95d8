"""Regret matching⁺, scale-free gradients and the alternating dual: contracts, bounds, and what CBP has to do with them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from painless import PRM, InputError, gridworld, solve
from painless.checks import check_learner
from painless.duals import Alternating
from painless.learners import (
    CoinBetting,
    ProjectedGradient,
    RegretMatching,
    ScaleFreeGradient,
    gradient_regret,
    regret_matching_regret,
)
from painless.learners.regret_matching import advantage
from painless.loop.batch import solve_batch

SIMPLEX = {
    "as it comes": RegretMatching,
    "uniform weights": lambda: RegretMatching(0.0, predictive=False),
    "linear weights": lambda: RegretMatching(1.0, predictive=False),
}


@st.composite
def gains_on_the_simplex(draw):
    shape = (draw(st.integers(1, 120)), draw(st.integers(1, 5)))
    return draw(arrays(float, shape, elements=st.floats(-1, 1)))


def play(learner, prior, gains):
    state, decisions = learner.init(prior), []
    for gain in gains:
        decisions.append(state.decision)
        state = learner.update(gain, state)
    return np.array(decisions), state


@pytest.mark.parametrize("name", SIMPLEX)
def test_contract_on_the_simplex(name):
    check_learner(SIMPLEX[name], np.array([[[0.2, 0.3, 0.5], [0.5, 0.5, 0.0]]] * 3), simplex=True)


def test_contract_on_the_half_line():
    check_learner(ScaleFreeGradient, np.ones((3, 2)))


def test_settings_differ_between_the_runs_of_a_batch():
    gains = np.random.default_rng(0).random((20, 2, 3))
    prior = np.full((2, 3), 1 / 3)
    together, _ = play(RegretMatching(np.array([0.0, 3.0])), prior, gains)
    for row, growth in enumerate((0.0, 3.0)):
        alone, _ = play(RegretMatching(growth), prior[:1], gains[:, row : row + 1])
        np.testing.assert_array_equal(together[:, row], alone[:, 0])


def test_regret_matching_by_hand():
    # Linear weights. Gains (1, 0) from (1/2, 1/2): advantages ±1/2, R = (1/2, 0), prediction R + A = (1, 0).
    learner = RegretMatching(1.0)
    first = learner.update(np.array([1.0, 0.0]), learner.init(np.array([0.5, 0.5])))
    np.testing.assert_allclose(first.regret, [0.5, 0.0])
    np.testing.assert_allclose(first.decision, [1.0, 0.0])
    # Gains (0, 1): advantages (0, 1); R = (1/2·1/2, 1), and R + A = (1/4, 2).
    second = learner.update(np.array([0.0, 1.0]), first)
    np.testing.assert_allclose(second.regret, [0.25, 1.0])
    np.testing.assert_allclose(second.decision, [1 / 9, 8 / 9])


@given(gains_on_the_simplex(), st.sampled_from([0.0, 1.0, 2.0]), st.booleans())
def test_regret_matching_bound(gains, growth, predictive):
    """The weighted regret of every corner is at most √(2 Σ‖w·A − m‖²), and √(Σ‖w·A‖²) without predictions."""
    rounds, size = gains.shape
    prior = np.full(size, 1 / size)
    decisions, _ = play(RegretMatching(growth, predictive), prior, gains)
    weights = np.arange(1.0, rounds + 1) ** growth
    weighted = weights[:, None] * advantage(gains, decisions, np.broadcast_to(prior, gains.shape))
    predicted = np.zeros_like(weighted)
    if predictive:  # in units of weight n − 1 and not n: what is played after gain n − 1 knows no more
        predicted[1:] = weighted[:-1]
    bound = regret_matching_regret(weighted - predicted) / (1 if predictive else np.sqrt(2))
    assert weighted.sum(0).max() <= bound * (1 + 1e-9) + 1e-9


@given(gains_on_the_simplex(), st.floats(1e-6, 1e6))
def test_regret_matching_does_not_know_the_units(gains, scale):
    gains = np.round(gains, 3)
    prior = np.full(gains.shape[1], 1 / gains.shape[1])
    plain, _ = play(RegretMatching(), prior, gains)
    scaled, _ = play(RegretMatching(), prior, 2.0 ** np.round(np.log2(scale)) * gains)
    np.testing.assert_array_equal(scaled, plain)


def test_a_tie_is_a_tie():
    state = RegretMatching().update(np.array([1.0, 1.0 + 1e-15]), RegretMatching().init(np.array([0.3, 0.7])))
    np.testing.assert_array_equal(state.decision, [0.3, 0.7])


def test_a_loose_coin_bettor_is_nearly_regret_matching():
    """With a loose normaliser the paper's bettor plays [sum of kept advantages]₊: its wealth cannot leave 1."""
    gains = np.random.default_rng(3).random((300, 4))
    prior = np.full(4, 0.25)
    bettor = CoinBetting(normaliser=1e6, horizon=300)
    _, state = play(bettor, prior, gains)
    np.testing.assert_allclose(state.wealth, 1.0, atol=1e-6)
    matched = np.maximum(state.gain_sum, 0) / np.maximum(state.gain_sum, 0).sum()
    np.testing.assert_allclose(state.decision, matched, atol=1e-6)
    tight, _ = play(CoinBetting(normaliser=1.0, horizon=300), prior, gains)
    loose, _ = play(bettor, prior, gains)
    plain, _ = play(RegretMatching(0.0, predictive=False), prior, gains)
    assert np.abs(loose - plain).mean() < 0.1 < np.abs(tight - plain).mean() + 0.1
    regrets = [(gains.sum(0) - (played * gains).sum()).max() for played in (loose, plain)]
    assert max(regrets) < np.sqrt(4 * 300)


def test_scale_free_gradient_by_hand():
    learner = ScaleFreeGradient(radius=1.0, growth=2.0)
    first = learner.update(np.array([3.0]), learner.init(np.array([0.0])))
    np.testing.assert_allclose(first.decision, [1.0])  # one radius, whatever the gain
    second = learner.update(np.array([4.0]), first)
    np.testing.assert_allclose(second.decision, [1.0 + 2.0 * 4 / 5])  # the radius has grown to 2·1
    third = learner.update(np.array([-12.0]), second)
    np.testing.assert_allclose(third.decision, [2.6 - 2.0 * 12 / 13])
    np.testing.assert_array_equal(
        learner.update(np.array([0.0]), learner.init(np.array([0.5]))).decision, [0.5]
    )


@given(arrays(float, st.integers(1, 150), elements=st.floats(-1, 1)), st.floats(0, 10), st.floats(0.1, 3))
def test_gradient_regret_bound(gains, comparator, radius):
    gains = gains[np.abs(gains) > 1e-6]  # nothing moves before the first gain
    learner = ScaleFreeGradient(radius, patience=3.0, calm=2.0)
    state, decisions, rates = learner.init(np.array([0.0])), [0.0], []
    for gain in gains:
        state = learner.update(np.array([gain]), state)
        decisions.append(float(state.decision[0]))
        rates.append(float(state.rate[0]))
    if not len(gains):
        return
    regret = ((comparator - np.array(decisions[:-1])) * gains).sum()
    distance = np.abs(np.array(decisions) - comparator).max()
    assert regret <= gradient_regret(np.array(rates), gains, distance) * (1 + 1e-9) + 1e-9


def test_scale_free_gradient_never_overflows():
    decisions, state = play(ScaleFreeGradient(), np.array([0.0]), np.ones((5000, 1)))
    assert decisions.max() == 1e9
    assert all(np.isfinite(part).all() for part in state)


def test_steps_double_when_patience_ends():
    """After a gain of 1 those of 1e-6 would take for ever; with patience they do not. A change of sign ends it."""
    gains = np.append(1.0, np.full(400, 1e-6))[:, None]
    patient, _ = play(ScaleFreeGradient(patience=1e9), np.array([0.0]), gains)
    decisions, state = play(ScaleFreeGradient(), np.array([0.0]), gains)
    assert patient[-1] < 1.001
    assert decisions[-1] > 10
    np.testing.assert_array_equal(decisions[:16], patient[:16])
    turned = ScaleFreeGradient().update(np.array([-1e-6]), state)
    assert turned.rate < state.rate / 1e6
    resting, _ = play(ScaleFreeGradient(), np.array([0.0]), -np.ones((100, 1)))
    np.testing.assert_array_equal(resting, 0.0)


def test_steps_halve_while_every_gain_overthrows_the_last_and_recover_after():
    alternating = np.array([1.0, -1.0] * 20)[:, None]
    learner = ScaleFreeGradient(growth=0.0, calm=3.0)
    _, restless = play(learner, np.array([5.0]), alternating)  # 39 changes of sign
    _, plain = play(ScaleFreeGradient(growth=0.0, calm=np.inf), np.array([5.0]), alternating)
    assert restless.halvings == 13
    assert plain.halvings == 0
    assert plain.rate == 1 / np.sqrt(40)
    assert restless.rate == plain.rate / 2**13
    state = restless
    for expected in (13, 13, 12, 12, 12, 11):  # the first is a change of sign, and no third one
        state = learner.update(np.array([1.0]), state)
        assert state.halvings == expected
    _, resting = play(learner, np.array([0.0]), np.ones((30, 1)))
    assert resting.halvings == 0


def test_scale_free_gradient_reaches_far_and_does_not_know_the_units():
    """While gains stay positive a multiplier of 1000 is a matter of a dozen iterations."""
    far, _ = play(ScaleFreeGradient(), np.array([0.0]), np.ones((30, 1)))
    assert far[15, 0] > 1000
    tiny, _ = play(ScaleFreeGradient(), np.array([0.0]), np.full((30, 1), 2.0**-40))
    np.testing.assert_array_equal(far, tiny)


def test_alternating_answers_before_the_policy_moves():
    dual = Alternating(ProjectedGradient(rate=1.0), start=0.5)
    state = dual.init(np.ones((1, 2)))
    np.testing.assert_array_equal(state.decision, [[0.5, 0.5]])
    weight, following = dual.play(np.array([[1.0, -2.0]]), state)
    np.testing.assert_array_equal(weight, [[1.0, 1.5, 0.0]])
    np.testing.assert_array_equal(following.decision, [[1.5, 0.0]])
    np.testing.assert_array_equal(state.decision, [[0.5, 0.5]])


def test_prm_solves_the_gridworld():
    solution = solve(gridworld(), PRM(), tolerance=1e-6)
    assert solution.feasible
    np.testing.assert_allclose(solution.reward_value, 1.6527218430, rtol=1e-6)
    np.testing.assert_allclose(solution.multiplier, [0.1732303], rtol=1e-3)


def test_prm_runs_in_batches():
    world = gridworld()
    together = solve_batch(world, [PRM(0.0), PRM()], iterations=30)
    for trace, algorithm in zip(together, (PRM(0.0), PRM()), strict=True):
        (alone,) = solve_batch(world, [algorithm], iterations=30)
        np.testing.assert_array_equal(trace.reward_value, alone.reward_value)
    assert not np.array_equal(together[0].reward_value, together[1].reward_value)


def test_prm_refuses_a_bad_growth():
    with pytest.raises(InputError, match="growth is -1"):
        solve(gridworld(), PRM(-1.0))
