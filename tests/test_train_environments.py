"""Bring your environment: every space, every way to write a limit, refusals in one line, and what comes back."""

import csv
import pickle
import re
import runpy
import time
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import scipy
from gymnasium import spaces

import painless
from painless import InputError
from painless.environments import Constraint, Predictor, from_gymnasium
from painless.environments.gymnasium_simulator import GymnasiumSimulator
from painless.environments.interface import MOST_ACTIONS, Interface
from painless.policies import MixturePolicy
from painless.report.page_model import counts_group, model_explorer
from painless.report.page_solution import PAIRS
from painless.report.page_training import TrainingRecord, training_groups, training_page
from painless.report.saved_figures import panel_figure
from painless.simulation.simulator import TableSimulator
from painless.training.linear import TrainingProgress
from painless.training.result import Training

SIZE = 5
OBSERVATIONS = {
    "discrete": (spaces.Discrete(SIZE, start=3), lambda place: place + 3),
    "multi-discrete": (spaces.MultiDiscrete([SIZE, 2]), lambda place: np.array([place, 0])),
    "multi-binary": (spaces.MultiBinary(SIZE), lambda place: np.eye(SIZE, dtype=np.int8)[place]),
    "whole Box": (spaces.Box(0, SIZE, (2,), np.int32), lambda place: np.array([place, 1], np.int32)),
    "Box that repeats": (spaces.Box(-1.0, 1.0, (1,)), lambda place: np.array([place / SIZE], np.float32)),
    "tuple": (spaces.Tuple([spaces.Discrete(SIZE), spaces.Discrete(2)]), lambda place: (place, 1)),
    "dict": (
        spaces.Dict({"a": spaces.Tuple([spaces.Discrete(2)]), "b": spaces.Box(0, 9, (1,), np.uint8)}),
        lambda place: {"a": (1,), "b": np.array([place], np.uint8)},
    ),
}

ROOT = Path(__file__).parents[1]


class Walk(gymnasium.Env):
    """A walk on 0..4 that ends at 4 with reward 1; a step to the right slips with probability 0.2, and costs 1."""

    action_space = spaces.Discrete(2)

    def __init__(self, kind="discrete"):
        self.observation_space, self.shown = OBSERVATIONS[kind]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return self.shown(0), {}

    def right(self, action):
        return bool(action)

    def step(self, action):
        right = self.right(action)
        if right and self.np_random.random() < 0.8:
            self.place += 1
        elif not right:
            self.place = max(self.place - 1, 0)
        return self.shown(self.place), float(self.place == 4), self.place == 4, False, {"cost": float(right)}


class Product(Walk):
    """Two switches and a dial; it goes right if all are up."""

    action_space = spaces.MultiDiscrete([2, 2, 3])

    def right(self, action):
        assert action.shape == (3,)
        return bool((action == [1, 1, 2]).all())


class Drift(gymnasium.Env):
    """A point that no observation repeats."""

    observation_space = spaces.Box(-np.inf, np.inf, (3,))
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.normal(size=3)
        return self.x.astype(np.float32), {}

    def step(self, action):
        self.x = 0.9 * self.x + (2 * action - 1) * 0.1 + 0.1 * self.np_random.normal(size=3)
        return self.x.astype(np.float32), float(-abs(self.x[0])), False, False, {"cost": float(action)}


def quick(environment=Walk, steps=4000, **options):
    return painless.train(environment, **{"discount": 0.9, "steps": steps, "time_limit": 30, **options})


# ---------------------------------------------------------------- what comes in


@pytest.mark.parametrize("kind", OBSERVATIONS)
def test_every_space_of_observations_is_counted(kind):
    training = quick(lambda: Walk(kind), constraints="cost<=6")
    assert training.algorithm == "counted"
    assert training.model.shape[0] == 4 + 2  # the end and what is unknown
    assert training.verdict == ("met",)
    assert training.estimate.mean[0] > 0.5
    predictor, environment = training.predictor(), Walk(kind)
    state, _ = environment.reset(seed=0)
    while environment.place < 4:  # to the right with probability 0.8
        state, _, _, _, _ = environment.step(predictor(state))


def test_text_in_a_dictionary_is_left_out():
    class Mission(Walk):
        def __init__(self):
            super().__init__("dict")
            self.observation_space = spaces.Dict({**self.observation_space.spaces, "mission": spaces.Text(9)})
            numbers = self.shown
            self.shown = lambda place: {**numbers(place), "mission": "go"}

    training = quick(Mission)
    assert training.model.shape[0] == 6
    assert "Not seen, since it is no number: mission." in str(training.status)


def test_products_of_actions():
    training = quick(Product, steps=8000)
    assert training.policy.policies[0].probabilities.shape[1] == 12
    assert training.estimate.mean[0] > 0.5
    action = training.predictor()(3)
    assert action.tolist() == [1, 1, 2]


