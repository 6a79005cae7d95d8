"""Problems with a horizon against a linear program over (t, s, a) that is written out here."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import painless
from painless import CMDP, InputError, verify
from painless.engines import finite_horizon
from painless.engines.sweeps import backward
from painless.policies.timed import TimedPolicy
from painless.problem import units
from painless.simulation.simulator import TableSimulator
from painless.simulation.staged import StagedSimulator
from painless.solving.certificate_files import certify, model_of
from painless.solving.solution import Kind


def values_by_hand(kernels, utilities, final, initial, discount, policy):
    """Evaluate a policy (H, S, A) step by step; kernels (H, S, A, S), utilities (J, H, S, A), final (J, S)."""
    ahead = final
    for t in reversed(range(len(kernels))):
        q = utilities[:, t] + discount * np.einsum("sat,jt->jsa", kernels[t], ahead)
        ahead = (q * policy[t]).sum(-1)
    return ahead @ initial


def optimum_by_hand(kernels, utilities, final, initial, discount, mask, threshold):
    """Solve the linear program over the probabilities of (t, s, a); None if it is infeasible."""
    steps, states, _ = mask.shape
    pairs = np.argwhere(mask)
    flow = np.zeros((steps * states, len(pairs)))
    for k, (t, s, a) in enumerate(pairs):
        flow[t * states + s, k] += 1
        if t + 1 < steps:
            flow[(t + 1) * states : (t + 2) * states, k] -= kernels[t, s, a]
    total = utilities * (discount ** np.arange(steps))[:, None, None]
    total[:, -1] += discount**steps * np.einsum("sat,jt->jsa", kernels[-1], final)
    gain = total[:, *pairs.T]
    start = np.concatenate([initial, np.zeros((steps - 1) * states)])
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(-gain[0], A_ub=-gain[1:], b_ub=-threshold, A_eq=flow, b_eq=start, options=tight)
    return (-found.fun, -found.ineqlin.marginals) if found.status == 0 else None


@st.composite
def models(draw):
    """Return the arguments of a problem with a horizon, and what the checks above need."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    steps, states, actions = draw(st.integers(1, 5)), draw(st.integers(1, 5)), draw(st.integers(1, 3))
    count, timed = draw(st.integers(1, 3)), draw(st.booleans())
    kernels = rng.dirichlet(np.full(states, 0.5), (steps if timed else 1, states, actions))
    kernels = np.where(kernels < 0.05, 0.0, kernels)
    kernels /= kernels.sum(-1, keepdims=True)
    mask = rng.random((steps if timed else 1, states, actions)) < 0.8
    mask[:, :, 0] |= ~mask.any(-1)
    discount = draw(st.sampled_from([1.0, 0.9, 0.3]))
    utilities = np.round(rng.uniform(-2, 2, (1 + count, steps if timed else 1, states, actions)), 1)
    final = np.round(rng.uniform(-1, 1, (1 + count, states)), 1) * draw(st.booleans())
    initial = rng.dirichlet(np.ones(states))
    full = [np.broadcast_to(one, (steps, *one.shape[1:])) for one in (kernels, mask)]
    every = np.broadcast_to(utilities, (1 + count, steps, states, actions))
    uniform = full[1] / full[1].sum(-1, keepdims=True)
    held = values_by_hand(full[0], every, final, initial, discount, uniform)[1:]
    threshold = held + draw(st.sampled_from([-0.1, 0.0, 0.05, 5.0]))
    sparse = draw(st.booleans())
    matrices = [scipy.sparse.csr_array(one.reshape(-1, states)) for one in kernels]
    given = {
        "transition": (matrices if timed and steps > 1 else matrices[0])
        if sparse
        else (kernels if timed else kernels[0]),
        "reward": utilities[0] if timed else utilities[0, 0],
        "constraint_reward": utilities[1:] if timed else utilities[1:, 0],
        "threshold": threshold,
        "final": final[0],
        "constraint_final": final[1:],
        "initial": initial,
        "discount": discount,
        "horizon": steps,
        "actions": mask if timed else mask[0],
    }
    return given, (full[0], every, final, initial, discount), full[1]


