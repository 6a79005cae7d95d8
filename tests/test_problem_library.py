"""The problems of the literature and those of any size: known numbers, closed forms, structure, errors."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import painless
from painless import InputError
from painless.bellman import action_value, occupancy, policy_value
from painless.checks import check_problem
from painless.engines import policy_iteration
from painless.planning import LinearProgram
from painless.problems.deep_sea_treasure import CONCAVE_TREASURES, DEPTHS, TREASURES, deep_sea_treasure
from painless.problems.inventory import DEMAND, inventory
from painless.problems.maintenance import maintenance
from painless.problems.queueing import queueing
from painless.problems.random_cmdp import random_cmdp
from painless.problems.slippery_grid import MOVES, random_map, slippery_grid
from painless.problems.streaming import streaming
from painless.problems.wireless import wireless

CLIFF = """
    S.HHH.G
    ..#H#..
    .......
"""
PROBLEMS = {
    "maintenance": maintenance,
    "deep sea treasure": deep_sea_treasure,
    "deep sea treasure, concave": partial(deep_sea_treasure, 0.9, -4.0, CONCAVE_TREASURES),
    "streaming": streaming,
    "inventory": inventory,
    "random": random_cmdp,
    "queue": queueing,
    "queue, sparse": partial(queueing, 8, arrival=0.7, threshold=0.6, budget=2.0, dense=False),
    "grid": slippery_grid,
    "grid, text": partial(slippery_grid, CLIFF, stay=True, budget=0.2),
    "wireless": wireless,
    "wireless, sparse": partial(wireless, 9, 4, budget=(2.0, 0.01), dense=False),
}
OPTIMA = {  # of the defaults
    "maintenance": 0.439924,
    "deep sea treasure": 8.03682,
    "streaming": 6.836501,
    "inventory": 9.494885,
    "random": 4.462444,
    "queue": 1.697631,
    "grid": 0.742485,
    "wireless": 0.683915,
}


def unconstrained(problem):
    """Return the best value when nothing is constrained, in the user's terms."""
    return policy_iteration(problem, problem.reward).value * problem.sign[0]


def kernel(problem):
    """Return the transitions as a dense array, (S, A, S)."""
    states, actions, _ = problem.shape
    rows = problem.transition.toarray() if problem.is_sparse else problem.transition
    return rows.reshape(states, actions, states)


# ---------------------------------------------------------------- all of them


@pytest.mark.parametrize("name", PROBLEMS)
def test_passes_the_check(name):
    check_problem(PROBLEMS[name])


@pytest.mark.parametrize("name", PROBLEMS)
def test_solved_to_the_value_of_the_linear_program(name):
    problem = PROBLEMS[name]()
    plan, found = painless.solve(problem, LinearProgram()), painless.solve(problem, tolerance=1e-6)
    assert found.feasible
    assert found.reward_value == pytest.approx(plan.reward_value, rel=2e-6)
    assert found.reward_value != pytest.approx(unconstrained(problem), rel=1e-3), "the constraints do nothing"
    if name in OPTIMA:
        assert plan.reward_value == pytest.approx(OPTIMA[name], abs=1e-6)


@pytest.mark.parametrize("name", PROBLEMS)
def test_actions_and_constraints_have_names(name):
    problem = PROBLEMS[name]()
    states, actions, constraints = problem.shape
    assert len(set(problem.names["actions"])) == actions
    assert len(set(problem.names["constraints"])) == constraints
    assert len(set(problem.names.get("states", range(states)))) == states


def test_the_terms_of_the_user():
    minimised = {name for name, make in PROBLEMS.items() if make().minimise}
    assert minimised == {name for name in PROBLEMS if name.startswith(("main", "stream", "queue", "wire"))}
    assert queueing().sense == (">=", "<=")
    assert queueing().limit == pytest.approx([0.45, 5.0])
    assert wireless().sense == ("<=", "<=")
    assert deep_sea_treasure().sense == random_cmdp().sense == (">=",)
    assert maintenance().sense == streaming().sense == inventory().sense == slippery_grid().sense == ("<=",)


@pytest.mark.parametrize("make", [inventory, queueing, slippery_grid, wireless])
def test_dense_and_sparse_are_the_same(make):
    dense, sparse = make(dense=True), make(dense=False)
    assert sparse.is_sparse
    assert not dense.is_sparse
    np.testing.assert_array_equal(dense.actions, sparse.actions)
    np.testing.assert_array_equal(kernel(dense)[dense.actions], kernel(sparse)[dense.actions])
    np.testing.assert_array_equal(dense.utility, sparse.utility)
    assert dense.names == sparse.names


