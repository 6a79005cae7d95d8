"""Values, comparisons, sensitivities, chains and trajectories, against what they are by definition."""

import json
import re

import numpy as np
import pytest
import scipy
from numpy.testing import assert_allclose, assert_array_equal

import painless
from painless import InputError
from painless.bellman import occupancy, policy_transition, policy_value
from painless.policies.rules import as_policy
from painless.policies.table import dirichlet_policy
from painless.report import comparison_figure, save_figure
from tests.extras import library

WORLD = painless.gridworld()


def shop(sparse=False, **change):
    """Goods are fresh, old or gone; a cost is minimised with one limit of each sense."""
    rows = [
        ("fresh", "sell", "gone", 0.6, -3.0, 1.0, 0.0),
        ("fresh", "sell", "old", 0.4, 0.0, 0.0, 0.0),
        ("fresh", "keep", "old", 1.0, 0.2, 0.0, 0.0),
        ("old", "sell", "gone", 1.0, -1.0, 1.0, 0.2),
        ("old", "throw", "gone", 1.0, 0.5, 0.0, 1.0),
        ("gone", "order", "fresh", 1.0, 1.0, 0.0, 0.0),
        ("gone", "rest", "gone", 1.0, 0.0, 0.0, 0.0),
    ]
    titles = ("state", "action", "next_state", "probability", "paid", "sold", "waste")
    table = {title: list(column) for title, column in zip(titles, zip(*rows, strict=True), strict=True)}
    terms = {
        "constraint_reward": {"sold": 2.0},
        "constraint_cost": {"waste": 0.2},
        "initial": "gone",
        "discount": 0.9,
    }
    problem = painless.from_frame(table, cost="paid", **(terms | change))
    if sparse:
        return problem
    dense = problem.transition.toarray().reshape(3, 5, 3)
    return painless.CMDP(
        dense,
        cost=-problem.reward,
        initial=problem.initial,
        discount=problem.discount,
        constraint_reward=problem.constraint_reward[:1],
        threshold=problem.limit[:1],
        constraint_cost=-problem.constraint_reward[1:],
        budget=problem.limit[1:],
        actions=problem.actions,
        names=problem.names,
    )


each_model = pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])


# ---------------------------------------------------------------------------------------------- values


@each_model
def test_values_are_exact_and_in_the_users_terms(sparse):
    problem = shop(sparse)
    policy = dirichlet_policy(problem.actions, np.random.default_rng(0))
    found = painless.value(policy, problem)
    internal = policy_value(problem, policy)
    assert_allclose(found.reward_value, -internal[0])
    assert_allclose(found.constraint_value, internal[1:] * [1, -1])
    assert_array_equal(found.met, [found.constraint_value[0] >= 2.0, found.constraint_value[1] <= 0.2])
    assert_array_equal(found.threshold, [2.0, 0.2])


def test_the_value_of_a_solution_is_the_solutions():
    solution = painless.solve(shop(), tolerance=1e-6)
    found = painless.value(solution, shop())
    assert_allclose(found.reward_value, solution.reward_value)
    assert_allclose(found.constraint_value, solution.constraint_value)
    assert found.feasible
    assert "sold" in repr(found)
    assert "waste" in found._repr_html_()


def test_a_swept_model_has_the_same_values():
    problem = painless.garnet(600, 3, 3, 2, dense=False)
    policy = dirichlet_policy(problem.actions, np.random.default_rng(1))
    found = painless.value(policy, problem)
    assert_allclose([found.reward_value, *found.constraint_value], policy_value(problem, policy), rtol=1e-8)


def test_limits_that_every_policy_meets_or_misses():
    flat = painless.CMDP(
        np.ones((1, 2, 1)),
        [[1.0, 0.0]],
        initial=[1.0],
        discount=0.5,
        constraint_reward=[[[1.0, 1.0]], [[1.0, 1.0]], [[0.0, 1.0]]],
        threshold=[2.0, 2.5, -np.inf],
    )
    assert_array_equal(painless.value([0], flat).met, [True, False, True])


