"""Long-run averages: random models against a linear program, known numbers, and what users do with them."""

import json

import numpy as np
import pytest
import scipy

import painless
from painless.engines.engine import engine_of
from painless.policies.table_mixture import TableMixture
from painless.problem import Criterion
from tests.averages import check, check_prices, optimum, random_problem
from tests.fuzz.families import FAMILIES

STAY_OR_GO = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]])


def stay_or_go(**other):
    """Stay and earn, or go to an absorbing state that satisfies the limit: half of each is optimal."""
    return painless.CMDP(
        STAY_OR_GO,
        [[1.0, 0.0], [0.0, 0.0]],
        initial=[1.0, 0.0],
        average=True,
        constraint_reward=[[0.0, 0.0], [1.0, 1.0]],
        threshold=0.5,
        **other,
    )


@pytest.mark.parametrize("seed", range(150))
def test_best_response_is_the_optimum(seed):
    problem = random_problem(np.random.default_rng(seed), constraints=0)
    found = engine_of(problem).best(np.ones(1), 0.0, 0.0)
    best = optimum(problem)
    assert found.weighted_value - 1e-9 <= best <= found.upper_bound + 1e-9
    assert found.upper_bound - found.weighted_value <= 1e-9


@pytest.mark.parametrize("seed", range(1000, 1060))
def test_constrained(seed):
    check(random_problem(np.random.default_rng(seed)))


@pytest.mark.parametrize("seed", range(2000, 2015))
def test_linear_program(seed):
    check(random_problem(np.random.default_rng(seed)), painless.LinearProgram())


@pytest.mark.parametrize("seed", range(3000, 3015))
def test_prices(seed):
    problem = random_problem(np.random.default_rng(seed), constraints=1 + seed % 2)
    solution = check(problem, tolerance=1e-6)
    if solution.feasible:
        check_prices(problem, solution)


@pytest.mark.parametrize("seed", range(30))
def test_values_of_a_policy_are_limits_of_averages(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    policy = rng.dirichlet(np.ones(problem.shape[1]), size=problem.shape[0]) * problem.actions
    policy *= rng.random(policy.shape) < 0.7
    policy = np.where(policy.any(1, keepdims=True), policy, problem.actions)
    policy /= policy.sum(1, keepdims=True)
    kernel = problem.transition
    kernel = (
        kernel if isinstance(kernel, np.ndarray) else kernel.toarray().reshape(*problem.actions.shape, -1)
    )
    chain = np.einsum("sa,sat->st", policy, kernel)
    doubled, shares, steps = chain, np.eye(len(chain)), 1  # the mean of the first 2^n powers
    for _ in range(40):
        shares = (shares + doubled @ shares) / 2
        doubled, steps = doubled @ doubled, 2 * steps
        doubled /= doubled.sum(1, keepdims=True)
    expected = (problem.utility * policy).sum(-1) @ (problem.initial @ shares)
    found = engine_of(problem).values(policy)
    assert (found.low <= found.high).all()
    np.testing.assert_allclose(found.guess, expected, atol=1e-8)
    np.testing.assert_allclose(found.high - found.low, 0.0, atol=1e-9)
    visits = engine_of(problem).visits(policy)
    np.testing.assert_allclose(visits, problem.initial @ shares, atol=1e-8)


def test_maintenance():
    problem = painless.make("maintenance", average=True)
    free = painless.solve(problem.with_limits([np.inf]), tolerance=1e-9)
    assert round(free.reward_value, 4) == 0.4338
    solution = painless.solve(problem, tolerance=1e-9)
    assert round(solution.reward_value, 4) == 0.4423
    assert solution.gap < 1e-9
    assert solution.constraint_value[0] <= 0.08
    assert isinstance(solution.policy, painless.TabularPolicy)
    np.testing.assert_allclose(solution.policy.visits.sum(), 1.0)
    # The limit of (1 − γ)·V as γ → 1, from the discounted problem.
    near = painless.solve(painless.make("maintenance", discount=0.99999), tolerance=1e-6)
    np.testing.assert_allclose(near.reward_value, solution.reward_value, rtol=1e-3)


@pytest.mark.parametrize(
    "algorithm", [painless.CBP(), painless.PRM(), painless.GDA(), painless.CRPO()], ids=lambda one: one.name
)
def test_algorithms(algorithm):
    problem = painless.make("maintenance", average=True)
    solution = painless.solve(problem, algorithm, iterations=300)
    assert solution.feasible
    assert abs(solution.reward_value - 0.442286) < 5e-3
    assert solution.trace is not None


def test_a_long_horizon_tends_to_the_average():
    problem = painless.make("maintenance", average=True)
    steps = 1000
    over = painless.solve(
        painless.make("maintenance", average=True).with_limits([np.inf])._anew(horizon=steps), tolerance=1e-8
    )
    free = painless.solve(problem.with_limits([np.inf]))
    np.testing.assert_allclose(over.reward_value / steps, free.reward_value, atol=10 / steps)


def test_a_mixture_where_no_stationary_policy_will_do():
    problem = stay_or_go()
    solution = painless.solve(problem)
    assert isinstance(solution.policy, TableMixture)
    assert "drawn at the start" in str(solution.status)
    assert "in expectation" in str(solution.status)
    assert solution.feasible
    np.testing.assert_allclose([solution.reward_value, solution.upper_bound], 0.5, atol=1e-9)
    np.testing.assert_allclose(solution.price_range, [[1.0, 1.0]], atol=1e-6)
    np.testing.assert_allclose(solution.policy.weights, 0.5, atol=1e-6)
    assert optimum(problem) == pytest.approx(0.5)


def test_one_component_needs_no_mixture():
    """Two states where one may stay, and walk between them: staying half of the time in each takes a policy that rarely walks."""
    problem = painless.CMDP(
        np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]]),
        [[1.0, 0.0], [0.0, 0.0]],
        initial=[1.0, 0.0],
        average=True,
        constraint_reward=[[0.0, 0.0], [1.0, 0.0]],
        threshold=0.5,
    )
    solution = painless.solve(problem)
    assert isinstance(solution.policy, painless.TabularPolicy)
    assert solution.feasible
    assert 0.5 - 1e-5 < solution.reward_value <= 0.5
    walks = solution.policy.probabilities[:, 1]
    assert (walks > 0).all()
    assert (walks < 1e-4).all()