# ---------------------------------------------------------------- the literature


@pytest.mark.parametrize(
    ("discount", "free", "limited", "price"),
    [
        (0.99, 0.412984, 0.417232, 1.852625),
        (0.999, 0.431662, 0.439924, 1.311362),
        (0.9999, 0.433577, 0.442051, 1.262516),
    ],
)
def test_maintenance(discount, free, limited, price):
    problem = maintenance(discount)
    assert unconstrained(problem) == pytest.approx(free, abs=1e-6)
    solution = painless.solve(problem, tolerance=1e-7)
    assert solution.reward_value == pytest.approx(limited, abs=1e-6)
    assert solution.constraint_value == pytest.approx([0.08])
    assert solution.multiplier == pytest.approx([price], abs=1e-6)
    assert len(solution.policy.randomised) == 1


def test_maintenance_tends_to_the_published_averages():
    problem = maintenance(1 - 1e-6)
    assert unconstrained(problem) == pytest.approx(0.4338, abs=5e-5)
    assert painless.solve(problem, LinearProgram()).reward_value == pytest.approx(0.4423, abs=5e-5)


def test_maintenance_by_hand():
    problem = maintenance()
    assert problem.actions.tolist() == [[1, 0], [1, 1], [1, 1], [1, 1], [0, 1], [0, 1]]
    assert problem.transition[4, 1].tolist() == [0, 0, 0, 0, 0, 1]
    assert problem.transition[5, 1].tolist() == [1, 0, 0, 0, 0, 0]
    assert problem.transition[1, 0].tolist() == [0, 0.8, 0.1, 0.05, 0.05, 0]


def front(discount, treasures=TREASURES):
    """Return the constraint value and the value of the shortest dive to each treasure, (n, 2)."""
    steps = np.arange(len(DEPTHS)) + DEPTHS
    return np.stack(
        [-(1 - discount**steps) / (1 - discount), discount ** (steps - 1) * np.array(treasures)], 1
    )


def hull(points, threshold):
    """Return the largest value of a mixture of points that meets the threshold; two of them suffice."""
    below, above = points[points[:, 0] < threshold], points[points[:, 0] >= threshold]
    share = (threshold - above[:, :1]) / (below[None, :, 0] - above[:, :1])
    mixed = share * below[None, :, 1] + (1 - share) * above[:, 1:]
    return max(above[:, 1].max(), mixed.max(initial=-np.inf))


def test_deep_sea_treasure_three_steps():
    solution = painless.solve(deep_sea_treasure(0.99, -2.9701), tolerance=1e-9)
    assert solution.reward_value == pytest.approx(8.03682, abs=1e-6)


@pytest.mark.parametrize("treasures", [TREASURES, CONCAVE_TREASURES])
@pytest.mark.parametrize("discount", [0.9, 0.99])
@pytest.mark.parametrize(
    "threshold", [-1.0, -1.5, -2.71, -2.9701, -4.0, -5.5, -7.3, -8.5, -12.0, -16.0, -30.0]
)
def test_deep_sea_treasure_is_the_hull_of_the_front(treasures, discount, threshold):
    problem = deep_sea_treasure(discount, threshold, treasures)
    expected = hull(front(discount, treasures), threshold)
    assert painless.solve(problem, LinearProgram()).reward_value == pytest.approx(expected, rel=1e-7)
    assert painless.solve(problem, tolerance=1e-6).reward_value == pytest.approx(expected, rel=2e-6)


def test_deep_sea_treasure_by_hand():
    sea = deep_sea_treasure()
    assert sea.shape == (63, 4, 1)
    states, end = list(sea.names["states"]), 62

    def move(state, action):
        return sea.name("states", int(sea.transition[states.index(state), action].argmax()))

    assert [move("(0, 0)", a) for a in range(4)] == ["(0, 0)", "end", "(0, 0)", "(0, 1)"]
    assert move("(1, 1)", 2) == "end"  # the first treasure, from the side
    assert move("(5, 6)", 2) == "(5, 6)"  # into rock
    assert move("(10, 10)", 2) == "end"
    assert [move("(10, 10)", a) for a in (1, 3)] == ["(10, 10)"] * 2  # off the map
    assert sea.reward[states.index("(10, 10)"), 2] == 23.7
    assert sea.reward[states.index("(9, 9)"), 1] == 23.7
    assert (sea.reward[end] == 0).all()
    assert (sea.constraint_reward[0, :end] == -1).all()
    assert (sea.constraint_reward[0, end] == 0).all()