@pytest.mark.parametrize(
    "rule",
    [
        {"fresh": "sell", "old": {"sell": 0.25, "throw": 0.75}, "gone": "order"},
        lambda state: {"fresh": "sell", "old": {"sell": 0.25, "throw": 0.75}, "gone": "order"}[state],
        ["sell", {"sell": 0.25, "throw": 0.75}, "order"],
        [[1, 0, 0, 0, 0], [0.25, 0, 0.75, 0, 0], [0, 0, 0, 1, 0]],
    ],
    ids=["dictionary", "function", "list", "table"],
)
def test_a_rule_of_thumb_is_a_policy(rule):
    policy = as_policy(rule, shop())
    assert policy["old"] == {"sell": 0.25, "throw": 0.75}
    assert policy.act("gone") == "order"


def test_a_table_is_put_in_the_order_of_the_names():
    problem = shop()
    names = {"states": ["gone", "fresh", "old"], "actions": ["order", "throw", "sell"]}
    shuffled = painless.TabularPolicy([[1, 0, 0], [0, 0, 1], [0, 0.75, 0.25]], names)
    straight = {"fresh": "sell", "old": {"sell": 0.25, "throw": 0.75}, "gone": "order"}
    assert_array_equal(as_policy(shuffled, problem).probabilities, as_policy(straight, problem).probabilities)
    assert_allclose(
        painless.value(shuffled, problem).reward_value, painless.value(straight, problem).reward_value
    )
    assert_allclose(shuffled.chain(problem).reward, as_policy(straight, problem).chain(problem).reward)
    walk = shuffled.simulate(problem, steps=20, make=dict)
    assert {(s, a) for s, a in zip(walk["state"], walk["action"], strict=True) if s != "old"} == {
        ("gone", "order"),
        ("fresh", "sell"),
    }
    estimate = painless.evaluate(shuffled, problem, episodes=300)
    assert estimate.low[0] <= painless.value(straight, problem).reward_value <= estimate.high[0]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"states": ["gone", "fresh", "stale"]}, "policy: there is no state 'stale'"),
        ({"states": ["gone", "fresh"]}, "policy has no row for state 'old'; add it"),
        ({"actions": ["sell", "keep", "throw", "order", "eat"]}, "policy: there is no action 'eat'"),
    ],
)
def test_a_table_of_other_names_is_refused(names, message):
    rows = 3 if "actions" in names else len(names["states"])
    with pytest.raises(InputError, match=re.escape(message)):
        painless.value(painless.TabularPolicy(np.eye(5)[[0] * rows], names), shop())


def test_states_with_one_action_need_no_rule():
    table = {"state": ["a", "b", "b"], "action": ["go", "go", "stay"], "next_state": ["b", "a", "b"]}
    table |= {"probability": [1, 1, 1], "reward": [0, 0, 1]}
    problem = painless.from_frame(table, reward="reward", initial="a", discount=0.5)
    assert painless.value({"b": "stay"}, problem).reward_value == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"fresh": "sell", "old": "sell"}, "policy has no action for state 'gone'; add it"),
        ({"stale": "sell"}, "there is no state 'stale'"),
        (
            {"fresh": "eat"},
            "there is no action 'eat'; did you mean 'rest'? Known: sell, keep, throw, order, rest",
        ),
        ({"fresh": "throw"}, "policy: state 'fresh' does not have action 'throw'; it has sell, keep"),
        ({"fresh": {"sell": 0.5}}, "policy: the probabilities in state 'fresh' sum to 0.5, not 1"),
        ({"fresh": {"sell": 1.5, "keep": -0.5}}, "the probability of 'sell' in state 'fresh' is 1.5"),
        ({"fresh": {"sell": "often"}}, "the probability of 'sell' must be a number"),
        (["sell"], "policy has 1 actions for 3 states"),
        (np.ones((3, 2)), "policy has shape (3, 2), not (S, A) = (3, 5)"),
        (7, "policy is 7; give a table of probabilities (S, A), a solution, a dictionary"),
        ("sell", "policy is 'sell'"),
    ],
)
def test_what_is_no_policy_is_refused(rule, message):
    with pytest.raises(InputError, match=re.escape(message)):
        painless.value(rule, shop())


def test_value_needs_a_model():
    with pytest.raises(InputError, match="problem is a CartPole; give a CMDP"):
        painless.value([0], painless.CartPole())


# ---------------------------------------------------------------------------------------------- comparisons