def test_mixtures_are_saved_and_evaluated(tmp_path):
    problem = stay_or_go(names={"states": ["home", "away"], "actions": ["stay", "go"]})
    solution = painless.solve(problem)
    solution.save(tmp_path / "answer", problem)
    loaded = painless.Solution.load(tmp_path / "answer")
    assert isinstance(loaded.policy, TableMixture)
    np.testing.assert_array_equal(loaded.policy.probabilities, solution.policy.probabilities)
    np.testing.assert_array_equal(loaded.policy.weights, solution.policy.weights)
    loaded.require_fit(problem)
    found = painless.value(loaded, problem)
    assert found.feasible
    np.testing.assert_allclose(found.reward_value, 0.5, atol=1e-9)
    for path in (tmp_path / "answer", tmp_path / "policy.npz"):
        if path.suffix:
            solution.policy.save(path)
        again = painless.load_policy(path)
        np.testing.assert_array_equal(again.probabilities, solution.policy.probabilities)
    estimate = painless.evaluate(solution.policy, problem, episodes=400)
    assert estimate.low[0] < 0.5 < estimate.high[0]
    assert not estimate.exact
    rows = solution.policy.simulate(problem, episodes=20, steps=3, make=dict)
    assert len(rows["state"]) == 60
    assert len(set(rows["next_state"])) == 2
    assert rows["episode"].tolist() == np.repeat(np.arange(20), 3).tolist()
    lines = solution.policy.to_csv(tmp_path / "policy.csv").splitlines()
    assert lines[0] == "draw,probability,state,stay,go,visits"
    assert len(lines) == 5
    frame = solution.policy.to_frame(dict)
    assert frame["draw"].tolist() == [0, 0, 1, 1]
    assert frame["state"] == ["home", "away"] * 2
    with pytest.raises(painless.InputError, match="no single chain"):
        solution.policy.chain(problem)
    with pytest.raises(painless.InputError, match="a draw between 2 policies"):
        painless.solve(problem, initial_policy=solution.policy)
    json.dumps(solution.as_dict())


def test_mixtures_of_tables_have_one_shape():
    tables = [painless.TabularPolicy(np.eye(n)) for n in (2, 3)]
    with pytest.raises(painless.InputError, match="have shapes"):
        TableMixture(tuple(tables), np.array([0.5, 0.5]))


def test_infeasible_is_explained():
    solution = painless.solve(stay_or_go().with_limits([1.25]))
    assert solution.status.kind == "infeasible"
    np.testing.assert_allclose(solution.remedy, [1.0], atol=1e-6)