def test_streaming():
    problem = streaming()
    plan = policy_iteration(problem, problem.reward)
    free = policy_value(problem, plan.policy(2)) * problem.sign
    assert free == pytest.approx([4.496860, 10.0], abs=1e-6)
    solution = painless.solve(problem, tolerance=1e-9)
    assert solution.reward_value == pytest.approx(6.836501, abs=1e-6)
    assert solution.constraint_value == pytest.approx([5.0])
    assert solution.multiplier == pytest.approx([0.506160], abs=1e-6)


def test_inventory():
    problem = inventory()
    free = painless.solve(problem.with_limits([1000.0]), tolerance=1e-9)
    assert free.reward_value == pytest.approx(10.0, abs=1e-6)
    assert free.constraint_value == pytest.approx([6.257895], abs=1e-6)
    solution = painless.solve(problem, tolerance=1e-9)
    assert solution.reward_value == pytest.approx(9.494885, abs=1e-6)
    assert solution.multiplier == pytest.approx([0.854676], abs=1e-6)


def test_inventory_by_hand():
    """The reward as the benchmark has it: for each demand met, the probability of the next stock times 8d/100."""
    problem = inventory()
    assert problem.actions.sum(1).tolist() == [6, 5, 4, 3, 2, 1]
    np.testing.assert_allclose(problem.transition[1, 1], [0.5, 0.2, 0.3, 0, 0, 0])
    sales = np.zeros((6, 6))
    for s, a in np.argwhere(problem.actions):
        for d in range(1, len(DEMAND)):
            if s + a >= d:
                sales[s, a] += problem.transition[s, a, s + a - d] * 8 * d / 100
    np.testing.assert_allclose(problem.reward, sales / sales.max())
    assert problem.constraint_reward[0, 0].tolist() == pytest.approx(
        [-(a > 0) * (4 + 3 * a) / 19 for a in range(6)]
    )


@pytest.mark.parametrize(("threshold", "value"), [(3.0, 4.462444), (4.0, 4.005376), (-1.0, 4.516924)])
def test_random_cmdp(threshold, value):
    solution = painless.solve(random_cmdp(threshold=threshold), tolerance=1e-9)
    assert solution.reward_value == pytest.approx(value, abs=1e-6)


# ---------------------------------------------------------------- structure


def lagrangian_choices(problem, price):
    """Return which actions are optimal at the given prices, (S, A): all of them where there are ties."""
    utility = problem.reward + np.tensordot(price, problem.constraint_reward, 1)
    plan = policy_iteration(problem, utility)
    played = utility[np.arange(len(utility)), plan.actions]
    value = plan.resolvent.state_value(played[None])
    q = np.where(problem.actions, action_value(problem, utility[None], value)[0], -np.inf)
    return q >= q.max(1, keepdims=True) - 1e-10 * np.abs(q[problem.actions]).max()


def rises(score, optimal):
    """Whether optimal actions can be chosen so that their score (A,) never falls from state to state."""
    least = np.where(optimal, score, np.inf).min(1)
    most = np.where(optimal, score, -np.inf).max(1)
    return (np.maximum.accumulate(least) <= most).all()


def randomised(problem, policy):
    """Return how many actions are played beyond one in each state that is visited."""
    visits = occupancy(problem, policy)
    played = visits > 1e-9 * visits.sum()
    return int(np.maximum(played.sum(1) - 1, 0).sum())


prices = st.tuples(st.floats(-2, 2), st.floats(-2, 2)).map(lambda power: 10 ** np.array(power))