@each_model
def test_the_costs_of_all_states_are_the_difference(sparse):
    problem, rng = shop(sparse), np.random.default_rng(2)
    solution = painless.solve(problem, tolerance=1e-9)
    mine = dirichlet_policy(problem.actions, rng)
    found = painless.compare(problem, {"mine": mine, "optimal": solution})
    assert found.reference == "optimal"
    best, other = found.values["optimal"], found.values["mine"]
    charged = solution.multiplier * [1, -1] @ (best.constraint_value - other.constraint_value)
    total = sum(one.cost for one in found.differences)
    assert total == pytest.approx(other.reward_value - best.reward_value + charged)
    assert min(one.cost for one in found.differences) >= -1e-6 * total
    assert [one.cost for one in found.differences] == sorted(
        (one.cost for one in found.differences), reverse=True
    )


def test_without_a_solution_only_the_objective_counts():
    optimal = painless.solve(WORLD).policy
    found = painless.compare(WORLD, {"up": lambda _: "up", "optimal": optimal})
    difference = found.values["optimal"].reward_value - found.values["up"].reward_value
    assert sum(one.cost for one in found.differences) == pytest.approx(difference)
    assert not found.priced


def test_the_reference_is_the_best_that_meets_the_limits():
    greedy = painless.solve(WORLD.with_limits([-np.inf])).policy
    optimal = painless.solve(WORLD)
    found = painless.compare(WORLD, {"greedy": greedy, "optimal": optimal, "up": lambda _: "up"})
    assert found.reference == "optimal"
    assert found.values["greedy"].reward_value > found.values["optimal"].reward_value
    assert not found.values["greedy"].feasible
    assert painless.compare(WORLD, {"optimal": optimal, "greedy": greedy}).reference == "optimal"
    assert painless.compare(WORLD, {"up": lambda _: "up", "greedy": greedy}).reference == "greedy"  # the last


def test_a_comparison_is_a_table_and_a_picture(tmp_path):
    problem = shop()
    rule = {"fresh": "sell", "old": "throw", "gone": "order"}
    found = painless.compare(problem, {"mine": rule, "optimal": painless.solve(problem)})
    assert re.search(r"cost +sold ≥ 2 +waste ≤ 0.2 +limits met +behind", repr(found))
    assert "Where mine loses most to optimal at the prices of its limits:" in repr(found)
    assert "(!)" in found._repr_html_()
    columns = found.to_frame(dict)
    assert list(columns) == ["policy", "cost", "sold", "waste", "feasible", "behind"]
    assert columns["feasible"] == [False, True]
    assert found.differences_to_frame(dict)["state"][0] == found.differences[0].state
    save_figure(comparison_figure(found), tmp_path / "comparison.svg")
    drawn = (tmp_path / "comparison.svg").read_text()
    assert "<svg" in drawn


def test_equal_policies_do_not_differ(tmp_path):
    solution = painless.solve(WORLD)
    found = painless.compare(WORLD, {"one": solution.policy, "two": solution})
    assert found.differences == ()
    assert repr(found).endswith("one loses nothing to two at the prices of its limits.")
    save_figure(comparison_figure(found), tmp_path / "same.png")


@pytest.mark.parametrize("given", [{}, [WORLD], None])
def test_policies_to_compare_come_by_name(given):
    with pytest.raises(InputError, match="give a dictionary of policies by name"):
        painless.compare(WORLD, given)


# ---------------------------------------------------------------------------------------------- sensitivity


def two_sided(sparse=False, **change):
    """A Garnet problem whose cost is minimised, with a limit of each sense; both bind."""
    base = painless.garnet(8, 3, 3, 2, seed=5)
    kernel = scipy.sparse.csr_array(base.transition.reshape(-1, 8)) if sparse else base.transition
    arguments = {
        "transition": kernel,
        "cost": -base.reward,
        "constraint_reward": base.constraint_reward[:1],
        "threshold": base.threshold[:1],
        "constraint_cost": -base.constraint_reward[1:],
        "budget": -base.threshold[1:],
        "initial": base.initial,
        "discount": base.discount,
    }
    return painless.CMDP(**(arguments | change))