@settings(max_examples=100)
@given(models())
def test_the_optimum_is_that_of_the_program(model):
    given, exact, mask = model
    problem = CMDP(**given)
    steps, states, actions = mask.shape
    assert problem.shape == (steps * states, actions, len(given["threshold"]))
    known = optimum_by_hand(*exact, mask, given["threshold"])
    found = painless.solve(problem, tolerance=1e-9)
    if found.status.kind is Kind.INFEASIBLE:
        assert known is None or (abs(known[0]) < np.inf and not found.feasible)
        worst = optimum_by_hand(*exact, mask, given["threshold"] + 1e-6)
        assert worst is None
        return
    size = 1 + np.abs(exact[1]).max() * steps
    assert known is not None
    price = 1 + found.multiplier.sum()
    assert found.reward_value <= known[0] + 1e-7 * size * price
    assert found.upper_bound >= known[0] - 1e-7 * size * price
    assert found.policy.probabilities.shape == mask.shape
    assert (found.policy.probabilities[~mask] == 0).all()
    value = values_by_hand(*exact, found.policy.probabilities)
    np.testing.assert_allclose(value, [found.reward_value, *found.constraint_value], atol=1e-9 * size)
    assert (value[1:] >= given["threshold"] - found.violation - 1e-12 * size).all()
    if found.status.kind is Kind.SOLVED:
        assert found.reward_value == pytest.approx(known[0], abs=2e-7 * size * price)
        check_prices(found, exact, mask, given["threshold"], size)


def check_prices(found, exact, mask, threshold, size):
    """Compare every price with the program's values where its limit is moved a little both ways."""
    step = 1e-4
    for i, (low, high) in enumerate(found.price_range):
        moved = [
            optimum_by_hand(*exact, mask, threshold + side * step * np.eye(len(threshold))[i])
            for side in (-1, 1)
        ]
        here = optimum_by_hand(*exact, mask, threshold)[0]
        close = 1e-3 * size
        gained = (moved[0][0] - here) / step
        lost = np.inf if moved[1] is None else (here - moved[1][0]) / step
        assert gained <= high + close
        assert low <= lost + close
        if high - low <= 1e-6 * (1 + high) and moved[1] is not None:
            assert gained - close <= found.multiplier[i] <= lost + close


@settings(max_examples=25)
@given(models())
def test_every_way_to_solve_agrees(model):
    given, *_ = model
    problem = CMDP(**given)
    best = painless.solve(problem, tolerance=1e-8)
    if best.status.kind is not Kind.SOLVED:
        return
    for way in (painless.LinearProgram(), painless.PRM()):
        found = painless.solve(problem, way, tolerance=1e-3)
        assert found.upper_bound >= best.reward_value - 1e-7 * (1 + abs(best.reward_value))
        assert not found.feasible or found.reward_value <= best.upper_bound + 1e-7 * (
            1 + abs(best.upper_bound)
        )
    for way in (painless.CBP(), painless.GDA(), painless.CRPO()):
        found = painless.solve(problem, way, iterations=20)
        assert found.upper_bound >= best.reward_value - 1e-7 * (1 + abs(best.reward_value))


@settings(max_examples=25)
@given(models())
def test_a_frontier_passes_through_the_optimum(model):
    given, exact, mask = model
    problem = CMDP(**given)
    found = painless.solve(problem, tolerance=1e-9)
    if found.status.kind is not Kind.SOLVED:
        return
    curve = painless.frontier(problem, 0)
    point = curve.at(float(given["threshold"][0]))
    size = (1 + np.abs(exact[1]).max() * len(mask)) * (1 + found.multiplier.sum())
    assert point.reward_value == pytest.approx(found.reward_value, abs=1e-6 * size)
    value = values_by_hand(*exact, point.policy.probabilities)
    np.testing.assert_allclose(value, [point.reward_value, *point.constraint_value], atol=1e-8 * size)


