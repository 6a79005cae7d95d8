"""Finite environments learned as models by counting: what is counted, what it is worth, and that answers hold on the truth."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

import painless
from painless.bellman import policy_transition, policy_value, resolvent
from painless.common.errors import InputError
from painless.counting.elimination import EliminatedResolvent, uniform_order
from painless.counting.exploring_model import hopeful_model, largest_value
from painless.counting.informative import Doubt, _restarting, _use, informative_policies
from painless.counting.judgement import imaginary_variance, judge, rare_margin, return_deviation
from painless.counting.krylov import KrylovResolvent, inverse_of
from painless.counting.learned_model import LearnedModel
from painless.counting.margin_plan import margin_plans, safe_plans
from painless.counting.memory import Memory
from painless.counting.novelty import log_factorial, novelty
from painless.counting.played import Played
from painless.counting.safe_plan import Candidate, Limits, WarmPlanner, best_of, candidate, plan
from painless.environments import from_gymnasium
from painless.environments.counted_episodes import GymnasiumEpisodes
from painless.planning.case import Case
from painless.problem import CMDP
from painless.simulation.confidence import about
from painless.simulation.simulator import TableSimulator
from painless.training import counted
from painless.training.counted import SELECTION, Budget, CountedRun
from painless.training.counted_checkpoint import Between, counted_state, load_counted, save_counted
from painless.training.episodes import Player, SimulatedEpisodes, choices_of

GRIDWORLD = 1.6527218430


def world(time_limit=60):
    return SimulatedEpisodes(TableSimulator(painless.gridworld(), time_limit))


def remembered(steps, seed=0, episodes=None):
    """Return the memory of random steps in the gridworld, and its states in the order in which they were seen."""
    episodes = episodes or world()
    memory = Memory(episodes.specification.actions, 2)
    player = Player(episodes, memory, np.random.default_rng(seed))
    player.play([], steps, explore=True, returns=[])
    return memory, episodes.observations(list(player.numbers))[:, 0].astype(int)


def as_model(memory, threshold=1.5):
    return LearnedModel(memory, 0.9, np.array([threshold]))


@given(
    st.lists(st.tuples(*[st.integers(0, 3)] * 2, st.integers(-1, 3), st.floats(-5, 5)), min_size=1), st.data()
)
def test_a_memory_counts_every_step_once(steps, data):
    memory = Memory(actions=4, utilities=1)
    rows = np.array([row[:3] for row in steps])
    utility = np.array([row[3:] for row in steps])
    cut = data.draw(st.integers(0, len(steps)))
    for half, part in enumerate((slice(0, cut), slice(cut, None))):
        states, actions, successors = rows[part].T
        memory.add(half, states, actions, successors, utility[part], states[:1])
    assert memory.steps == len(steps)
    for pair, successor, count, total in zip(
        memory.pairs, memory.successors, memory.counts.sum(0), memory.sums.sum(0)[:, 0], strict=True
    ):
        same = (rows[:, 0] * 4 + rows[:, 1] == pair) & (
            rows[:, 2] == (-1 if successor == memory.states else successor)
        )
        assert count == same.sum()
        assert total == pytest.approx(utility[same].sum())
    assert sum(memory.half(index).steps for index in (0, 1)) == memory.steps


def test_a_model_of_many_steps_is_the_truth():
    memory, states = remembered(20_000)
    assert memory.states == 25
    policy = np.random.default_rng(1).dirichlet(np.ones(4), 25)
    truth = policy_value(painless.gridworld(), policy)
    judged = judge(as_model(memory), policy[states])
    assert (np.abs(judged.value - truth) <= 4 * judged.error).all()
    assert (judged.error < 0.05).all()


def test_standard_errors_are_those_of_repetitions():
    """The spread of estimates over independent data sets is the error that each of them states."""
    policy = np.full((25, 4), 0.25)
    judged = [judge(as_model(remembered(2000, seed)[0]), policy) for seed in range(40)]
    spread = np.std([one.value for one in judged], axis=0)
    stated = np.mean([one.error for one in judged], axis=0)
    assert (stated > 0.8 * spread).all()
    assert (stated < 2.5 * spread).all()


def test_what_was_never_tried_is_bad_for_an_answer_and_good_for_an_explorer():
    memory = Memory(actions=2, utilities=2)
    one = np.array([0])
    memory.add(0, one, one, np.array([-1]), np.array([[1.0, -1.0]]), one)
    model = as_model(memory, -5.0)
    assert judge(model, np.array([[1.0, 0.0]])).value == pytest.approx([1.0, -1.0])
    assert judge(model, np.array([[0.0, 1.0]])).value == pytest.approx([0.0, -9.0])
    hopeful = hopeful_model(model, heaven=7.0)
    unknown = np.array([[0.0, 1.0]] * 3)
    assert policy_value(hopeful, unknown) == pytest.approx([0.9 * 7.0, 0.0])


def test_episodes_that_are_cut_off_are_evaluated_as_they_are():
    memory, _ = remembered(5000)
    model, policy = as_model(memory), np.full((memory.states, 4), 0.25)
    total, discounted = model.episode_values(policy, 400)
    assert discounted == pytest.approx(judge(model, policy).value)
    assert (total > 20 * discounted).all()
    assert (model.episode_values(policy, 5)[1] < discounted).all()


def test_safe_plans_are_safe_where_plain_ones_are_not():
    """From little data the optimal plan of the estimate misses the true limit; a safe one does not."""
    problem = painless.garnet(20, 3, 4, 1, seed=3)
    episodes = SimulatedEpisodes(TableSimulator(problem))
    missed = {"plain": 0, "safe": 0}
    for seed in range(12):
        memory, states = remembered(3000, seed, episodes)
        model = LearnedModel(memory, problem.discount, problem.threshold)
        limits = Limits(problem.threshold, np.zeros(1, dtype=bool), 1000, selection=SELECTION)
        found = safe_plans(model, limits, WarmPlanner())
        for name, one in (("plain", found[0]), ("safe", best_of(found))):
            table = np.zeros((20, 3))
            table[states] = one.judged.policy
            table[table.sum(1) == 0] = 1 / 3
            missed[name] += bool((policy_value(problem, table)[1:] < problem.threshold).any())
    assert missed["safe"] <= 1
    assert missed["plain"] >= 4


def test_the_gridworld_is_learned():
    limits = Limits(np.array([1.5]), np.zeros(1, dtype=bool), 60)
    found = CountedRun(world(), limits, Budget(30_000), np.random.default_rng(0)).run()
    states = found.observations[:, 0].astype(int)
    table = np.full((25, 4), 0.25)
    table[states] = found.answer.judged.policy
    reward, constraint = policy_value(painless.gridworld(), table)
    assert found.answer.safe
    assert constraint >= 1.5
    assert reward > 0.95 * GRIDWORLD
    assert found.hoped > GRIDWORLD
    assert found.training_steps + found.verification_steps == pytest.approx(30_000, rel=0.01)


def test_a_budget_in_seconds_is_used_up_before_the_verification(monkeypatch):
    """A clock that ticks whenever somebody looks at it."""
    ticks = itertools.count()
    monkeypatch.setattr(counted, "time", SimpleNamespace(perf_counter=lambda: 1e-3 * next(ticks)))
    limits = Limits(np.array([1.5]), np.zeros(1, dtype=bool), 60)
    used = {"exploring": 0.0, "verifying": 0.0}

    def progress(now):
        used[now.phase] = max(used[now.phase], now.used)

    run = CountedRun(
        world(), limits, Budget(seconds=0.6, start=0.0), np.random.default_rng(0), progress=progress
    )
    assert run.run().verification_steps > 0
    assert used["exploring"] > 0.75
    assert used["verifying"] > 0.8


def test_the_seed_decides_everything():
    limits = Limits(np.array([1.5]), np.zeros(1, dtype=bool), 60)
    one, same, other = (
        CountedRun(world(), limits, Budget(3000), np.random.default_rng(seed)).run() for seed in (0, 0, 1)
    )
    assert (one.answer.judged.policy == same.answer.judged.policy).all()
    assert one.returns == same.returns != other.returns


class Breaking(SimulatedEpisodes):
    """Raises after some steps."""

    def __init__(self, simulator, steps, error):
        super().__init__(simulator)
        self.left, self.error = steps, error

    def step(self, action):
        self.left -= 1
        if self.left == 0:
            raise self.error
        return super().step(action)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), InputError("broken pipe")])
def test_an_early_end_returns_the_best_answer_so_far(error):
    limits = Limits(np.array([1.5]), np.zeros(1, dtype=bool), 60)
    episodes = Breaking(TableSimulator(painless.gridworld(), 60), 8000, error)
    found = CountedRun(episodes, limits, Budget(100_000), np.random.default_rng(0)).run()
    interrupted = "interrupted; run it again for longer"
    assert found.stopped == (interrupted if isinstance(error, KeyboardInterrupt) else "broken pipe")
    assert found.answer.safe
    assert len(found.returns) >= 10  # fresh episodes


def test_an_early_end_before_the_first_step_is_an_error():
    limits = Limits(np.array([1.5]), np.zeros(1, dtype=bool), 60)
    episodes = Breaking(TableSimulator(painless.gridworld(), 60), 1, InputError("no licence"))
    with pytest.raises(InputError, match="no licence"):
        CountedRun(episodes, limits, Budget(1000), np.random.default_rng(0)).run()


def test_choices():
    assert choices_of(np.array([[0.0, 1.0], [0.25, 0.75]])) == [1, [0.25, 1.0]]


def test_the_novelty_of_an_environment_without_chance_vanishes():
    """After many pairs that showed the same successor twice, nobody hopes for another at the next one."""
    visits = np.append(np.full(200, 2.0), [1.0, 0.0])
    found = novelty(np.arange(201), visits[:201], visits)
    assert found[200] == pytest.approx(1 / 201)
    assert found[0] == pytest.approx(1 / 3)  # of pairs with three visits nothing is known
    assert found[-1] == 1


@given(st.integers(2, 40), st.integers(1, 6), st.integers(0, 2**32))
def test_novelty_is_that_of_all_orders(count, successors, seed):
    """The rate of new successors at a visit is the mean over random orders of what was counted."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(successors, size=(60, count))
    counts = np.array([[(row == k).sum() for k in range(successors)] for row in drawn])
    pairs, _ = np.nonzero(counts)
    visits = np.append(np.full(60, float(count)), np.ones(1))  # and a pair with one visit
    found = novelty(np.append(pairs, 60), np.append(counts[counts > 0], 1).astype(float), visits)
    new = (counts * (count - counts)).sum() / (count * (count - 1))  # two draws without replacement differ
    assert found[60] == pytest.approx(min((new + 1) / 61, 0.5))


