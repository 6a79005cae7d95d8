"""Gymnasium in both directions: ours pass its checker; theirs train, and say where they misbehave."""

import warnings
from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

import painless
from painless import CartPole, InputError
from painless.environments import (
    IDS,
    Constraint,
    Predictor,
    from_gymnasium,
    suggest_features,
    table_from_gymnasium,
)
from painless.environments.grid import grid_image, grid_text, places
from painless.evaluators import AnchoredLSTDQ
from painless.features import Fourier, OneHot, TileCoding
from painless.simulation.rollouts import roll_out


class Walk(gymnasium.Env):
    """A walk on 0..4 that ends at 4 with reward 1; a step to the right costs 1. It misbehaves on request."""

    observation_space = spaces.Discrete(5)
    action_space = spaces.Discrete(2)
    trouble, at_step = None, 3

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.steps = 0, 0
        return self.place, {}

    def step(self, action):
        self.steps += 1
        self.place = max(0, min(4, self.place + (1 if action else -1)))
        reward, info = float(self.place == 4), {"cost": float(action)}
        if self.trouble and self.steps == self.at_step:
            reward, info = self.trouble(reward, info)
        return self.place, reward, self.place == 4, False, info


class Fair:
    """Both actions equally often."""

    def at(self, states):
        return np.full((len(states), 2), 0.5)


def raises(env, reward, info):
    raise ZeroDivisionError("oh")


# ---------------------------------------------------------------- ours for them


