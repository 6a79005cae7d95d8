"""The total reward until the end: what a problem says, and what is solved."""

import numpy as np
import pytest
import scipy

import painless
from painless import CMDP, InputError
from painless.policies.table_mixture import TableMixture
from painless.problem import Criterion
from painless.solving.solution import Kind
from tests.fuzz.families import FAMILIES
from tests.totals import check


def walk(**changes):
    """Three states: 0 leads to 1 or, half of the time, ends; 1 leads to 2, which is the end but for its row."""
    kernel = np.zeros((3, 2, 3))
    kernel[0, 0, 1] = kernel[1, :, 2] = kernel[2, :, 0] = 1.0
    kernel[0, 1, 1] = 0.5
    return CMDP(
        kernel,
        np.arange(1.0, 7.0).reshape(3, 2),
        **{"initial": [1, 0, 0], "discount": 1.0, "end": [2]} | changes,
    )


# What a problem says


@pytest.mark.parametrize("end", [[2], 2, [False, False, True], np.array([2]), "there", ["there"]])
def test_the_end_is_a_mask_or_states(end):
    problem = walk(end=end, names={"states": ["here", "half", "there"]})
    assert problem.criterion is Criterion.TOTAL
    np.testing.assert_array_equal(problem.end, [False, False, True])
    np.testing.assert_array_equal(problem.transition[2], [[0, 0, 1], [0, 0, 1]])
    np.testing.assert_array_equal(problem.reward, [[1, 2], [3, 4], [0, 0]])


def test_sparse_transitions_stay_at_the_end():
    dense = walk()
    kernel = np.zeros((3, 2, 3))
    kernel[0, 0, 1] = kernel[1, :, 2] = kernel[2, :, 0] = 1.0
    kernel[0, 1, 1] = 0.5
    sparse = CMDP(
        scipy.sparse.csr_array(kernel.reshape(6, 3)), np.zeros((3, 2)), initial=[1, 0, 0], discount=1, end=[2]
    )
    np.testing.assert_array_equal(sparse.transition.toarray(), dense.transition.reshape(6, 3))


def test_the_discount_is_one_by_default_with_an_end():
    assert walk(discount=None).discount == 1.0
    assert repr(walk()) == "CMDP(3 states, 2 actions, 0 constraints, total reward, 1 end state, dense)"


def test_rows_that_end_are_for_the_total_reward_alone():
    with pytest.raises(InputError, match=r"transition\[0, 1\] sums to 0.500000, not 1"):
        walk(discount=0.9)
    with pytest.raises(InputError, match="which only the discount 1 has"):
        walk().with_discount(0.9)
    assert (
        walk(actions=[[True, False]] + [[True, True]] * 2).with_discount(0.9).criterion
        is Criterion.DISCOUNTED
    )
    assert painless.gridworld().with_discount(1).criterion is Criterion.TOTAL
    with pytest.raises(InputError, match=r"sums to 1.500000, not 1"):
        CMDP(np.full((1, 1, 1), 1.5), [[1.0]], initial=[1.0], discount=1.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"horizon": 3}, "end is for a process without a horizon"),
        ({"final": [1.0, 0, 0]}, "end is for a process without a horizon"),
        ({"end": [3]}, "there is no state 3"),
        ({"end": [True, False]}, r"end has shape \(2,\)"),
        ({"end": "there"}, "end is not a numeric array"),
        ({"end": "their", "names": {"states": ["here", "half", "there"]}}, "did you mean 'there'"),
    ],
)
def test_what_is_no_end_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        walk(**changes)


@pytest.mark.parametrize("ending", ["npz", "json"])
def test_files_keep_the_end(tmp_path, ending):
    problem = walk(end=[False, False, True])
    problem.save(tmp_path / f"walk.{ending}")
    again = painless.load(tmp_path / f"walk.{ending}")
    assert repr(again) == repr(problem)
    np.testing.assert_array_equal(again.end, problem.end)
    np.testing.assert_array_equal(again.transition, problem.transition)


# What is solved