def test_the_search_for_the_best_plan_makes_margins_larger():
    problem = painless.garnet(20, 3, 4, 1, seed=3)
    memory, _ = remembered(3000, 0, SimulatedEpisodes(TableSimulator(problem)))
    limits = Limits(problem.threshold, np.zeros(1, dtype=bool), 1000)
    model = LearnedModel(memory, problem.discount, problem.threshold)
    judged = judge(model, np.full((memory.states, 3), 1 / 3))
    loss = limits.slack(model, judged)[0] - replace(limits, selection=0.5).slack(model, judged)[0]
    assert loss == pytest.approx(0.5 * judged.error[1:])


def corridor(passes):
    """Return a memory of two states: a risky door, which costs 1 in half of the cases, and a corridor of which one leaves, or goes back to the door."""
    memory = Memory(actions=2, utilities=2)
    rows = [(0, 0, 1, (1.0, -float(k % 2))) for k in range(passes)]
    rows += [(1, 0, -1, (0.0, 0.0)), (1, 1, 0, (0.0, 0.0)), (0, 1, -1, (0.0, 0.0))] * passes
    states, actions, successors, utilities = zip(*rows, strict=True)
    parts = [np.array(part) for part in (states, actions, successors, utilities)]
    memory.add(0, *parts, np.zeros(passes, dtype=np.int64))
    return memory