@settings(max_examples=40)
@given(models(), st.sampled_from(["npz", "json"]))
def test_files_keep_every_number(tmp_path_factory, model, ending):
    given, *_ = model
    problem = CMDP(**given)
    path = tmp_path_factory.mktemp("horizon") / f"problem.{ending}"
    problem.save(path)
    again = painless.load(path)
    assert again.horizon == problem.horizon
    assert again.discount == problem.discount
    for name in ("reward", "constraint_reward", "threshold", "initial", "actions"):
        np.testing.assert_array_equal(getattr(again, name), getattr(problem, name))
    for t in range(problem.stages.steps):
        np.testing.assert_array_equal(again.stages.rows(t).toarray(), problem.stages.rows(t).toarray())


# ---------------------------------------------------------------- known answers


def ten_steps(**changes):
    """One state: earn 1 and pay 1, or rest; at most 4 may be paid in ten steps."""
    given = {"initial": [1.0], "horizon": 10, "constraint_cost": [[1.0, 0.0]], "budget": 4.0} | changes
    return CMDP(np.ones((1, 2, 1)), [[1.0, 0.0]], **given)


def test_ten_steps():
    found = painless.solve(ten_steps(), tolerance=1e-9)
    assert found.reward_value == pytest.approx(4.0, abs=1e-9)
    assert found.multiplier == pytest.approx([1.0], abs=1e-6)
    assert isinstance(found.policy, TimedPolicy)
    assert found.policy.probabilities.shape == (10, 1, 2)
    assert found.policy.visits.sum() == pytest.approx(10.0)


def test_no_step_leaves_the_last_utilities():
    problem = CMDP(
        *(np.full((2, 3, 2), 0.5), np.ones((2, 3))),
        initial=[0.25, 0.75],
        horizon=0,
        final=[4.0, 8.0],
        constraint_cost=np.ones((2, 3)),
        budget=1.0,
        constraint_final=[[0.0, 1.0]],
    )
    found = painless.solve(problem)
    assert found.reward_value == pytest.approx(7.0)
    assert found.constraint_value == pytest.approx([0.75])
    assert found.policy.probabilities.shape == (0, 2, 3)
    assert painless.solve(problem.with_limits([0.5])).status.kind is Kind.INFEASIBLE


def test_no_step_leaves_the_last_utilities_also_where_the_first_action_is_not_available(tmp_path):
    given = {
        "initial": [0.25, 0.75],
        "horizon": 0,
        "final": [4.0, 8.0],
        "actions": [[True, True], [False, True]],
    }
    problem = CMDP(np.full((2, 2, 2), 0.5), np.ones((2, 2)), **given)
    problem.save(tmp_path / "none.npz")
    for one in (problem, painless.load(tmp_path / "none.npz")):
        found = painless.solve(one)
        assert found.reward_value == pytest.approx(7.0)
        assert verify.verify(certify(found, one), model_of(one)).verified


def test_a_long_horizon_tends_to_the_discounted_values():
    problem = painless.gridworld()
    endless = painless.solve(problem, tolerance=1e-9)
    long = painless.solve(problem.with_horizon(300, problem.discount), tolerance=1e-9)
    assert long.reward_value == pytest.approx(endless.reward_value, abs=1e-6)


def test_nothing_of_the_size_of_all_steps_is_formed():
    """100 steps of 400 dense states: the transitions of all steps at once would take 0.5 GB for each action."""
    import tracemalloc

    rng = np.random.default_rng(0)
    kernel = rng.dirichlet(np.ones(400), (400, 2))
    problem = CMDP(
        kernel,
        rng.random((400, 2)),
        initial=np.full(400, 1 / 400),
        horizon=100,
        constraint_reward=rng.random((400, 2)),
        threshold=55.0,
        copy=False,
    )
    tracemalloc.start()
    try:
        found = painless.solve(problem)
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()
    assert found.status.kind is Kind.SOLVED


