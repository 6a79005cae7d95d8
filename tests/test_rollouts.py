"""Compiled episodes of CartPole against the lockstep loop, to the bit."""

from dataclasses import dataclass

import numpy as np
import pytest

from painless import CartPole
from painless.features import TileCoding
from painless.learners import CoinBetting, ExponentiatedGradient
from painless.policies import LinearQ, ReplayedPolicy, start_policy
from painless.policies.cell_bettors import Cells
from painless.problems import _cartpole_rollout
from painless.simulation.normalised_simulator import NormalisedSimulator
from painless.simulation.rollouts import lockstep, roll_out

LEARNERS = {
    "coin betting": CoinBetting(50.0),
    "coin betting with entropy": CoinBetting(50.0, entropy=0.05),
    "exponentiated gradient": ExponentiatedGradient(0.1),
    "exponentiated gradient with entropy": ExponentiatedGradient(0.1, entropy=0.05),
}
SIMULATORS = {
    "plain": CartPole(),
    "scaled": NormalisedSimulator(CartPole()),
    "short": CartPole(time_limit=7, discount=0.9),
}
NAMES = ("states", "actions", "utilities", "successors", "terminated", "returns")


def policies(learner, updates=6, features=None, seed=0):
    """Return two equal policies after a few updates, so that neither knows what the other has seen."""
    features = CartPole().features() if features is None else features
    return advanced([start_policy(learner, features) for _ in range(2)], features, updates, seed)


def advanced(pair, features, updates=6, seed=0):
    """Return both policies after a few equal updates."""
    rng = np.random.default_rng(seed)
    for _ in range(updates):
        q = LinearQ(features, rng.normal(size=(1, 3, features.dimension)))
        pair = [policy.advance(np.ones((1, 3)), q) for policy in pair]
    return pair


def assert_same(simulator, fused, reference, episodes=30, seed=3):
    """Assert that both ways give the same steps and leave the random numbers at the same place."""
    rngs = [np.random.default_rng(seed) for _ in range(2)]
    found, expected = (
        roll_out(simulator, fused, episodes, rngs[0]),
        lockstep(simulator, reference, episodes, rngs[1]),
    )
    for name in NAMES:
        one, two = getattr(found, name), getattr(expected, name)
        assert one.dtype == two.dtype, name
        np.testing.assert_array_equal(one, two, err_msg=name, strict=True)
    assert rngs[0].bit_generator.state == rngs[1].bit_generator.state
    return found


@pytest.fixture
def calls(monkeypatch):
    """Count the calls of the kernel."""
    seen, play = [], _cartpole_rollout.play
    monkeypatch.setattr(_cartpole_rollout, "play", lambda *rest: seen.append(1) or play(*rest))
    return seen


@pytest.mark.parametrize("simulator", SIMULATORS.values(), ids=SIMULATORS)
@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_fused_is_lockstep_to_the_bit(learner, simulator, calls):
    fused, reference = policies(learner)
    for seed in range(3):  # later rollouts meet cells that are known
        found = assert_same(simulator, fused, reference, seed=seed)
    assert calls
    limit = simulator.specification.time_limit
    assert limit == 7 or found.terminated.sum() > 1  # in the short one nobody has the time to fall


def test_older_iterates_and_other_bit_generators():
    first = start_policy(CoinBetting(50.0), CartPole().features())
    q = LinearQ(first.features, np.random.default_rng(0).normal(size=(1, 3, 4096)))
    second = first.advance(np.ones((1, 3)), q)
    second.advance(np.ones((1, 3)), q)
    for policy in (first, second):
        assert_same(CartPole(), policy, policy)
        rngs = [np.random.Generator(np.random.MT19937(1)) for _ in range(2)]
        pair = [way(CartPole(), policy, 5, rng) for way, rng in zip((roll_out, lockstep), rngs, strict=True)]
        np.testing.assert_array_equal(pair[0].states, pair[1].states)


def test_a_small_cache_changes_nothing():
    learner, features = CoinBetting(50.0), CartPole().features()
    caches = [Cells(learner, features, most=40, first=16) for _ in range(2)]
    starts = [ReplayedPolicy.start(learner, features, cells) for cells in caches]
    assert_same(CartPole(), *advanced(starts, features))
    assert 0 < caches[0].count <= 40


@pytest.mark.parametrize("factor", [1.0, 1e10, 1e300])
def test_close_draws_are_left_to_the_policy(factor, calls):
    """Of weights so large that a kernel cannot tell what rounding does, the policy itself is asked."""
    fused, reference = policies(ExponentiatedGradient(0.1))
    for policy in (fused, reference):
        policy.weight_sum[:] *= factor
    assert_same(CartPole(), fused, reference)
    assert (len(calls) > 1) == (factor > 1)


def test_exact_tiles_in_several_sizes(calls):
    bounds = np.array([4.8, 3.0, 0.25, 3.0])
    for tilings, tiles in ((1, 3), (3, (2, 3, 4, 5)), (16, 2)):
        features = TileCoding(-bounds, bounds, tiles=tiles, tilings=tilings, actions=2)
        for learner in LEARNERS.values():
            assert_same(CartPole(), *policies(learner, features=features))
    assert calls


@dataclass(frozen=True, eq=False)
class Slower(CartPole):
    """A cart of one's own, with steps of its own."""

    def step(self, states, actions, rng):
        outcome = super().step(states, actions, rng)
        return outcome._replace(utilities=outcome.utilities / 2)


def test_what_the_kernel_does_not_know_is_left_to_lockstep(calls):
    fused, reference = policies(CoinBetting(50.0))
    found = assert_same(Slower(), fused, reference)
    assert found.utilities.max() == 0.5

    class Fair:
        def at(self, states):
            return np.full((len(states), 2), 0.5)

    assert_same(CartPole(), Fair(), Fair())
    assert not calls