def test_steps_go_where_they_take_most_from_the_error_of_a_plan():
    """A plan passes the door once in an episode of two steps; who wants to know how risky it is goes back to it, and never leaves early."""
    model = as_model(corridor(50), -1.0)
    once = np.array([[1.0, 0.0], [1.0, 0.0]])
    limits = Limits(np.array([-1.0]), np.zeros(1, dtype=bool), 100)
    one = candidate(model, once, limits, np.ones(1))
    policies = informative_policies(model, [one], np.ones(1), 1000)
    assert sum(share for _, share in policies) == pytest.approx(1, abs=0.05)
    played = sum(share * policy for policy, share in policies)
    assert played[0, 0] > 0.95
    # Leaving takes a step to begin again: going back is faster.
    assert played[1, 1] > 0.8
    assert played.sum(1) == pytest.approx([1, 1], abs=0.05)


def test_exploration_ends_early_once_every_pair_was_tried():
    limits = Limits(np.array([1.5]), np.zeros(1, dtype=bool), 60)
    run = CountedRun(world(), limits, Budget(steps=1000), np.random.default_rng(0))
    for steps, tries, until in (
        (100, [[1, 1, 1, 1]], counted.COMPLETE),
        (400, [[1, 1, 1, 1]], counted.COMPLETE),
        (400, [[1, 0, 1, 1]], counted.EXPLORATION),
    ):
        run.player.steps, run.player.tries = steps, np.array(tries)
        assert run._until() == until