# ---------------------------------------------------------------- in and out


def test_saved_solutions_and_policies(tmp_path):
    problem = ten_steps(names={"states": ["shop"], "actions": ["open", "closed"]})
    found = painless.solve(problem)
    found.save(tmp_path, problem)
    again = painless.Solution.load(tmp_path)
    np.testing.assert_array_equal(again.policy.probabilities, found.policy.probabilities)
    again.require_fit(painless.load(tmp_path / "problem.npz"))
    lines = (tmp_path / "policy.csv").read_text().splitlines()
    assert lines[0] == "step,state,open,closed,visits"
    assert len(lines) == 11
    assert lines[3].startswith("2,shop,")
    assert found.policy.at(0, step=9).shape == (2,)
    assert found.policy.act("shop", 3, np.random.default_rng(0)) in ("open", "closed")


def test_the_command_line(run, tmp_path):
    code, out, _ = run("solve", "gridworld", "--horizon", "20", "--threshold", "3")
    assert code == 0
    assert "backward induction" in out
    code, out, _ = run("frontier", "gridworld", "--horizon", "5")
    assert code == 0
    assert "0.824" in out
    code, _, _ = run(
        "solve",
        "gridworld",
        "--horizon",
        "4",
        "--threshold",
        "0.3",
        "--save",
        tmp_path / "s",
        "--report",
        tmp_path / "page.html",
    )
    assert code == 0
    assert "step 3, (4, 4)" in (tmp_path / "page.html").read_text()
    assert run("report", tmp_path / "s", "--out", tmp_path / "again.html")[0] == 0
    code, out, _ = run("evaluate", tmp_path / "s", "--episodes", 50)
    assert code == 0
    assert "interval" in out


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"horizon": -1}, "horizon is -1; it must be a whole number of at least 0"),
        ({"horizon": 2.5}, "horizon is 2.5"),
        ({"discount": 1.5}, r"discount is 1.5, outside \[0, 1\]"),
        ({"constraint_cost": np.ones((3, 1, 2))}, "constraint_cost has shape"),
        ({"final": [1.0, 2.0]}, r"final has shape \(2,\)"),
        ({"constraint_final": [[np.nan]]}, "constraint_final"),
        ({"actions": np.ones((3, 1, 2))}, "actions has shape"),
        ({"horizon": None, "discount": 0.9, "final": [1.0]}, "give a horizon, too"),
        ({"horizon": None}, "discount is missing"),
    ],
)
def test_bad_horizons(changes, message):
    with pytest.raises(InputError, match=message):
        ten_steps(**changes)


def test_a_warm_start_is_a_policy_of_the_steps():
    problem = ten_steps()
    best = painless.solve(problem, tolerance=1e-9)
    for start in (best.policy, best.policy.probabilities, [[0.5, 0.5]]):
        for way in (None, painless.PRM()):
            found = painless.solve(problem, way, initial_policy=start, tolerance=1e-6)
            assert found.reward_value == pytest.approx(4.0, abs=1e-5)
    with pytest.raises(InputError, match="initial_policy has 10 steps"):
        painless.solve(ten_steps(horizon=3), initial_policy=best.policy)


def test_the_discount_is_part_of_the_last_utility(tmp_path):
    """A last utility enters at the discount of the problem, which cannot be replaced afterwards."""
    problem = ten_steps(discount=0.5, final=[1024.0])
    problem.save(tmp_path / "ten.npz")
    for change in (
        lambda: problem.with_discount(1.0),
        lambda: painless.load(tmp_path / "ten.npz", discount=1.0),
    ):
        with pytest.raises(InputError, match="discount of a problem with a horizon is fixed"):
            change()


def test_kernels_for_each_step_are_as_many_as_steps():
    with pytest.raises(InputError, match="transition has 3 steps, but horizon is 10"):
        CMDP(np.ones((3, 1, 2, 1)), [[1.0, 0.0]], initial=[1.0], horizon=10)