@pytest.mark.parametrize("block", range(6))
def test_random_models_against_a_linear_program(block):
    found = [check(seed) for seed in range(20 * block, 20 * block + 20)]
    assert found.count("solved") >= 5
    assert found.count("a gap") <= 1


def ending_gridworld(**changes):
    """The gridworld that ends with probability 1 − γ in every step, in place of a discount."""
    grid = painless.gridworld()
    return CMDP(
        grid.discount * grid.transition,
        grid.reward,
        **{"initial": grid.initial, "discount": 1.0, "names": grid.names}
        | {"constraint_reward": grid.constraint_reward, "threshold": grid.threshold}
        | changes,
    )


@pytest.mark.parametrize("way", [painless.LinearProgram(), painless.ColumnGeneration(), None])
def test_a_discount_is_a_chance_to_end(way):
    found = painless.solve(ending_gridworld(), way, tolerance=1e-9)
    assert found.reward_value == pytest.approx(1.6527218430480, abs=1e-9)
    assert found.multiplier[0] == pytest.approx(0.1732303, abs=1e-6)
    assert found.gap <= 2e-9


@pytest.mark.parametrize("way", [painless.CBP(), painless.PRM(), painless.GDA(), painless.CRPO()])
def test_learners_take_the_same_steps_as_with_a_discount(way):
    total = painless.solve(ending_gridworld(), way, iterations=30)
    discounted = painless.solve(painless.gridworld(), way, iterations=30)
    assert total.feasible
    assert total.reward_value == pytest.approx(discounted.reward_value, abs=1e-3)
    assert total.gap == pytest.approx(discounted.gap, abs=1e-3)


def test_the_frontier_is_that_of_the_discounted_problem():
    total, discounted = painless.frontier(ending_gridworld()), painless.frontier(painless.gridworld())
    np.testing.assert_allclose(total.threshold, discounted.threshold, atol=1e-9)
    np.testing.assert_allclose(total.reward_value, discounted.reward_value, atol=1e-9)


def test_an_infeasible_total_is_explained():
    found = painless.solve(ending_gridworld(threshold=3.0))
    assert found.status.kind is Kind.INFEASIBLE
    assert found.remedy[0] == pytest.approx(2.55727318, abs=1e-7)


def work(budget=10.0, **changes):
    """A job pays 2 and tires by 1 each time; one may go home, which ends the day."""
    return CMDP(
        [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]],
        [[2.0, 0.0], [0.0, 0.0]],
        **{"initial": [1.0, 0.0], "end": [1], "constraint_cost": [[1.0, 0.0], [0.0, 0.0]], "budget": budget}
        | changes,
    )


def test_a_loop_that_pays_is_bounded_by_its_budget():
    found = painless.solve(work(), tolerance=1e-6)
    assert found.status.kind is Kind.SOLVED
    assert found.reward_value == pytest.approx(20.0, rel=1e-6)
    assert found.multiplier[0] == pytest.approx(2.0, rel=1e-6)
    assert found.policy.probabilities[0] == pytest.approx([10 / 11, 1 / 11], rel=1e-5)


def test_without_a_budget_the_loop_is_refused():
    with pytest.raises(InputError, match=r"unbounded: a loop through state 0 .*\(state 'job'\)"):
        painless.solve(work(np.inf, names={"states": ["job", "home"]}))


def test_what_cancels_cannot_be_judged():
    kernel = np.array([[[0.0, 1.0], [0.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]]])
    loop = CMDP(kernel, [[1.0, 0.0], [-1.0, -1.0]], initial=[1.0, 0.0], discount=1.0)
    with pytest.raises(InputError, match="cannot be judged: a loop through states 0, 1 can go on for ever"):
        painless.solve(loop)


def test_without_an_end_nothing_is_solved():
    forever = CMDP([[[1.0]]], [[-1.0]], initial=[1.0], discount=1.0)
    with pytest.raises(InputError, match="no policy stops almost surely from state 0"):
        painless.solve(forever)