def test_the_length_of_an_episode():
    """From the door to the corridor and out takes two steps."""
    model = as_model(corridor(50), -1.0)
    once = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert [model.episode_length(once, limit) for limit in (1, 2, 100)] == [1, 2, 2]


@pytest.mark.parametrize(("steps", "share"), [(1000, 0.2), (3000, 0.12), (10_000, 0.1)])
def test_fresh_episodes_are_a_tenth_of_the_budget_or_more_if_that_is_few(steps, share):
    """Those of this answer take 18 steps: 20 of them are 36 %, 12 % or 3.6 % of the budget."""
    limits = Limits(np.array([1.5]), np.zeros(1, dtype=bool), 18)
    run = CountedRun(world(18), limits, Budget(steps=steps), np.random.default_rng(0))
    run.player.play([], 500, explore=True)
    model = run._model()
    one = candidate(model, np.full((model.states, 4), 0.25), limits, np.ones(1))
    assert run._verification(model, one) == pytest.approx(share, abs=1e-6)


def spread_starts(episodes):
    """Return a memory of two first states, one of which costs 1 to leave; nothing else is left to chance."""
    memory = Memory(actions=2, utilities=2)
    rows = [(k % 2, a, -1, (1.0 - a, float(a - 1) * (k % 2))) for k in range(episodes) for a in (0, 1)]
    states, actions, successors, utilities = zip(*rows, strict=True)
    parts = [np.array(part) for part in (states, actions, successors, utilities)]
    memory.add(0, *parts, np.arange(episodes) % 2)
    return memory


def test_episodes_are_left_at_once_if_only_their_first_states_are_in_doubt():
    limits = Limits(np.array([-0.4]), np.zeros(1, dtype=bool), 100)
    policy = np.array([[1.0, 0.0], [0.8, 0.2]])
    for memory, doubtful in ((spread_starts(50), True), (corridor(50), False)):
        model = as_model(memory, -0.4)
        found = informative_policies(model, [candidate(model, policy, limits, np.ones(1))], np.ones(1), 1000)
        assert sum(share for _, share in found) == pytest.approx(1, abs=0.05)
        assert any(one is None for one, _ in found) == doubtful
        assert any(one is not None for one, _ in found)


class ManyStarts(SimulatedEpisodes):
    """Episodes that begin in any cell of the gridworld."""

    def __init__(self):
        problem = painless.gridworld()
        states = problem.shape[0]
        parts = {"initial": np.full(states, 1 / states), "discount": problem.discount}
        limits = {"constraint_reward": problem.constraint_reward, "threshold": problem.threshold}
        super().__init__(TableSimulator(CMDP(problem.transition, problem.reward, **parts, **limits), 60))


def test_beginnings_count_as_steps_and_are_at_most_a_quarter_of_them():
    player = Player(ManyStarts(), Memory(4, 2), np.random.default_rng(0))
    player.play([], 1000, explore=False)
    before, episodes, taken = player.steps, player.memory.starts.sum(), player.memory.steps
    player.begin(100)
    assert (player.steps, player.left) == (before + 100, 100)
    assert player.memory.starts.sum() == episodes + 100
    assert player.memory.steps == taken  # every state was acted in before
    player.begin(np.inf)
    assert player.left == pytest.approx(player.steps / 4, abs=1)
    assert player.memory.steps + player.left == player.steps
    left = player.left
    player.begin(100)
    assert player.left == left


def test_no_episode_is_left_in_a_state_that_nobody_acted_in():
    player = Player(ManyStarts(), Memory(4, 2), np.random.default_rng(1))
    player.play([], 60, explore=False)
    assert player.memory.states < 25
    player.begin(30)
    starts = player.memory.starts.sum(0)
    assert (player.memory.visits.sum(1)[starts > 0] > 0).all()
    assert player.memory.steps + player.left == player.steps


def test_a_checkpoint_knows_the_episodes_that_were_left(tmp_path):
    path, none = tmp_path / "checkpoint.npz", np.empty((0, 0), dtype=np.int64)
    player = Player(ManyStarts(), Memory(4, 2), np.random.default_rng(0))
    player.play([], 500, explore=False)
    player.begin(50)
    state = Between(100.0, np.array([1.5]), 0, 0, 0, np.empty(0), none, [], [])
    save_counted(path, counted_state(player, state, {}))
    again = Player(ManyStarts(), Memory(4, 2), np.random.default_rng(5))
    load_counted(path, again, {})
    assert (again.steps, again.left) == (player.steps, player.left)
    np.testing.assert_array_equal(again.memory.starts.sum(0), player.memory.starts.sum(0))


