"""Vector environments as they are: whichever way they reset themselves, the same episodes are seen and counted."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

import painless
from painless import CBP, Deep, InputError
from painless.environments import from_gymnasium
from painless.environments.native import VectorCopies, row_of
from painless.training.deep.collection import Collector, play
from tests.extras import library
from tests.test_deep import always, same

NEXT, SAME, NEVER = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
SMALL = Deep(hidden=16, checkpoints=4, minibatch=64, epochs=2)


class Corridors(VectorEnv):
    """Points on lines; right pays 1 and costs 1. Copy k ends after `lengths[k]` steps, and shows its place and noise."""

    def __init__(self, mode=NEXT, lengths=(4, 7, 5), ends=False):
        self.metadata = {"autoreset_mode": mode}
        self.num_envs, self.lengths, self.ends = len(lengths), np.array(lengths), ends
        self.single_observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self.single_action_space = spaces.Discrete(2)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def _seen(self):
        return np.stack([self.x, self.np_random.normal(size=self.num_envs)], 1).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, dtype=bool))
        if mask.all():
            self.x, self.t = np.zeros(self.num_envs), np.zeros(self.num_envs, int)
            self.over = np.zeros(self.num_envs, dtype=bool)
        else:
            assert self.metadata["autoreset_mode"] is NEVER
        self.x[mask], self.t[mask], self.over[mask] = 0, 0, False
        return self._seen(), {}

    def step(self, actions):
        assert self.action_space.contains(actions)
        mode, late = self.metadata["autoreset_mode"], self.over.copy()
        assert mode is NEXT or not late.any()
        self.x, self.t = self.x + np.where(actions == 1, 1, -1), self.t + 1
        self.x[late], self.t[late] = 0, 0
        self.over = over = self.t >= self.lengths
        cost = np.where(late, 0.0, actions == 1)
        info = {"cost": cost, "_cost": ~late}
        reward, last = cost.copy(), self._seen()
        if mode is SAME and over.any():
            info = {
                "final_obs": last,
                "final_info": info,
                "cost": np.full(self.num_envs, np.nan),
                "_cost": ~over,
            }
            info["cost"][~over] = cost[~over]
            self.x[over], self.t[over], self.over = 0, 0, np.zeros(self.num_envs, dtype=bool)
            last = self._seen()
        return last, reward, over & self.ends, over & (not self.ends), info


def simulator(mode=NEXT, lengths=(4, 7, 5), limit="cost<=3", **options):
    return from_gymnasium(lambda: Corridors(mode, lengths), constraints=limit, discount=0.5, **options)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_steps_are_those_of_episodes_and_ends_are_seen(mode):
    collector = Collector(VectorCopies(simulator(mode)), 3, 2, 0.5, 0, np.random.default_rng(0))
    collector.begin()
    batch = collector.collect(always(1), 24)
    assert batch.counted.all() == (mode is not NEXT)
    for k, length in enumerate((4, 7, 5)):
        mine = batch.counted[:, k]
        places = np.arange(mine.sum()) % length  # no step is lost, none is seen twice
        np.testing.assert_array_equal(batch.observations[mine, k, 0], places)
        np.testing.assert_array_equal(batch.following[mine, k, 0], places + 1)
        np.testing.assert_array_equal(batch.ended[mine, k], places == length - 1)
    assert not batch.terminated.any()
    assert (batch.utilities[batch.counted] == [1.0, -1.0]).all()
    assert not batch.utilities[~batch.counted].any()
    np.testing.assert_array_equal(batch.finished.total[:, 0], batch.finished.length)
    assert len(batch.raw) == len(batch.running) == batch.counted.sum()


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_all_episodes_that_were_started_count(mode):
    which = [0, 1, 1, 0, 1, 0, 0, 1]
    copies = VectorCopies(simulator(mode, (6, 6, 6)))
    for _ in range(2):  # the second time they are in the middle of others
        finished, played, _, first = play(
            [always(0), always(1)], which, copies, 3, 0.5, np.random.default_rng(0)
        )
        assert played.tolist() == which
        assert (first[:, 0] == 0).all()
        assert (finished.length == 6).all()
        np.testing.assert_allclose(finished.total[:, 0], np.array(which) * 6.0)
        finished, *_ = play([always(1)], [0], copies, 3, 0.5, np.random.default_rng(0), lambda *_: True)
        assert finished.total.tolist() == [[6.0, -6.0]]


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_time_limit_of_the_user_ends_what_never_ends(mode):
    found = simulator(mode, (1000, 1000, 1000), time_limit=6)
    finished, *_ = play([always(1)], [0] * 7, VectorCopies(found), 3, 0.5, np.random.default_rng(0))
    np.testing.assert_allclose(finished.total, [[6.0, -6.0]] * 7)


def test_observations_may_be_written_over():
    """A function sees the observation before the step, though the environment has only one place for all of them."""

    class Thrifty(Corridors):
        place = np.zeros((3, 2), np.float32)

        def _seen(self):
            self.place[:] = super()._seen()
            return self.place

    def moved(before, action, after, reward, terminated, info):
        return after[0] - before[0]

    found = from_gymnasium(Thrifty, constraints=[(moved, "<=3")], discount=0.5)
    finished, *_ = play([always(1)], [0] * 3, VectorCopies(found), 3, 0.5, np.random.default_rng(0))
    np.testing.assert_array_equal(-finished.total[:, 1], finished.length)


@pytest.mark.parametrize("mode", ["vector_entry_point", "sync"])
def test_cartpole_is_trained_and_repeats_itself(mode):
    library("torch")

    def make():
        return gymnasium.make_vec("CartPole-v1", num_envs=4, vectorization_mode=mode)

    def away(before, action, after, reward, terminated, info):
        return abs(after[0]) > 0.2

    settings = {"constraints": [(away, "<=5"), (away, "episode<=50")], "discount": 0.99, "steps": 3000}
    one, again = painless.train(make, SMALL, **settings), painless.train(make(), SMALL, **settings)
    assert same(one, again)
    assert one.algorithm == "deep"
    assert sum(one.steps.values()) <= 4500
    single = from_gymnasium("CartPole-v1", discount=0.99)
    assert painless.evaluate(one.policy, single, episodes=5).mean[0] > 5


def test_more_episodes_than_copies_are_evaluated_at_once():
    library("torch")
    found = painless.evaluate(always(1), simulator(lengths=(4, 4, 4)), episodes=10)
    np.testing.assert_allclose(found.mean, [1.875, 1.875])


def test_the_papers_algorithms_take_them_too():
    training = painless.train(
        simulator(lengths=(4, 4, 4), limit="cost<=1"), CBP(), iterations=2, multiplier_bound=5.0, episodes=20
    )
    assert training.estimate.episodes == 20


def test_open_episodes_are_restarted_when_a_run_continues(tmp_path):
    library("torch")

    def stop(now):
        if now.steps >= 2000:
            raise KeyboardInterrupt

    settings = {"constraints": "cost<=3", "discount": 0.9, "steps": 4096, "save_every": 0.0}
    settings["checkpoint"] = tmp_path / "checkpoint.npz"
    painless.train(Corridors, SMALL, progress=stop, **settings)
    training = painless.train(Corridors, SMALL, resume=True, **settings)
    assert "3 open episodes could not be repeated" in str(training.status)


def test_what_is_refused():
    library("torch")
    settings = {"constraints": "cost<=3", "discount": 0.9, "steps": 2048}
    with pytest.raises(InputError, match="which steps its own copies; leave workers out"):
        painless.train(Corridors, Deep(workers=2), **settings)

    class Forgetful(Corridors):
        def __init__(self):
            super().__init__(SAME)

        def step(self, actions):
            *result, info = super().step(actions)
            return *result, {key: value for key, value in info.items() if key != "final_obs"}

    with pytest.raises(InputError, match="info has no key 'final_obs' at the end of an episode"):
        painless.train(Forgetful, **settings)

    class Broken(Corridors):
        def reset(self, **options):
            raise RuntimeError("no")

    with pytest.raises(InputError, match="Broken, episode 0, step 0: the environment raised RuntimeError"):
        painless.train(Broken, **settings)
    found = simulator()
    found.reset(2, np.random.default_rng(0))
    with pytest.raises(InputError, match="step all 2 episodes that go on"):
        found.step(np.zeros((1, 2)), np.zeros(1, int), np.random.default_rng(0))


def test_observations_that_repeat_ask_for_the_environment_itself():
    with pytest.raises(InputError, match="give the environment itself, so that they can be counted"):
        painless.train(gymnasium.make_vec("FrozenLake-v1", num_envs=2), discount=0.9, steps=100)


def test_the_info_of_one_copy():
    info = {
        "a": np.array([1, 2]),
        "_a": np.array([True, False]),
        "b": {"c": np.array([3, 4])},
        "_d": np.array([5, 6]),
    }
    assert row_of(info, 0) == {"a": 1, "b": {"c": 3}, "_d": 5}
    assert row_of(info, 1) == {"b": {"c": 4}, "_d": 6}