def test_a_trap_is_told_from_the_way():
    """The second action may lead to a state that costs for ever; the first one ends."""
    kernel = np.zeros((3, 2, 3))
    kernel[0, 0, 2], kernel[0, 1, 1], kernel[0, 1, 2], kernel[1, :, 1], kernel[2, :, 2] = (
        1.0,
        0.5,
        0.5,
        1.0,
        1.0,
    )
    problem = CMDP(kernel, cost=[[5.0, 1.0], [1.0, 1.0], [0.0, 0.0]], initial=[1.0, 0.0, 0.0], discount=1.0)
    found = painless.solve(problem, tolerance=1e-9)
    assert found.reward_value == pytest.approx(5.0, rel=1e-9)
    assert painless.value(np.eye(2)[[1, 0, 0]], problem).reward_value == np.inf


def test_rest_and_risk_take_a_draw():
    """One may wait for nothing or go on at a risk: half of each needs a draw, since waiting is no end by itself."""
    kernel = np.zeros((3, 2, 3))
    kernel[0, 0, 0] = 1.0
    kernel[0, 1, 1] = 1.0
    kernel[1, :, 2] = kernel[2, :, 2] = 1.0
    problem = CMDP(
        kernel,
        [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]],
        **{"initial": [1.0, 0, 0], "discount": 1.0, "budget": 0.25},
        constraint_cost=[[0.0, 0.0], [0.5, 0.5], [0.0, 0.0]],
    )
    found = painless.solve(problem, tolerance=1e-6)
    assert found.reward_value == pytest.approx(0.5, rel=1e-6)
    assert isinstance(found.policy, TableMixture)
    assert painless.value(found, problem).feasible
    assert "one table is drawn at the start" in str(found.status)


def pits(size=6, slip=0.1):
    """A grid in which every step costs 1, the wind moves sideways, and a pit leads back to the start."""
    states, moves = size * size, [(0, 1), (1, 0), (0, -1), (-1, 0)]
    kernel = np.zeros((states, 4, states))
    holes = {(1, 1), (3, 2), (2, 4)} if size == 6 else set()
    for row, column, a in np.ndindex(size, size, 4):
        for move, chance in ((a, 1 - 2 * slip), ((a + 1) % 4, slip), ((a + 3) % 4, slip)):
            there = (
                min(max(row + moves[move][0], 0), size - 1),
                min(max(column + moves[move][1], 0), size - 1),
            )
            kernel[row * size + column, a, 0 if there in holes else there[0] * size + there[1]] += chance
    return kernel


def test_a_shortest_path_with_pits():
    kernel = pits()
    start = np.eye(36)[0]
    problem = CMDP(kernel, cost=np.ones((36, 4)), initial=start, end=[35])
    found = painless.solve(problem, tolerance=1e-9)
    value = np.zeros(36)
    for _ in range(5000):  # value iteration from below
        value = 1 + (kernel @ value).min(1)
        value[35] = 0.0
    assert found.status.kind is Kind.SOLVED
    assert found.reward_value == pytest.approx(value[0], rel=1e-9)
    for gamma in (0.9999, 0.999999):
        near = painless.solve(problem.with_discount(gamma), tolerance=1e-9)
        assert near.reward_value == pytest.approx(value[0], rel=100 * (1 - gamma))


def test_a_path_of_constant_cost_is_its_length():
    line = np.zeros((5, 1, 5))
    line[np.arange(4), 0, np.arange(1, 5)] = line[4, 0, 4] = 1.0
    problem = CMDP(line, cost=np.ones((5, 1)), initial=np.eye(5)[0], end=[4])
    assert painless.solve(problem).reward_value == 4.0
    assert painless.value(np.ones((5, 1)), problem).reward_value == 4.0


# Sets to reach


def rooms(**terms):
    """Home leads to the shop or the bar, and from there home or to bed, which ends the day."""
    kernel = np.zeros((4, 2, 4))
    kernel[0, 0, 1] = kernel[0, 1, 2] = kernel[3, :, 3] = 1.0
    kernel[1:3, :, [0, 3]] = 0.5
    names = {"states": ["home", "shop", "bar", "bed"]}
    return CMDP(kernel, **{"initial": [1.0, 0, 0, 0], "discount": 1.0, "names": names} | terms)