def test_without_a_price_of_errors_plans_are_played_as_they_are():
    model = as_model(corridor(50), -1.0)
    policy = np.array([[1.0, 0.0], [1.0, 0.0]])
    one = candidate(model, policy, Limits(np.array([-1.0]), np.zeros(1, dtype=bool), 100), np.zeros(1))
    found = informative_policies(model, [one, one], np.zeros(1), 1000)
    assert [share for _, share in found] == [0.5, 0.5]
    assert all((other == policy).all() for other, _ in found)


@pytest.mark.parametrize(("limit", "goes_on"), [(-1.0, True), (1.5, False)])
def test_exploration_goes_on_where_no_limit_has_a_price(limit, goes_on, monkeypatch):
    limits = Limits(np.array([limit]), np.zeros(1, dtype=bool), 60)
    run = CountedRun(world(), limits, Budget(steps=4000), np.random.default_rng(0))
    run.player.play([], 1500, explore=True)
    run.threshold, explored = limits.threshold, list[int]()
    policy = run._exploring_policy

    def noted(model):
        explored.append(run.player.steps)
        return policy(model)

    monkeypatch.setattr(run, "_exploring_policy", noted)
    run._rehearse(run._model(), 0.6)
    assert bool(explored) == goes_on
    assert 2400 <= run.player.steps < 2400 + 60  # an episode at most


def test_informative_steps_leave_a_smaller_error_than_the_plan_itself():
    model = as_model(corridor(50), -1.0)
    limits = Limits(np.array([-1.0]), np.zeros(1, dtype=bool), 100)
    once = candidate(model, np.array([[1.0, 0.0], [1.0, 0.0]]), limits, np.ones(1))
    doubt, process, steps = Doubt.of(model, [once], np.ones(1)), _restarting(model), 1000
    left = []
    for policies in ([(once.judged.policy, 1.0)], informative_policies(model, [once], np.ones(1), steps)):
        more = steps * sum(share * _use(model, process, policy, model.order) for policy, share in policies)
        assert more.sum() == pytest.approx(steps, rel=0.05)
        left.append((doubt.variance * doubt.visits / (doubt.visits + more)).sum())
    assert left[1] < 0.8 * left[0]


def test_the_optimum_is_the_only_plan_if_it_is_safe():
    model = as_model(remembered(20_000)[0], 0.0)
    limits = Limits(np.zeros(1), np.zeros(1, dtype=bool), 60)
    assert len(safe_plans(model, limits, WarmPlanner())) == 1


def test_a_limit_on_whole_episodes_is_used_up_though_the_first_guess_is_too_careful():
    """The model knows how much an episode of 60 steps collects; a discounted threshold of 3 is far more than a total of 8 needs."""
    model = as_model(remembered(20_000)[0], 3.0)
    limits = Limits(np.array([8.0]), np.ones(1, dtype=bool), 60)
    nominal, *others = safe_plans(model, limits, WarmPlanner())
    best = best_of(others)
    assert nominal.safe
    assert best.safe
    assert best.judged.value[0] > nominal.judged.value[0]
    assert 0 <= best.slack[0] < nominal.slack[0]


def test_one_imaginary_observation_counts_less_where_nothing_happens_by_chance():
    """A walk without chance: after many pairs that never varied, another that was tried twice is nearly certain."""
    memory = Memory(actions=1, utilities=1)
    states = np.arange(200)
    for _ in range(2):
        memory.add(0, states, 0 * states, np.append(states[1:], -1), np.ones((200, 1)), states[:1])
    model = LearnedModel(memory, 0.9, np.empty(0))
    variance = np.zeros((1, 200))
    doubt = np.array([5.0])
    assert imaginary_variance(model, variance, doubt) == pytest.approx(25 / 201)
    assert imaginary_variance(model, variance + 1e-12, doubt) == pytest.approx(25 / 201)  # by rounding
    assert imaginary_variance(model, variance + 3, doubt) == pytest.approx(
        np.sqrt((200 * 6 + 25) / 201) * 5  # the unbiased variance of two visits is twice as large
    )


def test_policies_of_one_limit_serve_others():
    problem = painless.garnet(20, 3, 4, 1, seed=3)
    planner = WarmPlanner()
    planner(problem, 1e-6)
    before = {column.policy.tobytes() for column in planner.known.columns}
    other = problem.with_limits(problem.threshold * 0.9)
    warm, cold = planner(other, 1e-6), plan(other, 1e-6)
    assert policy_value(other, warm.policy) == pytest.approx(policy_value(other, cold.policy), rel=1e-5)
    assert before <= {column.policy.tobytes() for column in planner.known.columns}


