"""Training without a model: CartPole learned, intervals that hold, and runs that survive interruption."""

import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import painless
from painless import CBP, CRPO, GDA, PRM, CartPole, InputError
from painless.evaluators import AnchoredLSTDQ, PlainLSTDQ, TemporalDifference
from painless.features import OneHot
from painless.simulation.confidence import betting_interval
from painless.simulation.simulator import TableSimulator
from painless.solving.solution import Kind
from painless.storage import results
from painless.training.counted import Budget
from painless.training.evaluate import Estimate
from painless.training.sampled_feasibility import sampled_slack
from painless.training.train import _divided
from tests.extras import POSIX
from tests.killing import changes, kill_once

BOUND = [50.0, 50.0]


def short(algorithm=None, **options):
    """A short run on CartPole, without the feasibility phase."""
    few = {"iterations": 12, "episodes": 50, "multiplier_bound": BOUND, "seed": 3, "save_every": 0.0}
    return painless.train(
        CartPole(), algorithm, evaluator=partial(AnchoredLSTDQ, rollouts=10), **few | options
    )


def same(one, other):
    for name in ("reward_value", "constraint_value", "multiplier"):
        np.testing.assert_array_equal(getattr(one.trace, name), getattr(other.trace, name))
    np.testing.assert_array_equal(one.estimate.mean, other.estimate.mean)
    assert one.steps == other.steps


# ---------------------------------------------------------------- intervals


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.random(n),
        lambda rng, n: (rng.random(n) < 0.02).astype(float),
        lambda rng, n: rng.beta(10, 1, n),
        lambda rng, n: np.full(n, 0.3),
    ],
    ids=["uniform", "rare", "skewed", "constant"],
)
def test_intervals_cover(draw):
    rng = np.random.default_rng(0)
    mean = float(np.mean(draw(np.random.default_rng(99), 2_000_000)))
    missed = sum(
        not (interval.low <= mean <= interval.high)
        for interval in (betting_interval(draw(rng, 100), 0.0, 1.0, 0.9) for _ in range(200))
    )
    assert missed <= 30  # 10 % of 200, and three standard deviations


def test_intervals_shrink_and_adapt():
    rng = np.random.default_rng(0)
    widths = [np.ptp(betting_interval(rng.random(n), 0.0, 1.0)[1:]) for n in (100, 1000)]
    assert widths[1] < 0.5 * widths[0]
    calm = np.ptp(betting_interval(0.5 + 0.01 * rng.standard_normal(1000), 0.0, 1.0)[1:])
    assert calm < 0.25 * widths[1]


def test_intervals_refuse():
    with pytest.raises(InputError, match="outside the declared range"):
        betting_interval(np.array([0.0, 2.0]), 0.0, 1.0)
    with pytest.raises(InputError, match="between 0 and 1"):
        betting_interval(np.array([0.0]), 0.0, 1.0, confidence=1.0)
    assert betting_interval(np.ones(3), 1.0, 1.0) == (1.0, 1.0, 1.0)


def test_evaluate_holds_the_exact_values():
    world = painless.gridworld(constraints=3)
    solution = painless.solve(world)
    found = painless.evaluate(solution.policy, world, episodes=1000)
    exact = np.append(solution.reward_value, solution.constraint_value)
    assert (found.low <= exact).all()
    assert (exact <= found.high).all()
    assert found.met == (None, None, None)  # the optimum lies on its constraints
    loose = painless.evaluate(solution.policy, world.with_limits([0.5, 0.1, 9.0]), episodes=1000)
    assert loose.met == (True, True, False)
    with pytest.raises(InputError, match="at least 2"):
        painless.evaluate(solution.policy, world, episodes=1)


def test_evaluate_a_mixture_of_unlike_policies():
    """Half of the episodes are of a policy that never pays: the interval holds the mixed mean, and is short."""
    from painless.learners import ExponentiatedGradient
    from painless.policies import LinearQ, MixturePolicy, start_policy

    problem = painless.CMDP(np.ones((1, 2, 1)), [[0.0, 1.0]], initial=[1.0], discount=0.5)
    features = OneHot(1, 2)

    def always(action):
        policy = start_policy(ExponentiatedGradient(100.0), features)
        return policy.advance(np.ones((1, 1)), LinearQ(features, np.eye(2)[action][None, None]))

    mixture = MixturePolicy.uniform((always(0), always(1)))
    found = painless.evaluate(mixture, TableSimulator(problem), episodes=1000)
    assert found.low[0] <= 1.0 <= found.high[0]
    assert found.high[0] - found.low[0] < 0.4