@pytest.mark.parametrize("name", IDS)
def test_ours_pass_the_checker_without_a_warning(name):
    env = gymnasium.make(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    env.close()


def test_infos_and_what_can_be_read():
    env = gymnasium.make("painless/CartPole-v0").unwrapped
    env.reset(seed=0)
    *_, info = env.step(1)
    np.testing.assert_array_equal(info["constraint_rewards"], [1.0, 1.0])
    assert info["cost"] == 0.0
    assert env.discount == 0.99
    np.testing.assert_array_equal(env.thresholds, [79.0, 80.0])
    assert env.senses == (">=", ">=")


def test_episodes_are_truncated_at_the_time_limit():
    env = gymnasium.make("painless/Tabular-v0", time_limit=3)
    env.reset(seed=0)
    assert [env.step(0)[3] for _ in range(3)] == [False, False, True]


def test_a_cost_is_a_cost():
    problem = painless.CMDP(
        np.ones((1, 2, 1)),
        cost=[[5.0, 1.0]],
        initial=[1.0],
        discount=0.5,
        constraint_cost=[[0.0, 3.0]],
        budget=1.0,
        actions=[[True, True]],
    )
    env = gymnasium.make("painless/Tabular-v0", problem=problem)
    env.reset(seed=0)
    _, reward, _, _, info = env.step(1)
    assert reward == -1.0
    assert info["cost"] == 3.0
    np.testing.assert_array_equal(info["constraint_rewards"], [-3.0])


def test_tables_from_files_and_masks(tmp_path):
    problem = painless.CMDP(
        np.ones((1, 2, 1)), [[0.0, 1.0]], initial=[1.0], discount=0.5, actions=[[True, False]]
    )
    problem.save(tmp_path / "small.npz")
    env = gymnasium.make("painless/Tabular-v0", problem=str(tmp_path / "small.npz"))
    _, info = env.reset(seed=0)
    np.testing.assert_array_equal(info["action_mask"], [1, 0])
    with pytest.raises(InputError, match="state 0 has no action 1"):
        env.step(1)
    with pytest.raises(InputError, match="call reset first"):
        gymnasium.make("painless/CartPole-v0").unwrapped.step(0)


def test_vector_environment_follows_the_single_one():
    """From the same states, a batch steps like single episodes, and begins anew after an end."""
    env = gymnasium.make_vec("painless/CartPole-v0", num_envs=7)
    states, _ = env.reset(seed=3)
    rng, ended = np.random.default_rng(0), np.zeros(7, dtype=bool)
    simulator, restarts = CartPole(), 0
    for _ in range(120):
        actions = rng.integers(2, size=7)
        expected = simulator.step(states, actions, rng)
        following, rewards, terminated, truncated, info = env.step(actions)
        going = ~ended
        np.testing.assert_array_equal(following[going], expected.states[going])
        np.testing.assert_array_equal(rewards[going], expected.utilities[going, 0])
        np.testing.assert_array_equal(info["constraint_rewards"][going], expected.utilities[going, 1:])
        assert (np.abs(following[ended]) <= 0.05).all()
        assert (rewards[ended] == 0).all()
        restarts += ended.sum()
        states, ended = following, terminated | truncated
    assert restarts > 3
    assert env.observation_space.contains(states)


def test_vector_tables_step():
    env = gymnasium.make_vec("painless/Tabular-v0", num_envs=4, problem=painless.gridworld(), time_limit=5)
    env.reset(seed=[1, 2, 3, 4])
    results = [env.step(np.zeros(4, dtype=int)) for _ in range(6)]
    assert results[4][3].all()
    assert not results[5][3].any()


def test_grids_are_drawn():
    world = painless.gridworld()
    text = grid_text(world, 6)
    assert text.splitlines()[0] == ". + . + ."
    assert text.splitlines()[1] == ". @ . . ."
    picture = grid_image(world, 6)
    assert picture.shape == (120, 120, 3)
    assert tuple(picture[36, 36]) == (213, 94, 0)
    plain = painless.garnet(4, 2, 2, seed=0)
    assert places(plain) is None
    assert grid_text(plain, 2) == "state 2\n"
    assert grid_image(plain, 2).shape == (24, 96, 3)
    env = gymnasium.make("painless/Tabular-v0", render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().dtype == np.uint8


# ---------------------------------------------------------------- theirs for us


@pytest.mark.parametrize(("name", "value"), [("FrozenLake-v1", 0.18047), ("CliffWalking-v1", -9.73316)])
def test_toy_text_is_solved_exactly_and_learned_to_the_same_value(name, value):
    table = table_from_gymnasium(name, discount=0.95)
    exact = painless.solve(table, tolerance=1e-8)
    assert exact.reward_value == pytest.approx(value, abs=1e-5)
    training = painless.train(name, discount=0.95, steps=30_000, time_limit=100)
    assert training.algorithm == "counted"
    found = painless.evaluate(
        training.policy, from_gymnasium(name, discount=0.95), episodes=3000, confidence=0.99
    )
    assert found.low[0] - 1e-6 <= exact.reward_value <= found.high[0] + 1e-6
    assert found.mean[0] == pytest.approx(exact.reward_value, abs=0.02)


def test_table_and_steps_of_an_environment_agree():
    """The value of a policy by its table lies in the interval from stepping the environment."""
    table = table_from_gymnasium(
        "FrozenLake-v1", discount=0.95, constraint_reward=np.ones((16, 4)), threshold=1.0
    )
    assert table.shape == (17, 4, 1)  # the end pays no constraint reward, so it is a state of its own
    policy = painless.solve(table_from_gymnasium("FrozenLake-v1", discount=0.95)).policy
    simulator = from_gymnasium("FrozenLake-v1", discount=0.95)
    found = painless.evaluate(policy, simulator, episodes=2000, confidence=0.999)
    assert found.low[0] <= 0.1805 <= found.high[0]


def test_constraint_from_info_is_met():
    """Walking right pays, each step to the right costs: a budget forbids what the reward wants."""
    loose, tight = (
        painless.train(
            from_gymnasium(Walk, constraints=f"cost<={budget}", discount=0.9, time_limit=30),
            iterations=60,
            episodes=500,
            seed=1,
        )
        for budget in (5.0, 1.0)
    )
    assert loose.estimate.met == (True,)
    assert loose.estimate.mean == pytest.approx([0.9**3, 1 + 0.9 + 0.81 + 0.729], abs=0.05)
    assert tight.estimate.met != (False,)
    assert tight.estimate.mean[1] <= 1.3
    assert tight.estimate.mean[0] < 0.5
    assert tight.estimate.sense == ("<=",)
    assert tight.multiplier[0] > loose.multiplier[0]


def test_ranges_are_seen_or_declared():
    seen = from_gymnasium(Walk, constraints="cost<=5", discount=0.9, time_limit=30).specification
    np.testing.assert_array_equal(seen.low, [0.0, -1.0])
    np.testing.assert_array_equal(seen.high, [1.0, 0.0])
    assert not seen.declared
    told = from_gymnasium(
        Walk,
        constraints=Constraint(key="cost", limit=5.0, low=0.0, high=2.0),
        discount=0.9,
        time_limit=30,
        reward_range=(-1.0, 1.0),
    ).specification
    np.testing.assert_array_equal(told.low, [-1.0, -2.0])
    assert told.declared


def test_vector_rewards():
    class Two(Walk):
        def step(self, action):
            state, reward, ended, cut, info = super().step(action)
            return state, np.array([reward, -1.0]), ended, cut, info

    simulator = from_gymnasium(Two, constraints="reward[1]>=-8", objective=0, discount=0.9, time_limit=30)
    found = roll_out(
        simulator, painless.TabularPolicy(np.tile([0.0, 1.0], (5, 1))), 3, np.random.default_rng(0)
    )
    np.testing.assert_allclose(found.returns, [[0.9**3, -(1 + 0.9 + 0.81 + 0.729)]] * 3)
    with pytest.raises(InputError, match="say which to maximise with objective="):
        from_gymnasium(Two, discount=0.9, time_limit=30)
    with pytest.raises(InputError, match=r"there is no reward\[5\]"):
        from_gymnasium(Two, constraints="reward[5]>=0", objective=0, discount=0.9, time_limit=30)


@pytest.mark.parametrize("seed", [0, 3, 7])
def test_what_lies_beyond_a_tight_limit_is_found(seed):
    """The best mixture of treasures takes the deepest one now and then; plans that keep the limit hardly ever go and look, and found two thirds of this."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*precision lowered by casting.*")
        import mo_gymnasium

        training = painless.train(
            lambda: mo_gymnasium.make("deep-sea-treasure-concave-v0"),
            constraints="reward[1]>=-3",
            objective=0,
            discount=0.95,
            steps=6000,
            seed=seed,
        )
    assert training.verdict == ("met",)
    assert training.trace.reward_value[-1] > 9.2  # of 9.43


@pytest.mark.parametrize(
    ("name", "constraint", "objective"),
    [("deep-sea-treasure-v0", "reward[1]>=-6", 0), ("resource-gathering-v0", "reward[0]>=-0.5", 1)],
)
def test_mo_gymnasium_through_the_adapter(name, constraint, objective):
    with warnings.catch_warnings():
        # MO-Gymnasium's own spaces
        warnings.filterwarnings("ignore", message=".*precision lowered by casting.*")
        import mo_gymnasium

        simulator = from_gymnasium(
            lambda: mo_gymnasium.make(name),
            constraints=constraint,
            objective=objective,
            discount=0.99,
            time_limit=60,
        )
        training = painless.train(
            simulator,
            evaluator=partial(AnchoredLSTDQ, rollouts=20, exploration=0.3),
            iterations=25,
            episodes=200,
            multiplier_bound=10.0,
        )
    assert len(training.estimate.mean) == 2
    assert training.estimate.met != (False,)


def test_six_tuples_of_safety_gymnasium():
    class Safe(Walk):
        def step(self, action):
            state, reward, ended, cut, info = super().step(action)
            return state, reward, info.pop("cost"), ended, cut, info

    simulator = from_gymnasium(Safe, constraints="cost<=5", discount=0.9, time_limit=30)
    found = roll_out(
        simulator, painless.TabularPolicy(np.tile([0.0, 1.0], (5, 1))), 2, np.random.default_rng(0)
    )
    np.testing.assert_allclose(found.returns[:, 1], -(1 + 0.9 + 0.81 + 0.729))


def test_truncation_is_no_end():
    simulator = from_gymnasium(gymnasium.wrappers.TimeLimit(Walk(), 2), discount=0.9, time_limit=30)
    found = roll_out(
        simulator, painless.TabularPolicy(np.tile([1.0, 0.0], (5, 1))), 3, np.random.default_rng(0)
    )
    assert len(found.actions) == 6
    assert not found.terminated.any()


def test_native_vector_versions_are_used():
    from painless.environments.vectorised import VectorGymnasiumSimulator

    simulator = painless.from_gymnasium("CartPole-v1", discount=0.99, time_limit=100)
    assert isinstance(simulator, VectorGymnasiumSimulator)
    runs = [roll_out(simulator, Fair(), 20, np.random.default_rng(0)) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].returns, runs[1].returns)
    single = painless.from_gymnasium(lambda: gymnasium.make("CartPole-v1"), discount=0.99, time_limit=100)
    assert not isinstance(single, VectorGymnasiumSimulator)
    alone = roll_out(single, Fair(), 200, np.random.default_rng(1))
    several = roll_out(simulator, Fair(), 200, np.random.default_rng(1))
    assert abs(alone.value - several.value)[0] < 5 * (alone.standard_error + several.standard_error)[0]
    training = painless.train(simulator, iterations=10, episodes=20)
    assert training.trace.reward_value[-1] > training.trace.reward_value[0]
    with pytest.raises(InputError, match="step all"):
        simulator.step(
            simulator.reset(3, np.random.default_rng(0))[:2], np.zeros(2, int), np.random.default_rng(0)
        )


def test_constraints_of_vector_versions():
    ours = "painless/CartPole-v0"
    simulator = from_gymnasium(ours, constraints="cost<=5", discount=0.99)
    found = roll_out(simulator, Fair(), 10, np.random.default_rng(0))
    assert found.utilities.shape[1] == 2
    assert found.utilities[:, 1].min() < 0
    with pytest.raises(InputError, match="info has no key 'fuel'; its keys: constraint_rewards, cost"):
        from_gymnasium(ours, constraints="fuel<=5", discount=0.99)


def test_environments_that_never_end_are_cut_off():
    class Endless(Walk):
        def step(self, action):
            state, reward, _, _, info = super().step(0)
            return state, reward, False, False, info

    simulator = from_gymnasium(Endless, constraints="cost<=5", discount=0.9)
    assert simulator.specification.time_limit == 1000
    assert (
        len(
            roll_out(
                simulator, painless.TabularPolicy(np.full((5, 2), 0.5)), 1, np.random.default_rng(0)
            ).actions
        )
        == 1000
    )


def test_seeds_decide_everything():
    runs = [
        painless.train(
            from_gymnasium("FrozenLake-v1", discount=0.9, time_limit=20),
            evaluator=partial(AnchoredLSTDQ, rollouts=5, exploration=0.2),
            iterations=4,
            episodes=20,
        )
        for _ in range(2)
    ]
    np.testing.assert_array_equal(runs[0].trace.reward_value, runs[1].trace.reward_value)


def test_an_instance_is_copied():
    simulator = from_gymnasium(Walk(), constraints="cost<=5", discount=0.9, time_limit=10)
    assert simulator.reset(3, np.random.default_rng(0)).tolist() == [0, 0, 0]
    assert len({id(one) for one in simulator.pool}) == 3


# ---------------------------------------------------------------- environments that misbehave


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        (lambda env, reward, info: (reward, {}), r"step 3: info has no key 'cost'; its keys: none"),
        (lambda env, reward, info: (np.nan, info), "step 3: reward is nan"),
        (lambda env, reward, info: (reward, {"cost": np.inf}), r"step 3: info\['cost'\] is inf"),
        (
            lambda env, reward, info: (reward, {"cost": [1.0, 2.0]}),
            r"step 3: info\['cost'\] has shape \(2,\)",
        ),
        (raises, "step 3: the environment raised ZeroDivisionError"),
    ],
    ids=["missing key", "NaN reward", "infinite cost", "wrong shape", "raises"],
)
def test_misbehaviour_is_named(trouble, message):
    class Bad(Walk):
        pass

    Bad.trouble = trouble
    with pytest.raises(InputError, match=message):
        from_gymnasium(Bad, constraints="cost<=5", discount=0.9, time_limit=30)


def test_misbehaviour_in_the_middle_leaves_the_checkpoint(tmp_path):
    class Late(Walk):
        count = 0

        def step(self, action):
            Late.count += 1
            if Late.count > 20000:
                raise OSError("the robot fell")
            return super().step(action)

    path = tmp_path / "checkpoint.npz"
    simulator = from_gymnasium(Late, constraints="cost<=5", discount=0.9, time_limit=20)
    with pytest.raises(InputError, match="the robot fell"):
        painless.train(simulator, iterations=10**6, multiplier_bound=10.0, checkpoint=path, save_every=0.0)
    assert path.exists()
    Late.count = -(10**9)
    with np.load(path) as stored:
        done = len(stored["values"])
    assert done > 3


def test_observations_of_another_shape():
    class Odd(gymnasium.Env):
        observation_space = spaces.Box(-1.0, 1.0, (2,))
        action_space = spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            return np.zeros(2), {}

        def step(self, action):
            return np.zeros(3), 0.0, False, False, {}

    with pytest.raises(InputError, match=r"observation has shape \(3,\), not \(2,\)"):
        from_gymnasium(Odd, discount=0.9, time_limit=5)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ("NoSuchThing-v3", "does not know 'NoSuchThing-v3'"),
    ],
)
def test_environments_that_cannot_be_trained(environment, message):
    with pytest.raises(InputError, match=message):
        from_gymnasium(environment, discount=0.9)


def test_features_are_for_actions_that_can_be_counted(monkeypatch):
    monkeypatch.setattr("painless.common.extras.torch_is_installed", lambda: True)
    simulator = from_gymnasium("Pendulum-v1", discount=0.9)
    monkeypatch.setattr("painless.common.extras.torch_is_installed", lambda: False)
    with pytest.raises(InputError, match="only Discrete actions"):
        from_gymnasium("Pendulum-v1", discount=0.9)
    with pytest.raises(InputError, match="only Discrete actions"):
        simulator.features()


def test_steps_must_follow():
    simulator = from_gymnasium(Walk, discount=0.9, time_limit=5)
    states = simulator.reset(3, np.random.default_rng(0))
    with pytest.raises(InputError, match="step all 3 episodes"):
        simulator.step(states[:2], np.zeros(2, dtype=int), np.random.default_rng(0))


def test_no_table():
    with pytest.raises(InputError, match="publishes no table P"):
        table_from_gymnasium("CartPole-v1", discount=0.9)


@pytest.mark.parametrize("text", ["cost", "cost<25", "<=3", "cost<=x"])
def test_constraints_that_cannot_be_read(text):
    with pytest.raises(InputError, match="is not a constraint"):
        Constraint.parse(text)


def test_constraints_that_make_no_sense():
    with pytest.raises(InputError, match="and not both"):
        Constraint(key="cost", index=1)
    with pytest.raises(InputError, match="must be >= or <="):
        Constraint(key="cost", sense="<")


# ---------------------------------------------------------------- features and callables


def test_features_are_suggested():
    cartpole = from_gymnasium("CartPole-v1", discount=0.99)
    tiles = suggest_features(cartpole)
    assert isinstance(tiles, TileCoding)
    assert tiles.dimension == 8 * 2 * 512
    assert np.isfinite(tiles.upper).all()
    assert isinstance(suggest_features(cartpole, "fourier"), Fourier)
    # Six numbers are too many for tiles
    fourier = suggest_features(from_gymnasium("Acrobot-v1", discount=0.99))
    assert isinstance(fourier, Fourier)
    assert fourier.dimension == 3 * (1 + 6 * 3 + 15 * 9)
    lake = from_gymnasium("FrozenLake-v1", discount=0.9)
    assert suggest_features(lake) == OneHot(16, 4)
    assert isinstance(suggest_features(lake, "tiles"), TileCoding)
    with pytest.raises(InputError, match="need Discrete observations"):
        suggest_features(cartpole, "one-hot")
    with pytest.raises(InputError, match="did you mean 'tiles'"):
        suggest_features(cartpole, "tile")


@pytest.mark.parametrize(
    ("numbers", "order", "interaction"), [(8, 3, 2), (20, 2, 2), (100, 3, 1), (400, 1, 1)]
)
def test_a_fourier_basis_has_at_most_2000_features(numbers, order, interaction):
    space = gymnasium.spaces.Box(-1.0, 1.0, (numbers,))
    environment = wide(space)
    basis = suggest_features(from_gymnasium(lambda: environment, discount=0.9, time_limit=3))
    assert (basis.order, basis.interaction) == (order, interaction)
    assert basis.dimension <= 2000


@pytest.mark.parametrize(
    ("numbers", "order", "interaction"), [(1, 3, 10**12), (2, 1, 1), (3, 2, 2), (4, 3, 3), (5, 2, 1)]
)
def test_features_of_a_fourier_basis_are_counted_as_they_are_listed(numbers, order, interaction):
    basis = Fourier([0.0] * numbers, [1.0] * numbers, order, 2, interaction)
    assert basis.dimension == 2 * len(basis.frequencies)


def wide(space):
    """Return an environment of two actions that observes noise."""

    class Wide(gymnasium.Env):
        observation_space, action_space = space, gymnasium.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return self.np_random.random(space.shape, dtype=np.float32), {}

        def step(self, action):
            return self.np_random.random(space.shape, dtype=np.float32), float(action), False, False, {}

    return Wide()


def test_fourier_basis():
    features = Fourier([0.0, 0.0], [1.0, 2.0], order=1, actions=2)
    values = features.at(np.array([[0.0, 0.0], [1.0, 0.0], [9.0, 2.0]]))
    assert values.shape == (3, 2, 8)
    np.testing.assert_allclose(values[:, 0, :4], [[1, 1, 1, 1], [1, -1, 1, -1], [1, -1, -1, 1]])
    np.testing.assert_array_equal(values[:, 0, 4:], 0.0)
    np.testing.assert_array_equal(values[:, 1, 4:], values[:, 0, :4])
    with pytest.raises(InputError, match="finite bounds"):
        Fourier([0.0], [np.inf], 1, 1)
    with pytest.raises(InputError, match="at least 1"):
        Fourier([0.0], [1.0], 0, 1)
    with pytest.raises(InputError, match=r"not \(n, 2\)"):
        features.at(np.zeros((2, 3)))


def test_cartpole_with_a_fourier_basis():
    training = painless.train(
        CartPole(),
        painless.GDA(0.05, 0.001),
        features=Fourier([-2.4, -3, -0.21, -3], [2.4, 3, 0.21, 3], order=2, actions=2),
        multiplier_bound=[50, 50],
        iterations=25,
        episodes=50,
    )
    assert training.trace.reward_value[-3:].mean() > 60


def test_a_policy_is_a_callable():
    training = painless.train(
        CartPole(),
        iterations=25,
        multiplier_bound=[50, 50],
        episodes=20,
        evaluator=partial(AnchoredLSTDQ, rollouts=20),
    )
    predictor = Predictor(training.policy, seed=1)
    env = gymnasium.make("CartPole-v1")
    lengths = []
    for episode in range(5):
        state, _ = env.reset(seed=episode)
        predictor.reset()
        length, fell = 0, False
        while not fell and length < 200:
            state, _, fell, _, _ = env.step(predictor(state))
            length += 1
        lengths.append(length)
    assert np.mean(lengths) > 100
    actions, state = predictor.predict(np.zeros((3, 4)), episode_start=np.ones(3))
    assert actions.shape == (3,)
    assert state is None
    single, _ = predictor.predict(np.zeros(4), deterministic=True)
    assert single in (0, 1)


def test_a_table_is_a_callable_too():
    predictor = Predictor(painless.TabularPolicy(np.array([[0.0, 1.0], [1.0, 0.0]])))
    assert predictor(0) == 1
    actions, _ = predictor.predict(np.array([0, 1, 0]))
    np.testing.assert_array_equal(actions, [1, 0, 1])
    assert predictor.predict(1)[0] == 0