@each_model
def test_derivatives_agree_with_differences(sparse):
    problem, h = two_sided(sparse), 1e-5
    found = painless.sensitivity(problem)
    assert (found.solution.multiplier > 0).all()

    def slope(**sides):
        low, high = (
            painless.solve(
                two_sided(**{name: side[k] for name, side in sides.items()}),
                painless.LinearProgram(),
                tolerance=1e-9,
            )
            for k in (0, 1)
        )
        return (high.reward_value - low.reward_value) / (2 * h)

    assert slope(discount=(problem.discount - h, problem.discount + h)) == pytest.approx(
        found.discount, rel=1e-3
    )
    kernel = two_sided().transition
    rates = found.transition.toarray().reshape(kernel.shape) if sparse else found.transition
    cost, gained, paid = -problem.reward, problem.constraint_reward[:1], -problem.constraint_reward[1:]
    visited = np.argwhere(found.reward > 0)
    for s, a in visited[::2]:
        bump = np.zeros(problem.actions.shape)
        bump[s, a] = h
        assert slope(cost=(cost - bump, cost + bump)) == pytest.approx(found.reward[s, a], rel=1e-3, abs=1e-4)
        sides = (gained - bump, gained + bump)
        assert slope(constraint_reward=sides) == pytest.approx(found.constraint[0, s, a], rel=1e-3, abs=1e-4)
        sides = (paid - bump, paid + bump)
        assert slope(constraint_cost=sides) == pytest.approx(found.constraint[1, s, a], rel=1e-3, abs=1e-4)
        low, high = np.flatnonzero(kernel[s, a])[:2]
        move = np.zeros(kernel.shape)
        move[s, a, [low, high]] = -h, h
        expected = rates[s, a, high] - rates[s, a, low]
        assert slope(transition=(kernel - move, kernel + move)) == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_the_next_unit_is_the_difference_of_two_optima():
    problem = shop()
    found = painless.sensitivity(problem, step=0.1)
    loose = painless.solve(problem.with_limits({"waste": 0.3}), tolerance=1e-7)
    assert found.gain[1] == pytest.approx(found.solution.reward_value - loose.reward_value, rel=1e-4)
    assert (found.gain <= found.solution.price_range[:, 1] * 0.1 + 1e-9).all()
    assert found.loosen_first == problem.names["constraints"][int(found.gain.argmax())]
    assert f"Loosen {found.loosen_first} first" in repr(found)
    frame = found.to_frame(dict)
    assert frame["constraint"][0] == found.loosen_first
    pairs = found.pairs_to_frame(dict)
    assert set(pairs) == {"state", "action", "cost", "sold", "waste"}
    assert_allclose(pairs["cost"].sum(), 1 / (1 - 0.9))


def test_limits_that_do_not_bind_gain_nothing():
    loose = painless.sensitivity(WORLD.with_limits([0.0]))
    assert_array_equal(loose.gain, [0.0])
    assert loose.loosen_first is None
    assert "No limit is worth loosening" in repr(loose)
    assert_allclose(painless.sensitivity(painless.garnet(5, 2, 2, 0)).reward.sum(), 10.0, rtol=1e-6)


def test_a_swept_model_has_the_same_derivatives():
    problem = painless.garnet(550, 3, 3, 1, seed=3, dense=False)
    solution = painless.solve(problem, tolerance=1e-8)
    found = painless.sensitivity(problem, solution)
    assert_allclose(found.reward, occupancy(problem, solution.policy.probabilities), atol=1e-7)
    h = 1e-4
    low, high = (painless.solve(problem.with_discount(problem.discount + e), tolerance=1e-9) for e in (-h, h))
    assert (high.reward_value - low.reward_value) / (2 * h) == pytest.approx(found.discount, rel=1e-2)


@pytest.mark.parametrize(
    ("problem", "options", "message"),
    [
        (WORLD, {"step": 0}, "step is 0; give by how much"),
        (WORLD, {"solution": 3}, "solution is a int; give what painless.solve returned"),
        (painless.gridworld(threshold=9.0), {}, "the problem has no feasible solution"),
    ],
)
def test_sensitivity_refuses(problem, options, message):
    with pytest.raises(InputError, match=re.escape(message)):
        painless.sensitivity(problem, **options)


# ---------------------------------------------------------------------------------------------- chains and frames


@each_model
@pytest.mark.parametrize("ending", ["npz", "json", "drn"])
def test_the_chain_of_a_policy(sparse, ending, tmp_path):
    problem = shop(sparse)
    policy = painless.TabularPolicy(dirichlet_policy(problem.actions, np.random.default_rng(4)))
    chain = policy.chain(problem)
    matrix = policy_transition(problem, policy.probabilities)
    assert_allclose(
        np.asarray(chain.transition.todense() if sparse else chain.transition[:, 0]),
        matrix.todense() if sparse else matrix,
    )
    chain.save(tmp_path / f"chain.{ending}")
    if ending == "drn":
        assert "@type: DTMC" in (tmp_path / "chain.drn").read_text()
    again = painless.load(tmp_path / f"chain.{ending}")
    one, other = painless.value(np.ones((3, 1)), again), painless.value(policy, problem)
    assert_allclose(one.reward_value, other.reward_value)
    assert_allclose(one.constraint_value, other.constraint_value)
    assert again.names["states"] == problem.names["states"]