def test_evaluate_in_the_user_s_terms():
    cost = painless.CMDP(
        np.ones((1, 1, 1)), cost=[[2.0]], initial=[1.0], discount=0.5, constraint_cost=[[1.0]], budget=2.5
    )
    found = painless.evaluate(painless.TabularPolicy(np.ones((1, 1))), cost, episodes=100)
    assert found.low[0] <= 4.0 <= found.high[0]
    assert found.met == (True,)
    assert found.threshold == [2.5]


# ---------------------------------------------------------------- learning


def test_cartpole_is_learned_within_both_constraints():
    training = painless.train(CartPole(), iterations=60, seed=1, episodes=300)
    assert training.status.kind is Kind.COMPLETED
    assert training.trace.reward_value[-20:].mean() >= 85
    assert training.feasible is True
    assert "met with 95 % confidence" in str(training.status)
    assert (training.multiplier_bound < 200).all()
    assert set(training.steps) == {"feasibility", "training", "evaluation"}
    assert min(training.steps.values()) > 0
    assert not training.trace.exact
    assert "position" in repr(training)


@pytest.mark.parametrize(
    "algorithm",
    [
        GDA(0.01, 0.001),
        CRPO(0.1, 10.0),
        CBP.theoretical(),
        CBP(5.0, entropy=0.01),
        GDA(0.01, 0.001, entropy=0.1),
    ],
    ids=lambda algorithm: repr(algorithm),
)
def test_every_algorithm_trains(algorithm):
    training = short(algorithm)
    assert training.trace.reward_value.shape == (12,)
    assert np.isfinite(training.trace.reward_value).all()
    assert training.trace.reward_value[-3:].mean() > training.trace.reward_value[0]


def test_plain_lstdq_is_the_paper_s():
    plain = painless.train(
        CartPole(),
        evaluator=partial(PlainLSTDQ, rollouts=10),
        iterations=5,
        multiplier_bound=BOUND,
        episodes=20,
    )
    expected = painless.train(
        CartPole(),
        evaluator=partial(PlainLSTDQ, rollouts=10, expected=True),
        iterations=5,
        multiplier_bound=BOUND,
        episodes=20,
    )
    assert plain.trace.reward_value[0] == expected.trace.reward_value[0]
    assert plain.trace.reward_value[-1] != expected.trace.reward_value[-1]


def test_seed_decides_everything():
    same(short(), short())
    assert short(seed=4).trace.reward_value[0] != short().trace.reward_value[0]


def test_lstdq_over_one_hot_features_finds_the_action_values():
    """With a large table of samples, both solvers come close to the exact Q."""
    problem = painless.garnet(4, 2, 2, 1, seed=0, discount=0.7)
    features = OneHot(4, 2)
    simulator = TableSimulator(problem, time_limit=40)
    from painless.evaluators import ExactEvaluator
    from painless.learners import CoinBetting
    from painless.policies import start_policy
    from painless.policies.learning_table import LearningTable

    exact = ExactEvaluator(problem).evaluate(LearningTable.start(CoinBetting(), np.full((1, 4, 2), 0.5)))
    for make in (partial(AnchoredLSTDQ, anchor=1e-6), partial(PlainLSTDQ, expected=True), PlainLSTDQ):
        evaluator = make(simulator, features, rollouts=2000)
        found = evaluator.evaluate(start_policy(CoinBetting(), features), [np.random.default_rng(0)])
        np.testing.assert_allclose(found.q.at(np.arange(4)), exact.q.at(np.arange(4)), atol=0.05)
        assert (np.abs(found.value - exact.value) < 5 * found.standard_error).all()
        assert found.steps == 2000 * 40


def test_unvisited_features_keep_their_weights():
    simulator, features = CartPole(), CartPole().features()
    from painless.learners import CoinBetting
    from painless.policies import LinearQ, start_policy

    policy = start_policy(CoinBetting(100.0), features)
    policy = policy.advance(np.ones((1, 3)), LinearQ(features, np.full((1, 3, 4096), 0.7)))
    found = AnchoredLSTDQ(simulator, features, 5).evaluate(policy, [np.random.default_rng(0)])
    assert (found.q.weights[0] == 0.7).mean() > 0.5
    assert not (found.q.weights[0] == 0.7).all()