def test_what_needs_a_discount_says_so():
    problem = ten_steps()
    with pytest.raises(InputError, match="needs a problem with a discount"):
        TableSimulator(problem)
    with pytest.raises(InputError, match="has no horizon; give it one"):
        StagedSimulator(painless.gridworld())
    with pytest.raises(InputError, match="policy has 10 steps; give one of them"):
        painless.evaluate(painless.solve(problem).policy, painless.gridworld())
    with pytest.raises(InputError, match="has a horizon already"):
        problem.with_horizon(3)


@settings(max_examples=10)
@given(models(), st.integers(0, 10**6))
def test_episodes_have_the_values_of_the_policy(model, seed):
    """The exact values lie within the intervals of fresh episodes, also where steps differ and a last utility counts."""
    problem = CMDP(**model[0])
    rng = np.random.default_rng(seed)
    table = rng.random(problem.actions.shape) * problem.actions
    table /= table.sum(1, keepdims=True)
    policy = table.reshape(problem.horizon, -1, table.shape[1])
    exact = painless.value(TimedPolicy(policy), problem)
    found = painless.evaluate(TimedPolicy(policy), problem, episodes=200, confidence=0.9999999, seed=seed)
    values = np.append(exact.reward_value, exact.constraint_value)
    assert (found.low - 1e-9 <= values).all()
    assert (values <= found.high + 1e-9).all()
    assert found.steps == 200 * problem.horizon
    assert found.exact


def test_episodes_of_a_horizon_by_names_and_without_a_step():
    found = painless.evaluate(lambda state: 0, ten_steps(), episodes=10)
    assert found.mean == pytest.approx([10.0, 10.0])
    assert found.met == (False,)
    none = CMDP(np.ones((1, 2, 1)), [[1.0, 0.0]], initial=[1.0], horizon=0, final=[3.0])
    policy = painless.solve(none).policy
    assert painless.value(policy, none).reward_value == pytest.approx(3.0)
    assert painless.evaluate(policy, none, episodes=3).mean == pytest.approx([3.0])


@settings(max_examples=15)
@given(models())
def test_derivatives_are_differences_of_values(model):
    """By a reward and a probability, of the policy and prices at the optimum."""
    given, exact, mask = model
    given |= {"threshold": np.full(len(given["threshold"]), -1e3)}  # slack, so that all is smooth but at ties
    problem = CMDP(**given)
    found = painless.sensitivity(problem)
    kernels, utilities, final, initial, discount = exact
    policy = found.solution.policy.probabilities
    step = 1e-6
    _, states, actions = mask.shape
    for t, s, a in np.argwhere(mask)[:6]:
        moved = utilities.copy()
        moved[0, t, s, a] += step
        rise = (
            values_by_hand(kernels, moved, final, initial, discount, policy)[0] - found.solution.reward_value
        )
        assert found.reward[t * states + s, a] == pytest.approx(rise / step, abs=1e-7)
    assert np.isnan(found.discount)
    shape = (len(problem.stages.kernels), states * actions, states)
    several = found.transition if len(problem.stages.kernels) > 1 else [found.transition]
    by_step = [one.reshape(-1, states) if isinstance(one, np.ndarray) else one.toarray() for one in several]
    assert np.array(by_step).shape == shape
    if given["final"].any() or (problem.constraint_reward.any() and found.solution.multiplier.any()):
        return
    direction = np.random.default_rng(0).normal(size=(len(by_step), states, actions, states)) * (
        kernels[: len(by_step)] > 0
    )
    direction -= (
        direction.sum(-1, keepdims=True)
        / np.maximum((kernels[: len(by_step)] > 0).sum(-1, keepdims=True), 1)
        * (kernels[: len(by_step)] > 0)
    )
    moved = kernels + step * direction
    rise = values_by_hand(moved, utilities, final, initial, discount, policy)[0] - found.solution.reward_value
    slope = (np.array(by_step).reshape(direction.shape) * direction).sum()
    assert slope == pytest.approx(rise / step, abs=1e-4 * (1 + abs(slope)))