@settings(max_examples=100)
@given(
    st.integers(1, 30),
    st.floats(0, 1),
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 10)), min_size=1, max_size=5),
    st.sampled_from([0.5, 0.9, 0.99, 0.999]),
    prices,
)
def test_longer_queues_are_served_faster_and_admit_less(buffer, arrival, modes, discount, price):
    service, power = zip(*modes, strict=True)
    problem = queueing(buffer, arrival=arrival, service=service, power=power, discount=discount)
    optimal = lagrangian_choices(problem, price)
    assert rises(np.tile(service, 2), optimal)
    assert rises(-np.repeat([0, 1], len(service)), optimal)


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 4), st.integers(1, 3), prices)
def test_fuller_buffers_send_more_where_losses_are_dear(seed, buffer, most, channels, price):
    rng = np.random.default_rng(seed)
    gain = rng.uniform(0.1, 2, channels)
    chain = rng.dirichlet(np.ones(channels), channels)
    arrivals = rng.dirichlet(np.ones(rng.integers(1, 4)))
    problem = wireless(buffer, most, gain=gain, channel=chain, arrivals=arrivals, discount=0.95)
    dear = 100 * (price[0] * buffer + 2**most / gain.min())
    optimal = lagrangian_choices(problem, [price[0], dear])
    assert all(rises(np.arange(most + 1), optimal[k::channels]) for k in range(channels))


@pytest.mark.parametrize(
    "problem",
    [
        queueing(),
        queueing(10, arrival=0.4, threshold=0.35, budget=3.0),
        queueing(30, arrival=0.8, threshold=0.7, budget=6.0, discount=0.999),
        queueing(15, service=(0.1, 0.8), power=(1.0, 5.0), budget=2.0),
        wireless(),
        wireless(12, 4, gain=(2.0, 1.0, 0.5), channel=np.full((3, 3), 1 / 3), budget=(2.0, 0.01)),
        slippery_grid(CLIFF, budget=0.2),
        slippery_grid(seed=4, stay=True),
        maintenance(),
        inventory(),
    ],
    ids=repr,
)
def test_randomises_no_more_than_there_are_constraints(problem):
    solution = painless.solve(problem, LinearProgram())
    assert solution.feasible
    assert randomised(problem, solution.policy.probabilities) <= problem.shape[2]


def test_a_better_channel_sends_more():
    """With a channel that forgets, the future is the same whatever its state, and power is all that differs."""
    problem = wireless(15, gain=(2.0, 1.0, 0.3), channel=[[0.2, 0.5, 0.3]] * 3)
    for price in ([0.01, 10.0], [0.1, 30.0], [1.0, 100.0]):
        optimal = lagrangian_choices(problem, price).reshape(16, 3, 4)
        assert all(rises(-np.arange(4), level) for level in optimal)


# ---------------------------------------------------------------- queue, buffer and grid, by other means


@settings(max_examples=30)
@given(st.integers(1, 12), st.floats(0, 1), st.lists(st.floats(0, 1), min_size=1, max_size=4))
def test_queue_balances(buffer, arrival, service):
    """E n' = n − μ[n > 0] + λ[admit]; no row leaps further than to a neighbour."""
    problem = queueing(buffer, arrival=arrival, service=service, power=np.ones(len(service)))
    length = np.arange(buffer + 1)
    admit = np.repeat([0, 1], len(service))
    change = arrival * admit - np.tile(service, 2) * (length > 0)[:, None]
    drift = kernel(problem) @ length - length[:, None]
    np.testing.assert_allclose(drift[problem.actions], change[problem.actions], atol=1e-12)
    np.testing.assert_allclose(kernel(problem).sum(-1)[problem.actions], 1.0)
    assert (problem.actions == ((length < buffer)[:, None] | (admit == 0))).all()
    assert not np.triu(kernel(problem).sum(1), 2).any()
    assert not np.tril(kernel(problem).sum(1), -2).any()


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(1, 4), st.integers(1, 3))
def test_wireless_entry_by_entry(seed, buffer, most, channels):
    rng = np.random.default_rng(seed)
    gain, chain = rng.uniform(0.1, 2, channels), rng.dirichlet(np.ones(channels), channels)
    arrivals = rng.dirichlet(np.ones(rng.integers(1, 12)))
    problem = wireless(buffer, most, gain=gain, channel=chain, arrivals=arrivals, discount=0.5)
    expected = np.zeros((buffer + 1, channels, most + 1, buffer + 1, channels))
    lost = np.zeros((buffer + 1, channels, most + 1))
    for n, k, u in np.ndindex(lost.shape):
        if u <= n:
            for w, probability in enumerate(arrivals):
                expected[n, k, u, min(n - u + w, buffer)] += probability * chain[k]
                lost[n, k, u] += probability * max(n - u + w - buffer, 0)
            power = (2**u - 1) / gain[k]
            assert problem.reward[n * channels + k, u] == pytest.approx(-0.5 * power)
            assert problem.constraint_reward[0, n * channels + k, u] == -0.5 * n
        assert problem.actions[n * channels + k, u] == (u <= n)
    np.testing.assert_allclose(kernel(problem), expected.reshape(kernel(problem).shape), atol=1e-15)
    shown = problem.constraint_reward[1][problem.actions]
    np.testing.assert_allclose(shown, -0.5 * lost.reshape(problem.actions.shape)[problem.actions], atol=1e-12)