def test_features_that_no_memory_holds_are_refused_before_the_first_step():
    class Many:
        actions, dimension = 2, 2 * 10**6

        def at(self, states):
            pytest.fail("formed")

    with pytest.raises(InputError, match=r"2,000,000 features make equations of up to 9\.6e\+04 GB"):
        painless.train(CartPole(), features=Many(), iterations=1)


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (Budget(100_000, None), (41, 12, 250)),
        (Budget(None, 60.0), (200, 50, 1000)),
        (Budget(100, None), (10, 5, 100)),
    ],
)
def test_a_budget_is_divided(budget, expected):
    """An episode is planned as the geometric mean of a random one, 20 steps, and of the longest, 500; seconds say nothing of steps."""
    simulator = SimpleNamespace(length=20.0, specification=SimpleNamespace(time_limit=500))
    assert _divided(simulator, budget, 1000) == expected


def test_dense_features_train_too():
    class Quadratic:
        actions, dimension = 2, 2 * 15

        def at(self, states):
            scaled = np.column_stack([states / [2.4, 3.0, 0.2, 3.0], np.ones(len(states))])
            products = scaled[:, :, None] * scaled[:, None, :]
            terms = products[:, *np.triu_indices(5)]
            return np.stack([np.hstack([terms, 0 * terms]), np.hstack([0 * terms, terms])], 1)

    training = painless.train(
        CartPole(),
        GDA(0.1, 0.001),
        features=Quadratic(),
        evaluator=partial(AnchoredLSTDQ, rollouts=20),
        iterations=15,
        multiplier_bound=BOUND,
        episodes=50,
    )
    assert training.trace.reward_value[-3:].mean() > 40


# ---------------------------------------------------------------- feasibility without a model


def test_feasibility_is_found_jointly():
    simulator = CartPole()
    found = sampled_slack(
        simulator,
        simulator.features(),
        AnchoredLSTDQ(simulator, simulator.features()),
        np.random.default_rng(0),
    )
    assert found.found
    assert (found.slack > 1).all()
    assert (found.slack < 8).all()
    assert found.steps > 0


@pytest.mark.parametrize("feasibility_iterations", [3, 20, 25])
def test_no_feasible_policy_found_is_not_infeasible(feasibility_iterations):
    training = painless.train(
        CartPole(threshold=(86.5, 90.0)),
        evaluator=partial(AnchoredLSTDQ, rollouts=5),
        iterations=5,
        feasibility_iterations=feasibility_iterations,
        episodes=50,
    )
    assert training.status.kind is Kind.STOPPED
    assert "no feasible policy found" in str(training.status)
    assert "infeasible" not in str(training.status).lower()
    assert training.feasible is False
    assert len(training.trace) == 0
    assert training.as_dict()["average"] is None
    json.dumps(training.as_dict())


def test_a_table_without_constraints_needs_no_feasibility_phase():
    free = painless.garnet(6, 2, 3, 0, seed=1)
    training = painless.train(
        TableSimulator(free),
        features=OneHot(6, 2),
        evaluator=partial(AnchoredLSTDQ, rollouts=20),
        iterations=20,
        episodes=200,
    )
    assert training.steps["feasibility"] == 0
    assert training.feasible is True
    best = painless.solve(free).reward_value
    assert training.trace.reward_value[-5:].mean() > 0.95 * best


def test_mixture_meets_the_constraints_by_its_estimates():
    """Two iterates, one rich and one safe: the best mixture that keeps the limit with its margin."""
    from painless.learners import CoinBetting
    from painless.loop.framework import Position
    from painless.policies import start_policy
    from painless.training.checkpoint import TrainingState
    from painless.training.iterate_mixture import training_mixture

    first = start_policy(CoinBetting(), OneHot(2, 2))
    from painless.policies import LinearQ

    second = first.advance(np.ones((1, 2)), LinearQ(OneHot(2, 2), np.ones((1, 2, 4))))
    run = TrainingState(
        Position(second, None),
        np.random.default_rng(0),
        values=[np.array([10.0, 0.0]), np.array([0.0, 10.0])],
        errors=[np.zeros(2), np.array([0.0, 1.0])],
        weights=[],
        kept=[first, second],
    )
    np.testing.assert_allclose(training_mixture(run, np.array([3.5])).weights, [0.5, 0.5])
    closest = training_mixture(run, np.array([9.0]))
    assert closest.policies == (second,)