def test_an_id_an_object_a_class_and_a_function_are_all_taken():
    same = [
        quick("FrozenLake-v1", 2000),
        quick(gymnasium.make("FrozenLake-v1"), 2000),
        quick(lambda: gymnasium.make("FrozenLake-v1"), 2000),
        quick(gymnasium.envs.toy_text.FrozenLakeEnv, 2000),
    ]
    assert {one.algorithm for one in same} == {"counted"}
    assert same[0].estimate.mean[0] == same[2].estimate.mean[0]


def test_wrappers_of_an_object_stay():
    class Double(gymnasium.RewardWrapper):
        def reward(self, reward):
            return 2 * reward

    assert quick(Double(Walk()), steps=4000).estimate.mean[0] > 1.0


def test_simulators_are_counted_if_there_is_a_budget():
    training = painless.train(TableSimulator(painless.gridworld(), 60), steps=10_000)
    assert training.algorithm == "counted"
    assert training.verdict == ("met",)
    with pytest.raises(InputError, match="lack actions"):
        painless.train(TableSimulator(painless.make("queueing")), steps=100)
    with pytest.raises(InputError, match="discount is for environments"):
        painless.train(TableSimulator(painless.gridworld()), discount=0.9)


def test_others_get_features_and_are_never_blocked():
    """The limit cannot be met: training goes on, and says so."""
    training = quick(Drift, algorithm=painless.CBP(), constraints="cost<=-1", steps=6000, episodes=50)
    assert training.algorithm == "cbp"
    assert training.verdict == ("missed",)
    assert len(training.trace) >= 1
    assert training.model is None
    assert isinstance(training.predictor()(np.zeros(3)), int)


# ---------------------------------------------------------------- limits


def test_limits_are_written_in_many_ways():
    parse = Constraint.parse
    assert parse("episode cost<=25").episode
    assert parse("episode cost<=25").key == "cost"
    assert parse("episode reward[1]>=-3").index == 1
    assert parse("episode<=5").key == "episode"  # a key of that name
    assert parse("episode cost<=25") == parse(parse("episode cost<=25").text)


def right(observation, action, next_observation, reward, terminated, info):
    return float(action == 1)


@pytest.mark.parametrize(
    "constraint",
    [
        (right, "<=2"),
        ("moves<=2", right),
        Constraint(function=right, limit=2.0),
        "cost<=2",
    ],
)
def test_functions_are_limits_too(constraint):
    training = quick(constraints=[constraint], steps=8000)
    assert training.verdict == ("met",)
    assert 1.0 < training.estimate.mean[1] <= 2.1
    assert training.estimate.mean[0] < 0.5  # going all the way costs about 3.5


def test_a_function_is_the_reward():
    training = quick(reward=lambda before, action, after, reward, terminated, info: -info["cost"])
    assert training.estimate.mean[0] == 0.0


def exact_walk(training, time_limit=30):
    """Return the exact chance to arrive and the exact cost of an episode of the walk, by the policy of a training."""
    right = training.policy.policies[0].at(np.arange(4))[0][:, 1]
    share, arrived, cost = np.eye(4)[0], 0.0, 0.0
    for _ in range(time_limit):
        moved = 0.8 * right * share
        cost, arrived = cost + right @ share, arrived + moved[3]
        back = (1 - right) * share
        share = share - moved - back + np.append(0.0, moved[:3]) + np.append(back[1:], 0.0)
        share[0] += back[0]
    return arrived, cost


@pytest.mark.parametrize("seed", [0, 1])
def test_limits_on_whole_episodes(seed):
    """An unlimited walk takes 5 steps to the right on average; the discounted sum is smaller by a third."""
    training = quick(constraints="episode cost<=3", steps=20_000, seed=seed)
    assert training.constraint_names == ("episode cost",)
    assert training.verdict == ("met",)
    _, cost = exact_walk(training)
    assert 2.5 < cost <= 3  # the limit is kept, and used
    said = float(re.search(r"episode cost ([\d.]+) ±", str(training.status))[1])
    assert said == pytest.approx(cost, abs=0.15)  # what the model says is undiscounted, too
    assert training.total[1] == pytest.approx(cost, abs=0.5)
    assert training.estimate.mean[1] == pytest.approx(training.total[1])
    assert training.discounted[1] < 0.95 * training.total[1]


def test_limits_on_whole_episodes_cost_reward():
    arrived, cost = exact_walk(quick(constraints="episode cost<=30", steps=8000))
    assert arrived > 0.999
    assert cost == pytest.approx(5, abs=1e-3)


def test_both_figures_of_every_utility_are_there():
    training = quick(constraints="cost<=6")
    assert training.discounted == pytest.approx(training.estimate.mean)
    assert training.total[1] > training.discounted[1] > 0
    content = training.as_dict()
    assert content["episode_total"] == training.total.tolist()
    assert content["verdict"] == ["met"]
    assert content["met"] == [True]


def test_impossible_limits_are_missed():
    class Costly(Walk):
        def step(self, action):
            *rest, _ = super().step(action)
            return *rest, {"cost": 1.0}

    training = quick(Costly, constraints="cost<=0.5")
    assert training.verdict == ("missed",)
    assert training.feasible is False
    assert "loosen" in str(training.status)