@pytest.mark.parametrize("states", [20, 300])
def test_policies_of_a_similar_model_are_evaluated_anew(states):
    """Two steps of a Garnet's posterior: the second plan starts from the first one's policies, and is as good as a cold one."""
    rng, problem = np.random.default_rng(0), painless.garnet(states, 3, 4, 1, seed=3)
    kernel = np.asarray(getattr(problem.transition, "toarray", lambda: problem.transition)())
    kernel = kernel.reshape(-1, states) * rng.uniform(1 - 1e-5, 1 + 1e-5, (states * 3, states))
    changed = painless.CMDP(
        (kernel / kernel.sum(1, keepdims=True)).reshape(states, 3, states),
        problem.reward,
        initial=problem.initial,
        discount=problem.discount,
        constraint_reward=problem.constraint_reward,
        threshold=problem.threshold,
    )
    planner = WarmPlanner()
    planner(problem, 1e-6)
    used = planner.known.used
    assert len(used) == 2
    normal = Case.of(changed).normal
    for column, policy in zip(planner.known.columns_for(normal), used, strict=True):
        table = np.eye(3)[policy]
        assert column.value == pytest.approx(policy_value(normal, table), rel=1e-7)
    warm, cold = planner(changed, 1e-6), plan(changed, 1e-6)
    assert policy_value(changed, warm.policy)[0] == pytest.approx(
        policy_value(changed, cold.policy)[0], rel=1e-5
    )
    assert (policy_value(changed, warm.policy)[1:] >= changed.threshold - 1e-9).all()


def test_policies_are_extended_to_states_that_were_seen_since():
    memory, _ = remembered(30)
    model, planner = as_model(memory), WarmPlanner()
    planner(model.nominal(np.array([0.5])))
    more = as_model(remembered(3000)[0])
    assert more.states > model.states
    warm, cold = planner(more.nominal(np.array([0.5]))), plan(more.nominal(np.array([0.5])))
    values = [judge(more, more.own(one.policy)).value[0] for one in (warm, cold)]
    assert values[0] == pytest.approx(values[1], rel=2e-3)


@pytest.mark.parametrize("discount", [0.9, 0.99])
def test_large_chains_are_solved_by_iteration_as_by_factors(discount):
    problem = painless.garnet(600, 2, 8, 1, seed=1, discount=discount)
    policy = np.full((600, 2), 0.5)
    chain = scipy.sparse.csr_array(policy_transition(problem, policy))
    inverse, exact = inverse_of(chain, discount), resolvent(chain, discount)
    assert isinstance(inverse, KrylovResolvent)
    utility = (problem.utility * policy).sum(-1)
    assert inverse.state_value(utility) == pytest.approx(exact.state_value(utility), rel=1e-7)
    assert inverse.state_occupancy(problem.initial) == pytest.approx(
        exact.state_occupancy(problem.initial), rel=1e-6, abs=1e-10
    )


def test_iterations_that_do_not_converge_give_way_to_factors(monkeypatch):
    problem = painless.garnet(600, 2, 8, 1, seed=1, discount=0.99)
    policy = np.full((600, 2), 0.5)
    chain = scipy.sparse.csr_array(policy_transition(problem, policy))
    monkeypatch.setattr("painless.counting.krylov.PRODUCTS", 1)
    inverse, utility = inverse_of(chain, 0.99), (problem.utility * policy).sum(-1)
    assert inverse.state_value(utility) == pytest.approx(resolvent(chain, 0.99).state_value(utility))
    assert inverse.state_occupancy(problem.initial).sum() == pytest.approx(100)


@pytest.mark.parametrize("entries", [40, 1])
def test_chains_of_one_model_are_eliminated_in_one_order(monkeypatch, entries):
    """On a grid all policies share an order; with room for one entry a state there is none, and factors serve."""
    monkeypatch.setattr("painless.engines.sweeps.elimination_order.ENTRIES", entries)
    problem = painless.problems.slippery_grid(height=35, width=35, seed=3, dense=False)
    states = problem.shape[0]
    order = uniform_order(problem.transition, problem.actions.shape, problem.discount)
    for seed in range(2):
        actions = np.random.default_rng(seed).integers(0, 4, states)
        chain = policy_transition(problem, actions)
        inverse, exact = (
            inverse_of(chain, problem.discount, order),
            resolvent(chain, problem.discount),
        )
        assert isinstance(inverse, EliminatedResolvent)
        utility = problem.utility[:, np.arange(states), actions]
        assert inverse.state_value(utility) == pytest.approx(exact.state_value(utility))
        visits = exact.state_occupancy(problem.initial)
        assert inverse.state_occupancy(problem.initial) == pytest.approx(visits, abs=1e-12)
        assert order.is_known == (entries > 1)