def test_limits_to_loosen_and_pairs_of_steps():
    found = painless.sensitivity(ten_steps(), step=1.0)
    assert found.loosen_first == "constraint 1"
    assert found.gain == pytest.approx([1.0])
    assert len(found.sentences()) == 1
    pairs = found.pairs_to_frame(dict)
    assert pairs["state"][0] == "step 0, state 0"


@settings(max_examples=20)
@given(models())
def test_the_chain_of_a_policy_has_its_values(model):
    problem = CMDP(**model[0])
    rng = np.random.default_rng(1)
    table = rng.random(problem.actions.shape) * problem.actions
    policy = TimedPolicy((table / table.sum(1, keepdims=True)).reshape(model[2].shape))
    chain = policy.chain(problem)
    here, there = painless.value(policy, problem), painless.value([0] * model[2].shape[1], chain)
    assert there.reward_value == pytest.approx(here.reward_value)
    np.testing.assert_allclose(there.constraint_value, here.constraint_value, atol=1e-12)


def test_trajectories_of_every_step():
    """What is drawn has the probabilities of the model, to the precision of a thousand episodes."""
    world = painless.gridworld().with_horizon(6).with_limits([0.1])
    policy = painless.solve(world).policy
    frame = policy.simulate(world, episodes=1000, seed=3, make=dict)
    assert len(frame["step"]) == 6000
    assert frame["step"][:7].tolist() == [0, 1, 2, 3, 4, 5, 0]
    total = frame["reward"].reshape(1000, 6).sum(1)
    error = total.std() / 1000**0.5
    assert abs(total.mean() - painless.value(policy, world).reward_value) < 5 * error
    assert (
        policy.simulate(world, episodes=2, seed=3, make=dict)["reward"].tolist()
        == policy.simulate(world, episodes=2, seed=3, make=dict)["reward"].tolist()
    )
    nothing = painless.gridworld().with_horizon(0)
    none = painless.solve(nothing.with_limits([-1.0])).policy
    for ask in (none.simulate, none.chain):
        with pytest.raises(InputError, match=r"no step|horizon; give one"):
            ask(nothing)