def test_rare_events_are_answered():
    """One limit of a hundredth: no phase asks for a proof that random episodes could never give."""

    class Slip(Walk):
        def step(self, action):
            state, reward, ended, cut, _ = super().step(action)
            fell = bool(action) and self.np_random.random() < 0.001
            return state, reward, ended or fell, cut, {"fall": float(fell)}

    training = quick(Slip, constraints="fall<=0.05", steps=20_000)
    assert training.verdict == ("met",)
    assert training.estimate.high[1] < 0.05


# ---------------------------------------------------------------- refusals


def pictures():
    class Image(Walk):
        def __init__(self):
            self.observation_space = spaces.Box(0, 255, (210, 160, 3), np.uint8)

    return Image()


def with_text():
    class Mission(Walk):
        def __init__(self):
            self.observation_space = spaces.Dict({"mission": spaces.Text(9)})

    return Mission()


class Odd(Walk):
    """An environment that returns odd things."""

    def __init__(self, first=None, reward=1.0, info=None):
        super().__init__()
        self.first, self.odd = first, (reward, info or {})

    def reset(self, *, seed=None, options=None):
        usual = super().reset(seed=seed)
        return usual if self.first is None else self.first

    def step(self, action):
        observation, _, terminated, truncated, _ = super().step(action)
        return observation, self.odd[0], terminated, truncated, self.odd[1]


class Answering(Walk):
    """An environment whose steps return something else."""

    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def step(self, action):
        return self.answer


class Unseeded(Walk):
    """An environment that takes no seed."""

    def reset(self):
        return super().reset()


class Talkative(Walk):
    """An environment that fails at length."""

    def step(self, action):
        raise OSError("the motor\nis blocked " * 40)


def many_actions():
    class Many(Walk):
        action_space = spaces.MultiDiscrete([100, 100])

    return Many()


@pytest.mark.parametrize(
    ("environment", "options", "message"),
    [
        (pictures, {}, "210×160×3 = 100800 numbers"),
        (many_actions, {}, f"at most {MOST_ACTIONS}"),
        ("Pendulum-v1", {}, "only Discrete actions"),
        (Drift, {"constraints": "episode cost<=5"}, "needs observations that repeat"),
    ],
)
def test_what_only_networks_can_do_is_refused_without_torch(monkeypatch, environment, options, message):
    monkeypatch.setattr("painless.common.extras.torch_is_installed", lambda: False)
    with pytest.raises(InputError, match=message) as caught:
        quick(environment, **options)
    assert "painless-cmdp[deep]" in str(caught.value)


@pytest.mark.parametrize(
    ("environment", "options", "message"),
    [
        (with_text, {}, "which are no numbers"),
        ("NoSuchThing-v3", {}, "does not know 'NoSuchThing-v3'"),
        ("no_such_module:Thing-v3", {}, "cannot import 'no_such_module'"),
        ("FrozenLake-v1", {"constraints": "cost"}, "is not a constraint"),
        ("FrozenLake-v1", {"constraints": 3}, "constraints is 3"),
        ("FrozenLake-v1", {"constraints": [right]}, "is not a constraint"),
        ("FrozenLake-v1", {"constraints": "fuel<=1"}, "info has no key 'fuel'; its keys: prob"),
        ("FrozenLake-v1", {"constraints": "reward<=1"}, "for a limit on the reward itself write reward[0]"),
        ("FrozenLake-v1", {"reward": "speed"}, "reward is 'speed'; give a function"),
        ("FrozenLake-v1", {"reward": lambda *step: 1 / 0}, "raised ZeroDivisionError"),
        ("FrozenLake-v1", {"steps": 0}, "at least 2"),
        ("FrozenLake-v1", {"seconds": -1.0, "steps": None}, "seconds is -1.0"),
        ("FrozenLake-v1", {"constraints": "0<=prob<=1"}, "is not a constraint"),
        ("FrozenLake-v1", {"time_limit": 0}, "time_limit is 0"),
        (lambda: Odd(first=1), {}, "reset returned 1; it must return (observation, info)"),
        (lambda: Odd(first=(1.5, {})), {}, "the observation is 1.5; a Discrete space has whole numbers"),
        (lambda: Odd(first=(None, {})), {}, "the observation is None"),
        (lambda: Odd(reward=None), {}, "reward is None, a NoneType and not a number"),
        (lambda: Odd(reward="much"), {}, "reward is 'much', a str and not a number"),
        (lambda: Odd(reward=float("nan")), {}, "reward is nan"),
        (lambda: Odd(info={"cost": "x"}), {"constraints": "cost<=1"}, "info['cost'] is 'x', a str"),
        (
            lambda: Odd(info={f"key {k}": 0 for k in range(99)}),
            {"constraints": "cost<=1"},
            "info has no key 'cost'",
        ),
        (lambda: 3, {}, "which is no environment"),
        (lambda: 1 / 0, {}, "could not be made"),
        (3, {}, "3 is no environment; give one, its id"),
        (lambda: Answering((0, 1.0, False, {})), {}, "step returned 4 values; it must return (observation,"),
        (lambda: Answering(None), {}, "raised TypeError"),
        (lambda: Answering([0, 1.0, False]), {}, "step returned [0, 1.0, False]; it must return"),
        (Unseeded, {}, "unexpected keyword argument 'seed'\")"),
        (Talkative, {}, "check_env"),
        (gymnasium.Env, {}, "'Env' has no observation_space; give it one"),
        ("FrozenLake-v1", {"constraints": [(lambda one: one, "<=1")]}, "it is given (observation, action,"),
        ("FrozenLake-v1", {"constraints": "reward[7]<=1"}, "there is no reward[7]; count from 0"),
    ],
)
def test_refusals_are_one_short_line(environment, options, message):
    with pytest.raises(InputError) as caught:
        quick(environment, **{"steps": 100, **options})
    text = str(caught.value)
    assert message in text
    assert "\n" not in text
    assert len(text) <= 200