def test_reaching_where_nothing_is_left_again_is_a_utility():
    kernel = np.array([[[0, 0.5, 0.5], [0, 0.9, 0.1]], [[0, 1, 0], [0, 1, 0]], [[0, 0, 1], [0, 0, 1]]])
    problem = CMDP(kernel, painless.reach([1]), initial=[1, 0, 0], discount=1.0)
    np.testing.assert_array_equal(problem.reward, [[0.5, 0.9], [0, 0], [0, 0]])


def test_reaching_what_can_be_left_adds_a_bit():
    problem = rooms(reward=painless.reach(["shop"]), constraint_reward=painless.reach(["bar"]), threshold=0.3)
    assert problem.shape[0] == 11
    assert "home, shop and bar reached" in problem.names["states"]
    found = painless.solve(problem, tolerance=1e-6)
    # Go to the shop first; after it, go to the bar often enough.
    assert found.reward_value == pytest.approx(1.0)
    assert painless.solve(problem.with_limits([0.5]), tolerance=1e-6).reward_value == pytest.approx(1.0)
    # Both are reached with 1/2 if one goes there in turn; beyond that, one must begin at the bar.
    tighter = painless.solve(problem.with_limits([0.75]), tolerance=1e-6)
    assert tighter.reward_value == pytest.approx(0.75, rel=1e-6)


def test_reaching_with_a_discount_and_with_a_horizon():
    at_once = np.zeros(4)
    at_once[1] = 1.0
    assert painless.solve(rooms(reward=painless.reach([1]), discount=0.9)).reward_value == pytest.approx(0.9)
    assert painless.solve(rooms(reward=painless.reach([1]), initial=at_once)).reward_value == pytest.approx(
        1.0
    )
    late = rooms(reward=painless.reach([3]), discount=None, horizon=3)
    assert painless.solve(late).reward_value == pytest.approx(0.5)


def test_the_end_may_be_reached():
    problem = rooms(
        reward=painless.reach("bed"), end="bed", constraint_cost=[painless.reach("bar")], budget=[0.25]
    )
    found = painless.solve(problem)
    assert found.reward_value == pytest.approx(1.0)
    at_the_end = rooms(reward=painless.reach("bed"), end="bed", initial=[0.5, 0, 0, 0.5])
    assert painless.solve(at_the_end).reward_value == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"reward": painless.reach([1]), "average": True, "discount": None}, "no long-run average"),
        ({"reward": painless.reach([9])}, "there is no state '9'"),
        ({"reward": painless.reach([1]), "actions": np.ones((2, 2))}, "actions has shape"),
        (
            {"reward": painless.reach([1]), "constraint_reward": np.ones((4, 2, 5)), "threshold": [0.0] * 4},
            "beside reach, utilities are",
        ),
        (
            {
                "reward": painless.reach([1]),
                "constraint_reward": [painless.reach([2])] * 8,
                "threshold": [0.1] * 8,
            },
            "9 sets to reach are given",
        ),
    ],
)
def test_what_cannot_be_reached_is_refused(terms, message):
    with pytest.raises(InputError, match=message):
        rooms(**terms)


# Files, simulations, frontiers