def test_factorials_beyond_the_table_are_computed():
    number = np.array([3, 20_000])
    assert log_factorial(number) == pytest.approx(scipy.special.gammaln(number + 1.0), rel=1e-15)


def test_what_is_not_finite_is_named_by_its_step_after_plain_ones():
    """The loop of plain steps stops there; the steps before it are kept."""

    class Line(gymnasium.Env):
        observation_space, action_space = gymnasium.spaces.Discrete(2), gymnasium.spaces.Discrete(2)
        broken = 0  # the step that is

        def reset(self, *, seed=None, options=None):
            self.steps = 0
            return 0, {}

        def step(self, action):
            self.steps += 1
            return self.steps % 2, 1.0, False, False, {"cost": np.nan if self.steps == self.broken else 0.0}

    simulator, Line.broken = from_gymnasium(Line, constraints="cost<=1", discount=0.9, time_limit=100), 37
    player = Player(GymnasiumEpisodes(simulator), Memory(2, 2), np.random.default_rng(0))
    with pytest.raises(InputError, match="episode 0, step 37: info\\['cost'\\] is nan"):
        player.play([], 100, explore=True)
    assert player.steps == player.memory.steps == 36
    assert player.tries.sum() == 36


def test_the_largest_value_starts_from_an_earlier_one():
    model = as_model(remembered(3000)[0])
    heaven, values = largest_value(model)
    again, _ = largest_value(model, values)
    assert again == pytest.approx(heaven, rel=1e-2)


def test_draws_of_a_state_that_mixes_actions_are_stratified():
    """Of 32 draws in a row, one lies in each of 32 equal parts, and they come in a random order."""
    episodes = world()
    player = Player(episodes, Memory(4, 2), np.random.default_rng(0))
    equal = (np.arange(1, 33) / 32).tolist()  # 32 actions
    drawn = list(itertools.islice(player._stratified(equal), 256))
    assert drawn[:32] != drawn[32:64]
    for begin in range(0, len(drawn), 32):
        assert sorted(drawn[begin : begin + 32]) == list(range(32))
    assert (np.diff(drawn) < 0).any()


def test_a_state_that_mixes_actions_takes_each_by_its_share():
    player = Player(world(), Memory(4, 2), np.random.default_rng(0))
    drawn = list(itertools.islice(player._stratified([0.25, 0.25, 1.0, 1.0]), 256))
    taken = np.bincount(drawn, minlength=4) / len(drawn)
    assert taken == pytest.approx([0.25, 0, 0.75, 0], abs=0.01)


def test_an_answer_that_was_played_counts_the_selection_of_what_came_before():
    memory, _ = remembered(3000)
    model = as_model(memory)
    policy = np.full((memory.states, 4), 0.25)
    limits = Limits(np.array([1.5]), np.zeros(1, dtype=bool), 60, selection=2.0)
    plain = Limits(np.array([1.5]), np.zeros(1, dtype=bool), 60)
    error = judge(model, policy).error[1]
    slack = plain.slack(model, judge(model, policy))[0]
    for share in (0.0, 0.5, 1.0):
        played = Played(policy, np.zeros(1), share * model.visits)
        assert played.judged_on(model, limits).slack == pytest.approx(slack - 2 * share * error)
    fewer = Played(policy[:20], np.zeros(1), model.visits[: 20 * 4])  # five states were seen later
    assert fewer.judged_on(model, limits).judged.policy.shape == (25, 4)


def test_a_checkpoint_with_actions_that_there_are_not_is_refused(tmp_path):
    episodes, path = world(), tmp_path / "checkpoint.npz"
    player = Player(episodes, Memory(4, 2), np.random.default_rng(0))
    player.play([], 100, explore=True)
    none = np.empty((0, 0), dtype=np.int64)
    state = Between(100.0, np.array([1.5]), 0, 0, 0, np.empty(0), none, [], [])
    save_counted(path, counted_state(player, state, {}))
    steps = player.memory.steps
    assert load_counted(path, player, {}).batch == 100
    assert player.memory.counts.shape == (1, len(player.memory.keys))  # of two halves
    assert player.memory.steps == steps
    save_counted(path, counted_state(player, state._replace(answerer=np.full((1, 5), 9)), {}))
    with pytest.raises(InputError, match="'answerer' takes actions that there are not"):
        load_counted(path, player, {})