# ---------------------------------------------------------------- how a run ends


class Short(Walk):
    """A walk that goes on after its end, and cuts its episodes off after some steps of its own."""

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return super().reset(seed=seed)

    def step(self, action):
        _, reward, ended, _, info = super().step(action)
        self.steps += 1
        self.place = 0 if ended else self.place
        return self.shown(self.place), reward, False, self.steps >= 20, info


def test_an_environment_that_cuts_its_episodes_off_has_a_time_limit():
    """Without it, a limit on whole episodes would be kept over 1000 steps, and nothing be dared in 20."""
    training = quick(Short, constraints="episode cost<=10", discount=0.99, time_limit=None)
    assert 8 < training.total[1] < 10.3
    assert training.total[0] > 1.4  # 5 steps, four of them to the right with probability 0.8
    endless = quick(Short, constraints="cost<=10", discount=0.99, time_limit=None)
    assert "cut off after 20 steps, episodes collect a reward of" in str(endless.status)
    assert "'episode …' in front of a limit asks for episodes alone" in str(endless.status)


def test_a_checkpoint_knows_that_episodes_are_cut_off(tmp_path):
    options = {"constraints": "episode cost<=10", "discount": 0.99, "time_limit": None, "steps": 6000}
    options |= {"checkpoint": tmp_path / "checkpoint.npz", "save_every": 0.0}

    def stop(now):
        if now.steps > 2000 and now.phase == "exploring":
            raise KeyboardInterrupt

    whole = quick(Short, **{**options, "checkpoint": None})
    quick(Short, progress=stop, **options)
    again = quick(Short, resume=True, **options)
    np.testing.assert_array_equal(
        again.policy.policies[0].probabilities, whole.policy.policies[0].probabilities
    )


def test_long_episodes_do_not_use_up_the_budget():
    """Episodes of 1000 steps in a budget of 3000: those that explore are left when their share is spent."""
    training = quick(lambda: Walk(), constraints="cost<=2", discount=0.95, steps=3000, time_limit=1000)
    assert training.steps["training"] <= 0.8 * 3000 + 300
    assert training.estimate.episodes > 10


def test_a_limit_that_the_model_rules_out_is_missed():
    """One fresh episode of 1000 steps says nothing by itself; the model knows that no policy comes near."""
    training = quick(Short, constraints="cost>=50", discount=0.95, time_limit=None)
    assert training.verdict == ("missed",)


def test_text_in_an_inner_dictionary_is_named():
    class Mission(Walk):
        observation_space = None

        def __init__(self):
            super().__init__("discrete")
            self.observation_space = spaces.Dict(
                {"robot": spaces.Dict({"place": self.observation_space, "mission": spaces.Text(9)})}
            )
            self.shown = lambda place: {"robot": {"place": place + 3, "mission": "go"}}

    assert "Not seen, since it is no number: robot.mission." in str(quick(Mission).status)


def test_a_run_that_has_no_time_left_answers_from_one_episode():
    training = quick(steps=None, seconds=1e-6)
    assert training.steps["training"] > 0
    assert training.steps["evaluation"] > 0


def test_seconds_end_a_run():
    training = quick(steps=None, seconds=0.2)
    assert training.verdict == ()
    assert training.steps["evaluation"] > 0
    assert training.estimate.mean[0] > 0.5


def test_an_exception_returns_what_was_found():
    class Late(Walk):
        left = 6000

        def step(self, action):
            Late.left -= 1
            if Late.left == 0:
                raise OSError("the robot fell")
            return super().step(action)

    training = quick(Late, constraints="cost<=6", steps=50_000)
    assert "the robot fell" in str(training.status)
    assert training.status.kind == "stopped"
    assert training.verdict == ("met",)


def test_an_environment_that_stays_broken_is_answered_by_the_model():
    class Broken(Walk):
        left = 6000

        def step(self, action):
            Broken.left -= 1
            if Broken.left < 0:
                raise OSError("gone")
            return super().step(action)

    training = quick(Broken, constraints="cost<=6", steps=50_000)
    assert training.verdict == ("unclear",)
    assert training.estimate.episodes == 0
    assert training.estimate.mean[0] > 0.5