MODEL = """@type: MDP
@parameters

@reward_models
time
@nr_states
4
@nr_choices
6
@model
state 0 [0] init
	action go [1]
		1 : 0.5
		2 : 0.5
	action rush [0.5]
		1 : 0.2
		3 : 0.8
state 1 [1]
	action back [0]
		0 : 1
	action rest [0]
		1 : 1
state 2 [1] goal
	action stay [0]
		2 : 1
state 3 [0] crash
	action stay [0]
		3 : 1
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.drn"
    path.write_text(MODEL)
    return path


@pytest.mark.parametrize("crash", [painless.reach("crash"), "reach(crash)"])
def test_labels_of_a_file_are_ends_and_sets_to_reach(model, crash):
    problem = painless.load(model, cost="time", constraint_cost=crash, limit=[0.3], end=["goal", "crash"])
    assert problem.criterion is Criterion.TOTAL
    assert problem.name("constraints", 0) == "reach(crash)"
    found = painless.solve(problem, tolerance=1e-9)
    # Going takes (1 + ½)/½ = 3 minutes in all; rushing always 0.875. Mixtures lie on the line between.
    assert found.reward_value == pytest.approx(3 - 2.125 * 0.3, rel=1e-9)
    assert found.multiplier[0] == pytest.approx(2.125, rel=1e-6)


def test_a_file_without_reward_models_has_probabilities(model):
    model.write_text(
        MODEL.replace("@reward_models\ntime\n", "@reward_models\n\n")
        .replace(" [1]", "")
        .replace(" [0]", "")
        .replace(" [0.5]", "")
    )
    problem = painless.load(model, reward=painless.reach("goal"))
    assert painless.solve(problem).reward_value == pytest.approx(1.0)
    with pytest.raises(InputError, match="unknown label 'gaol'; did you mean 'goal'"):
        painless.load(model, reward="reach(gaol)")


def test_the_frontier_of_deep_sea_treasure_is_the_published_one():
    curve = painless.frontier(painless.make("deep-sea-treasure", discount=1.0))
    np.testing.assert_allclose(-curve.threshold, [19, 17, 13, 9, 8, 7, 5, 3, 1], atol=1e-9)
    np.testing.assert_allclose(
        curve.reward_value, [23.7, 22.4, 19.6, 16.1, 15.1, 14, 11.5, 8.2, 0.7], atol=1e-9
    )


def test_a_frontier_without_end_is_refused():
    with pytest.raises(InputError, match="the frontier has no end"):
        painless.frontier(work())


def test_episodes_end():
    problem = work(budget=3.0)
    policy = painless.solve(problem, tolerance=1e-6).policy
    found = painless.evaluate(policy, problem, episodes=2000)
    assert found.low[0] < 6.0 < found.high[0]
    assert found.high[0] - found.low[0] < 1.0
    walk = policy.simulate(problem, episodes=3, steps=50, make=dict)
    last = dict(zip(walk["episode"], walk["action"], strict=True))
    assert set(last.values()) == {1}
    half = CMDP([[[0.5]]], [[1.0]], initial=[1.0], discount=1.0)
    assert painless.evaluate([[1.0]], half, episodes=2000).mean[0] == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize("seed", [8024, 8086])
def test_ways_so_long_that_sums_overflow_are_not_judged(seed):
    given = FAMILIES["tiny"](np.random.default_rng(seed))
    rng, shape = np.random.default_rng(seed), np.shape(given["transition"])[:2]
    ends = np.where(rng.random(shape) < 0.6, 10.0 ** -rng.integers(1, 12, shape), 0.0)
    rows = np.asarray(given["transition"]) * (1 - ends)[..., None]
    solution = painless.solve(CMDP(**{**given, "transition": rows, "discount": 1.0}))
    assert solution.status.kind is Kind.STOPPED
    assert not solution.feasible
    assert np.isinf(solution.gap)


def test_rounds_before_a_rest_are_told_apart_from_rounding():
    """To work five times and then to idle takes memory; an action that ends the process makes it a table."""
    idle = painless.CMDP(
        np.ones((1, 2, 1)),
        [[1.0, 0.0]],
        initial=[1.0],
        discount=1.0,
        constraint_cost=[[1.0, 0.0]],
        budget=5.0,
        names={"states": ["office"], "actions": ["work", "idle"]},
    )
    found = painless.solve(idle)
    assert found.status.kind is Kind.STOPPED
    assert "rests in state office, which no table of probabilities does" in str(found.status)
    assert found.upper_bound == pytest.approx(5.0)
    quits = painless.CMDP(
        np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]]),
        [[1.0, 0.0], [0.0, 0.0]],
        initial=[1.0, 0.0],
        discount=1.0,
        constraint_cost=[[1.0, 0.0], [0.0, 0.0]],
        budget=5.0,
    )
    assert painless.solve(quits, tolerance=1e-6).reward_value == pytest.approx(5.0, rel=2e-6)