def test_the_mixture_does_not_fall_for_a_lucky_iterate():
    """The best estimate lies between two poor ones, and shows no error; three others in a row are nearly as good."""
    from painless.learners import CoinBetting
    from painless.loop.framework import Position
    from painless.policies import LinearQ, start_policy
    from painless.training.checkpoint import TrainingState
    from painless.training.iterate_mixture import training_mixture

    policies = [start_policy(CoinBetting(), OneHot(2, 2))]
    for _ in range(5):
        policies.append(policies[-1].advance(np.ones((1, 2)), LinearQ(OneHot(2, 2), np.ones((1, 2, 4)))))

    def chosen(rewards, constraints, threshold):
        values = [np.array(pair) for pair in zip(rewards, constraints, strict=True)]
        run = TrainingState(
            Position(policies[-1], None), np.random.default_rng(0), values, [np.zeros(2)] * 6, [], policies
        )
        return [policies.index(p) for p in training_mixture(run, np.array([threshold])).policies]

    assert chosen([1.0, 9.0, 1.0, 8.0, 8.0, 8.0], [5.0] * 6, 4.0) in ([4], [5])
    assert chosen([1.0, 9.0, 1.0, 8.0, 8.0, 8.0], [5.0, 5.0, 0.0] * 2, 4.0) == [1], (
        "where no three meet the limit"
    )


# ---------------------------------------------------------------- interruption


def test_interrupt_and_resume_ends_with_the_same_bits(tmp_path):
    for algorithm in (CBP(), PRM(), GDA(0.01, 0.001), CRPO(0.1)):
        whole = short(algorithm)
        path = tmp_path / f"{algorithm.name}.npz"

        def interrupt(now):
            if now.iteration == 7:
                raise KeyboardInterrupt

        part = short(algorithm, checkpoint=path, progress=interrupt)
        assert part.status.kind is Kind.STOPPED
        assert path.exists()
        same(short(algorithm, checkpoint=path, resume=True), whole)


def test_interrupt_in_the_middle_of_an_iteration(tmp_path):
    """Ctrl-C comes at any instruction; what was half done is done again."""

    class Interrupted(CartPole):
        left = 0

        def step(self, states, actions, rng):
            Interrupted.left -= 1
            if Interrupted.left == 0:
                raise KeyboardInterrupt
            return super().step(states, actions, rng)

    options = {"iterations": 12, "episodes": 20, "multiplier_bound": BOUND, "seed": 3}
    evaluator = partial(AnchoredLSTDQ, rollouts=10)
    whole = painless.train(CartPole(), evaluator=evaluator, **options)
    rng = np.random.default_rng(0)
    path = tmp_path / "checkpoint.npz"
    for left in (1, *rng.integers(1, 600, 4)):
        Interrupted.left = int(left)
        painless.train(Interrupted(), evaluator=evaluator, checkpoint=path, resume=True, **options)
    same(painless.train(CartPole(), evaluator=evaluator, checkpoint=path, resume=True, **options), whole)


def test_a_finished_run_is_not_done_again(tmp_path):
    path = tmp_path / "checkpoint.npz"
    whole, seen = short(checkpoint=path), []
    same(short(checkpoint=path, resume=True, progress=seen.append), whole)
    assert seen == []


def test_resume_refuses_another_run(tmp_path):
    path = tmp_path / "checkpoint.npz"
    short(checkpoint=path)
    with pytest.raises(InputError, match="belongs to a run with seed = 3, not 4"):
        short(checkpoint=path, resume=True, seed=4)
    with pytest.raises(InputError, match="algorithm"):
        short(CBP(2.0), checkpoint=path, resume=True)
    np.savez(path, x=1)
    with pytest.raises(InputError, match="is not a checkpoint that this version of painless saved"):
        short(checkpoint=path, resume=True)