def test_trajectories_are_those_of_the_policy():
    problem = shop()
    policy = painless.solve(problem).policy
    walk = policy.simulate(problem, episodes=50, steps=200, seed=1, make=dict)
    assert list(walk) == ["episode", "step", "state", "action", "next_state", "cost", "sold", "waste"]
    assert_array_equal(walk["episode"], np.repeat(np.arange(50), 200))
    assert_array_equal(walk["step"], np.tile(np.arange(200), 50))
    follows = np.array(walk["state"][1:]) == np.array(walk["next_state"][:-1])
    assert follows[np.diff(walk["episode"]) == 0].all()
    assert set(walk["state"]) <= {"fresh", "old", "gone"}
    discounted = (0.9 ** walk["step"] * walk["cost"]).sum() / 50
    assert discounted == pytest.approx(painless.value(policy, problem).reward_value, abs=0.5)
    again = policy.simulate(problem, episodes=50, steps=200, seed=1, make=dict)
    assert again["state"] == walk["state"]
    with pytest.raises(InputError, match="episodes is 0"):
        policy.simulate(problem, episodes=0, make=dict)


def test_trajectories_without_names_are_numbers():
    problem = painless.garnet(5, 2, 2, 1)
    walk = painless.solve(problem).policy.simulate(problem, steps=10, make=dict)
    assert walk["state"].dtype.kind == "i"
    assert walk["action"].max() < 2


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_everything_becomes_a_frame(name):
    make, problem = library(name).DataFrame, shop()
    solution = painless.solve(problem)
    run = painless.solve(problem, painless.CBP(), iterations=20)
    comparison = painless.compare(
        problem,
        {"mine": lambda state: {"fresh": "keep", "old": "sell", "gone": "rest"}[state], "best": solution},
    )
    sensitivity = painless.sensitivity(problem)
    frames = {
        solution.policy.to_frame: 3,
        solution.to_frame: 3,
        run.trace.to_frame: 20,
        comparison.to_frame: 2,
        comparison.differences_to_frame: len(comparison.differences),
        sensitivity.to_frame: 2,
        sensitivity.pairs_to_frame: np.count_nonzero(sensitivity.reward),
    }
    for to_frame, rows in frames.items():
        frame = to_frame(make)
        assert isinstance(frame, make)
        assert len(frame) == rows
    assert isinstance(solution.policy.simulate(problem, steps=5, make=make), make)
    assert list(solution.policy.to_frame(make).columns) == [
        "state",
        "sell",
        "keep",
        "throw",
        "order",
        "rest",
        "visits",
    ]
    assert list(solution.to_frame(make)["name"]) == ["cost", "sold", "waste"]