def test_a_budget_of_zero_counts_in_the_long_run_alone():
    """What the way to the good component costs does not count."""
    problem = painless.CMDP(
        np.array([[[0.0, 1.0]], [[0.0, 1.0]]]),
        [[0.0], [1.0]],
        initial=[1.0, 0.0],
        average=True,
        constraint_cost=[[5.0], [0.0]],
        budget=0.0,
    )
    solution = painless.solve(problem)
    assert solution.feasible
    assert solution.reward_value == 1.0


def test_frontier():
    curve = painless.frontier(painless.make("maintenance", average=True))
    np.testing.assert_allclose(curve.reward_value, [0.433789954, 0.446153846], atol=1e-8)
    point = curve.at(0.08)
    np.testing.assert_allclose(point.reward_value, 0.442285714, atol=1e-8)
    problem = painless.make("maintenance", average=True)
    assert painless.value(point.policy, problem).reward_value == pytest.approx(point.reward_value)
    mixed = painless.frontier(stay_or_go()).at(0.25)
    assert isinstance(mixed.policy, TableMixture)
    np.testing.assert_allclose(mixed.policy.weights.max(), 0.75)
    assert painless.value(mixed.policy, stay_or_go().with_limits([0.25])).reward_value == pytest.approx(0.75)


@pytest.mark.parametrize("other", [{"discount": 0.9}, {"horizon": 3}, {"end": [0]}, {"final": [0.0, 0.0]}])
def test_nothing_else_beside_it(other):
    with pytest.raises(painless.InputError, match=f"{next(iter(other))} has no meaning beside average=True"):
        stay_or_go(**other)


def moved(problem, step, **changes):
    """Return by how much the optimal value moves, per unit of a change of `step`."""
    values = [
        painless.solve(
            problem._replace(**{name: one(sign * step) for name, one in changes.items()}), tolerance=1e-10
        )
        for sign in (1, -1)
    ]
    return (values[0].reward_value - values[1].reward_value) / (2 * step)


@pytest.mark.parametrize("transient", [False, True])
def test_sensitivity_is_how_the_optimum_moves(transient):
    """By finite differences: of rewards, of probabilities, and of limits; also where the process settles for good."""
    rng = np.random.default_rng(3)
    kernel = rng.dirichlet(np.ones(4), size=(4, 2))
    if transient:  # from 0 to either of two classes
        kernel[1:, :, :] = 0.0
        kernel[1, :, 1] = kernel[2, :, 3] = kernel[3, :, 2] = 1.0
    reward, cost = rng.random((4, 2)), rng.random((1, 4, 2))
    given = {"initial": [1.0, 0, 0, 0], "average": True, "constraint_cost": cost}
    free = painless.solve(painless.CMDP(kernel, reward, budget=[10.0], **given))
    budget = float(free.constraint_value[0]) * (1.0 if transient else 0.97) + (0.05 if transient else 0.0)
    problem = painless.CMDP(kernel, reward, budget=[budget], **given)
    found = painless.sensitivity(problem, painless.solve(problem, tolerance=1e-10), step=1e-3)
    assert np.isnan(found.discount)
    for state, action in np.ndindex(4, 2):
        shift = np.zeros((4, 2))
        shift[state, action] = 1.0

        def rewarded(step, shift=shift):
            return reward + step * shift

        assert found.reward[state, action] == pytest.approx(moved(problem, 1e-5, reward=rewarded), abs=1e-4)
    direction = np.zeros((4, 2, 4))
    direction[0, :, 1], direction[0, :, 2] = -1.0, 1.0
    expected = float((found.transition * direction).sum())
    actual = moved(problem, 1e-6, transition=lambda step: kernel + step * direction)
    assert expected == pytest.approx(actual, abs=1e-4)
    assert found.gain[0] == pytest.approx(1e-3 * found.solution.multiplier[0], abs=1e-5)


def test_sensitivity_of_a_draw():
    problem = stay_or_go()
    found = painless.sensitivity(problem)
    assert found.reward.shape == (2, 2)
    assert found.reward.sum() == pytest.approx(1.0)


def test_refusals():
    with pytest.raises(painless.InputError, match="average is 'yes'"):
        painless.CMDP(STAY_OR_GO, np.zeros((2, 2)), initial=[1.0, 0.0], average="yes")
    with pytest.raises(painless.InputError, match="has no discount"):
        stay_or_go().with_discount(0.9)
    with pytest.raises(painless.InputError, match="not the long-run average"):
        painless.solve(
            stay_or_go(),
            evaluator=lambda normal: painless.evaluators.TemporalDifference(normal, 10),
            iterations=3,
        )


