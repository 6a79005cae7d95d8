"""Rollouts by workers: the same result whatever their number, and errors that name the place."""

import json

import gymnasium
import numpy as np
import pytest

import painless
from painless import InputError
from painless.backends import Dask, Local
from painless.environments import from_gymnasium
from painless.simulation.distributed_rollouts import DistributedSimulator


class Walk(gymnasium.Env):
    """A walk on a line of 20 places; the cost is paid in the middle. It has no vector version."""

    observation_space = gymnasium.spaces.Discrete(20)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = int(self.np_random.integers(20))
        return self.place, {}

    def step(self, action):
        move = 2 * int(action) - 1 if self.np_random.random() < 0.8 else 0
        self.place = int(np.clip(self.place + move, 0, 19))
        cost = float(8 <= self.place <= 11)
        return self.place, float(self.place) / 19, False, False, {"cost": cost}


class Fragile(Walk):
    def step(self, action):
        if self.place == 3:
            raise OSError("the cable fell out")
        return super().step(action)


def walk(kind=Walk):
    return from_gymnasium(kind, constraints="cost<=2", discount=0.9, time_limit=15, reward_range=(0, 1))


def trained(backend, simulator=None, **more):
    settings = {"iterations": 4, "multiplier_bound": 5.0, "episodes": 13, "seed": 3, **more}
    return painless.train(simulator or walk(), backend=backend, **settings)


@pytest.fixture(scope="module")
def alone():
    return trained(Local(1))


@pytest.mark.parametrize("make", [lambda: Local(2), lambda: Local(3), lambda: Dask(workers=2)])
def test_workers_do_not_matter(alone, make):
    other = trained(make())
    np.testing.assert_array_equal(alone.trace.reward_value, other.trace.reward_value)
    np.testing.assert_array_equal(alone.trace.multiplier, other.trace.multiplier)
    np.testing.assert_array_equal(alone.estimate.low, other.estimate.low)


@pytest.mark.parametrize("workers", [1, 2])
def test_simulators_of_ours_spread_too(workers):
    spread = DistributedSimulator(painless.CartPole(), Local(workers))
    found = painless.evaluate(
        painless.train(painless.CartPole(), iterations=2, episodes=5).policy, spread, episodes=11
    )
    assert found.episodes == 11
    assert found.mean[0] > 1


def test_native_vector_environments_spread_too():
    first, second = (
        trained(
            Local(workers),
            from_gymnasium("CartPole-v1", discount=0.99, time_limit=20, reward_range=(0, 1)),
            multiplier_bound=None,
        )
        for workers in (1, 2)
    )
    np.testing.assert_array_equal(first.trace.reward_value, second.trace.reward_value)


def test_killed_and_resumed_is_the_same(alone, tmp_path):
    """The seeds of the chunks come from the run's generator, which a checkpoint holds."""
    path = tmp_path / "checkpoint.npz"

    def stop(now):
        if now.iteration == 2:
            raise KeyboardInterrupt

    stopped = trained(Local(1), checkpoint=path, progress=stop)
    assert len(stopped.trace) == 2
    resumed = trained(Local(2), checkpoint=path, resume=True)
    np.testing.assert_array_equal(alone.trace.reward_value, resumed.trace.reward_value)
    with pytest.raises(InputError, match="spread"):
        trained(None, checkpoint=path, resume=True)


def test_an_error_on_a_worker_names_the_place():
    simulator = walk()
    simulator.make = Fragile
    with pytest.raises(InputError, match=r"Walk, episode \d+, step \d+: .*the cable fell out"):
        trained(Local(2), simulator)


def test_another_error_on_a_worker_ends_the_run():
    class Broken(painless.CartPole):
        def reset(self, count, rng):
            raise OSError("no such port")

    with pytest.raises(RuntimeError, match="OSError: no such port"):
        painless.evaluate(
            painless.train(painless.CartPole(), iterations=2, episodes=5).policy,
            DistributedSimulator(Broken(), Local(1)),
        )


def test_the_command_line_spreads_too(monkeypatch, capsys):
    from painless.cli import main

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["painless", "train", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, capsys.readouterr()

    few = ("cartpole", "--iterations", "2", "--multiplier-bound", "50", "--multiplier-bound", "50", "--json")
    outputs = [run(*few, "--episodes", "5", "--workers", workers)[1].out for workers in ("1", "2")]
    first, second = (json.loads(output) for output in outputs)
    assert first["reward_value"] == second["reward_value"]
    assert first["multiplier"] == second["multiplier"]
    code, said = run("gridworld", "--workers", "2")
    assert code == 2
    assert "are for simulators" in said.err
