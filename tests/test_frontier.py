"""Frontiers: every vertex against the linear program, ties, ends, large models, files, pictures, the command line."""

import json
from functools import partial

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

import painless
from painless import InputError, LinearProgram
from painless.bellman import policy_value
from painless.engines.engine import ENGINES, EXACT_STATES, FINEST_VISITS, engine_of
from painless.engines.swept import Swept
from painless.frontiers.frontier import Infeasible
from painless.frontiers.json_data import grid_layout
from painless.frontiers.surface import frontier_surface
from painless.problems.deep_sea_treasure import CONCAVE_TREASURES, TREASURES, deep_sea_treasure
from painless.problems.queueing import queueing
from painless.problems.slippery_grid import slippery_grid
from painless.report.frontier_figure import frontier_figure
from painless.solving.solution import Kind
from painless.storage import results
from tests.extras import library

WORLD_VERTICES = [
    (0.2454861654, 1.7328616542),
    (1.2604413284, 1.6942206642),
    (1.7684398524, 1.6062199262),
    (2.5372535808, 1.3408267904),
    (2.5572731808, 1.3166365904),
]


@st.composite
def problems(draw, constraints=(1, 3)):
    """CMDPs in every term: rewards and costs, thresholds and budgets, masks, ties, dense and sparse."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    states, actions = draw(st.integers(1, 15)), draw(st.integers(1, 4))
    count = draw(st.integers(*constraints))
    base = painless.garnet(
        *(states, actions, draw(st.integers(1, states)), count),
        seed=int(rng.integers(2**31)),
        discount=draw(st.sampled_from([0.0, 0.5, 0.9, 0.99])),
        tightness=draw(st.sampled_from([0.0, 0.5, 0.9])),
        dense=draw(st.booleans()),
    )
    mask = rng.random((states, actions)) < draw(st.sampled_from([0.6, 1.0]))
    mask[np.arange(states), rng.integers(actions, size=states)] = True
    utility = base.utility * 10.0 ** draw(st.integers(-2, 2)) + draw(st.sampled_from([0.0, -5.0]))
    if draw(st.booleans()):  # ties everywhere
        utility = rng.integers(0, 3, base.utility.shape).astype(float)
    gained = draw(st.integers(0, count))
    given = {"cost" if draw(st.booleans()) else "reward": utility[0]}
    loose = np.full(count, -1e6)
    if gained:
        given |= {"constraint_reward": utility[1 : 1 + gained], "threshold": loose[:gained]}
    if gained < count:
        given |= {"constraint_cost": utility[1 + gained :], "budget": -loose[gained:]}
    problem = painless.CMDP(
        base.transition, **given, initial=base.initial, discount=base.discount, actions=mask
    )
    held = policy_value(problem, mask / mask.sum(1, keepdims=True))[1:] * problem.sign[1:]
    return problem.with_limits(held), draw(st.integers(0, count - 1)), rng


def optimum(problem, constraint, threshold):
    """Solve the linear program with another limit."""
    limits = problem.limit
    limits[constraint] = threshold
    return painless.solve(problem.with_limits(limits), LinearProgram())


def size(problem, utility=0):
    """Return how large the values of a utility can be."""
    return np.abs(problem.utility[utility][problem.actions]).max() / (1 - problem.discount) + 1e-9


def sizes(problem):
    """Return how large the values of each constraint can be, (K,)."""
    return np.array([size(problem, 1 + i) for i in range(problem.shape[2])])


# ---------------------------------------------------------------- exactness


@settings(max_examples=100)
@given(problems())
def test_equals_the_linear_program_at_any_limit(given):
    problem, index, rng = given
    frontier = painless.frontier(problem, index)
    first, last = frontier.slack_from, frontier.feasible_to
    for share in (0.0, 1.0, 1 - 1e-6, *rng.random(3)):
        point = frontier.at(first + share * (last - first))
        plan = optimum(problem, index, point.threshold)
        price = 0.0 if not np.isfinite(point.multiplier[0]) else point.multiplier[0]
        prices = np.nan_to_num(plan.multiplier)  # a relative 1e-9 of any limit may be missed, at its price
        close = 1e-8 * (size(problem) + price * size(problem, 1 + index) + prices @ sizes(problem))
        ahead = (point.reward_value - plan.reward_value) * problem.sign[0]
        assert -close <= ahead <= plan.gap + close
        assert plan.gap <= 100 * close or share == 1.0  # HiGHS may call the tightest limit infeasible
        found = policy_value(problem, point.policy.probabilities) * problem.sign
        assert found[0] == pytest.approx(point.reward_value, abs=1e-9 * size(problem))
        assert (np.abs(found[1:] - point.constraint_value) <= 1e-9 * sizes(problem)).all()
        limits = problem.limit
        limits[index] = point.threshold
        slack = (found[1:] - limits) * problem.sign[1:]
        assert (slack >= -2e-9 * sizes(problem)).all()


@settings(max_examples=100)
@given(problems())
def test_ends_are_where_slack_and_feasibility_end(given):
    problem, index, _ = given
    frontier = painless.frontier(problem, index)
    tighter = problem.sign[1 + index] * 1e-4 * size(problem, 1 + index)
    loose = optimum(problem, index, frontier.slack_from - 100 * tighter)
    assert frontier.reward_value[0] == pytest.approx(loose.reward_value, abs=1e-8 * size(problem))
    assert optimum(problem, index, frontier.feasible_to + tighter).status.kind is Kind.INFEASIBLE
    width = abs(frontier.threshold[:2] @ [1, -1]) if len(frontier) > 1 else 0.0
    if width > 1e-5 * size(problem, 1 + index):
        step = min(abs(tighter), 0.5 * width)
        worse = optimum(problem, index, frontier.slack_from + np.sign(tighter) * step)
        lost = (loose.reward_value - worse.reward_value) * problem.sign[0]
        price = frontier.multiplier[0, 1]
        # Limits are met to rounding, at a price
        close = 1e-8 * (size(problem) + price * size(problem, 1 + index))
        assert lost == pytest.approx(step * price, abs=close)
    with pytest.raises(InputError, match="the tightest limit that any meets is"):
        frontier.at(frontier.feasible_to + tighter)


def test_an_edge_as_short_as_rounding_is_none():
    """One row sums to 1 − 1e-16, so that two policies of equal values differ in the last digit."""
    kernel = np.array([1.0, 1.0, 1.0, 1 - 1.1102230246251565e-16])[:, None]
    problem = painless.CMDP(
        scipy.sparse.csr_array(kernel),
        [[0.0, 1.0, 0.0, 2.0]],
        initial=[1.0],
        discount=0.9,
        constraint_reward=[[[2.0, 1.0, 1.0, 0.0]], [[2.0, 2.0, 0.0, 2.0]]],
        threshold=[10.0, 15.0],
    )
    frontier = painless.frontier(problem, 1)
    assert frontier.error <= 2e-9
    assert frontier.reward_value == pytest.approx([10.0])


def rounding(problem, frontier):
    """Return what the rounding of values, about 1e-15/(1−γ)² spans, may be of the ranges of a narrow frontier."""
    spans = np.array([np.ptp(one[problem.actions]) for one in problem.utility])[[0, 1 + frontier.constraint]]
    ranges = np.array([np.ptp(frontier.reward_value), np.ptp(frontier.threshold)])
    wide = ranges > 0
    return 1e-15 * problem.unit**2 * (spans[wide] / ranges[wide]).sum()


@settings(max_examples=50)
@given(problems())
def test_is_concave_with_rising_prices_and_nothing_to_spare(given):
    problem, index, _ = given
    frontier = painless.frontier(problem, index)
    prices = frontier.multiplier
    assert prices[0, 0] == 0
    assert prices[-1, 1] == np.inf
    assert (prices[:-1, 1] == prices[1:, 0]).all()
    assert (np.diff(prices, axis=1) > 0).all()
    assert (np.diff(frontier.threshold * problem.sign[1 + index]) > 0).all()
    assert (np.diff(frontier.reward_value * problem.sign[0]) < 0).all()
    assert (frontier.gap >= 0).all()
    assert frontier.error <= 2e-9 + rounding(problem, frontier)
    if problem.shape[2] == 1:
        assert all(len(mixture) == 1 for mixture in frontier.mixtures)
        assert not any(len(frontier.policy(i).randomised) for i in range(len(frontier)))
    for i, mixture in enumerate(frontier.mixtures):
        assert sum(weight for _, weight in mixture) == pytest.approx(1)
        np.testing.assert_array_less(-1e-12, frontier.occupancy(i)[problem.actions])
        assert frontier.occupancy(i)[~problem.actions].sum() == 0


@settings(max_examples=30)
@given(problems())
def test_prices_are_those_of_the_linear_program(given):
    problem, index, rng = given
    frontier = painless.frontier(problem, index)
    steps = np.abs(np.diff(frontier.threshold))
    if not len(steps) or steps.max() < 1e-3 * size(problem, 1 + index):
        return
    edge = int(steps.argmax())
    limit = frontier.threshold[edge] + rng.uniform(0.2, 0.8) * (
        frontier.threshold[edge + 1] - frontier.threshold[edge]
    )
    (low, high), plan = frontier.at(limit).multiplier, optimum(problem, index, limit)
    assert low == high == frontier.multiplier[edge, 1]
    assert plan.multiplier[index] == pytest.approx(low, rel=1e-5, abs=1e-7 * size(problem))


def test_gridworld():
    frontier = painless.frontier(painless.gridworld())
    points = np.column_stack([frontier.threshold, frontier.reward_value])
    np.testing.assert_allclose(points, WORLD_VERTICES, atol=1e-9)
    point = frontier.at(1.5)
    assert point.reward_value == pytest.approx(1.6527218430, abs=1e-9)
    assert point.multiplier[0] == pytest.approx(0.1732303, abs=1e-7)
    assert sum(point.weights.values()) == pytest.approx(1)
    assert set(point.weights) == {1, 2}
    slack = frontier.at(-3.0)
    assert slack.multiplier == (0.0, 0.0)
    assert slack.reward_value == frontier.reward_value[0]
    vertex = frontier.at(frontier.threshold[2])
    assert vertex.multiplier == tuple(frontier.multiplier[2])
    assert vertex.weights == {2: 1.0}


def test_three_constraints_at_the_papers_limits():
    world = painless.gridworld(constraints=3)
    for index, price in enumerate((0.1110, 0.3595, 0.0431)):
        point = painless.frontier(world, index).at(world.limit[index])
        assert point.reward_value == pytest.approx(1.39769, abs=1e-5)
        assert point.multiplier[0] == pytest.approx(price, abs=1e-4)


def hull(points):
    """Return the part of the concave hull of points (x, y) that falls, from left to right."""
    kept = []
    for x, y in sorted(map(tuple, points)):
        while len(kept) > 1 and (kept[-1][1] - kept[-2][1]) * (x - kept[-2][0]) <= (y - kept[-2][1]) * (
            kept[-1][0] - kept[-2][0]
        ):
            kept.pop()
        kept.append((x, y))
    best = max(range(len(kept)), key=lambda i: kept[i][1])
    return np.array(kept[best:])


@pytest.mark.parametrize("discount", [0.9, 0.99])
@pytest.mark.parametrize(
    ("name", "treasures"),
    [("deep-sea-treasure-v0", TREASURES), ("deep-sea-treasure-concave-v0", CONCAVE_TREASURES)],
)
@pytest.mark.filterwarnings("ignore")  # of mo_gymnasium's own
def test_deep_sea_treasure_is_the_hull_of_the_front_that_mo_gymnasium_ships(name, treasures, discount):
    mo_gymnasium = library("mo_gymnasium")
    front = mo_gymnasium.make(name).unwrapped.pareto_front(discount)
    expected = hull([(steps, treasure) for treasure, steps in front])
    frontier = painless.frontier(deep_sea_treasure(discount, treasures=treasures))
    points = np.column_stack([frontier.threshold, frontier.reward_value])
    np.testing.assert_allclose(points, expected, rtol=1e-9)


# ---------------------------------------------------------------- large models, tolerances, degenerate ones


@settings(max_examples=30)
@given(problems())
def test_sweeps_find_what_factorised_systems_find(given):
    problem, index, _ = given
    exact = painless.frontier(problem, index)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ENGINES, "swept", lambda model, _: Swept(model))
        swept = painless.frontier(problem, index)
    limits = np.concatenate([exact.threshold, swept.threshold])
    within = np.clip(limits, min(exact.threshold), max(exact.threshold))
    price = np.append(exact.multiplier[1:, 0], 0.0).max()
    close = 1e-8 * (size(problem) + min(price, 1e6) * size(problem, 1 + index))
    np.testing.assert_allclose(swept.value(within), exact.value(within), atol=close)


@settings(max_examples=30)
@given(problems())
def test_visits_of_both_kinds_are_the_same(given):
    problem, index, _ = given
    actions = painless.frontier(problem, index).actions[0]
    exact = engine_of(problem, EXACT_STATES).visits(actions, FINEST_VISITS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ENGINES, "swept", lambda model, _: Swept(model))
        swept = engine_of(problem, EXACT_STATES).visits(actions, FINEST_VISITS)
    np.testing.assert_allclose(swept, exact, atol=1e-9 * exact.sum())
    assert exact.sum() == pytest.approx(1 / (1 - problem.discount))


def test_a_tolerance_bounds_what_is_left_out():
    grid = slippery_grid()
    fine, coarse = painless.frontier(grid), painless.frontier(grid, tolerance=1e-3)
    assert len(coarse) < len(fine) / 4
    assert coarse.error <= 1.1e-3
    limits = np.linspace(coarse.slack_from, coarse.feasible_to, 1001)
    lost = fine.value(limits) - coarse.value(limits)
    assert lost.min() >= -1e-9
    edge = np.clip(np.searchsorted(-coarse.threshold, -limits) - 1, 0, len(coarse) - 2)
    assert (lost <= coarse.gap[edge] + 1e-9).all()


def test_a_large_grid_has_a_small_json():
    grid = slippery_grid(height=100, width=100)
    frontier = painless.frontier(grid, tolerance=0.02)
    assert grid.shape[0] > 8000
    assert frontier.error <= 0.025
    plan = painless.solve(
        grid.with_limits([frontier.threshold[1]]), painless.ColumnGeneration(), tolerance=1e-7
    )
    assert frontier.reward_value[1] == pytest.approx(plan.reward_value, rel=1e-6)
    text = frontier.to_json()
    assert len(text) < 2e6
    assert len(json.loads(text)["occupancy"]["vertices"]) <= 12


def test_a_constraint_that_no_policy_changes():
    problem = painless.CMDP(
        [[[1.0], [1.0]]],
        [[0.0, 1.0]],
        initial=[1.0],
        discount=0.5,
        constraint_reward=[[3.0, 3.0]],
        threshold=1.0,
    )
    frontier = painless.frontier(problem)
    assert frontier.threshold == pytest.approx([6.0])
    assert frontier.reward_value == pytest.approx([2.0])
    assert frontier.multiplier.tolist() == [[0.0, np.inf]]
    assert frontier.value([5.0, 6.0, 7.0]) == pytest.approx([2.0, 2.0, np.nan], nan_ok=True)
    assert len(json.loads(frontier.to_json())["vertices"]) == 1
    assert "1 vertex," in repr(frontier)


def test_a_constraint_without_a_price():
    """The best policy for the reward is the best for the constraint as well."""
    problem = painless.CMDP(
        [[[1.0], [1.0]]],
        [[0.0, 1.0]],
        initial=[1.0],
        discount=0.5,
        constraint_reward=[[0.0, 3.0]],
        threshold=1.0,
    )
    frontier = painless.frontier(problem)
    assert len(frontier) == 1
    assert frontier.slack_from == frontier.feasible_to == pytest.approx(6.0)


def test_ties_end_at_the_better_policy():
    """Three actions, two with the same reward and two with the same constraint reward."""
    problem = painless.CMDP(
        [[[1.0]] * 4], [[2.0, 2.0, 1.0, 0.0]], initial=[1.0], discount=0.5,
        constraint_reward=[[0.0, 1.0, 3.0, 3.0]], threshold=1.0,
    )  # fmt: skip
    frontier = painless.frontier(problem)
    np.testing.assert_allclose(frontier.threshold, [2.0, 6.0])
    np.testing.assert_allclose(frontier.reward_value, [4.0, 2.0])


def test_held_constraints_with_nothing_to_spare():
    """The last slice holds the throughput at its very largest, where it costs more than anything can be worth."""
    queue = queueing()
    most = painless.frontier(queue.with_limits([0.0, 1e6]), "throughput").feasible_to
    frontier = painless.frontier(queue.with_limits([most, 5.0]), "waiting")
    assert frontier.constraint_value[:, 0] == pytest.approx(most, abs=1e-8)
    assert (frontier.reward_value > 1.9).all()


def test_where_the_simplex_method_gives_up(monkeypatch):
    world = painless.gridworld(constraints=3)
    usual = painless.frontier(world)
    monkeypatch.setattr("painless.planning.master.maximise", lambda *_: None)
    by_highs = painless.frontier(world)
    np.testing.assert_allclose(by_highs.threshold, usual.threshold, atol=1e-7)
    np.testing.assert_allclose(by_highs.reward_value, usual.reward_value, atol=1e-7)


def test_progress_counts_edges():
    seen = []
    frontier = painless.frontier(painless.gridworld(), progress=lambda *now: seen.append(now))
    assert seen[-1] == (len(frontier) - 1, 0)


# ---------------------------------------------------------------- errors


def test_errors_say_what_to_do():
    world = painless.gridworld(constraints=3)
    free = painless.CMDP([[[1.0]]], [[0.0]], initial=[1.0], discount=0.5)
    with pytest.raises(InputError, match="has no constraint"):
        painless.frontier(free)
    with pytest.raises(InputError, match="give a number from 0 to 2, or a name"):
        painless.frontier(world, 3)
    for wrong in (-1, 0.5, True):
        with pytest.raises(InputError, match="give a number from 0 to 2"):
            painless.frontier(world, wrong)
    with pytest.raises(InputError, match="there is no constraint 'constraint 7'; did you mean"):
        painless.frontier(world, "constraint 7")
    for wrong in (-1e-9, 1.0, np.nan):
        with pytest.raises(InputError, match="tolerance is"):
            painless.frontier(world, tolerance=wrong)
    with pytest.raises(
        Infeasible, match=r"no policy meets constraint 2 >= 99, constraint 3 >= 2\.7, whatever"
    ):
        painless.frontier(world.with_limits([1.5, 99.0, 2.7]))


def test_a_constant_constraint_that_is_held_and_missed():
    problem = painless.CMDP(
        [[[1.0], [1.0]]], [[0.0, 1.0]], initial=[1.0], discount=0.5,
        constraint_reward=[[[3.0, 3.0]], [[1.0, 0.0]]], threshold=[7.0, 1.0],
    )  # fmt: skip
    with pytest.raises(Infeasible, match=r"no policy meets constraint 1 >= 7, whatever .*; relax it"):
        painless.frontier(problem, 1)
    assert painless.frontier(problem.with_limits([6.0, 1.0]), 1).feasible_to == pytest.approx(2.0)


def test_by_name():
    frontier = painless.frontier(queueing(), "waiting")
    assert frontier.constraint == 1
    assert painless.frontier(queueing(), "1").name == "waiting"
    assert frontier.sense == "<="
    assert frontier.slack_from > frontier.feasible_to


# ---------------------------------------------------------------- text, JSON, files, pictures


def mixed_from_json(content, edge, share):
    """Return the policy and the visits between two vertices as a page computes them, (S, A) and (S,)."""
    rows = list(content["policy"]["first"])
    for changes in content["policy"]["changes"][:edge]:
        for state, row, _, _ in changes:
            rows[state] = row

    def spread(row):
        pairs = [[row, 1.0]] if isinstance(row, int) else row
        return np.bincount([a for a, _ in pairs], [p for _, p in pairs], content["actions"])

    table = np.array([spread(row) for row in rows])
    for state, row, before, after in content["policy"]["changes"][edge]:
        part = (1 - share) * before * spread(rows[state]) + share * after * spread(row)
        if part.sum() > 0:
            table[state] = part / part.sum()
    visited = np.array(content["occupancy"]["visits"])
    return table, (1 - share) * visited[edge] + share * visited[edge + 1]


@pytest.mark.parametrize("make", [painless.gridworld, lambda: painless.gridworld(constraints=3), queueing])
def test_json_is_enough_to_mix_neighbours(make):
    frontier = painless.frontier(make())
    content = json.loads(frontier.to_json())
    edge, share = 1, 0.3
    limit = (1 - share) * frontier.threshold[edge] + share * frontier.threshold[edge + 1]
    point = frontier.at(limit)
    table, visited = mixed_from_json(content, edge, share)
    np.testing.assert_allclose(visited, point.occupancy.sum(1), rtol=1e-3, atol=1e-5 * visited.max())
    seen = point.occupancy.sum(1) > 1e-9
    np.testing.assert_allclose(table[seen], point.policy.probabilities[seen], atol=1e-6)
    vertices = content["vertices"]
    assert [v["threshold"] for v in vertices] == frontier.threshold.tolist()
    assert vertices[-1]["multiplier"][1] is None
    assert content["constraints"][frontier.constraint]["sense"] == frontier.sense


def test_json_marks_and_layout():
    content = painless.frontier(painless.gridworld()).as_dict()
    assert content["marks"] == {"objective": [[1, 1.0], [3, 0.5]], "constraints": [[[1, 0.1], [3, 1.0]]]}
    assert content["layout"]["cells"][7] == (1, 2)
    assert painless.frontier(painless.garnet(5, 2, 2)).as_dict()["layout"] is None
    assert painless.frontier(painless.garnet(5, 2, 2)).as_dict()["marks"]["objective"] == []


def test_layouts():
    sea = grid_layout(deep_sea_treasure())
    assert (sea.rows, sea.columns, sea.cells[-1], sea.moves[1]) == (11, 11, None, (1, 0))
    grid = grid_layout(slippery_grid("S#G\n...", stay=True))
    assert grid.cells == ((0, 0), (0, 2), (1, 0), (1, 1), (1, 2))
    assert grid.moves[4] == (0, 0)
    twice = painless.CMDP(
        [[[1, 0]], [[0, 1]]],
        [[0.0], [0.0]],
        initial=[1.0, 0.0],
        discount=0.5,
        names={"states": ["(0, 0)", "(0,0)"]},
    )
    assert grid_layout(twice) is None


def test_text():
    frontier = painless.frontier(painless.gridworld())
    text = repr(frontier)
    assert text.splitlines()[4].split() == ["2", "≥", "1.76844", "1.60622", "0.17323", "to", "0.345198"]
    assert "costs nothing below 0.245486, and no policy meets one above 2.55728. 5 vertices" in text
    assert frontier._repr_html_().count("<tr>") == 6
    long = repr(painless.frontier(slippery_grid()))
    assert "89 more" in long
    assert len(long.splitlines()) == 28


@pytest.mark.parametrize("make", [painless.gridworld, queueing])
def test_saved_and_read_back(make, tmp_path):
    frontier = painless.frontier(make())
    frontier.save(tmp_path / "found")
    again = painless.Frontier.load(tmp_path / "found")
    assert repr(again) == repr(frontier)
    assert again.to_json() == frontier.to_json() == (tmp_path / "found" / "frontier.json").read_text().strip()
    limit = frontier.threshold[:2].mean()
    np.testing.assert_array_equal(
        again.at(limit).policy.probabilities, frontier.at(limit).policy.probabilities
    )


def test_files_that_are_not_frontiers(tmp_path):
    frontier = painless.frontier(painless.gridworld())
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file; give a folder"):
        frontier.save(tmp_path / "file")
    with pytest.raises(InputError, match="does not exist"):
        painless.Frontier.load(tmp_path / "nothing")
    frontier.save(tmp_path / "found")
    arrays = results.read(tmp_path / "found" / "arrays.npz", "frontier")
    for wrong, what in (
        ({"gap": np.zeros(9)}, "'gap' has shape"),
        ({"mixture_place": arrays["mixture_place"] + [99, 0]}, "which is invalid"),
        ({"mixture_place": arrays["mixture_place"] * 0}, "do not sum to 1"),
        ({"actions": arrays["actions"] + 4}, "which is invalid"),
        ({"constraint": 1}, "'constraint' holds 1"),
    ):
        results.write(tmp_path / "found" / "arrays.npz", "frontier", arrays | wrong)
        with pytest.raises(InputError, match=f"does not hold a frontier: .*{what}"):
            painless.Frontier.load(tmp_path / "found")
    del arrays["actions"]
    results.write(tmp_path / "found" / "arrays.npz", "frontier", arrays)
    with pytest.raises(InputError, match="does not hold a frontier: 'actions' is missing"):
        painless.Frontier.load(tmp_path / "found")


@pytest.mark.parametrize(
    "make", [painless.gridworld, queueing, slippery_grid, lambda: painless.garnet(1, 1, 1)]
)
def test_picture(make, tmp_path):
    frontier = painless.frontier(make())
    value, price = frontier_figure(frontier).axes
    curve, marks = (line for line in value.get_lines() if line.get_zorder() in (3, 4))
    np.testing.assert_array_equal(marks.get_xdata(), frontier.threshold)
    np.testing.assert_array_equal(curve.get_ydata()[1:], frontier.reward_value)
    (steps,) = (line for line in price.get_lines() if line.get_zorder() == 3)
    assert steps.get_ydata()[0] == 0
    assert set(frontier.multiplier[1:, 0]) <= set(steps.get_ydata())
    assert len(value.patches) == 2
    painless.report.save_figure(value.figure, tmp_path / "frontier.png")
    assert (tmp_path / "frontier.png").stat().st_size > 10_000


# ---------------------------------------------------------------- two limits


def test_surface_equals_the_linear_program():
    surface = frontier_surface(queueing(10), ("throughput", "waiting"), points=5)
    for i, first in enumerate(surface.threshold[0][:-1]):
        for j, second in enumerate(surface.threshold[1][:-1]):
            plan = painless.solve(queueing(10).with_limits([first, second]), LinearProgram())
            if plan.status.kind is Kind.INFEASIBLE:
                assert np.isnan(surface.reward_value[i, j])
            else:
                assert surface.reward_value[i, j] == pytest.approx(plan.reward_value, abs=1e-6)
    assert repr(surface).startswith("Surface sampled at 5 × 5 limits (throughput from")
    assert np.isnan(surface.reward_value).any()


def test_surface_errors():
    queue = queueing(3)
    with pytest.raises(InputError, match="two different ones"):
        frontier_surface(queue, (1, "waiting"))
    with pytest.raises(InputError, match="a surface has two constraints, not 1"):
        frontier_surface(queue, (1,))
    for wrong in (1, 2.5, True):
        with pytest.raises(InputError, match="points is"):
            frontier_surface(queue, points=wrong)


# ---------------------------------------------------------------- the command line


@pytest.fixture
def run(run):
    """Run the command in this process."""
    return partial(run, "frontier")


def test_command_prints_the_vertices(run):
    code, out, err = run("gridworld")
    assert code == 0
    assert err == ""
    assert "0.17323 to 0.345198" in out
    assert "5 vertices" in out


def test_command_json(run):
    code, out, _ = run(
        "queueing", "--constraint", "waiting", "--json", "-p", "buffer=5", "--tolerance", "1e-3"
    )
    content = json.loads(out)
    assert code == 0
    assert content["problem"] == "queueing"
    assert content["format"] == "painless-frontier"
    assert content["constraint"] == 1
    assert content["states"] == 6


def test_command_writes_files(run, tmp_path):
    for name in ("found.json", "found.png", "found.svg"):
        assert run("gridworld", "--out", tmp_path / name)[0] == 0
        assert (tmp_path / name).stat().st_size > 1000
    assert json.loads((tmp_path / "found.json").read_text())["version"] == 1
    assert run("gridworld", "--save", tmp_path / "folder")[0] == 0
    assert len(painless.Frontier.load(tmp_path / "folder")) == 5


def test_command_errors(run, tmp_path):
    code, _, err = run("gridworld", "--constraint", "foo")
    assert (code, err.count("\n")) == (2, 1)
    assert "there is no constraint 'foo'" in err
    code, _, err = run("gridworld", "--out", tmp_path / "found.txt")
    assert code == 2
    assert "must end in .json, .png, .pdf or .svg" in err
    code, _, err = run("gridworld-3", "--threshold", "1.5", "--threshold", "99", "--threshold", "2.7")
    assert code == 3
    assert "no policy meets" in err
    assert run("nowhere.npz")[0] == 2
    assert run("cartpole")[0] == 2


def test_no_two_vertices_show_the_same_limit():
    shown = [row[1] for row in painless.frontier(painless.make("queueing")).rows()]
    assert len(set(shown)) == len(shown) > 20
    assert shown[-1] == "≥ 0.5"


def test_a_constant_reward_is_no_cancellation_however_small_it_is():
    problem = painless.CMDP(
        np.ones((1, 2, 1)),
        np.full((1, 2), 1e-13),
        initial=[1.0],
        discount=0.95,
        constraint_reward=[[0.0, 1.0]],
        threshold=10,
    )
    np.testing.assert_allclose(painless.frontier(problem).reward_value, 2e-12, rtol=1e-9)
