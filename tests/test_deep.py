"""Networks: advantages by hand, what is drawn and how likely it is, answers that hold, runs that repeat and continue."""

import json
from dataclasses import replace
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import painless
from painless import Deep, InputError
from painless.common import extras
from painless.environments import from_gymnasium
from painless.environments.copies import LocalCopies, WorkerCopies
from painless.policies.action_heads import ActionHead
from painless.policies.network import NetworkPolicy
from painless.policies.storage import load_policy, save_policy
from painless.training.counted import Budget
from painless.training.deep.advantages import advantages
from painless.training.deep.answer import _status, estimate_of
from painless.training.deep.collection import Collector, Finished, play
from painless.training.deep.dual import EpisodeDual
from painless.training.deep.first_states import adjusted
from painless.training.deep.fresh_episodes import FreshEpisodes
from painless.training.deep.history import Record
from painless.training.deep.mixture_episodes import MixtureEpisodes, boldest
from painless.training.deep.moments import Moments
from painless.training.deep.run import DeepRun
from painless.training.deep.selection import (
    Evidence,
    mixtures,
    promising,
    refining,
    spread_evenly,
    training_evidence,
    with_sharpened,
)
from painless.training.result import Training
from tests.extras import library

SMALL = Deep(environments=4, horizon=32, hidden=16, checkpoints=4, minibatch=64, epochs=2)


@pytest.fixture
def torch():
    return library("torch")