maps = st.tuples(st.integers(1, 6), st.integers(2, 6), st.integers(0, 2**32 - 1)).map(
    lambda size: random_map(*size, walls=0.3, hazards=0.3)
)


@settings(max_examples=50)
@given(maps, st.floats(0, 1), st.booleans())
def test_grid_cell_by_cell(text, slip, stay):
    problem = slippery_grid(text, slip=slip, stay=stay)
    lines = text.split("\n")
    cells = [(r, c) for r, line in enumerate(lines) for c, mark in enumerate(line) if mark != "#"]
    marks = [lines[r][c] for r, c in cells]
    expected = np.zeros((len(cells), 4 + stay, len(cells)))
    for s, (r, c) in enumerate(cells):
        for a, (down, right) in enumerate(MOVES.values()):
            for (dr, dc), p in (
                ((down, right), 1 - slip),
                ((right, down), slip / 2),
                ((-right, -down), slip / 2),
            ):
                goes = (r + dr, c + dc) in cells and marks[s] != "G"
                expected[s, a, cells.index((r + dr, c + dc)) if goes else s] += p
    if stay:
        expected[:, 4] = np.eye(len(cells))
    np.testing.assert_allclose(kernel(problem), expected, atol=1e-15)
    goal = np.array(marks) == "G"
    np.testing.assert_allclose(problem.reward, expected @ goal * ~goal[:, None], atol=1e-15)
    hazard = np.array(marks) == "H"
    assert (problem.constraint_reward[0] == -hazard[:, None].astype(float)).all()
    assert problem.names["states"] == tuple(str(cell) for cell in cells)


def test_grid_in_closed_form():
    """Three steps to the goal, or one through a hazard: γ is paid for each visit to it, and γ gained."""
    assert painless.solve(slippery_grid("S..G", slip=0, discount=0.5)).reward_value == pytest.approx(0.25)
    for budget in (0.3, 0.6, 1.2):
        problem = slippery_grid("SHG", slip=0, discount=0.9, budget=budget)
        expected = min(budget, 0.9)
        assert painless.solve(problem, tolerance=1e-6).reward_value == pytest.approx(expected, rel=2e-6)


def test_grid_starts_anywhere_marked():
    problem = slippery_grid("SG\n#S")
    assert problem.initial.tolist() == [0.5, 0, 0.5]
    assert slippery_grid("SG\r\n#S").initial.tolist() == [0.5, 0, 0.5]


@pytest.mark.parametrize("seed", range(20))
def test_random_maps_have_a_way(seed):
    problem = slippery_grid(height=9, width=7, seed=seed, walls=0.9, hazards=0.0, slip=0.0)
    assert unconstrained(problem) == pytest.approx(0.99 ** (9 + 7 - 3))


# ---------------------------------------------------------------- large ones


@pytest.mark.parametrize(
    ("make", "states"),
    [
        (partial(queueing, 99_999), 100_000),
        (partial(slippery_grid, height=340, width=340, discount=0.999), 98_000),
        (partial(wireless, 49_999), 100_000),
    ],
    ids=["queue", "grid", "wireless"],
)
def test_a_hundred_thousand_states(make, states):
    tracemalloc.start()
    problem = make()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert problem.shape[0] == pytest.approx(states, rel=0.01)
    assert problem.is_sparse
    assert problem.transition.indices.dtype == np.int32
    sums = problem.transition.sum(1).reshape(problem.actions.shape)
    np.testing.assert_allclose(sums[problem.actions], 1.0)
    assert (problem.transition.data > 0).all()
    assert problem.transition.has_canonical_format
    assert problem.transition.nnz <= 8 * problem.actions.size
    assert peak < 200e6