def test_a_run_resumes_where_it_stopped(tmp_path):
    """Stopped in the middle and continued, it ends with the policy of the run that was never interrupted."""
    path = tmp_path / "checkpoint.npz"
    options = {"constraints": "cost<=2", "checkpoint": path, "save_every": 0.0}
    whole = quick(steps=6000, constraints="cost<=2")

    def stop(now):
        if now.steps > 2000 and now.phase == "exploring":
            raise KeyboardInterrupt

    first = quick(steps=6000, progress=stop, **options)
    assert "interrupted" in str(first.status)
    second = quick(steps=6000, resume=True, **options)
    np.testing.assert_array_equal(
        second.policy.policies[0].probabilities, whole.policy.policies[0].probabilities
    )
    assert second.steps == whole.steps
    more = quick(steps=9000, resume=True, **options)
    assert sum(more.steps.values()) == pytest.approx(9000, rel=0.01)
    with pytest.raises(InputError, match=r"belongs to a run with discount = 0\.9, not 0\.8"):
        quick(resume=True, discount=0.8, **options)
    quick(Drift, steps=None, iterations=2, episodes=10, checkpoint=tmp_path / "other.npz")
    with pytest.raises(InputError, match="another kind of run"):
        quick(resume=True, **{**options, "checkpoint": tmp_path / "other.npz"})


