"""Learners: the contract that all of them keep, hand-computed steps, and the regret bounds as properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from painless.checks import check_learner
from painless.learners import (
    Cocob,
    CoinBetting,
    Decaying,
    ExponentiatedGradient,
    ProjectedGradient,
    SigmoidBetting,
    Winnings,
    coin_betting_regret,
    sigmoid_betting_regret,
)

SIMPLEX = {
    "coin betting, T known": lambda: CoinBetting(horizon=20),
    "coin betting, anytime": CoinBetting,
    "coin betting, a normaliser for each run": lambda: CoinBetting(normaliser=np.array([1.0, 2.0, 5.0])),
    "coin betting as printed": lambda: CoinBetting(horizon=20, printed=True),
    "coin betting with entropy": lambda: CoinBetting(horizon=20, entropy=0.1),
    "exponentiated gradient with entropy": lambda: ExponentiatedGradient(0.3, 0.5),
    "exponentiated gradient": lambda: ExponentiatedGradient(0.3),
    "exponentiated gradient, decaying": lambda: Decaying(ExponentiatedGradient(0.3)),
    "exponentiated gradient, large steps": lambda: ExponentiatedGradient(1e6),
}
LINE = {
    "COCOB": Cocob,
    "COCOB, winnings as printed": lambda: Cocob(winnings=Winnings.PRINTED),
    "COCOB, winnings as released": lambda: Cocob(winnings=Winnings.RELEASED),
    "sigmoid": SigmoidBetting,
    "sigmoid, a range for each coordinate": lambda: SigmoidBetting(np.array([1.0, 2.0])),
    "sigmoid as printed": lambda: SigmoidBetting(printed=True),
    "projected gradient, decaying": lambda: Decaying(ProjectedGradient(0.1, lower=0.0, upper=2.0)),
    "projected gradient": lambda: ProjectedGradient(0.1, lower=0.0, upper=2.0),
}

gains_on_the_line = arrays(float, st.integers(1, 200), elements=st.floats(-1, 1))


@st.composite
def gains_on_the_simplex(draw):
    shape = (draw(st.integers(1, 150)), draw(st.integers(1, 5)))
    return draw(arrays(float, shape, elements=st.floats(0, 1)))


def play(learner, prior, gains):
    """Return the decisions that were played against `gains`, and the last state."""
    state, decisions = learner.init(prior), []
    for gain in gains:
        decisions.append(state.decision)
        state = learner.update(gain, state)
    return np.array(decisions), state


def divergence(comparator, prior):
    kept = comparator > 0
    return float((comparator[kept] * np.log(comparator[kept] / prior[kept])).sum())


@pytest.mark.parametrize("name", SIMPLEX)
def test_contract_on_the_simplex(name):
    make = SIMPLEX[name]
    prior = np.array([[[0.2, 0.3, 0.5], [0.5, 0.5, 0.0]]] * 3)
    if "each run" in name:  # a run alone has a setting of its own
        state = make().update(np.eye(3)[[0, 1]] * np.ones((3, 1, 1)), make().init(prior))
        assert not np.array_equal(state.bet[0], state.bet[1])
    else:
        check_learner(make, prior, simplex=True)


@pytest.mark.parametrize("name", LINE)
def test_contract_on_the_line(name):
    check_learner(LINE[name], np.ones((3, 2)))


def test_check_learner_catches_a_learner_that_changes_its_state():
    class Impure(ProjectedGradient):
        def update(self, gain, state):
            state.decision[...] += gain
            return state

    with pytest.raises(AssertionError, match="changed its state"):
        check_learner(lambda: Impure(0.1), np.ones((2, 2)))


def test_check_learner_catches_rows_that_talk_to_each_other():
    class Sharing(ProjectedGradient):
        def update(self, gain, state):
            return super().update(gain - gain.mean(0), state)

    with pytest.raises(AssertionError, match="differs from the run alone"):
        check_learner(lambda: Sharing(0.1), np.ones((2, 2)))


def test_coin_betting_by_hand():
    # T = 2, N = 2. Gains (1, 0) from (1/2, 1/2): advantage ±1/4, of which only the gain is kept.
    learner = CoinBetting(normaliser=2.0, horizon=2)
    first = learner.update(np.array([1.0, 0.0]), learner.init(np.array([0.5, 0.5])))
    np.testing.assert_allclose(first.bet, [0.25 / 3, 0.0])
    np.testing.assert_allclose(first.decision, [1.0, 0.0])
    # Gains (0, 1): advantage (0, 1/2); the second coordinate has no bet yet.
    second = learner.update(np.array([0.0, 1.0]), first)
    np.testing.assert_allclose(second.bet, [0.25 / 4, 0.5 / 4])
    np.testing.assert_allclose(second.decision, [1 / 3, 2 / 3])
    np.testing.assert_allclose(second.wealth, [1.0, 1.0])


def test_coin_betting_counts_rounding_as_a_tie():
    learner = CoinBetting()
    state = learner.update(np.array([1.0, 1.0 + 1e-13]), learner.init(np.array([0.5, 0.5])))
    assert (state.bet == 0).all()
    np.testing.assert_array_equal(state.decision, [0.5, 0.5])


def test_coin_betting_clips_what_exceeds_its_range():
    learner = CoinBetting(horizon=10)
    state = learner.init(np.array([0.5, 0.5]))
    for gain in ([100.0, 0.0], [-100.0, 0.0]) * 20:
        state = learner.update(np.array(gain), state)
    assert (state.wealth > 0).all()


def test_anytime_bettor_as_printed_can_go_bankrupt():
    prior = np.array([0.25, 0.25, 0.5])
    # All is staked on the first coin, which then loses
    gains = np.array([[2.0, 2.0, 0.0], [-2.0, 0.0, -1.0]])
    assert play(CoinBetting(printed=True), prior, gains)[1].wealth[0] == 0
    assert play(CoinBetting(), prior, gains)[1].wealth[0] > 0


@given(gains_on_the_simplex(), st.booleans(), st.integers(0, 2**32 - 1))
def test_coin_betting_regret_bound(gains, horizon_known, seed):
    rounds, size = gains.shape
    prior = np.random.default_rng(seed).dirichlet(np.ones(size))
    prior = 0.9 * prior + 0.1 / size
    decisions, state = play(CoinBetting(horizon=rounds if horizon_known else None), prior, gains)
    for corner in np.eye(size):
        regret = ((corner - decisions) * gains).sum()
        bound = coin_betting_regret(divergence(corner, prior), rounds, horizon_known=horizon_known)
        assert regret <= bound + 1e-9
    assert (state.wealth > 0).all()


@given(st.lists(st.booleans(), min_size=1, max_size=200), st.booleans())
def test_coin_betting_regret_bound_on_extreme_streams(coins, horizon_known):
    gains = np.array([[1.0, 0.0] if coin else [0.0, 1.0] for coin in coins])
    prior = np.array([0.5, 0.5])
    decisions, _ = play(CoinBetting(horizon=len(coins) if horizon_known else None), prior, gains)
    regret = (gains.sum(0) - (decisions * gains).sum()).max()
    assert regret <= coin_betting_regret(np.log(2), len(coins), horizon_known=horizon_known)


@given(gains_on_the_line, st.floats(-20, 20), st.floats(0.1, 10))
def test_sigmoid_regret_bound(gains, comparator, bound):
    gains = gains[:, None] * bound
    decisions, _ = play(SigmoidBetting(bound), np.array([1.0]), gains)
    regret = ((comparator - decisions) * gains).sum()
    limit = sigmoid_betting_regret(abs(comparator - 1.0), np.abs(gains).sum(), bound)
    assert regret <= limit * (1 + 1e-9)


@given(gains_on_the_line, st.sampled_from([0.1, 1.0, 2.0, 8.0, 500.0]), st.floats(1e-6, 1e6))
def test_cocob_is_finite_and_does_not_know_the_units(gains, alpha, scale):
    plain, _ = play(Cocob(alpha), np.array([1.0]), gains[:, None])
    scaled, _ = play(Cocob(alpha), np.array([1.0]), scale * gains[:, None])
    assert np.isfinite(plain).all()
    if np.abs(gains[gains != 0]).min(initial=1.0) > 1e-100:
        np.testing.assert_allclose(scaled, plain, rtol=1e-6, atol=1e-9)


@given(gains_on_the_line)
def test_every_small_alpha_is_the_same_cocob(gains):
    one, _ = play(Cocob(0.1), np.array([1.0]), gains[:, None])
    two, _ = play(Cocob(2.0), np.array([1.0]), gains[:, None])
    np.testing.assert_array_equal(one, two)


def test_cocob_stays_until_it_has_seen_a_gain():
    state = Cocob().update(np.array([0.0]), Cocob().init(np.array([1.0])))
    np.testing.assert_array_equal(state.decision, [1.0])


def test_cocob_by_hand():
    # α = 1. g = 1: L = 1, θ = G = 1, R = 0: 1 + 1/2·1. g = 1: θ = G = 2, R = 1/2: 1 + 2/3·3/2.
    learner = Cocob(1.0)
    first = learner.update(np.array([1.0]), learner.init(np.array([1.0])))
    np.testing.assert_allclose(first.decision, [1.5])
    np.testing.assert_allclose(learner.update(np.array([1.0]), first).decision, [2.0])


def test_cocob_as_released_cannot_rise_above_two():
    released, _ = play(Cocob(1.0, Winnings.RELEASED), np.array([1.0]), np.ones((200, 1)))
    running, _ = play(Cocob(1.0), np.array([1.0]), np.ones((200, 1)))
    assert released.max() < 2 < running.max()


def test_sigmoid_as_printed_hardly_rises():
    printed, _ = play(SigmoidBetting(printed=True), np.array([1.0]), np.ones((50, 1)))
    ours, _ = play(SigmoidBetting(), np.array([1.0]), np.ones((50, 1)))
    assert printed.max() <= 1.0
    assert ours.max() > 100


def test_projected_gradient_stays_in_its_box():
    decisions, _ = play(
        ProjectedGradient(1.0, 0.0, 2.0), np.array([1.0]), np.array([[5.0], [-9.0], [0.5], [0.0]])
    )
    np.testing.assert_array_equal(decisions[:, 0], [1.0, 2.0, 0.0, 0.5])


def test_entropy_by_hand():
    """A decision that is all on one action is pulled back by −ν log p, floored at −25 for the bettor."""
    prior = np.array([0.5, 0.5])
    bettor = CoinBetting(normaliser=10.0, entropy=0.1)
    state = bettor.update(np.array([1.0, 0.0]), bettor.init(prior))
    np.testing.assert_array_equal(state.decision, [1.0, 0.0])
    state = bettor.update(np.array([1.0, 0.0]), state)  # gains 1 and 0 + 0.1·25
    assert state.decision[1] > state.decision[0]
    gradient = ExponentiatedGradient(rate=0.5, entropy=0.2)
    state = gradient.update(np.array([1.0, 0.0]), gradient.init(np.array([0.8, 0.2])))
    odds = (0.8 / 0.2) ** 0.9 * np.exp(0.5)
    np.testing.assert_allclose(state.decision, [odds / (1 + odds), 1 / (1 + odds)])


def test_entropy_holds_a_policy_near_the_softmax():
    """Against constant gains, both learners settle at p ∝ exp(g/ν)."""
    gain = np.array([0.3, 0.1, 0.0])
    goal = np.exp(gain / 0.2) / np.exp(gain / 0.2).sum()
    state = ExponentiatedGradient(0.5, 0.2).init(np.full(3, 1 / 3))
    for _ in range(300):
        state = ExponentiatedGradient(0.5, 0.2).update(gain, state)
    np.testing.assert_allclose(state.decision, goal, atol=1e-9)
    decisions, _ = play(CoinBetting(6.0, 4000, 0.2), np.full(3, 1 / 3), np.tile(gain, (4000, 1)))
    np.testing.assert_allclose(decisions.mean(0), goal, atol=0.02)


@given(gains_on_the_simplex())
def test_exponentiated_gradient_regret_bound(gains):
    rounds, size = gains.shape
    rate = np.sqrt(2 * np.log(max(size, 2)) / rounds)
    decisions, _ = play(ExponentiatedGradient(rate), np.full(size, 1 / size), gains)
    regret = gains.sum(0).max() - (decisions * gains).sum()
    assert regret <= np.log(size) / rate + rate * rounds / 2 + 1e-9