class Corridor(gymnasium.Env):
    """A point on a line; right pays 1 and costs 1, left nothing. The observation is noisy, so that it never repeats."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, length=20, ends=False):
        self.length, self.ends = length, ends

    def _seen(self):
        return np.array([self.x, self.np_random.normal()], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.t = 0
        return self._seen(), {}

    def step(self, action):
        self.t += 1
        self.x += 1 if action == 1 else -1
        over = self.t >= self.length
        info = {"cost": float(action == 1)}
        return self._seen(), float(action == 1), over and self.ends, over and not self.ends, info


# -- equations ---------------------------------------------------------------------------------------------------------


def test_advantages_by_hand():
    """Three steps with γ = ½, λ = ½: the second step is cut off, and bootstraps from what follows; the third terminates."""
    utilities = np.array([1.0, 2.0, 4.0]).reshape(3, 1, 1)
    values, following = np.full((3, 1, 1), 1.0), np.array([1.0, 6.0, 100.0]).reshape(3, 1, 1)
    terminated, ended = np.array([[False], [False], [True]]), np.array([[False], [True], [True]])
    found = advantages(utilities, values, following, terminated, ended, 0.5, 0.5)
    second = 2 + 0.5 * 6 - 1
    np.testing.assert_allclose(found.ravel(), [1 + 0.5 - 1 + 0.25 * second, second, 4 - 1])


def test_every_head_has_advantages_of_its_own():
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(5, 3, 4)) for _ in range(3)]
    ends = rng.random((5, 3)) < 0.3
    together = advantages(*arrays, ends, ends, 0.9, 0.95)
    for head in range(4):
        alone = advantages(*[part[..., head : head + 1] for part in arrays], ends, ends, 0.9, 0.95)
        np.testing.assert_array_equal(together[..., head : head + 1], alone)


def test_moments_are_those_of_all_rows_at_once():
    rows = np.random.default_rng(0).normal(3, 2, (50, 2))
    moments = Moments.start(2)
    for part in np.split(rows, [3, 20]):
        moments = moments.add(part)
    np.testing.assert_allclose(moments.mean, rows.mean(0), atol=1e-4)
    np.testing.assert_allclose(moments.deviation, rows.std(0), rtol=1e-4)
    assert (Moments.start(1).add(np.ones((9, 1)) * 7).deviation > 0).all()


HEADS = {
    "discrete": ActionHead(sizes=(3,)),
    "product": ActionHead(sizes=(2, 3)),
    "box": ActionHead(low=(-2.0, 0.0), high=(2.0, 5.0)),
}


@pytest.mark.parametrize("name", HEADS)
def test_densities_are_the_same_in_numpy_and_torch(name, torch):
    from painless.training.deep.update import densities

    head, rng = HEADS[name], np.random.default_rng(0)
    outputs = rng.normal(size=(50, head.outputs)).astype(np.float32)
    actions, density = head.draw(outputs, rng)
    found, _ = densities(head, torch.from_numpy(outputs), torch.from_numpy(actions))
    np.testing.assert_allclose(found.numpy(), density, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", HEADS)
def test_gradients_by_hand_are_those_of_torch(name, torch):
    """Several updates, of which some are clipped, lead to the same weights and the same memory of Adam, and go on from it."""
    from painless.training.deep.networks import Networks
    from painless.training.deep.plain_update import PlainUpdater
    from painless.training.deep.update import Steps, Updater

    head, rng = HEADS[name], np.random.default_rng(0)
    space = (
        {"kind": "box", "low": head.low, "high": head.high}
        if head.low
        else {"kind": "product", "n": head.sizes}
    )
    interface = SimpleNamespace(action_space=space, dimension=3, image=None, observation={})
    count = 200
    actions, density = head.draw(rng.normal(size=(count, head.outputs)).astype(np.float32), rng)
    columns = [rng.normal(size=shape) for shape in ((count, 3), count, (count, 2))]
    observations, advantage, target = (one.astype(np.float32) for one in columns)
    steps = Steps(observations, actions, density.astype(np.float32), advantage, target)
    both = [kind(Networks(interface, 2, SMALL, 0), SMALL) for kind in (Updater, PlainUpdater)]
    first = both[0].weights.detach().clone()
    for pace, freedom in ((1.0, 1.0), (0.7, 0.5), (0.4, 0.0)):
        for one in both:
            one.update(steps, pace, freedom, np.random.default_rng(1))
        by_torch, by_hand = (one.arrays() for one in both)
        assert by_torch.keys() == by_hand.keys()
        for key, value in by_torch.items():
            np.testing.assert_allclose(by_hand[key], value, rtol=1e-4, atol=2e-6)
        again = PlainUpdater(Networks(interface, 2, SMALL, 5), SMALL)
        again.restore(by_hand)
        both[1] = again
    assert (both[0].weights.detach() - first).abs().max() > 0.005


def test_actions_are_drawn_with_their_probabilities():
    head, rng = ActionHead(sizes=(2, 2)), np.random.default_rng(0)
    outputs = np.tile(np.log([[0.25, 0.75, 0.5, 0.5]]), (20_000, 1))
    actions, _ = head.draw(outputs, rng)
    share = np.bincount(2 * actions[:, 0] + actions[:, 1], minlength=4) / len(actions)
    np.testing.assert_allclose(share, head.probabilities(outputs[:1])[0], atol=0.015)
    np.testing.assert_allclose(head.probabilities(outputs[:1])[0], [0.125, 0.125, 0.375, 0.375])


@pytest.mark.parametrize("name", HEADS)
def test_sharpened_networks_do_what_is_likeliest(name):
    head, rng = HEADS[name], np.random.default_rng(0)
    weight = rng.normal(size=(head.outputs, 8)).astype(np.float32)
    bias = rng.normal(size=head.outputs).astype(np.float32)
    features = rng.normal(size=(500, 8)).astype(np.float32)
    likeliest = head.likeliest(features @ weight.T + bias)
    sharp_weight, sharp_bias = head.sharpened(weight, bias)
    drawn, _ = head.draw(features @ sharp_weight.T + sharp_bias, rng)
    if head.continuous:
        np.testing.assert_allclose(drawn, likeliest, atol=0.1)  # five deviations
    else:
        assert (drawn == likeliest).mean() > 0.99
    noisy, _ = head.draw(features @ weight.T + bias, rng)
    assert (np.abs(noisy - likeliest) > 0.1).mean() > 0.1


def test_exploration_is_no_part_of_an_answer(torch):
    """With bonuses this large training ends half random."""
    settings = replace(SMALL, entropy=0.5, barrier=0.5)
    training = painless.train(Corridor, settings, constraints="cost<=100", discount=0.9, steps=4_000)
    likeliest = [one.at(np.zeros((1, 2))).max() for one in training.policy.policies]
    assert min(likeliest) > 0.999


def test_points_of_a_box_stay_inside():
    head = ActionHead(low=(-2.0, -1e300), high=(4.0, 1e300))
    found = head.for_environment(np.array([[-9.0, -9.0], [0.0, 0.5], [9.0, 9.0]]))
    np.testing.assert_allclose(found, [[-2.0, -9.0], [1.0, 0.5], [4.0, 9.0]])
    with pytest.raises(InputError, match="has no probabilities"):
        head.probabilities(np.zeros((1, 4)))


@pytest.mark.parametrize(
    "given",
    [{}, {"sizes": (2,), "low": (0.0,), "high": (1.0,)}, {"sizes": (0, 2)}, {"low": (2.0,), "high": (1.0,)}],
)
def test_heads_that_make_no_sense(given):
    with pytest.raises(InputError, match="a network's actions"):
        ActionHead(**given)


# -- collecting --------------------------------------------------------------------------------------------------------


def collector(count=4, stagger=0, length=5, **options):
    simulator = from_gymnasium(lambda: Corridor(length), constraints="cost<=3", discount=0.5, **options)
    rng = np.random.default_rng(0)
    found = Collector(LocalCopies(simulator, count), count, 2, 0.5, stagger, rng)
    found.begin()
    return found


def always(action):
    """Return a policy of no weights that takes one action."""
    bias = np.array([0.0, 0.0], np.float32)
    bias[action] = 50.0
    one = np.ones(1, np.float32)
    return NetworkPolicy((np.zeros((2, 2), np.float32), bias), 0 * one, one, ActionHead(sizes=(2,)))


def test_truncation_shows_what_was_before_the_reset():
    batch = collector().collect(always(1), 12)
    ends = np.flatnonzero(batch.ended[:, 0])
    assert ends.tolist() == [4, 9]
    assert not batch.terminated.any()
    position = batch.following[..., 0]
    assert (position[ends] == 5).all()  # not 0, where the next episode begins
    assert (batch.observations[ends + 1, :, 0] == 0).all()
    assert len(batch.finished.length) == 8
    np.testing.assert_allclose(batch.finished.total, [[5.0, -5.0]] * 8)
    np.testing.assert_allclose(batch.finished.discounted[:, 0], sum(0.5**t for t in range(5)))


def test_first_episodes_are_cut_at_staggered_lengths_and_not_counted():
    batch = collector(stagger=4, length=100).collect(always(1), 8)
    first = [int(np.flatnonzero(batch.ended[:, k])[0]) for k in range(3)]
    assert first == [0, 1, 2]
    assert not batch.ended[:, 3].any()
    assert not len(batch.finished.length)
    assert not batch.terminated.any()


def test_all_episodes_that_were_started_count():
    """Long episodes are not lost to short ones: every entry of `which` is played to its end."""
    simulator = from_gymnasium(lambda: Corridor(7), constraints="cost<=3", discount=0.5)
    which = [0, 1, 1, 0, 1, 0, 0]
    played = play([always(0), always(1)], which, LocalCopies(simulator, 3), 3, 0.5, np.random.default_rng(0))
    assert played.which.tolist() == which
    assert played.steps == 7 * 7
    np.testing.assert_allclose(played.finished.total[:, 0], np.array(which) * 7.0)
    assert (played.first[:, 0] == 0).all()  # where episodes begin


class Placed(Corridor):
    """Begins with its luck, which the seed decides, as what is observed and collected."""

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed)
        self.luck = self.np_random.normal()
        return np.full_like(observation, self.luck), info

    def step(self, action):
        observation, _, *rest = super().step(action)
        return observation, self.luck, *rest


def test_episodes_with_the_same_seed_begin_alike():
    simulator = from_gymnasium(lambda: Placed(3), constraints="cost<=3", discount=0.5)
    about = ([always(0), always(1)], [0, 1, 0, 1], LocalCopies(simulator, 3), 3, 0.5)
    played = play(*about, np.random.default_rng(0), seeds=[5, 5, 6, 6])
    first = played.first[:, 0]
    assert first[0] == first[1] != first[2] == first[3]
    np.testing.assert_allclose(played.finished.total[:, 0], 3 * first, rtol=1e-6)


def test_a_time_limit_of_the_user_cuts_too():
    found = collector(length=1000, time_limit=6).collect(always(1), 12)
    assert np.flatnonzero(found.ended[:, 0]).tolist() == [5, 11]
    assert not found.terminated.any()


# -- the dual and the answer -------------------------------------------------------------------------------------------


def test_the_dual_waits_for_episodes_and_does_not_wind_up():
    dual, limit = EpisodeDual(Deep().learner, 1), np.array([-5.0])
    for _ in range(100):
        dual.update(np.array([[-1.0]]), np.ones(1), limit)
    assert dual.multiplier[0] == 0
    dual.update(np.empty((0, 1)), np.ones(1), limit)
    dual.update(np.array([[-9.0]]), np.ones(1), limit)
    assert dual.multiplier[0] > 0
    np.testing.assert_allclose(dual.weights.sum(), 1)


def test_multipliers_of_a_policy_that_lags_behind_grow_linearly_and_come_back():
    """The sum of what was gained bounds them; undivided gains of one sign let them grow exponentially."""
    dual = EpisodeDual(Deep().learner, 1)
    largest = []
    for shortfall in [1.0] * 100 + [-1.0] * 100:
        dual.update(np.array([[-5.0 - shortfall]]), np.ones(1), np.array([-5.0]))
        largest.append(dual.multiplier[0])
    assert 20 < max(largest) < 120
    assert largest[-1] == 0


def test_limits_share_what_multipliers_gain():
    """The gain of each is divided by 1 + Σλ, that of all of them, as the advantages are."""
    alone, beside = EpisodeDual(Deep().learner, 1), EpisodeDual(Deep().learner, 2)
    for _ in range(20):
        alone.update(np.array([[-6.0]]), np.ones(1), np.array([-5.0]))
        beside.update(np.array([[-6.0, -6.0]]), np.ones(2), np.full(2, -5.0))
    assert beside.multiplier[0] == beside.multiplier[1] < alone.multiplier[0]


def test_no_choice_dies_out(torch):
    """Of an action with a probability of next to nothing the barrier still has a gradient, and the advantages of the others have none."""
    from painless.training.deep.update import densities

    outputs = torch.tensor([[20.0, 0.0, 0.0]], requires_grad=True)
    density, barrier = densities(ActionHead(sizes=(3,)), outputs, torch.tensor([[0]]))
    np.testing.assert_allclose(barrier.item(), -40 / 3, rtol=1e-6)
    (of_density,) = torch.autograd.grad(density.sum(), outputs, retain_graph=True)
    (of_barrier,) = torch.autograd.grad(barrier, outputs)
    assert np.abs(of_density.numpy()).max() < 1e-6
    np.testing.assert_allclose(of_barrier.numpy(), [[-2 / 3, 1 / 3, 1 / 3]], rtol=1e-5)


def test_all_weights_are_parts_of_one_tensor(torch):
    from painless.training.deep.update import one_tensor

    layers = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    before = [part.detach().clone() for part in layers.parameters()]
    whole = one_tensor(list(layers.parameters()))
    layers(torch.ones(5, 3)).sum().backward()
    assert whole.numel() == 3 * 4 + 4 + 4 * 2 + 2
    torch.testing.assert_close(whole.grad[-2:], torch.full((2,), 5.0))  # of the last bias
    with torch.no_grad():
        whole += 1.0
    for part, old in zip(layers.parameters(), before, strict=True):
        torch.testing.assert_close(part.detach(), old + 1.0)


def test_selection_plays_what_may_win_and_keeps_its_margin():
    rng = np.random.default_rng(0)
    truth = np.array([[10.0, -9.0], [6.0, -3.0], [1.0, -8.0], [2.0, -1.0]])  # the third is dominated
    evidence = Evidence(truth + rng.normal(size=truth.shape), np.full(truth.shape, 1.0), np.ones(2))
    for _ in range(20):
        which = np.array(promising(evidence.known(), np.array([-5.0]), 16, rng))
        evidence.add(which, truth[which] + rng.normal(size=(16, 2)), np.zeros((16, 2)), np.arange(16))
    assert evidence.count[2] < 0.1 * evidence.count.sum()
    known = evidence.known()
    path = mixtures(known, 2 * known.error[:, 1:], np.array([-5.0]))
    assert not path[:, 2].any()
    np.testing.assert_allclose(path.sum(1), 1.0)
    assert path[0] @ truth[:, 1] + 0.5 >= -5.0
    assert (path @ truth[:, 0] > 6.0).all()
    steps = np.diff(path @ known.value, axis=0)
    assert (steps[:, 0] > 0).all()  # from safe to bold
    assert (steps[:, 1] < 0).all()


def test_the_luck_of_first_states_is_no_difference_between_checkpoints():
    """Ten episodes each show a difference of a tenth of the deviation of an episode, if first states explain nearly all of it."""
    rng = np.random.default_rng(1)
    truth = np.array([[1.0, -4.0], [2.0, -4.0], [3.0, -4.0]])
    which = np.repeat(np.arange(3), 10)
    luck = rng.normal(size=(30, 2))
    samples = truth[which] + luck @ [[10.0, 0.0], [5.0, 3.0]] + 0.1 * rng.normal(size=(30, 2))
    doubtful = Evidence(np.zeros((3, 2)), np.full((3, 2), 100.0), np.full((3, 2), 10.0))
    raw = replace(doubtful)
    doubtful.add(which, samples, luck, np.arange(30))
    raw.add(which, samples, np.zeros((30, 2)), np.arange(30))
    known, blind = doubtful.known(), raw.known()
    np.testing.assert_allclose(np.diff(known.value[:, 0]), 1.0, atol=0.3)
    assert (np.abs(np.diff(blind.value[:, 0]) - 1.0) > 0.3).any()
    assert (known.error[:, 0] < 0.1 * blind.error[:, 0]).all()
    # Limits are about values, and these are no better known than the mean of all first states.
    assert (known.error[:, 1] > 0.5 * samples[:, 1].std() / np.sqrt(30)).all()
    np.testing.assert_array_equal(known.deviation, blind.deviation)  # episodes that verify have their luck


def test_luck_is_left_where_it_explains_nothing_or_there_are_few_episodes():
    rng = np.random.default_rng(2)
    samples, expected = rng.normal(size=(21, 1)), rng.normal(size=(21, 1))
    few = adjusted(np.zeros(21, np.int64), samples, expected, np.arange(21))
    np.testing.assert_array_equal(few.samples, samples)
    samples = np.tile([[1.0], [2.0], [3.0], [2.0]], (20, 1))
    expected = np.tile([[1.0], [2.0], [1.0], [2.0]], (20, 1))
    unrelated = adjusted(np.zeros(80, np.int64), samples, expected, np.arange(80))
    np.testing.assert_array_equal(unrelated.samples, samples)
    assert unrelated.left == 1
    assert unrelated.shared == 0


def test_a_seed_that_all_policies_played_counts_once_in_the_mean_of_first_states():
    """Twenty policies began once at 10, and one of them 30 times at 0, where an episode that began at x collects x."""
    which = np.append(np.arange(20), np.zeros(30, np.int64))
    seeds = np.append(np.zeros(20, np.int64), 1 + np.arange(30))
    place = np.where(seeds == 0, 10.0, 0.0)[:, None]
    found = adjusted(which, place, place, seeds)
    np.testing.assert_allclose(found.samples, 10 / 31)
    np.testing.assert_allclose(found.shared, np.append(10.0, np.zeros(30)).var() / 31)


def test_selection_plays_the_same_seeds_with_every_checkpoint():
    fresh = object.__new__(FreshEpisodes)
    fresh.seeds, fresh.rng, fresh.copies = [], np.random.default_rng(0), SimpleNamespace(replays=True)
    first = fresh._seeds_of([0, 1, 0], np.zeros(2))
    assert first[0] == first[1] != first[2]
    assert fresh._seeds_of([1, 1], np.array([2.0, 1.0]))[0] == first[2]
    fresh.copies.replays = False  # those of a vector environment reset themselves
    assert len(set(fresh._seeds_of([0, 1, 0, 1], np.zeros(2)))) == 4


def test_what_cannot_be_met_gets_the_nearest():
    evidence = Evidence(np.array([[1.0, -9.0], [0.0, -7.0]]), np.full((2, 2), 0.1), np.ones(2))
    width = np.full((2, 1), 0.2)
    np.testing.assert_array_equal(mixtures(evidence.known(), width, np.array([-5.0])), [[0.0, 1.0]])


def test_training_says_where_a_moving_policy_is():
    """A cost that falls along a line is known at each checkpoint, also at the last one, with errors that cover the truth."""
    rng = np.random.default_rng(0)
    times = np.linspace(0, 1000, 1000)
    samples = np.stack([times / 100, -10 + times / 100], 1) + rng.normal(size=(1000, 2))
    places = np.array([600.0, 800.0, 1000.0])
    evidence = training_evidence(places, times, samples)
    truth = np.stack([places / 100, -10 + places / 100], 1)
    assert (np.abs(evidence.mean - truth) < 3 * evidence.error).all()
    assert (evidence.error < 0.7).all()
    np.testing.assert_allclose(evidence.deviation, 1.0, atol=0.15)  # 200 episodes or more: three errors


def test_training_tells_little_of_sharpened_checkpoints():
    noisy = Evidence(np.array([[1.0, 2.0]]), np.full((1, 2), 0.1), np.full((1, 2), 3.0))
    both = with_sharpened(noisy).known()
    np.testing.assert_allclose(both.value, [[1.0, 2.0], [1.0, 2.0]])
    np.testing.assert_allclose(both.error, [[0.2, 0.2], [6.0, 6.0]], rtol=0.01)


def test_few_episodes_of_training_leave_their_doubts():
    evidence = training_evidence(np.array([10.0]), np.array([9.0, 10.0]), np.array([[1.0, 0.0], [3.0, 2.0]]))
    np.testing.assert_allclose(evidence.mean, [[2.0, 1.0]])
    assert (evidence.error > 0).all()
    assert np.isfinite(training_evidence(np.array([10.0]), np.empty(0), np.empty((0, 2))).known().value).all()


def test_episodes_are_spread_over_a_mixture_evenly():
    rng = np.random.default_rng(0)
    weights = np.array([0.25, 0.7, 0.05])
    counts = np.array([np.bincount(spread_evenly(weights, 10, rng), minlength=3) for _ in range(2000)])
    assert (np.abs(counts - 10 * weights) < 1 + 1e-9).all()
    np.testing.assert_allclose(counts.mean(0), 10 * weights, atol=0.05)


def test_the_answer_so_far_is_looked_at_more_closely():
    found = refining(np.array([0.0, 0.5, 0.5]), np.array([0.0, 399.0, 0.0]), 1000, np.random.default_rng(0))
    assert found.count(0) == 0
    assert 20 < found.count(1) < 90


def test_the_largest_margin_is_kept_that_can_be():
    """Of two policies that look feasible, neither by the full margin, the safest mixture is the safer one, and the boldest has more of the other."""
    evidence = Evidence(np.array([[9.0, -4.9], [5.0, -4.0], [9.5, -6.0]]), np.full((3, 2), 0.5), np.ones(2))
    path = mixtures(evidence.known(), np.full((3, 1), 3.0), np.array([-5.0]))
    assert path[0, 1] > 0.97
    assert path[-1, 1] < 0.6


def test_multipliers_aim_beyond_the_limits(torch):
    """By two margins in errors of the episodes that judge the answer, and by 0.3 deviations of an episode at most."""
    simulator = from_gymnasium(lambda: Corridor(20), constraints="cost<=3", discount=0.9)
    samples = np.array([[1.0, -2.0], [3.0, -6.0]] * 64)
    for steps, share in ((80_000, 6 / np.sqrt(1000)), (40_000, 6 / np.sqrt(500)), (800, 0.3)):
        run = DeepRun(simulator, SMALL, Budget(steps, None), 0)
        run.history = [Record(100, samples, 20.0, 20.0, np.zeros(1))]
        run.steps["training"] = steps  # all of it, so that the limits have come down
        wanted = -3.0 + 2.0 * share
        np.testing.assert_allclose(run._limit(), [wanted])


def test_limits_are_loose_at_first(torch):
    """At the start by what the first policy misses, or by three deviations of its episodes if that is more; then less, evenly, until half of the run."""
    simulator = from_gymnasium(lambda: Corridor(20), constraints=["cost<=3", "episode cost<=9"], discount=0.9)
    run = DeepRun(simulator, SMALL, Budget(12_800, None), 0)
    samples = np.array(
        [[1.0, -2.0, -49.0], [3.0, -4.0, -51.0]] * 2
    )  # the first is just kept, the second missed by 41
    run.history, run.steps["training"] = [Record(128, samples, 20.0, 20.0, np.zeros(2))], 128
    aim = np.array([-3.0, -9.0]) + run._room()
    np.testing.assert_allclose(run._limit(), aim - [3.0, aim[1] + 50.0])
    run.steps["training"] = 128 + (6_400 - 128) // 2
    np.testing.assert_allclose(run._limit(), aim - np.array([3.0, aim[1] + 50.0]) / 2)
    run.steps["training"] = 6_400
    np.testing.assert_allclose(run._limit(), aim)


def test_limits_that_no_checkpoint_keeps_are_all_that_counts_near_the_end(torch):
    """Of two limits the first is missed all the time, and weighs alone from 85 % of the run on, for new networks; then the other, once it is kept less."""
    simulator = from_gymnasium(lambda: Corridor(20), constraints=["cost<=3", "episode cost<=9"], discount=0.9)
    missing = np.array([[1.0, -5.0, -6.0], [3.0, -6.0, -7.0]] * 64)
    for steps, samples, wanted in (
        (10_000, missing, None),
        (11_008, missing, [0.0, 1.0, 0.0]),
        (11_008, missing / 3, None),
    ):
        run = DeepRun(simulator, SMALL, Budget(12_800, None), 0)
        run.history = [Record(100, samples, 20.0, 20.0, np.zeros(2))]
        run.steps["training"] = steps
        run._keep()
        first = run.networks
        run._rescue()
        np.testing.assert_array_equal(run._weights(), run.dual.weights if wanted is None else wanted)
        assert (run.networks is first) == (wanted is None)
        if wanted is not None:
            run.history.append(Record(200, np.tile([0.0, -1.0, -9.0], (4, 1)), 20.0, 20.0, np.zeros(2)))
            np.testing.assert_array_equal(run._weights(), [0.0, 0.0, 1.0])


def test_episodes_that_grow_longer_do_not_break_the_budget(torch):
    """The episodes of training are short, and those of the answer may be fifty times as long: at most one of them is begun too late."""

    class Growing(Corridor):
        begun = 0

        def reset(self, **options):
            Growing.begun += 1
            self.length = 4 if Growing.begun < 600 else 200
            return super().reset(**options)

    training = painless.train(Growing, SMALL, constraints="cost<=3", discount=0.9, steps=2048, time_limit=200)
    assert training.steps["evaluation"] > 200  # episodes did grow
    assert sum(training.steps.values()) <= 1.5 * 2048 + 200


def specification(limit):
    return from_gymnasium(Corridor, constraints=f"cost<={limit}", discount=0.9, time_limit=20).specification


def of_one(samples):
    """Episodes of a single policy."""
    episodes = Finished(samples, samples, np.full(len(samples), 20.0))
    return MixtureEpisodes(episodes, np.zeros(len(samples), int), np.ones(1))


NONE = np.zeros(1, dtype=bool)


def test_rare_disasters_are_unclear():
    """One episode in 200 costs 400: the mean of 2 is below the limit of 4, but one more like it would not be."""
    costs = np.zeros(200)
    costs[17] = -400.0
    samples, extremes = np.stack([np.ones(200), costs], 1), np.array([[0.0, -400.0], [1.0, 0.0]])
    assert estimate_of(of_one(samples), specification(4), NONE, extremes, 0.95, 1).verdict == ("unclear",)
    none_seen = of_one(np.stack([np.ones(200), np.zeros(200)], 1))
    assert estimate_of(none_seen, specification(4), NONE, extremes, 0.95, 1).verdict == ("unclear",)
    assert estimate_of(none_seen, specification(20), NONE, extremes, 0.95, 1).verdict == ("met",)


def test_a_limit_within_the_interval_of_one_that_is_met_is_explained():
    """The mean lies 1.9 errors below the limit: enough for one side, and within an interval that has two, for the reward too."""
    costs = np.tile([-4.0, -6.0], 200)
    samples, extremes = np.stack([np.ones(400), costs], 1), np.array([[0.0, -6.0], [1.0, 0.0]])
    found = SimpleNamespace(stopped="", policies=[None], lost=0)
    for distance, told in ((1.9, True), (4.0, False)):
        limit = specification(5.0 + distance * costs.std(ddof=1) / 20)
        estimate = estimate_of(of_one(samples), limit, NONE, extremes, 0.95, 1)
        assert estimate.verdict == ("met",)
        assert (estimate.high[1] > estimate.threshold[0]) == told
        assert ("the intervals are wider, for both" in str(_status(found, estimate, limit, []))) == told


def test_the_error_of_a_mixture_is_that_of_its_policies():
    """By hand: 0.8·10 + 0.2·1, and √(0.8²·s²/4 + 0.2²·s²/2); how much the policies differ from each other is no part of it."""
    values = np.array([[9.0], [11.0], [9.0], [11.0], [-1.0], [3.0]])
    one = MixtureEpisodes(
        Finished(values, values, np.ones(6)), np.array([0, 0, 0, 0, 1, 1]), np.array([0.8, 0.2])
    )
    np.testing.assert_allclose(one.mean(values), [8.2])
    low, high = one.intervals(values, 0.95, np.ones(1))
    error = np.sqrt(0.64 * (4 / 3) / 4 + 0.04 * 8 / 2)
    np.testing.assert_allclose(high - low, [2 * 2.5706 * error], rtol=1e-4)  # Student's t with five degrees
    assert len(one.as_drawn(values)) == 5  # all four of the first, and one of the second
    unseen = replace(one, which=np.zeros(6, int))
    assert not unseen.enough  # the second policy was never played


def test_doubts_are_about_the_worst_episode_of_any_policy():
    """A disaster of a policy that weighs a tenth is not hidden by the episodes of the other: one more of it moves the mean by 0.1·400/51."""
    values = np.concatenate([np.tile([-1.0, 1.0], 100), np.zeros(49), [-400.0]])[:, None]
    which = np.repeat([0, 1], [200, 50])
    one = MixtureEpisodes(Finished(values, values, np.ones(250)), which, np.array([0.9, 0.1]))
    low, _ = one.intervals(values, 0.95, np.ones(1))
    assert one.doubted(values, 0.95, np.ones(1)) < low - 0.1 * 392 / 51


def test_declared_ranges_prove_what_draws_of_a_mixture_show():
    """Costs of 1 and 2, mixed 4 : 1, within a declared range: exact intervals of as many episodes of each policy as it weighs."""
    rng, which = np.random.default_rng(0), np.repeat([0, 1], [400, 200])
    values = np.stack([np.ones(600), -rng.uniform(0, 2, 600) * (1.0 + which)], 1)
    played = MixtureEpisodes(Finished(values, values, np.full(600, 20.0)), which, np.array([0.8, 0.2]))
    assert len(played.as_drawn(values)) == 500
    for limit, word in ((1.6, "met"), (1.2, "unclear"), (0.9, "missed")):
        declared = replace(specification(limit), declared=True)
        found = estimate_of(played, declared, NONE, np.zeros((2, 2)), 0.95, 1)
        assert found.exact
        assert found.verdict == (word,)
        assert found.low[1] < found.mean[1] < found.high[1]


def test_verdicts_are_true_as_often_as_they_say():
    """Between a policy that costs 4 and one that costs 6 the boldest mixture is sought that keeps a limit of 5: few are wrong, nearly all are met, and little is left."""
    rng, extremes = np.random.default_rng(0), np.array([[0.0, -1.0], [1.0, 0.0]])
    bold = np.linspace(0.0, 1.0, 17)
    path, which = np.stack([1 - bold, bold], 1), np.repeat([0, 1], 100)
    costs, words, limit = [], [], specification(5)

    def judged(played):
        return estimate_of(played, limit, NONE, extremes, 0.95, 1).verdict

    for _ in range(400):
        values = np.stack([np.ones(200), -rng.normal(np.where(which, 6.0, 4.0), 2.0)], 1)
        played = MixtureEpisodes(Finished(values, values, np.full(200, 20.0)), which, path[0])
        found = boldest(played, path, lambda one: judged(one) == ("met",))
        costs.append(4 * found.weights[0] + 6 * found.weights[1])
        words += judged(found)
    wrong = np.mean((np.array(costs) > 5) & (np.array(words) == "met"))
    assert 0 < wrong <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)
    assert words.count("met") >= 392
    assert 4.6 < np.mean(costs) < 4.85


def test_all_mixtures_before_an_answer_are_met():
    played = of_one(np.ones((3, 2)))
    path = np.array([[1.0, 0.0], [0.7, 0.3], [0.5, 0.5], [0.0, 1.0]])
    for good, wanted in ((4, 3), (2, 1), (0, 0)):
        rows = iter([True] * good + [False] + [True] * 4)
        np.testing.assert_array_equal(
            boldest(played, path, lambda one, rows=rows: next(rows)).weights, path[wanted]
        )


# -- whole runs --------------------------------------------------------------------------------------------------------


def test_two_states_against_solve(torch):
    """A noisy view of a table with two states: networks come near the optimum that `solve` knows."""
    transition = np.array([[[0.9, 0.1], [0.1, 0.9]], [[0.8, 0.2], [0.3, 0.7]]])
    reward, cost = np.array([[0.0, 0.2], [0.5, 1.0]]), np.array([[0.0, 0.1], [0.4, 1.0]])
    problem = painless.CMDP(
        transition, reward, initial=[1.0, 0.0], discount=0.8, constraint_cost=cost, budget=1.0
    )

    class Seen(gymnasium.Env):
        observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
        action_space = spaces.Discrete(2)

        def _seen(self):
            return np.array([self.state, self.np_random.normal()], np.float32)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.state = 0
            return self._seen(), {}

        def step(self, action):
            before = self.state
            self.state = int(self.np_random.random() < transition[before, action, 1])
            return self._seen(), reward[before, action], False, False, {"cost": cost[before, action]}

    training = painless.train(Seen, constraints="cost<=1", discount=0.8, time_limit=30, steps=32_000)
    best = painless.solve(problem).reward_value
    assert training.algorithm == "deep"
    assert training.estimate.mean[1] <= 1.0
    assert training.estimate.mean[0] >= 0.9 * best


def test_cartpole_in_seconds(torch):
    training = painless.train(
        "CartPole-v1",
        constraints=[(lambda s, a, o, r, end, info: abs(o[0]) > 0.5, "away<=25")],
        discount=0.99,
        steps=30_000,
    )
    assert training.verdict == ("met",)
    assert training.estimate.mean[0] > 50
    assert sum(training.steps.values()) <= 1.5 * 30_000
    assert training.status.kind.value == "completed"
    assert json.loads(json.dumps(training.as_dict()))["algorithm"] == "deep"


def test_an_infeasible_limit_is_missed(torch):
    class Dear(Corridor):
        def step(self, action):
            *rest, _ = super().step(action)
            return *rest, {"cost": 2.0 + action}

    training = painless.train(Dear, SMALL, constraints="episode cost<=30", discount=0.9, steps=3000)
    assert training.verdict == ("missed",)
    assert training.feasible is False
    assert "loosen them" in str(training.status)


def corridor(steps=2048, seed=0, algorithm=SMALL, length=20, **options):
    return painless.train(
        lambda: Corridor(length),
        algorithm,
        constraints="episode cost<=5",
        discount=0.9,
        steps=steps,
        seed=seed,
        **options,
    )


def arrays_of(training):
    return [part for policy in training.policy.policies for part in (*policy.weights, policy.mean)]


def same(one, other):
    left, right = arrays_of(one), arrays_of(other)
    return len(left) == len(right) and all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


def test_the_same_seed_gives_the_same_weights(torch):
    one, again, other = corridor(), corridor(), corridor(seed=1)
    assert same(one, again)
    np.testing.assert_array_equal(one.estimate.mean, again.estimate.mean)
    assert not same(one, other)


def test_a_run_that_continues_ends_with_the_same_bits(torch, tmp_path):
    path = tmp_path / "checkpoint.npz"

    def stop(now):
        if now.phase == "training" and now.steps >= 1000:
            raise KeyboardInterrupt

    whole = corridor(length=150)
    part = corridor(length=150, checkpoint=path, save_every=0.0, progress=stop)
    assert part.status.kind.value == "stopped"
    rest = corridor(length=150, checkpoint=path, save_every=0.0, resume=True)
    assert same(whole, rest)
    np.testing.assert_array_equal(whole.estimate.mean, rest.estimate.mean)
    np.testing.assert_array_equal(whole.trace.multiplier, rest.trace.multiplier)
    with pytest.raises(InputError, match="belongs to a run with seed = 0"):
        corridor(seed=1, checkpoint=path, resume=True)
    with pytest.raises(InputError, match="hidden = 16"):
        corridor(algorithm=Deep(environments=4, horizon=32, hidden=8), checkpoint=path, resume=True)


def test_a_run_that_continues_after_it_began_again_ends_with_the_same_bits(torch, tmp_path):
    """A limit that nothing keeps: from 85 % of the run on new networks learn it alone, before and after the interruption."""
    path = tmp_path / "checkpoint.npz"
    options = {"constraints": "episode cost<=-1", "discount": 0.9, "steps": 4096, "seed": 0}

    def stop(now):
        if now.phase == "training" and now.steps >= 3840:
            raise KeyboardInterrupt

    whole = painless.train(Corridor, SMALL, **options)
    painless.train(Corridor, SMALL, checkpoint=path, save_every=0.0, progress=stop, **options)
    with np.load(path) as stored:
        assert bool(stored["rescues"])
    rest = painless.train(Corridor, SMALL, checkpoint=path, save_every=0.0, resume=True, **options)
    assert same(whole, rest)
    np.testing.assert_array_equal(whole.estimate.mean, rest.estimate.mean)
    assert sum(rest.steps.values()) <= 1.5 * 4096


def test_an_environment_of_another_mind_restarts_its_open_episodes(torch, tmp_path):
    """Noise of its own makes it impossible to repeat an episode; those are restarted, and said to be."""

    class Moody(Corridor):
        def _seen(self):
            return np.array([self.x, np.random.default_rng().normal()], np.float32)

    path = tmp_path / "checkpoint.npz"

    def stop(now):
        if now.steps >= 1000:
            raise KeyboardInterrupt

    settings = {
        "constraints": "cost<=3",
        "discount": 0.9,
        "steps": 2048,
        "checkpoint": path,
        "save_every": 0.0,
    }
    painless.train(lambda: Moody(150), SMALL, progress=stop, **settings)
    training = painless.train(lambda: Moody(150), SMALL, resume=True, **settings)
    assert "4 open episodes could not be repeated" in str(training.status)


def test_worker_processes_do_the_same(torch):
    one, other = corridor(steps=512), corridor(steps=512, algorithm=replace(SMALL, workers=2))
    assert same(one, other)


def test_errors_cross_the_border_of_a_process(torch):
    class Breaking(Corridor):
        def step(self, action):
            raise ValueError("no licence")

    simulator = from_gymnasium(Corridor, discount=0.9)
    simulator.make = Breaking
    copies = WorkerCopies(simulator, 2, 2)
    try:
        copies.start([0, 1], [1, 2])
        with pytest.raises(InputError, match="no licence"):
            copies.step([0, 1], [0, 1], [1, 2])
    finally:
        copies.close()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("broken pipe")])
def test_an_early_end_returns_the_best_so_far(torch, error):
    class Breaking(Corridor):
        left = 2500

        def step(self, action):
            Breaking.left -= 1
            if Breaking.left == 0:
                raise error
            return super().step(action)

    training = painless.train(Breaking, SMALL, constraints="cost<=3", discount=0.9, steps=50_000)
    assert training.status.kind.value == "stopped"
    assert ("interrupted" if isinstance(error, KeyboardInterrupt) else "broken pipe") in str(training.status)
    assert training.estimate.episodes >= 10
    assert training.predictor()(np.zeros(2)) in (0, 1)


def test_an_environment_that_stays_broken_gives_an_unclear_answer(torch):
    class Broken(Corridor):
        left = 2500

        def step(self, action):
            Broken.left -= 1
            if Broken.left <= 0:
                raise ValueError("power cut")
            return super().step(action)

    training = painless.train(Broken, SMALL, constraints="cost<=3", discount=0.9, steps=50_000)
    assert training.verdict == ("unclear",)
    assert training.estimate.episodes == 0


def test_seconds_are_a_budget(torch):
    training = painless.train(Corridor, SMALL, constraints="cost<=3", discount=0.9, seconds=0.5)
    assert training.steps["training"] >= 128
    assert training.policy.policies


# -- spaces, files -----------------------------------------------------------------------------------------------------


class Sampled(gymnasium.Env):
    """Observations at random from a space; refuses actions outside of its own."""

    def __init__(self, observations, actions):
        self.observation_space, self.action_space = observations, actions

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(int(self.np_random.integers(2**31)))
        return self.observation_space.sample(), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        return self.observation_space.sample(), float(np.sum(action)), False, False, {"cost": 1.0}


THREE = spaces.Box(-1, 1, (3,), np.float32)
SPACES = {
    "box": (THREE, spaces.Box(-2, 5, (2,), np.float32)),
    "box without bounds": (THREE, spaces.Box(-np.inf, np.inf, (2,), np.float64)),
    "product": (THREE, spaces.MultiDiscrete([3, 4])),
    "product of a million": (THREE, spaces.MultiDiscrete([10] * 6)),
    "two by two": (THREE, spaces.MultiDiscrete([[2, 3], [4, 5]])),
    "start": (THREE, spaces.Discrete(3, start=2)),
    "parts": (spaces.Dict(a=THREE, b=spaces.Tuple([spaces.Discrete(3), THREE])), spaces.MultiBinary(3)),
    "image": (spaces.Box(0, 255, (6, 6, 3), np.uint8), spaces.Discrete(2)),
    "large image, channels first": (spaces.Box(0, 255, (3, 40, 40), np.uint8), spaces.Discrete(2)),
}


@pytest.mark.parametrize("name", SPACES)
def test_spaces_are_trained_saved_and_played(torch, name, tmp_path):
    observations, actions = SPACES[name]
    training = painless.train(
        lambda: Sampled(observations, actions),
        Deep(environments=2, horizon=8, epochs=1),
        constraints="cost<=9",
        discount=0.9,
        time_limit=8,
        steps=64,
    )
    training.save(tmp_path)
    again = Training.load(tmp_path)
    env = Sampled(observations, actions)
    observation, _ = env.reset(seed=1)
    players = [one.predictor(seed=3) for one in (training, again)]
    for _ in range(4):
        one, other = (player(observation) for player in players)
        np.testing.assert_array_equal(one, other)
        sure = [player.predict(observation, deterministic=True)[0] for player in players]
        np.testing.assert_array_equal(*sure)
        observation = env.step(one)[0]
    if name != "product of a million" and actions.__class__ is not spaces.Box:
        chances = again.policy.policies[0].at(np.zeros((2, training.interface.dimension)))
        np.testing.assert_allclose(chances.sum(-1), 1)


def own_body(torch):
    class Body(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 12)

        def forward(self, rows):
            return torch.relu(self.layer(rows))

    return Body


def test_a_network_of_ones_own(torch, tmp_path):
    Body = own_body(torch)
    settings = Deep(network=Body, environments=4, horizon=32, checkpoints=3)
    training = corridor(steps=1024, algorithm=settings, checkpoint=tmp_path / "c.npz")
    assert same(
        training, corridor(steps=1024, algorithm=settings, checkpoint=tmp_path / "c.npz", resume=True)
    )
    training.save(tmp_path / "saved")
    with pytest.raises(InputError, match="give it again"):
        Training.load(tmp_path / "saved").predictor()(np.zeros(2))
    again = Training.load(tmp_path / "saved", network=Body())
    assert again.predictor(1)(np.zeros(2)) == training.predictor(1)(np.zeros(2))
    with pytest.raises(InputError, match=r"not the one that was saved|arrays, and the saved one"):
        Training.load(tmp_path / "saved", network=torch.nn.Linear(2, 3))


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (lambda torch: torch.nn.Linear(3, 4), "fails on observations of shape"),
        (lambda torch: lambda: "layers", "must make a torch.nn.Module"),
        (
            lambda torch: type("Half", (torch.nn.Module,), {"forward": lambda self, rows: rows[:1]}),
            "returns shape",
        ),
    ],
)
def test_networks_that_do_not_fit(torch, network, message):
    with pytest.raises(InputError, match=message):
        corridor(algorithm=Deep(network=network(torch)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden": 0}, "hidden"),
        ({"rate": 0.0}, "rate is 0.0"),
        ({"margin": -1.0}, "margin is -1.0"),
        ({"annealing": 2.0}, "at most 1"),
        ({"barrier": -0.1}, "from 0 on"),
        ({"device": 3}, "device is 3"),
        ({"network": "layers"}, "network is 'layers'"),
    ],
)
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(InputError, match=message):
        Deep(**settings)


def test_a_device_that_is_not_there(torch):
    with pytest.raises(InputError, match="choose 'cpu'"):
        corridor(algorithm=Deep(device="no-such-device"))


def test_networks_need_an_environment(torch):
    with pytest.raises(InputError, match="give a Gymnasium environment"):
        painless.train(painless.CartPole(), Deep())


def test_without_torch_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setattr(extras, "torch_is_installed", lambda: False)
    with pytest.raises(InputError, match=r"painless-cmdp\[deep\]"):
        corridor()
    with pytest.raises(InputError, match=r"painless-cmdp\[deep\]"):
        corridor(algorithm=None)
    with pytest.raises(InputError, match=r"painless-cmdp\[deep\]"):
        painless.train("Pendulum-v1", discount=0.9)
    linear = painless.train(lambda: Corridor(5), constraints="cost<=3", discount=0.5, steps=500, episodes=10)
    assert linear.algorithm == "cbp"


def test_policies_of_plain_layers_need_no_torch(tmp_path):
    painless.save_policy(painless.policies.MixturePolicy.uniform((always(1),)), tmp_path / "policy.npz")
    policy = load_policy(tmp_path / "policy.npz").policies[0]
    assert (policy.choose(np.zeros((9, 2)), np.random.default_rng(0)) == 1).all()


def test_layers_that_do_not_fit_are_rejected(tmp_path):
    one = always(1)
    wrong = NetworkPolicy((one.weights[0], np.zeros(3, np.float32)), one.mean, one.scale, one.head)
    save_policy(painless.policies.MixturePolicy.uniform((wrong,)), tmp_path / "policy.npz")
    with pytest.raises(InputError, match="do not fit each other"):
        load_policy(tmp_path / "policy.npz")


def test_limits_on_whole_episodes_are_evaluated_undiscounted():
    """Always right costs 20 an episode, and 6.4 discounted: a limit of 10 on the episode is missed."""
    simulator = from_gymnasium(Corridor, constraints=["episode cost<=10", "cost<=10"], discount=0.85)
    found = painless.evaluate(always(1), simulator, episodes=20)
    assert found.mean[1] == 20
    assert found.mean[2] < 7
    assert found.verdict == ("missed", "met")


def test_budget_is_kept(torch):
    training = corridor(steps=5000)
    assert sum(training.steps.values()) <= 7500
    assert training.steps["evaluation"] > 500
    assert Budget(5000).used(2500) == 0.5


def test_the_command_line(torch, run, tmp_path):
    folder, few = (
        tmp_path / "run",
        ("--set", "environments=4", "--set", "horizon=32", "--set", "checkpoints=3"),
    )
    options = (
        "gym:Pendulum-v1",
        "--discount",
        "0.9",
        "--time-limit",
        "20",
        "--steps",
        "1024",
        "--save",
        folder,
    )
    code, out, _ = run("train", *options, "--algorithm", "deep", *few, "--report", tmp_path / "page.html")
    assert code == 0
    assert "by deep" in out
    assert "steps" in out
    assert (tmp_path / "page.html").exists()
    code, out, _ = run("evaluate", folder, "--episodes", 20, "--json")
    assert code == 0
    assert json.loads(out)["episodes"] == 20
    assert run("report", folder, "--out", tmp_path / "again.html")[0] == 0
    assert run("plot", folder, "--out", tmp_path / "curves.svg")[0] == 0
    code, out, _ = run("train", *options, "--algorithm", "deep", *few, "--resume", "--json", "--workers", 2)
    assert code == 0
    assert json.loads(out)["algorithm"] == "deep"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("cartpole", "--algorithm", "deep"), "gym:ID"),
        (("gym:Pendulum-v1", "--algorithm", "deep", "--iterations", "3"), "are not for networks"),
        (("gym:Pendulum-v1", "--algorithm", "deep", "--backend", "dask"), "give --workers alone"),
        (("gym:Pendulum-v1", "--algorithm", "deep", "--set", "depth=3"), "depth"),
    ],
)
def test_what_the_command_line_refuses(torch, run, options, message):
    code, _, err = run("train", *options, "--steps", "64")
    assert code == 2
    assert message in err


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["box", "image"])
def test_networks_are_exported(torch, name, tmp_path):
    from painless.training.deep.export import export

    observations, actions = SPACES[name]
    training = painless.train(
        lambda: Sampled(observations, actions),
        Deep(environments=2, horizon=8),
        discount=0.9,
        time_limit=8,
        steps=64,
    )
    training.export(tmp_path / "policy.pt")
    policy = training.policy.policies[int(np.argmax(training.policy.weights))]
    rows = np.random.default_rng(0).random((5, training.interface.dimension)).astype(np.float32)
    found = torch.jit.load(str(tmp_path / "policy.pt"))(torch.from_numpy(rows)).detach().numpy()
    np.testing.assert_allclose(found, policy.outputs(rows), atol=1e-5)
    with pytest.raises(InputError, match="must end in"):
        export(training, tmp_path / "policy.txt")
    with pytest.raises(InputError, match="is no network"):
        export(painless.solve(painless.gridworld()).policy, tmp_path / "policy.pt")
    try:
        import onnx  # noqa: F401
    except ImportError:
        with pytest.raises(InputError, match="need the package onnx"):
            export(training, tmp_path / "policy.onnx")
    else:
        export(training, tmp_path / "policy.onnx")
        assert (tmp_path / "policy.onnx").stat().st_size > 100