def test_large_buffers_are_solved():
    """What lies beyond reach does not change the optimum."""
    small, large = (painless.solve(queueing(size), tolerance=1e-6) for size in (30, 5_000))
    assert large.reward_value == pytest.approx(small.reward_value, rel=2e-6)
    small, large = (painless.solve(wireless(size), tolerance=1e-6) for size in (300, 2_000))
    assert large.reward_value == pytest.approx(small.reward_value, rel=2e-6)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (maintenance, {"budget": 1.5}, r"budget is 1.5; it is a share of the days"),
        (maintenance, {"discount": 1.0}, "discount is 1.0"),
        (deep_sea_treasure, {"treasures": (1.0, 2.0)}, r"treasures has shape \(2,\); give 10 values"),
        (deep_sea_treasure, {"discount": "high"}, "discount must be a number"),
        (streaming, {"buffer": 0}, "buffer is 0; it must be a whole number"),
        (streaming, {"buffer": 2.5}, "buffer is 2.5; it must be a whole number"),
        (streaming, {"playback": 1.2}, "playback is 1.2; give a probability"),
        (streaming, {"budget": np.nan}, r"budget\[0\] is nan"),
        (inventory, {"capacity": 0}, "capacity is 0; it must be a whole number"),
        (inventory, {"demand": 0.5}, r"demand has shape \(\)"),
        (inventory, {"demand": (0.5, np.nan)}, r"demand\[1\] is nan"),
        (inventory, {"demand": (1.5, -0.5)}, r"demand\[1\] is -0.5, below 0"),
        (inventory, {"demand": (0.5, 0.4)}, "demand sums to 0.900000"),
        (inventory, {"demand": (1.0, 0.0)}, "demand is always 0"),
        (random_cmdp, {"states": 0}, "states is 0"),
        (random_cmdp, {"actions": 1.5}, "actions is 1.5"),
        (random_cmdp, {"seed": -1}, "seed is -1"),
        (queueing, {"buffer": 0}, "buffer is 0; it must be a whole number"),
        (queueing, {"arrival": 1.1}, "arrival is 1.1; give a probability"),
        (queueing, {"service": (0.5, 1.5), "power": (1, 2)}, r"service is \(0.5, 1.5\)"),
        (queueing, {"service": ()}, r"service is \(\)"),
        (queueing, {"power": (1.0, 2.0)}, "one number for each of the 4 rates"),
        (queueing, {"power": (0.0, 1.0, 2.0, np.inf)}, "is inf; every entry must be finite"),
        (wireless, {"buffer": 0}, "buffer is 0; it must be a whole number"),
        (wireless, {"most": 0}, "most is 0; it must be a whole number"),
        (wireless, {"gain": (1.0, 0.0)}, r"gain is \(1.0, 0.0\); give a positive number"),
        (wireless, {"gain": (1.0, 0.5, 0.2)}, r"channel has shape \(2, 2\), but gain has 3 state"),
        (wireless, {"channel": ((0.9, 0.1), (0.3, 0.6))}, r"channel\[1\] sums to 0.900000"),
        (wireless, {"channel": ((0.9, 0.1), (1.3, -0.3))}, r"channel\[1, 1\] is -0.3, below 0"),
        (wireless, {"arrivals": ()}, r"arrivals is \(\)"),
        (wireless, {"arrivals": (0.5, 0.6)}, "arrivals sums to 1.100000"),
        (wireless, {"budget": (1.0,)}, "budget has 1 entries"),
        (slippery_grid, {"slip": 1.5}, "slip is 1.5"),
        (slippery_grid, {"text": ["S.G"]}, r"text is \['S.G'\]; give one text"),
        (slippery_grid, {"text": ""}, "line 1 of the map has 0 characters"),
        (slippery_grid, {"text": "S..\n.G"}, "line 2 of the map has 2 characters and line 1 has 3"),
        (slippery_grid, {"text": "S..\n.xG"}, "line 2, column 2 of the map is 'x'; use . for free"),
        (slippery_grid, {"text": "..\n.G"}, "the map has no start; mark at least one cell with S"),
        (slippery_grid, {"text": "..\n.S"}, "the map has no goal; mark at least one cell with G"),
        (slippery_grid, {"height": 0}, "height is 0; it must be a whole number"),
        (slippery_grid, {"height": 1, "width": 1}, "no room for a start and a goal"),
        (slippery_grid, {"walls": 0.7, "hazards": 0.5}, "with a sum of at most 1"),
    ],
)
def test_refuses(make, arguments, message):
    with pytest.raises(InputError, match=message):
        make(**arguments)