@pytest.mark.parametrize("ending", ["npz", "json"])
def test_files(tmp_path, ending):
    problem, path = stay_or_go(), tmp_path / f"problem.{ending}"
    problem.save(path)
    again = painless.load(path)
    assert again.criterion is Criterion.AVERAGE
    assert repr(again) == "CMDP(2 states, 2 actions, 1 constraint, long-run average, dense)"
    assert painless.solve(again).reward_value == pytest.approx(0.5)


def test_other_files_are_read(tmp_path):
    painless.gridworld().save(tmp_path / "grid.drn")
    found = painless.load(tmp_path / "grid.drn", average=True, limit=[0.1])
    assert found.criterion is Criterion.AVERAGE
    expected = painless.solve(painless.gridworld().with_limits([0.1]).with_average())
    assert painless.solve(found).reward_value == pytest.approx(expected.reward_value)
    painless.gridworld().save(tmp_path / "grid.npz")
    assert painless.load(tmp_path / "grid.npz", average=True).criterion is Criterion.AVERAGE


def test_sources():
    rows = [(0, 0, 0, 1.0, 1.0), (0, 1, 1, 1.0, 0.0), (1, 0, 0, 1.0, 0.0)]
    assert painless.solve(painless.from_rows(rows, initial=[1.0, 0.0], average=True)).reward_value == 1.0
    table = {
        "state": ["a", "b"],
        "action": ["on", "on"],
        "next_state": ["b", "a"],
        "probability": [1, 1],
        "earned": [1, 0],
    }
    problem = painless.from_frame(table, reward="earned", initial="a", average=True)
    assert painless.solve(problem).reward_value == 0.5


def test_large_and_sparse():
    """A ring that may be walked either way: the best gain is where it pays to go back and forth."""
    states = 2000
    here = np.arange(states)
    target = np.column_stack([(here + 1) % states, (here - 1) % states]).reshape(-1)
    kernel = scipy.sparse.csr_array(
        (np.ones(2 * states), target, np.arange(2 * states + 1)), (2 * states, states)
    )
    reward = np.sin(here)[:, None] * np.ones(2)
    problem = painless.CMDP(kernel, reward, initial=np.eye(states)[0], average=True)
    solution = painless.solve(problem, tolerance=1e-9)
    best = (np.sin(here) + np.sin((here + 1) % states)).max() / 2
    np.testing.assert_allclose(solution.reward_value, best, atol=1e-9)


@pytest.mark.parametrize("seed", [7198, 7201, 7202, 7209, 7224, 7226])
def test_probabilities_so_small_that_sums_overflow_give_no_wrong_claim(seed):
    problem = painless.CMDP(**FAMILIES["tiny"](np.random.default_rng(seed))).with_average()
    solution = painless.solve(problem)
    assert solution.status.kind.value in ("solved", "stopped", "infeasible")
    if solution.status.kind.value == "solved":
        assert painless.value(solution.policy, problem).feasible


def test_a_chain_that_mixes_slowly_is_solved_on_several_levels():
    """A walk on a grid with a drift to one corner: gain, bias and shares fulfil their equations."""
    from painless.engines.iterated import OneClass

    side = 40
    row, column = np.divmod(np.arange(side * side), side)
    ahead = [
        np.clip(row + down, 0, side - 1) * side + np.clip(column + right, 0, side - 1)
        for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0))
    ]
    states = np.arange(side * side)
    chain = scipy.sparse.csr_array(
        sum(
            scipy.sparse.csr_array((np.full(side * side, p), (states, to)), (side * side, side * side))
            for to, p in zip(ahead, (0.27, 0.26, 0.24, 0.23), strict=True)
        )
    )
    utility = np.stack([row + 0.5 * column, np.cos(row * column)]).astype(float)
    solver = OneClass(chain)
    gain, bias = solver.gain_and_bias(utility)
    shares = solver.shares()
    assert "_levels" in solver.__dict__  # sweeps alone are too slow
    assert solver.is_precise
    np.testing.assert_allclose(
        utility + (chain @ bias.T).T - bias, np.repeat(gain[:, None], len(states), 1), atol=1e-9
    )
    np.testing.assert_allclose(shares @ chain, shares, atol=1e-12)
    np.testing.assert_allclose(utility @ shares, gain, rtol=1e-9)