def test_episodes_that_judge_an_answer_are_never_left_before_their_end():
    """Without the episode that the budget ends, long ones would count too rarely."""
    for counting in (True, False):
        player, returns = Player(world(250), Memory(4, 2), np.random.default_rng(0)), []
        player.play(
            [],
            1000,
            explore=False,
            returns=returns if counting else None,
            stop=lambda player=player: player.steps >= 300,
        )
        assert player.played == 2
        assert player.steps == (500 if counting else 350)
        assert len(returns) == (2 if counting else 0)


def test_plans_that_come_equally_close_to_a_limit_are_chosen_by_their_reward():
    """At a cost of 0 nobody can keep a distance: every plan without cost is a margin away, up to rounding."""
    model = as_model(remembered(3000)[0])
    judged = judge(model, np.full((model.states, 4), 0.25))
    zero = np.zeros(1)

    def one(reward, merit, safe=False):
        value = np.array([reward, 0.0])
        return Candidate(judged._replace(value=value), zero, np.ones(1), safe, merit, zero)

    poor, rich, far = one(1.0, -2.395), one(2.0, -2.395 - 1e-9), one(3.0, -4.0)
    assert best_of([poor, rich, far]) is rich
    safe = one(0.5, 0.1, safe=True)
    assert best_of([poor, rich, safe, far]) is safe


def test_the_deviation_of_a_return_is_that_of_episodes():
    memory, returns = Memory(4, 2, halves=1), []
    player = Player(world(200), memory, np.random.default_rng(0))
    player.play([], 20_000, explore=True)
    policy = np.random.default_rng(3).dirichlet(np.ones(4), len(player.tries))
    player.play(choices_of(policy), 100_000, explore=False, returns=returns)
    model = LearnedModel(memory, painless.gridworld().discount, np.array([1.5]))
    found = return_deviation(model, judge(model, policy))
    assert found == pytest.approx(np.std([one.discounted for one in returns], 0), rel=0.05)


def test_rare_events_of_different_sizes_are_covered():
    """An event counts γ^t of what it does at the start: most of a few are next to nothing, and their mean size says little."""
    rng, covered = np.random.default_rng(0), 0
    rate, discount, steps = 0.001, 0.95, 200
    mean = rate * (discount * (1 - rate)) ** np.arange(steps) @ np.ones(steps)
    for _ in range(400):
        time = rng.geometric(rate, 60) - 1.0
        low, high = about(np.where(time < steps, discount**time, 0.0), 0.95, largest=1.0)
        covered += low <= mean <= high
    assert covered >= 0.95 * 400


@pytest.mark.parametrize(
    ("utility", "events", "end"), [(1.0, 3, 0.8177), (-1.0, 3, 7.7537), (-1.0, 1, 4.7439), (1.0, 1, 0.0513)]
)
def test_the_margin_of_rare_events_is_that_of_their_number(utility, events, end):
    """One state, one action and 1000 visits: quantiles of the Poisson distribution at 95 %, over visits, for 10 discounted steps."""
    memory = Memory(1, 2, halves=1)
    state, utilities = np.zeros(1000, dtype=int), np.zeros((1000, 2))
    utilities[:events, 1] = utility
    memory.add(0, state, state, state, utilities, state[:1])
    model = LearnedModel(memory, 0.9, np.zeros(1))
    found = rare_margin(model, judge(model, np.ones((1, 1))), 1.6449)
    assert found == pytest.approx([0.0, abs(end - events) / 100], rel=1e-3)


def test_events_that_are_not_rare_have_no_margin_of_their_own():
    memory = Memory(1, 2, halves=1)
    state = np.zeros(1000, dtype=int)
    utility = np.column_stack([np.linspace(-1, 1, 1000), -(np.arange(1000) % 20 == 0).astype(float)])
    memory.add(0, state, state, state, utility, state[:1])
    model = LearnedModel(memory, 0.9, np.zeros(1))
    assert rare_margin(model, judge(model, np.ones((1, 1))), 1.645).tolist() == [0.0, 0.0]


def test_a_plan_starts_from_policies_of_fewer_states():
    """If a limit is met by all policies so far, none is searched for, and those of an earlier plan stay the latest."""
    model = as_model(remembered(3000)[0])
    limits = Limits(np.array([1.5]), np.zeros(1, dtype=bool), 60)
    start = candidate(model, np.full((model.states, 4), 0.25), limits, np.zeros(1))
    earlier = [np.zeros(model.states, dtype=np.int64), np.ones(model.states - 5, dtype=np.int64)]
    found = margin_plans(model, limits, start, earlier)
    assert best_of(found).judged.policy.shape == (model.states, 4)