def test_a_frame_needs_a_library(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(InputError, match="neither pandas nor Polars is installed"):
        painless.solve(WORLD).to_frame()
    with pytest.raises(InputError, match="make is 3"):
        painless.solve(WORLD).to_frame(3)


def test_the_trace_of_a_batch_is_no_frame():
    trace = painless.solve(WORLD, iterations=5).trace
    batch = type(trace)(
        trace.reward_value[:, None], trace.constraint_value[:, None], trace.multiplier[:, None]
    )
    with pytest.raises(InputError, match=r"take one of them with run\(index\)"):
        batch.to_frame(dict)
    assert len(batch.run(0).to_frame(dict)["iteration"]) == 5


# ---------------------------------------------------------------------------------------------- the command line


def test_the_command_line_compares(run, tmp_path):
    problem = shop()
    problem.save(tmp_path / "shop.npz")
    as_policy({"fresh": "sell", "old": "throw", "gone": "order"}, problem).save(tmp_path / "mine.csv")
    painless.solve(problem).save(tmp_path / "saved", problem)
    mine, saved = f"mine={tmp_path / 'mine.csv'}", f"saved={tmp_path / 'saved'}"
    code, out, _ = run("compare", tmp_path / "shop.npz", mine, saved, "--figure", tmp_path / "shop.svg")
    assert code == 0
    assert "Where mine loses most to optimal at the prices of its limits:" in out
    assert "<svg" in (tmp_path / "shop.svg").read_text()
    code, out, _ = run("compare", tmp_path / "shop.npz", mine, "--json")
    content = json.loads(out)
    assert content["reference"] == "optimal"
    assert content["policies"]["feasible"] == [False, True]
    for wrong in ("mine", "optimal=x.csv", "=x.csv"):
        code, _, err = run("compare", tmp_path / "shop.npz", wrong)
        assert (code, "is not of the form NAME=POLICY" in err) == (2, True)
    code, _, err = run("compare", tmp_path / "shop.npz", "mine=none.csv")
    assert (code, "does not exist" in err) == (2, True)


def test_the_command_line_says_what_to_loosen(run, tmp_path):
    shop().save(tmp_path / "shop.npz")
    code, out, _ = run("sensitivity", tmp_path / "shop.npz", "--step", 0.1)
    assert code == 0
    assert "Loosen waste first: a limit that is looser by 0.1 gains" in out
    content = json.loads(run("sensitivity", tmp_path / "shop.npz", "--step", 0.1, "--json")[1])
    assert content["loosen_first"] == "waste"
    assert content["limits"]["constraint"] == ["waste", "sold"]
    code, _, err = run("sensitivity", tmp_path / "shop.npz", "--step", 0)
    assert (code, "step is 0" in err) == (2, True)


# ---------------------------------------------------------------------------------------------- finite horizons


def season(**change):
    """The shop for six steps."""
    problem = shop().with_limits([1.0, 0.5])
    return problem.with_horizon(6) if not change else problem.with_horizon(**change)


def test_policies_of_a_horizon_have_values_and_are_compared():
    problem = season()
    solution = painless.solve(problem, tolerance=1e-9)
    found = painless.value(solution, problem)
    assert_allclose(found.reward_value, solution.reward_value)
    assert_allclose(found.constraint_value, solution.constraint_value)
    rule = {"fresh": "sell", "old": "sell", "gone": "order"}
    ways = (rule, rule.__getitem__, ["sell", "sell", "order"], as_policy(rule, shop()))
    values = [painless.value(way, problem).reward_value for way in ways]
    assert_allclose(values, values[0])
    comparison = painless.compare(problem, {"mine": rule, "optimal": solution})
    best, mine = comparison.values["optimal"], comparison.values["mine"]
    charged = solution.multiplier * [1, -1] @ (best.constraint_value - mine.constraint_value)
    total = sum(one.cost for one in comparison.differences)
    assert total == pytest.approx(mine.reward_value - best.reward_value + charged)
    assert comparison.differences[0].state.startswith("step ")


def test_the_policy_of_a_horizon_is_saved_and_framed(tmp_path):
    solution = painless.solve(season())
    solution.policy.step(0).save(tmp_path / "first.csv")
    painless.save_policy(solution.policy, tmp_path / "policy.npz")
    again = painless.load_policy(tmp_path / "policy.npz")
    assert_array_equal(again.probabilities, solution.policy.probabilities)
    assert again.act("gone", 5) in ("order", "rest")
    solution.save(tmp_path / "folder")
    assert_array_equal(painless.load_policy(tmp_path / "folder").probabilities, again.probabilities)
    frame = again.to_frame(dict)
    assert list(frame) == ["step", "state", "sell", "keep", "throw", "order", "rest", "visits"]
    assert len(frame["state"]) == len(frame["step"]) == len(frame["sell"]) == 18
    with pytest.raises(InputError, match=r"must end in \.npz; rename it"):
        painless.save_policy(solution.policy, tmp_path / "policy.csv")


def test_trajectories_of_one_step_alone_are_refused():
    problem = season()
    with pytest.raises(InputError, match="needs a problem with a discount, not a horizon"):
        painless.solve(problem).policy.step(0).simulate(problem, make=dict)


def test_a_policy_of_another_horizon_is_refused():
    policy = painless.solve(season()).policy
    with pytest.raises(InputError, match="policy has 6 steps; give one for a problem with that horizon"):
        painless.value(policy, season(horizon=5))
    with pytest.raises(InputError, match="policy has 6 steps"):
        painless.value(policy, shop())