def test_a_sweep_over_horizons(run, tmp_path, monkeypatch):
    """A file with a horizon, and a model of a model checker for several."""
    ten_steps().save(tmp_path / "ten.npz")
    painless.gridworld().save(tmp_path / "world.drn")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sweep.toml").write_text(
        'iterations = 5\nseeds = [0]\n[[problem]]\nname = "ten.npz"\n[[problem]]\nname = "world.drn"\nhorizon = [3, 4]\n'
        'limit = [[0.1]]\n[[algorithm]]\nname = "cbp"\n'
    )
    code, shown, error = run("sweep", "sweep.toml", "--out", "out")
    assert code == 0, error
    assert "ten.npz" in shown
    assert "world.drn" in shown


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("stepwise", [False, True])
@pytest.mark.parametrize("together", [0, 10**9])
@pytest.mark.parametrize("shared", [10, 10**9])
def test_compiled_passes_are_those_of_numpy(monkeypatch, stepwise, positive, together, shared):
    """Best responses, visits, values of tables, actions and mixtures, with masks, kernels that change with time, two threads, and steps that are taken together."""
    rng = np.random.default_rng(8)
    steps, states, actions = 5, 30, 3
    count = steps if stepwise else 1
    dense = rng.dirichlet(np.ones(states), size=(count, states, actions))
    dense *= rng.random(dense.shape) < 0.3
    dense /= dense.sum(-1, keepdims=True)
    kernels = [scipy.sparse.csr_array(one.reshape(-1, states)) for one in dense]
    mask = (rng.random((states, actions)) < 0.7) | positive
    mask[:, 0] = True
    utility = rng.normal(size=(3, steps, states, actions))
    utility = np.abs(utility) if positive else utility
    if together:  # the same in all steps
        utility = utility[:, 0]
    problem = CMDP(
        kernels if stepwise else kernels[0],
        utility[0],
        initial=rng.dirichlet(np.ones(states)),
        horizon=steps,
        discount=0.9,
        actions=mask,
        constraint_reward=utility[1:],
        threshold=[0.0, 0.0],
    )
    weight = np.array([1.0, 0.3, 2.0])
    plain = finite_horizon.FiniteHorizon(problem)
    table = rng.dirichlet(np.ones(actions), size=steps * states) * problem.actions
    table /= table.sum(1, keepdims=True)
    expected, evaluated = plain.best(weight, 0.0, 0.0), plain.values(table)
    other_actions = plain.best(weight[::-1], 0.0, 0.0).actions
    mixed = plain.mixed([expected.actions, other_actions], np.array([0.3, 0.7]))
    monkeypatch.setattr(finite_horizon, "COMPILED", -1)
    monkeypatch.setattr(finite_horizon, "SHARED", shared)
    monkeypatch.setattr(finite_horizon, "TOGETHER", together)
    compiled = finite_horizon.FiniteHorizon(problem)
    found = compiled.best(weight, 0.0, 0.0)
    np.testing.assert_array_equal(found.actions, expected.actions)
    np.testing.assert_allclose(found.value, expected.value, rtol=1e-12)
    assert found.upper_bound == pytest.approx(expected.upper_bound, rel=1e-12)
    for one, other in zip(compiled.values(table), evaluated, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    for one, other in zip(compiled.values(found.actions), plain.values(found.actions), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    np.testing.assert_allclose(compiled.visits(found.actions), plain.visits(found.actions), rtol=1e-12)
    np.testing.assert_array_equal(compiled.reachable(mixed[0]), plain.reachable(mixed[0]))
    together = compiled.mixed([found.actions, other_actions], np.array([0.3, 0.7]))
    np.testing.assert_allclose(together[0], mixed[0], atol=1e-12)
    averaged = 0.3 * expected.value + 0.7 * plain.values(other_actions).low
    np.testing.assert_allclose(together[1].low, averaged, rtol=1e-9)


def test_only_what_can_be_reached_in_time_is_swept(monkeypatch):
    """From one state of a long walk, few others can be reached: the answer is the same, and best where the process may be."""
    rng = np.random.default_rng(5)
    states, steps = 60, 8
    pairs = 2 * states
    here = np.repeat(np.arange(states), 2)
    ahead = np.column_stack(
        [np.maximum(here - 1, 0), np.minimum(here + rng.integers(1, 3, pairs), states - 1)]
    )
    kernel = scipy.sparse.csr_array(
        (rng.dirichlet(np.ones(2), pairs).ravel(), (np.repeat(np.arange(pairs), 2), ahead.ravel())),
        (pairs, states),
    )
    problem = painless.CMDP(
        kernel,
        rng.random((states, 2)),
        initial=np.eye(states)[3],
        horizon=steps,
        constraint_reward=rng.normal(size=(1, states, 2)),
        threshold=[0.0],
    )
    weight = np.array([1.0, 0.5])
    plain = finite_horizon.FiniteHorizon(problem)
    expected = plain.best(weight, 0.0, 0.0)
    monkeypatch.setattr(finite_horizon, "COMPILED", -1)
    compiled = finite_horizon.FiniteHorizon(problem)
    reached, last = np.arange(states) == 3, []
    for _ in range(steps):
        last.append(int(np.flatnonzero(reached).max()) + 1)
        reached = np.bincount(ahead.ravel(), np.repeat(reached[here], 2), states) > 0
    np.testing.assert_array_equal(compiled._near, last)
    found = compiled.best(weight, 0.0, 0.0)
    np.testing.assert_allclose(found.value, expected.value, rtol=1e-12)
    assert found.upper_bound == pytest.approx(expected.upper_bound, rel=1e-12)
    near = (np.arange(states) < compiled._near[:, None]).ravel()
    np.testing.assert_array_equal(found.actions[near], expected.actions[near])
    assert (found.actions != expected.actions).any()  # nothing can reach those
    np.testing.assert_array_equal(compiled.everywhere(found.actions, weight), expected.actions)
    free = problem.with_limits([-1e6])
    shown = painless.solve(free).policy.probabilities
    monkeypatch.undo()
    np.testing.assert_array_equal(shown, painless.solve(free).policy.probabilities)


@pytest.mark.parametrize("masked", [False, True])
def test_utilities_of_all_steps_are_made_of_one_when_asked_for(masked):
    """Utilities that do not change with time are stored once; all that is made of them is as if each step had its own."""
    plain = painless.garnet(12, 3, 3, 2, seed=5)
    mask = np.ones((12, 3), dtype=bool)
    mask[4, 1] = not masked
    given = {"initial": plain.initial, "actions": mask, "horizon": 6, "threshold": [1.0, 0.5]}
    once = CMDP(plain.transition, plain.reward, constraint_reward=plain.constraint_reward, **given)
    steps = np.repeat(plain.reward[None], 6, 0)
    each = CMDP(plain.transition, steps, constraint_reward=plain.constraint_reward, **given)
    assert once.step_utility.shape == (3, 12, 3)
    assert each.step_utility is None
    for one in (once, pickle.loads(pickle.dumps(once)), once.with_limits([1.0, 0.5])):
        assert "reward" not in vars(one)
        np.testing.assert_array_equal(one.utility_range, each.utility_range)
        assert not {"utility", "reward", "constraint_reward"} & {*vars(one)}  # as large as all steps together
        np.testing.assert_array_equal(one.utility, each.utility)
        np.testing.assert_array_equal(one.reward, each.reward)
        np.testing.assert_array_equal(one.constraint_reward, each.constraint_reward)
        assert not any(part.flags.writeable for part in (one.utility, one.reward, one.constraint_reward))
    (first, own), (second, others) = units.normalise(once), units.normalise(each)
    np.testing.assert_array_equal(first.utility, second.utility)
    np.testing.assert_array_equal(own.span, others.span)
    chosen = once.with_utilities([2, 0], np.zeros(1))
    np.testing.assert_array_equal(chosen.reward, each.constraint_reward[1])
    one, other = painless.solve(once, tolerance=1e-9), painless.solve(each, tolerance=1e-9)
    np.testing.assert_array_equal(one.policy.probabilities, other.policy.probabilities)
    np.testing.assert_array_equal(one.policy.visits, other.policy.visits)
    assert one.upper_bound == other.upper_bound


def test_what_was_read_before_the_presolve_does_not_stay_in_pairs_that_it_removes():
    problem = CMDP(
        *(np.ones((1, 3, 1)), [[1.0, 2.0, 3.0]]),
        initial=[1.0],
        horizon=2,
        constraint_cost=[[0.0, 0.0, 5.0]],
        budget=0.0,
    )
    assert problem.reward.tolist() == problem.utility[0].tolist() == [[1.0, 2.0, 3.0]] * 2
    smaller, _ = units.presolve(problem)
    assert smaller.reward.tolist() == smaller.utility[0].tolist() == [[1.0, 2.0, 0.0]] * 2


def test_mixtures_of_a_step_are_compiled_as_they_are_written():
    rng = np.random.default_rng(3)
    often, actions = (
        rng.random((3, 40)) * (rng.random((3, 40)) < 0.5),
        rng.integers(0, 4, (3, 50), dtype=np.uint8),
    )
    tables = np.full((2, 50, 4), np.nan)
    backward.write_shares(often, actions, tables[0])
    backward.shares_step(often, actions, tables[1])
    np.testing.assert_allclose(*tables, rtol=1e-14)
    np.testing.assert_allclose(tables.sum(-1), 1.0)
    assert (tables[:, 40:].argmax(-1) == actions[0, 40:]).all()
    assert (often.sum(0) == 0).any()