class Scattered(Walk):
    """A walk that begins anywhere."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = int(self.np_random.integers(4))
        return self.shown(self.place), {}

    def step(self, action):
        self.place = min(max(self.place + (1 if action else -1), 0), 4)
        return self.shown(self.place), float(self.place == 4), self.place == 4, False, {"cost": float(action)}


def test_resets_show_where_episodes_begin_and_count_as_steps(tmp_path):
    """Nothing but the first state is left to chance, so that steps would show nothing: resets, at most a quarter of the steps, do."""
    resets = steps = 0

    class Counting(Scattered):
        def reset(self, **options):
            nonlocal resets
            resets += 1
            return super().reset(**options)

        def step(self, action):
            nonlocal steps
            steps += 1
            return super().step(action)

    options = {"constraints": "cost<=1.5", "steps": 6000}
    whole = quick(Counting, **options)
    assert sum(whole.steps.values()) > steps
    assert 6000 / 5 < sum(whole.steps.values()) - steps <= 6000 / 4
    assert resets > sum(whole.steps.values()) - steps
    assert sum(whole.steps.values()) == pytest.approx(6000, rel=0.01)

    def stop(now):
        if now.used > 0.7:
            raise KeyboardInterrupt

    options |= {"checkpoint": tmp_path / "checkpoint.npz", "save_every": 0.0}
    quick(Scattered, progress=stop, **options)
    again = quick(Scattered, resume=True, **options)
    assert again.steps == whole.steps
    assert again.estimate.mean.tolist() == whole.estimate.mean.tolist()
    np.testing.assert_array_equal(
        again.policy.policies[0].probabilities, whole.policy.policies[0].probabilities
    )


@pytest.mark.parametrize(("share", "phase"), [(0.6, "exploring"), (0.75, "exploring"), (0.9, "verifying")])
def test_a_run_that_was_stopped_late_repeats_little(share, phase, tmp_path):
    """What was played and said on the way is part of a checkpoint; only the part in which it stopped is played again."""
    played = 0

    class Counting(Walk):
        def step(self, action):
            nonlocal played
            played += 1
            return super().step(action)

    whole = quick(steps=6000, constraints="cost<=2")

    def stop(now):
        if now.used > share and now.phase == phase:
            raise KeyboardInterrupt

    options = {"constraints": "cost<=2", "checkpoint": tmp_path / "checkpoint.npz", "save_every": 1000.0}
    quick(steps=6000, progress=stop, **options)
    played = 0
    again = quick(Counting, steps=6000, resume=True, **options)
    assert 0 < played < (1.15 - share) * 6000
    np.testing.assert_array_equal(
        again.policy.policies[0].probabilities, whole.policy.policies[0].probabilities
    )
    np.testing.assert_array_equal(again.trace.reward_value, whole.trace.reward_value)
    np.testing.assert_array_equal(again.standard_error, whole.standard_error)
    assert again.estimate.mean.tolist() == whole.estimate.mean.tolist()


def test_progress_and_log(tmp_path):
    seen = []
    path = tmp_path / "log.csv"
    training = quick(constraints="cost<=6", progress=seen.append, log=path)
    assert len(seen) >= 5  # one for each batch
    assert seen[-1].used == 1.0
    assert seen[-1].steps == sum(training.steps.values())
    assert [one.phase for one in seen[:1] + seen[-1:]] == ["exploring", "verifying"]
    assert all(one.seconds_left >= 0 for one in seen)
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(seen)
    assert int(rows[-1]["steps"]) == seen[-1].steps
    assert float(rows[-1]["cost"]) == seen[-1].value[1]


def test_the_log_of_an_algorithm(tmp_path):
    seen = []
    path = tmp_path / "log.csv"
    quick(Drift, steps=None, iterations=3, episodes=10, progress=seen.append, log=path)
    assert [type(one) for one in seen] == [TrainingProgress] * 3
    assert path.read_text().splitlines()[0] == "iteration,iterations,reward"
    with pytest.raises(InputError, match="choose another file for the log"):
        quick(Drift, steps=None, iterations=3, episodes=10, log=tmp_path)


# ---------------------------------------------------------------- what goes out


def test_the_learned_model_is_a_problem():
    training = quick(constraints=["cost<=2", (right, ">=0.5")], steps=8000)
    model = training.model
    assert model.names["states"][:2] == ("3", "4")
    assert model.sense == (">=", "<=")
    solution = painless.solve(model)
    assert solution.feasible
    assert solution.reward_value == pytest.approx(training.estimate.mean[0], abs=0.15)
    assert training.visits.sum() == training.steps["training"]


def test_saved_and_loaded(tmp_path):
    training = quick(lambda: Walk("dict"), constraints="cost<=6")
    training.save(tmp_path)
    again = Training.load(tmp_path)
    assert again.verdict == training.verdict
    assert again.estimate.mean == pytest.approx(training.estimate.mean)
    assert again.status == training.status
    assert again.model.shape == training.model.shape
    assert again.hoped == training.hoped
    assert again.total == pytest.approx(training.total)
    observation = {"a": (1,), "b": np.array([2], np.uint8)}
    assert again.predictor()(observation) == training.predictor()(observation)


def test_algorithms_are_saved_and_loaded(tmp_path):
    training = quick(Drift, steps=None, iterations=2, episodes=10)
    training.save(tmp_path)
    again = Training.load(tmp_path)
    assert again.as_dict() == training.as_dict()
    state = np.zeros((1, 3))
    np.testing.assert_array_equal(again.policy.policies[0].at(state), training.policy.policies[0].at(state))


class Always:
    """One action, whatever the state."""

    updates = 0

    def __init__(self, action):
        self.row = np.eye(2)[action]

    def at(self, states):
        return np.tile(self.row, (len(states), 1))[None]


def test_each_environment_of_a_vector_draws_its_own():
    mixture = MixturePolicy.uniform((Always(0), Always(1)))
    predictor = Predictor(mixture, seed=0)
    states = np.zeros((400, 1))
    first, _ = predictor.predict(states, episode_start=np.ones(400, dtype=bool))
    assert 150 < first.sum() < 250
    again, _ = predictor.predict(states, episode_start=np.zeros(400, dtype=bool))
    np.testing.assert_array_equal(first, again)
    some, _ = predictor.predict(states, episode_start=np.arange(400) < 200)
    np.testing.assert_array_equal(some[200:], first[200:])
    assert (some[:200] != first[:200]).any()


def test_batches_of_parts():
    interface = Interface.of(OBSERVATIONS["dict"][0], spaces.Discrete(2, start=5), "Walk")
    batch = {"a": (np.array([0, 1]),), "b": np.array([[3], [4]])}
    states, single = interface.states(batch)
    assert not single
    np.testing.assert_array_equal(states, [[0, 3], [1, 4]])
    predictor = Predictor(Always(1), interface=interface)
    assert predictor.predict(batch)[0].tolist() == [6, 6]
    assert predictor.predict({"a": (0,), "b": np.array([3])})[0].shape == ()
    assert predictor({"a": (0,), "b": np.array([3])}) == 6


def test_two_limits_on_the_same_sum_have_names_of_their_own():
    training = quick(constraints=["cost≤6", "cost>=1"])
    assert training.constraint_names == ("cost<=6.0", "cost>=1.0")
    assert len(training.verdict) == 2
    assert set(training.model.names["constraints"]) == {"cost<=6.0", "cost>=1.0"}


def test_the_example_for_tensorboard_writes_every_number(capsys):
    """The example needs only a writer with `add_scalar`."""
    example = runpy.run_path(str(ROOT / "examples" / "tensorboard.py"))
    written = []

    class Writer:
        def add_scalar(self, name, value, step):
            written.append((name, value, step))

    example["train"](Writer(), steps=2000)
    names = {name for name, _, _ in written}
    assert {"value/reward", "value/edge", "error/reward", "states", "hope"} <= names
    assert all(np.isfinite(value) for _, value, _ in written)
    steps = [step for name, _, step in written if name == "states"]
    assert steps == sorted(steps)
    assert steps[-1] >= 2000


def test_the_page_of_a_run_explores_its_model(tmp_path):
    """The slider moves the limits of the learned model, and a table says how often each pair was tried; also from a folder."""
    training = quick(constraints="cost<=6")
    page = training_page(TrainingRecord.of(training), "walk")
    curves = training_groups(TrainingRecord.of(training))[0]
    assert [[one["name"] for one in panel["series"]] for panel in curves["panels"]] == [["answer"]] * 3
    assert {panel["x"] for panel in curves["panels"]} == {"answer"}
    assert [table["header"][0] for table in curves["tables"]] == ["answer"]
    assert [axis.get_xlabel() for axis in panel_figure(curves["panels"]).axes] == ["answer"] * 3
    assert "as if it were the truth" in page
    assert '"frontiers": [{' in page or '"frontiers":[{' in page
    assert "How often each pair was tried" in page
    assert f"{training.visits.sum():,.0f} steps were counted: 4 states, 2 actions" in page
    training.save(tmp_path / "run")
    again = TrainingRecord.load(tmp_path / "run")
    assert (again.visits == training.visits).all()
    assert training_page(again, "walk") == page
    # Without limits, the optimal policy of the model
    free = training_page(TrainingRecord.of(quick()), "walk")
    assert "How often each pair was tried" in free
    assert "as if it were the truth." not in free.split("The learned model")[0]


def test_a_large_model_has_counts_but_no_slider():
    training = quick(constraints="cost<=6")
    assert model_explorer(None) == {}
    states = PAIRS // 2 + 1
    names = {"states": [f"s{k}" for k in range(states)]}
    large = painless.CMDP(
        scipy.sparse.csr_array(np.ones((states * 2, 1)) @ np.eye(1, states)),
        np.zeros((states, 2)),
        initial=np.eye(states)[0],
        discount=0.5,
        names=names,
    )
    assert model_explorer(large) == {}
    assert len(counts_group(large, np.ones((states, 2)))[0]["tables"][0]["rows"]) == 500
    assert counts_group(training.model, None) == []


def test_a_package_that_is_missing_is_named():
    def make():
        raise gymnasium.error.DependencyNotInstalled(
            "Box3D is not installed,\n run `pip install box3d` " + "x" * 300
        )

    with pytest.raises(
        InputError, match="could not be made: Box3D is not installed, run `pip install box3d`"
    ) as caught:
        quick(make)
    assert len(str(caught.value)) <= 200


def test_random_episodes_before_training_end_with_their_seconds():
    """One step is taken however late it is."""
    assert len(from_gymnasium("FrozenLake-v1", discount=0.9, pilot_seconds=0).observed) == 1
    assert len(from_gymnasium("FrozenLake-v1", discount=0.9, pilot_seconds=1e6).observed) > 20


def test_one_random_episode_comes_before_counting_where_observations_must_repeat():
    settings = {"discount": 0.9, "time_limit": 30, "pilot_steps": 1}
    assert len(from_gymnasium("CliffWalking-v1", **settings).observed) == 30
    assert (
        len(from_gymnasium("MountainCar-v0", **settings).observed) == 20 * 30
    )  # which random actions must show


def test_the_command_line_looks_around_no_longer_than_python(monkeypatch, run):
    look, seen = GymnasiumSimulator.look_around, []

    def noted(self, seed, seconds=None, steps=None):
        seen.append(steps)
        look(self, seed, seconds, steps)

    monkeypatch.setattr(GymnasiumSimulator, "look_around", noted)
    given = ("train", "gym:FrozenLake-v1", "--constraint", "prob<=50")
    assert run(*given, "--steps", "500")[0] == 0
    assert run(*given, "--steps", "500", "--iterations", "1", "--episodes", "2")[0] == 0
    assert seen == [1, None]


@pytest.mark.parametrize("name", ["seed", "discount", "constraints", "environment", "pilot_steps"])
def test_settings_of_training_are_not_passed_on_as_parameters(run, name):
    code, _, err = run("train", "gym:FrozenLake-v1", "-p", f"{name}=1", "--steps", "300")
    assert code == 2
    assert err.count("\n") == 1
    assert f"'{name}' is not passed on to the environment by -p" in err


def test_utilities_can_be_sent_elsewhere_after_they_were_read():
    utilities = from_gymnasium("FrozenLake-v1", discount=0.9, pilot_steps=1).utilities
    again = pickle.loads(pickle.dumps(utilities))
    assert again == utilities
    assert again.read(0, 1, (2, 0.5, False, True, {})) == (2, [0.5], False, True)


def test_a_budget_in_seconds_covers_the_random_episodes(monkeypatch):
    seen = []
    monkeypatch.setattr(
        GymnasiumSimulator, "look_around", lambda self, seed, seconds, steps: seen.append(seconds) or 1 / 0
    )
    for seconds in (50.0, None):
        with pytest.raises(ZeroDivisionError):
            painless.train("FrozenLake-v1", seconds=seconds)
    assert seen == [5.0, None]


def test_a_time_limit_that_matters_is_told():
    """Without one the learned model of the lake says more than its episodes collect, and the status names both."""
    lake = gymnasium.make("FrozenLake-v1", max_episode_steps=25)
    training = painless.train(lake, discount=0.99, steps=8000, seed=0)
    told = re.search(r"cut off after 25 steps, episodes collect a reward of (\S+)\.$", str(training.status))
    low, high = training.estimate.low[0], training.estimate.high[0]
    assert low <= float(told[1]) <= high < training.trace.reward_value[-1]
    assert "cut off" not in str(quick(steps=2000).status)


class Kinds(Walk):
    """Reports the same numbers as a walk, in all kinds of types: some are read on the fast path, some are not."""

    kinds = (
        float,
        np.float32,
        np.float64,
        np.array,
        lambda value: np.array([value]),
        lambda value: int(value),
    )

    def step(self, action):
        seen, reward, ended, cut, info = super().step(action)
        kind = self.kinds[int(self.np_random.integers(len(self.kinds)))]
        flag = bool if kind is float else np.bool_
        return seen, kind(reward), flag(ended), flag(cut), {"cost": kind(info["cost"])}


class Drawing(Walk):
    """A walk that draws as often as `Kinds`."""

    def step(self, action):
        result = super().step(action)
        self.np_random.integers(len(Kinds.kinds))
        return result


@pytest.mark.parametrize("constraints", ["cost<=3", [(lambda *step: step[-1]["cost"], "<=3")]])
def test_numbers_of_all_kinds_are_read_alike(constraints):
    mixed, plain = (quick(one, constraints=constraints, steps=2000) for one in (Kinds, Drawing))
    np.testing.assert_array_equal(mixed.visits, plain.visits)
    np.testing.assert_array_equal(mixed.estimate.mean, plain.estimate.mean)


class Ring(gymnasium.Env):
    """Twelve places in a circle, for ever: three of them cost 1, and the best reward is among these."""

    observation_space, action_space = spaces.Discrete(12), spaces.Discrete(3)
    rewards = (2.0, 0, 0, 0, 0, 1.5, 0, 0, 3.0, 0, 0, 0)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return 0, {}

    def step(self, action):
        self.place = (self.place + (1, -1, 0)[action]) % 12
        cost = float(self.place in (7, 8, 9))
        return self.place, float(self.rewards[self.place]), False, False, {"cost": cost}


@pytest.mark.parametrize("seed", range(4))
def test_a_few_fresh_episodes_that_lack_what_is_rare_agree_with_the_model(seed):
    """The answer leaves the free places once in many steps: four episodes often show nothing of it, and their own deviation is that of nothing."""
    training = painless.train(Ring, constraints="cost<=3", discount=0.95, steps=20_000, seed=seed)
    assert training.estimate.episodes < 10
    assert training.verdict == ("met",)
    assert training.estimate.low[1] < 2.94 < training.estimate.high[1]


def test_a_cost_of_nothing_is_kept_with_the_largest_reward():
    class Free(Ring):
        def step(self, action):
            return *super().step(action)[:-1], {"cost": float(self.place in (6, 8))}

    for seed in range(3):
        training = painless.train(Free, constraints="cost<=0", discount=0.95, steps=5000, seed=seed)
        assert training.estimate.mean[1] == 0
        assert training.discounted[0] == pytest.approx(40, rel=0.02)  # it stays where it begins


class Slow(Walk):
    """A clock that a step moves by 20 ms; episodes never end."""

    taken = 0

    def step(self, action):
        Slow.taken += 1
        time.sleep(0.02)
        _, reward, _, cut, info = super().step(action)
        self.place = min(self.place, 3)
        return self.shown(self.place), reward, False, cut, info


def test_a_budget_in_seconds_holds_for_slow_steps():
    """A second has at most 50 steps, and is followed by about as much to end in; one fresh episode has 1000."""
    seen, before = [], Slow.taken
    training = painless.train(
        Slow, constraints="cost<=3", discount=0.9, seconds=1.0, time_limit=1000, progress=seen.append
    )
    assert Slow.taken - before < 400
    assert training.verdict == ("unclear",)
    assert "No fresh episode ended within the budget: allow more seconds." in str(training.status)
    assert seen[0].steps < 200


def test_an_early_end_can_be_resumed_however_soon_it_came(tmp_path):
    """The clock says that it is not yet time for a checkpoint."""
    options = {"steps": 6000, "constraints": "cost<=2"}
    whole = quick(**options)
    options |= {"checkpoint": tmp_path / "checkpoint.npz", "save_every": 1000.0}

    def stop(now):
        if now.steps > 1000:
            raise KeyboardInterrupt

    first = quick(progress=stop, **options)
    assert "Stopped: interrupted; run it again for longer." in str(first.status)
    assert (tmp_path / "checkpoint.npz").exists()
    again = quick(resume=True, **options)
    np.testing.assert_array_equal(
        again.policy.policies[0].probabilities, whole.policy.policies[0].probabilities
    )


def test_a_checkpoint_that_could_not_be_read_again_is_refused():
    with pytest.raises(InputError, match=r"checkpoint is 'run\.ckpt'; give it a name that ends in \.npz"):
        quick(checkpoint="run.ckpt")


def test_ids_of_the_command_line_and_round_numbers_of_steps_are_taken():
    training = painless.train("gym:FrozenLake-v1", discount=0.9, steps=2e3, time_limit=50)
    assert sum(training.steps.values()) == pytest.approx(2000, rel=0.1)
    with pytest.raises(InputError, match=r"steps is 2000\.5; it must be a whole number"):
        quick(steps=2000.5)