CHANGES = {
    "values": (np.zeros((3, 3)), "'errors' has shape .*; start the run again"),
    "errors": (-np.ones((12, 3)), "'errors' holds -1"),
    "weights": (np.zeros((12, 2)), r"'weights' has shape \(12, 2\)"),
    "rng": ("{}", "does not hold a checkpoint"),
    "steps": (np.array(-1), "'steps' holds -1"),
    "kept_updates": (np.arange(20), "'kept_updates' holds 12"),
    "bound_multiplier_bound": (np.ones(3), "'bound_multiplier_bound' has shape"),
    "dual_decision": (np.full((1, 2), np.nan), "'dual_decision' holds nan"),
    "history_features": (np.array([-1]), "'history_features' "),
    "last_weights": (np.ones((1, 1)), "'last_features' has shape"),
    "settings": ("[]", "does not hold a checkpoint"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_checkpoint_that_makes_no_sense_is_refused(tmp_path, name):
    """Even where its checksum is right: nothing goes on with other numbers, and nothing is a traceback."""
    path = tmp_path / "checkpoint.npz"
    short(checkpoint=path)
    content = results.read(path, "checkpoint")
    value, message = CHANGES[name]
    results.write(path, "checkpoint", content | {name: value})
    with pytest.raises(InputError, match=message):
        short(checkpoint=path, resume=True)
    del content[name]
    results.write(path, "checkpoint", content)
    with pytest.raises(InputError, match=f"does not hold a checkpoint: .*'{name}' is missing"):
        short(checkpoint=path, resume=True)


def test_resuming_removes_what_a_killed_run_left_half_written(tmp_path):
    others = [
        *(".another.npz.x1y2z3w4.painless", ".checkpoint.npz.swp", ".checkpoint.npz.x1y2z3w4"),
        *(".checkpoint.npz.painless", ".checkpoint.npz.X1.painless", "checkpoint.npz~"),
    ]
    (tmp_path / ".checkpoint.npz.x1y2z3w4.painless").write_bytes(b"half")
    for name in others:
        (tmp_path / name).write_bytes(b"not ours")
    (tmp_path / ".checkpoint.npz.folder_1.painless").mkdir()
    short(checkpoint=tmp_path / "checkpoint.npz", resume=True)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {*others, ".checkpoint.npz.folder_1.painless", "checkpoint.npz"}


@POSIX
def test_kill_and_resume_on_the_command_line(tmp_path):
    """SIGKILL after a few checkpoints: none is half-written, and the numbers are the same in the end."""
    command = [
        *(sys.executable, "-m", "painless", "train", "cartpole", "--iterations", "60", "--rollouts", "20"),
        *(
            "--multiplier-bound",
            "50",
            "--multiplier-bound",
            "50",
            "--episodes",
            "50",
            "--json",
            "--seed",
            "2",
            "--save-every",
            "0.05",
        ),
    ]
    whole = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    folder = tmp_path / "run"
    for count in (1, 3, 6):
        process = subprocess.Popen(
            [*command, "--save", str(folder), "--resume"], stdout=subprocess.DEVNULL, start_new_session=True
        )
        kill_once(process, changes(folder, count))
    final = subprocess.run(
        [*command, "--save", str(folder), "--resume"],
        capture_output=True,
        check=True,
        text=True,
    )
    resumed = json.loads(final.stdout)
    for key in whole.keys() - {"seconds"}:
        assert resumed[key] == whole[key], key
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
    found = subprocess.run(
        [sys.executable, "-m", "painless", "evaluate", str(folder), "--episodes", "50", "--json"],
        capture_output=True,
        check=True,
        text=True,
    )
    assert json.loads(found.stdout)["episodes"] == 50


# ---------------------------------------------------------------- tables and bad input


def test_tables_are_trained_from_samples_and_traced_exactly():
    world = painless.gridworld()
    solution = painless.solve(
        world, iterations=30, evaluator=lambda table: TemporalDifference(table, 50), seed=1
    )
    exact = painless.solve(world, iterations=30)
    assert solution.trace.exact
    assert solution.trace.reward_value[0] == exact.trace.reward_value[0]
    assert not np.array_equal(solution.trace.reward_value, exact.trace.reward_value)
    assert solution.feasible


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iterations": 0}, "at least 1"),
        ({"multiplier_bound": [1.0, -1.0]}, "positive number for each of 2"),
        ({"multiplier_bound": [1.0, 1.0, 1.0]}, "positive number for each of 2"),
        ({"features": OneHot(4, 3)}, "have 3 actions and the simulator 2"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(InputError, match=message):
        short(**options)


def test_features_must_come_from_somewhere():
    with pytest.raises(InputError, match="suggests no features"):
        painless.train(TableSimulator(painless.gridworld()))


@pytest.mark.parametrize(
    ("episodes", "exact", "word"), [(9, False, "unclear"), (10, False, "met"), (2, True, "met")]
)
def test_few_episodes_of_an_unknown_range_do_not_show_that_a_limit_is_met(episodes, exact, word):
    value = np.array([1.0, 2.0])  # of all episodes, so that they have no deviation
    found = Estimate(value, value, value, np.array([3.0]), ("<=",), 0.95, episodes, 100, exact=exact)
    assert found.verdict == (word,)
    assert replace(found, threshold=np.array([1.0])).verdict == ("missed",)
