"""Multipliers without rates: learners on the half-line, and the object for people who keep their own trainer."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import painless
from painless import InputError, Multipliers
from painless.checks import check_learner
from painless.duals import Alternating
from painless.duals.multipliers import untuned_learner
from painless.learners import Cocob, CoinBetting, Extrapolated, HalfLine, ProjectedGradient, ScaleFreeGradient

EXAMPLE = Path(__file__).parents[1] / "examples" / "own_trainer.py"
LEARNERS = {
    "COCOB without wind-up": lambda: HalfLine(Cocob()),
    "COCOB played ahead": untuned_learner,
    "gradient without wind-up": lambda: HalfLine(ProjectedGradient(0.1)),
    "scale-free gradient played ahead": lambda: Extrapolated(ScaleFreeGradient(), steps=2.0),
}
gains = arrays(float, st.integers(1, 100), elements=st.floats(-1, 1).map(lambda x: round(x, 6)))


def decisions(learner, stream, start=0.0):
    state, played = learner.init(np.array([start])), []
    for gain in stream:
        state = learner.update(np.array([gain]), state)
        played.append(float(state.decision[0]))
    return np.array(played)


@pytest.mark.parametrize("name", LEARNERS)
def test_contract(name):
    check_learner(LEARNERS[name], np.ones((3, 2)))


@given(gains)
def test_decisions_stay_at_zero_or_above(stream):
    for make in LEARNERS.values():
        played = decisions(make(), stream)
        assert (played >= 0).all()
        assert np.isfinite(played).all()


@given(gains, st.integers(-30, 30))
def test_the_scale_of_the_gains_does_not_matter(stream, power):
    """Gains times any positive number give the same decisions; with powers of two, to the bit."""
    np.testing.assert_array_equal(
        decisions(untuned_learner(), stream), decisions(untuned_learner(), stream * 2.0**power)
    )


@given(st.integers(1, 500), gains)
def test_nothing_winds_up(calm, stream):
    """After any time at 0 the learner rises as fast as a fresh one does; the plain one does not."""
    waiting = np.full(calm, -0.5)
    late = decisions(untuned_learner(), [*waiting, *stream])[calm:]
    np.testing.assert_array_equal(late, decisions(untuned_learner(), stream))
    rising = np.ones(5)
    plain = np.maximum(decisions(Cocob(), [*waiting, *rising])[calm:], 0)
    assert plain[-1] < decisions(HalfLine(Cocob()), rising)[-1]


def test_extrapolation_by_hand():
    learner = Extrapolated(HalfLine(ProjectedGradient(1.0)), steps=5.0)
    np.testing.assert_allclose(decisions(learner, [1.0, 0.5, -1.0, -1.0]), [6.0, 4.0, 0.0, 0.0])


@pytest.mark.parametrize("constraints", [1, 3])
def test_they_serve_in_the_tabular_loop(constraints):
    world = painless.gridworld(constraints=constraints)
    algorithm = painless.PrimalDual(
        primal=lambda situation: CoinBetting(situation.normaliser),
        dual=lambda situation: Alternating(untuned_learner()),
        name="untuned",
    )
    solution = painless.solve(world, algorithm, iterations=300)
    best = painless.solve(world).reward_value
    assert solution.feasible
    assert solution.reward_value >= best - 0.02


def chase(multiplier, steps=400, noise=0.0, unit=1.0, reward_unit=1.0):
    """A trainer that follows the weights: reward 10·x, cost 50·x², x in [0, 1], moved along the weighted gradient."""
    rng, x, weights, costs = np.random.default_rng(0), 0.9, multiplier.weights, []
    for _ in range(steps):
        gradient = 10 * weights[0] * reward_unit + 100 * x * weights[1] * unit
        x = float(np.clip(x + 0.02 * np.sign(gradient) * min(abs(gradient) / reward_unit, 1), 0, 1))
        episodes = 50 * x**2 + noise * rng.normal(size=8)
        costs.append(float(episodes.mean()))
        weights = multiplier.update(unit * episodes, reward_unit * np.full(8, 10 * x))
    return np.array(costs)


def test_a_limit_is_met_and_not_overdone():
    costs = chase(Multipliers(limits=[20.0]), noise=3.0)
    assert abs(costs[-100:].mean() - 20) < 1.5


def test_a_trainer_that_is_slow_to_follow_does_not_lose_its_reward():
    """After a hundred misses in a row the reward still has some weight, and after as many episodes within the limit all of it."""
    multiplier = Multipliers(limits=[20.0])
    for _ in range(100):
        weights = multiplier.update([40.0])
    assert 1 / 100 < weights[0] < 1 / 10
    for _ in range(100):
        weights = multiplier.update([0.0])
    assert weights.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(("unit", "reward_unit"), [(1024.0, 1.0), (2.0**-10, 64.0)])
def test_units_do_not_matter(unit, reward_unit):
    np.testing.assert_allclose(
        chase(Multipliers(limits=[20.0 * unit]), unit=unit, reward_unit=reward_unit),
        chase(Multipliers(limits=[20.0])),
    )


def test_a_limit_that_is_never_missed_costs_nothing():
    multiplier = Multipliers(limits=[25.0])
    for _ in range(50):
        np.testing.assert_array_equal(multiplier.update([3.0, 24.0]), [1.0, 0.0])
    assert multiplier.multiplier[0] == 0


def test_several_limits_and_both_senses():
    multiplier = Multipliers(limits=[25.0, 8.0, 1.0], sense=["<=", ">=", "<="])
    for _ in range(10):
        weights = multiplier.update([[40.0, 3.0, 0.5], [42.0, 4.0, 0.0]], [100.0, 120.0])
    assert weights.shape == (4,)
    assert 0 < weights[0] < 1
    assert weights[1] < 0 < weights[2]
    assert weights[3] == 0
    assert (multiplier.multiplier[:2] > 0).all()
    one_episode = Multipliers(limits=[25.0, 8.0, 1.0], sense=["<=", ">=", "<="])
    assert one_episode.update([40.0, 3.0, 0.5]).shape == (4,)


def test_without_an_episode_nothing_changes():
    multiplier = Multipliers(limits=[25.0])
    before = multiplier.update([30.0])
    np.testing.assert_array_equal(multiplier.update([]), before)
    np.testing.assert_array_equal(multiplier.update(np.empty((0, 1))), before)


def test_the_state_can_be_saved():
    one, stream = Multipliers(limits=[25.0, 3.0]), np.random.default_rng(0).normal(30, 9, (60, 4, 2))
    for costs in stream[:30]:
        one.update(costs, costs[:, 0])
    other = Multipliers(limits=[25.0, 3.0])
    other.load_state_dict(json.loads(json.dumps(one.state_dict())))
    for costs in stream[30:]:
        np.testing.assert_array_equal(one.update(costs), other.update(costs))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Multipliers(limits=[np.nan]), "must be finite"),
        (lambda: Multipliers(limits=[[1.0]]), "one number for each constraint"),
        (lambda: Multipliers(limits=[1.0], sense="<"), "give '<=' or '>='"),
        (lambda: Multipliers(limits=[1.0, 2.0], sense=["<="]), "for each of 2 limits"),
        (lambda: Multipliers(limits=[1.0], learner=Cocob), "give a learner"),
        (lambda: Multipliers(limits=[1.0]).update([np.inf]), "must be finite"),
        (lambda: Multipliers(limits=[1.0, 2.0]).update([1.0, 2.0, 3.0]), r"give \(episodes, 2\)"),
        (lambda: Multipliers(limits=[1.0]).update([1.0, 2.0], [1.0]), "one for each of 2 episodes"),
        (lambda: Multipliers(limits=[1.0]).load_state_dict(Multipliers([2.0]).state_dict()), "other limits"),
        (
            lambda: Multipliers([1.0]).load_state_dict({**Multipliers([1.0]).state_dict(), "learner": {}}),
            "no state of Extrapolated",
        ),
        (
            lambda: Multipliers([1.0], learner=ProjectedGradient(1.0)).load_state_dict(
                {**Multipliers([1.0]).state_dict(), "learner": {"decision": [1.0, 2.0]}}
            ),
            "'decision' of the state has shape",
        ),
    ],
)
def test_what_is_wrong_is_said(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("name", "module"), [("stable-baselines3", "stable_baselines3"), ("torchrl", "torchrl")]
)
@pytest.mark.filterwarnings("ignore")
def test_the_examples_run_where_their_trainer_is(name, module):
    pytest.importorskip(module)  # never in the test environment of CI: it needs torch, and much else
    multiplier = runpy.run_path(str(EXAMPLE))["TRAINERS"][name](3000)
    assert multiplier.state_dict()["episodes"] > 20
