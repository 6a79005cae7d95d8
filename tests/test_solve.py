"""`solve`: known answers, random problems against the linear program, edges, and how it can end."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import painless
from painless import CBP, CMDP, CRPO, GDA, PRM, ColumnGeneration, InputError, LinearProgram, Output
from painless.bellman import policy_value
from painless.common.clock import Clock
from painless.loop.batch import solve_batch
from painless.planning.case import Case
from painless.planning.planner import Task
from painless.policies.table import dirichlet_policy
from painless.solving.solution import Kind

from .problems import garnets

OPTIMUM, PRICE = 1.6527218430, 0.1732303
ALPHAS = (1, 2, 5, 8, 15, 50, 100, 300, 500)


def single(reward, *, constraint=None, threshold=None, discount=0.5):
    """One state in which every action stays."""
    count = len(reward)
    return CMDP(
        np.ones((1, count, 1)),
        [reward],
        initial=[1.0],
        discount=discount,
        constraint_reward=None if constraint is None else np.reshape(constraint, (-1, 1, count)),
        threshold=threshold,
    )


def meets(problem, solution):
    """Whether the policy, evaluated anew, is feasible by the definition."""
    unit, table = 1 / (1 - problem.discount), solution.policy.probabilities
    sizes = problem.with_constraints(problem.reward, np.abs(problem.constraint_reward), problem.threshold)
    total = policy_value(sizes, table)[1:] + np.abs(problem.threshold)
    spans = [np.ptp(c[problem.actions]) for c in problem.constraint_reward]
    allowed = max(1e-9, 16 * 2.0**-53 * unit) * (total + 1e-6 * np.array(spans) * unit)
    return (policy_value(problem, table)[1:] + allowed >= problem.threshold).all()


# ---------------------------------------------------------------- known answers


def test_gridworld_by_the_linear_program():
    solution = painless.solve(painless.gridworld(), LinearProgram())
    assert solution.reward_value == pytest.approx(OPTIMUM, abs=1e-8)
    assert solution.multiplier == pytest.approx([PRICE], abs=1e-6)
    assert solution.feasible
    assert solution.gap < 1e-10
    assert solution.trace is None


@pytest.mark.parametrize(
    ("discount", "optimum", "price"), [(0.8, 0.730965, 0.24352), (0.7, 0.444326, 0.31457)]
)
def test_gridworld_with_other_discounts(discount, optimum, price):
    solution = painless.solve(painless.gridworld(discount), tolerance=1e-8)
    assert solution.reward_value == pytest.approx(optimum, abs=1e-6)
    assert solution.multiplier == pytest.approx([price], abs=1e-5)


def test_gridworld_with_three_constraints():
    solution = painless.solve(painless.gridworld(constraints=3), tolerance=1e-8)
    assert solution.reward_value == pytest.approx(1.39769, abs=1e-5)
    assert solution.multiplier == pytest.approx([0.1110, 0.3595, 0.0431], abs=1e-4)


def test_gridworld_from_the_corner():
    world = painless.gridworld()
    corner = CMDP(
        world.transition,
        world.reward,
        initial=np.eye(25)[0],
        discount=0.9,
        constraint_reward=world.constraint_reward,
        threshold=1.5,
    )
    solution = painless.solve(corner, tolerance=1e-9)
    assert solution.reward_value == pytest.approx(1.755817, abs=1e-6)
    assert solution.multiplier == pytest.approx([0.345198], abs=1e-6)


def test_random_cmdp_of_ding_et_al():
    random = np.random.RandomState(10)
    transition = random.uniform(0, 1, (200, 20))
    transition /= transition.sum(1, keepdims=True)
    reward, utility = (random.uniform(0, 1, 200).reshape(20, 10) for _ in range(2))
    for threshold, optimum in ((3, 4.462444), (4, 4.005376)):
        problem = CMDP(
            transition.reshape(20, 10, 20),
            reward,
            initial=np.full(20, 0.05),
            discount=0.8,
            constraint_reward=utility,
            threshold=threshold,
        )
        assert painless.solve(problem, tolerance=1e-8).reward_value == pytest.approx(optimum, abs=1e-6)


def test_streaming_in_the_user_s_terms():
    """Media streaming (DOPE): a cost to minimise and a budget, read back as a cost and a budget."""
    buffer = np.arange(10)
    transition = np.zeros((10, 2, 10))
    for action, arrives in enumerate((0.9, 0.1)):
        up, down = arrives * 0.2, (1 - arrives) * 0.8
        np.add.at(transition[:, action], (buffer, np.minimum(buffer + 1, 9)), up)
        np.add.at(transition[:, action], (buffer, np.maximum(buffer - 1, 0)), down)
        np.add.at(transition[:, action], (buffer, buffer), 1 - up - down)
    problem = CMDP(
        transition,
        cost=np.repeat(buffer == 0, 2).reshape(10, 2),
        initial=np.eye(10)[0],
        discount=0.9,
        constraint_cost=np.tile([1.0, 0.0], (10, 1)),
        budget=5,
    )
    solution = painless.solve(problem, tolerance=1e-9)
    assert solution.reward_value == pytest.approx(6.836501, abs=1e-6)
    assert solution.upper_bound <= solution.reward_value
    assert solution.multiplier == pytest.approx([0.506160], abs=1e-6)
    assert solution.threshold == [5.0]
    assert solution.sense == ("<=",)
    assert "cost" in repr(solution)
    run = painless.solve(problem, iterations=200)
    assert run.trace.reward_value.min() > 0
    assert run.average_optimality_gap(6.836501) > 0
    assert run.average.constraint_violation[0] == pytest.approx(run.trace.constraint_value.mean() - 5)


# ---------------------------------------------------------------- the paper's first figure, in numbers


def mean_of_five(algorithm):
    world = painless.gridworld()
    runs = [
        painless.solve(
            world,
            algorithm,
            iterations=1500,
            initial_policy=dirichlet_policy(world.actions, np.random.default_rng(seed)),
        )
        for seed in range(5)
    ]
    gaps = [run.average_optimality_gap(OPTIMUM) for run in runs]
    return np.mean(gaps), np.mean([run.average.constraint_violation[0] for run in runs])


def test_cbp_on_the_gridworld():
    gap, violation = mean_of_five(CBP(8.0))
    assert 0 < gap <= 0.014
    assert -0.06 <= violation <= 0.005


def test_baselines_on_the_gridworld():
    assert 0.013 <= mean_of_five(GDA(1.0, 0.1))[0] <= 0.019
    assert 0.020 <= mean_of_five(CRPO(0.75))[0] <= 0.027


def test_cbp_is_robust_on_the_gridworld():
    world = painless.gridworld()
    starts = [dirichlet_policy(world.actions, np.random.default_rng(seed)) for seed in range(5)]
    traces = solve_batch(
        world,
        [CBP(float(alpha)) for alpha in ALPHAS for _ in starts],
        iterations=1500,
        initial_policies=starts * len(ALPHAS),
    )
    gaps = OPTIMUM - np.array([trace.reward_value.mean() for trace in traces]).reshape(len(ALPHAS), 5).mean(1)
    assert gaps.max() <= 0.022


def test_the_default_is_prm():
    world = painless.gridworld()
    default, named = painless.solve(world, iterations=20), painless.solve(world, PRM(), iterations=20)
    assert default.algorithm == "prm"
    np.testing.assert_array_equal(default.trace.reward_value, named.trace.reward_value)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
def test_default_proves_the_gridworld_by_itself(tolerance):
    solution = painless.solve(painless.gridworld(), tolerance=tolerance)
    assert solution.status.kind is Kind.SOLVED
    assert solution.gap <= tolerance * solution.upper_bound
    assert solution.reward_value <= OPTIMUM + 1e-8 <= solution.upper_bound + 2e-8
    assert solution.feasible


# ---------------------------------------------------------------- random problems


def check_against_the_program(problem, tolerance=1e-3, algorithm=None):
    solution = painless.solve(problem, algorithm, tolerance=tolerance)
    plan = painless.solve(problem, LinearProgram())
    stalled = "no longer improve" in str(solution.status)  # iterates may; a planner goes on
    assert not stalled or algorithm is not None
    assert solution.status.kind is (Kind.STOPPED if stalled else plan.status.kind), (
        solution.status,
        plan.status,
    )
    if solution.status.kind is Kind.INFEASIBLE:
        return solution
    span = np.ptp(problem.reward[problem.actions]) or 1.0
    rounding = 1e-8 * max(abs(plan.reward_value), span / (1 - problem.discount))
    assert solution.feasible
    assert meets(problem, solution)
    assert plan.feasible
    assert plan.gap <= rounding
    assert solution.upper_bound >= plan.reward_value - rounding
    assert solution.reward_value <= plan.upper_bound + rounding
    scale = max(abs(solution.upper_bound), 1e-6 * span / (1 - problem.discount))
    assert stalled or solution.gap <= tolerance * scale * (1 + 1e-9)
    assert (solution.multiplier >= 0).all()
    policy = solution.policy.probabilities
    np.testing.assert_allclose(policy.sum(-1), 1.0)
    assert (policy[~problem.actions] == 0).all()
    return solution


@settings(max_examples=200)
@given(garnets(), st.sampled_from([None, CBP()]))
def test_certified_interval_contains_the_optimum(problem, algorithm):
    check_against_the_program(problem, algorithm=algorithm)


@settings(max_examples=40)
@given(
    garnets(constraints=(1, 3), tightness=(0.9, 0.999, 1 - 1e-6)),
    st.sampled_from([1e-6, 1e-7]),
    st.sampled_from([None, ColumnGeneration()]),
)
def test_tight_problems_to_tight_tolerances(problem, tolerance, algorithm):
    check_against_the_program(problem, tolerance, algorithm)


@settings(max_examples=40)
@given(garnets(constraints=(1, 2)), st.floats(-3, 3), st.floats(-50, 50))
def test_rescaling_and_shifting_the_rewards(problem, log_scale, shift):
    scale = 10**log_scale
    changed = CMDP(
        problem.transition,
        problem.reward * scale + shift,
        initial=problem.initial,
        discount=problem.discount,
        constraint_reward=problem.constraint_reward,
        threshold=problem.threshold,
        actions=problem.actions,
    )
    before, after = (painless.solve(one, tolerance=1e-6) for one in (problem, changed))
    assert before.status.kind is after.status.kind
    if before.feasible:
        horizon = 1 / (1 - problem.discount)
        expected = before.reward_value * scale + shift * horizon
        size = max(abs(expected), abs(after.upper_bound), abs(before.upper_bound) * scale)
        span = (np.ptp(problem.reward[problem.actions]) or 1.0) * scale * horizon
        assert after.reward_value == pytest.approx(expected, abs=2.1e-6 * max(size, 1e-6 * span))


@settings(max_examples=30)
@given(garnets(constraints=(1, 2)))
def test_costs_mirror_rewards(problem):
    mirrored = CMDP(
        problem.transition,
        cost=-problem.reward,
        initial=problem.initial,
        discount=problem.discount,
        constraint_cost=-problem.constraint_reward,
        budget=-problem.threshold,
        actions=problem.actions,
    )
    one, other = painless.solve(problem), painless.solve(mirrored)
    assert other.feasible == one.feasible
    np.testing.assert_array_equal(other.policy.probabilities, one.policy.probabilities)
    if one.feasible:
        assert other.reward_value == -one.reward_value
        np.testing.assert_array_equal(other.constraint_value, -one.constraint_value)
        np.testing.assert_array_equal(other.multiplier, one.multiplier)


# ---------------------------------------------------------------- edges


def test_large_prices():
    """λ* = 50: a constraint that costs much."""
    problem = single([50.0, 0.0], constraint=[0.0, 1.0], threshold=[0.5])
    solution = check_against_the_program(problem, 1e-6)
    assert solution.multiplier == pytest.approx([50.0])


def test_slack_constraint_has_no_price():
    solution = check_against_the_program(single([1.0, 0.0], constraint=[1.0, 0.0], threshold=[-100.0]), 1e-6)
    assert solution.multiplier == pytest.approx([0.0], abs=1e-6)
    assert solution.reward_value == pytest.approx(2.0)


def test_entropy_keeps_the_iterates_random():
    world = painless.gridworld()
    for plain, regular in ((CBP(8.0), CBP(8.0, entropy=0.1)), (GDA(1.0, 0.1), GDA(1.0, 0.1, entropy=0.1))):
        hard, soft = (
            painless.solve(world, one, iterations=300, output=Output.TAIL) for one in (plain, regular)
        )
        assert len(soft.policy.randomised) >= len(hard.policy.randomised)
        assert soft.average.reward_value < hard.average.reward_value


def test_one_iteration():
    solution = painless.solve(painless.gridworld(), iterations=1)
    assert solution.iterations == 1
    assert solution.feasible
    assert solution.trace.reward_value.shape == (1,)


def test_one_state_one_action_no_future():
    solution = painless.solve(single([3.0], discount=0.0))
    assert solution.reward_value == 3.0
    assert solution.gap == 0.0
    assert solution.multiplier.shape == (0,)


def test_no_constraints_is_a_plain_mdp():
    world = painless.gridworld()
    free = CMDP(world.transition, world.reward, initial=world.initial, discount=0.9)
    assert painless.solve(free, tolerance=1e-9).reward_value == pytest.approx(1.7328616542, abs=1e-8)
    assert painless.solve(free, CRPO(), iterations=50).feasible


def test_constant_reward_makes_any_feasible_policy_optimal():
    solution = painless.solve(single([2.0, 2.0], constraint=[0.0, 1.0], threshold=[1.0]))
    assert solution.gap == 0.0
    assert solution.feasible
    assert solution.reward_value == pytest.approx(4.0)


def test_constant_constraints_are_settled_at_once():
    problem = single([0.0, 1.0], constraint=[[3.0, 3.0], [1.0, 0.0]], threshold=[6.0, 1.0])
    solution = painless.solve(problem, iterations=20)
    assert solution.feasible
    np.testing.assert_allclose(solution.constraint_value, [6.0, 1.0])
    np.testing.assert_allclose(solution.trace.constraint_value[:, 0], 6.0)
    assert solution.multiplier[0] == 0.0
    missed = painless.solve(single([0.0, 1.0], constraint=[[3.0, 3.0], [1.0, 0.0]], threshold=[6.1, 1.0]))
    assert missed.status.kind is Kind.INFEASIBLE
    assert missed.infeasibility.conflict == (0,)


def test_tied_rewards():
    problem = single([1.0, 1.0, 1.0, 0.5], constraint=[1.0, 1.0, 0.0, 1.0], threshold=[1.5])
    assert check_against_the_program(problem, 1e-9).reward_value == pytest.approx(2.0)


@pytest.mark.parametrize("algorithm", [PRM(), CBP()])
def test_just_feasible_with_ties(algorithm):
    """Slack zero: two actions meet the constraint exactly, and only one of them is worth taking."""
    problem = single([5.0, 1.0, 2.0], constraint=[0.0, 1.0, 1.0], threshold=[2.0])
    solution = painless.solve(problem, algorithm)
    assert solution.status.kind is Kind.SOLVED
    assert solution.reward_value == pytest.approx(4.0)
    assert solution.feasible
    assert solution.gap < 1e-9
    assert solution.violation == [0.0]
    assert solution.price_range.tolist() == [[pytest.approx(3.0), np.inf]]
    assert solution.shown_prices == ["3 or more"]


@pytest.mark.parametrize("algorithm", [PRM(), CBP()])
def test_no_slater_point_is_said(algorithm):
    """Two constraints that only one mixture of the actions meets."""
    problem = single([0.0, 1.0], constraint=[[1.0, 0.0], [0.0, 1.0]], threshold=[0.5, 1.5])
    solution = painless.solve(problem, algorithm)
    assert solution.status.kind is Kind.SOLVED
    assert solution.algorithm == "lp"
    assert "no Slater point" in solution.reason
    assert f"{algorithm.name} has no multiplier bound" in solution.reason
    assert solution.reward_value == pytest.approx(1.5)
    assert (solution.violation < 1e-8).all()


def test_infeasible_alone():
    solution = painless.solve(painless.gridworld(threshold=3.0))
    assert solution.status.kind is Kind.INFEASIBLE
    assert not solution.feasible
    assert str(solution.status).endswith(f"Set its limit to {solution.remedy[0]} or looser.")
    assert 2.557273 < solution.remedy[0] <= 2.5572731808
    assert solution.constraint_value == pytest.approx([2.5572731808])
    assert np.isnan(solution.gap)
    assert "–" in repr(solution)


def test_infeasible_only_together():
    problem = single(
        [1.0, 0.0, 0.0],
        constraint=[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]],
        threshold=[1.2, 1.2, 0.0],
    )
    solution = painless.solve(problem)
    assert solution.status.kind is Kind.INFEASIBLE
    assert solution.infeasibility.conflict == (0, 1)
    np.testing.assert_allclose(solution.infeasibility.own_slack[:2], [0.8, 0.8])
    np.testing.assert_allclose(solution.infeasibility.joint_slack[:2], [-0.2, -0.2])
    assert "together" in str(solution.status)
    assert painless.solve(problem, LinearProgram()).status.kind is Kind.INFEASIBLE


def test_discount_near_one():
    check_against_the_program(painless.garnet(30, 3, 4, 2, seed=3, discount=0.9999), 1e-6)


# ---------------------------------------------------------------- how it can end


def test_output_policies_have_the_averaged_values():
    world = painless.gridworld()
    runs = {output: painless.solve(world, iterations=40, output=output) for output in Output}
    values = runs[Output.UNIFORM].trace.reward_value
    weights = np.arange(1, 41)
    assert runs[Output.UNIFORM].reward_value == pytest.approx(values.mean())
    assert runs[Output.LINEAR].reward_value == pytest.approx((weights * values).sum() / weights.sum())
    assert runs[Output.TAIL].reward_value == pytest.approx(values[20:].mean())
    assert runs[Output.POLISHED].gap <= min(run.gap for run in runs.values() if run.feasible)


def test_an_infeasible_average_says_so():
    world = painless.gridworld()
    greedy = painless.solve(world, GDA(1.0, 1e-6), iterations=3000, output=Output.UNIFORM)
    if not greedy.feasible:
        assert "misses a constraint" in str(greedy.status)
    low = painless.solve(world, GDA.theoretical(), iterations=50, output=Output.UNIFORM)
    assert not low.feasible
    assert "misses a constraint" in str(low.status)


@pytest.mark.parametrize("algorithm", [None, LinearProgram(), PRM()])
def test_a_stopped_answer_claims_no_more_than_is_known(steady_clock, algorithm):
    """Values are those of the returned policy; a policy that misses a limit has no gap, however large its reward."""
    problem = painless.garnet(30, 3, 3, 2, seed=5)
    best = painless.solve(problem, tolerance=1e-9)
    for looks in range(0, 40, 2):
        found = painless.solve(problem, algorithm, time_limit=1e-4 * looks + 1e-9)
        values = policy_value(problem, found.policy.probabilities)
        np.testing.assert_allclose([found.reward_value, *found.constraint_value], values, rtol=1e-9)
        assert found.feasible == (values[1:] >= problem.threshold).all()
        assert np.isfinite(found.gap) == found.feasible
        assert "0" not in found.shown_prices
        assert (found.price_range[:, 0] <= best.multiplier + 1e-9).all()
        assert (found.price_range[:, 1] >= best.multiplier - 1e-9).all()


def test_a_large_model_without_an_answer_has_no_values(steady_clock):
    found = painless.solve(painless.garnet(600, 3, 3, 1, seed=5, dense=False), time_limit=1e-9)
    assert np.isnan([found.reward_value, *found.constraint_value]).all()
    assert not found.feasible
    assert "no gap is proved" in str(found.status)
    assert found.as_dict()["reward_value"] is None


def test_time_limit_returns_the_best_proved_answer(steady_clock):
    problem = painless.garnet(60, 4, 5, 3, seed=1, discount=0.99)
    solution = painless.solve(problem, GDA(1e-9, 1e-9), iterations=10**9, time_limit=0.3)
    assert solution.status.kind is Kind.STOPPED
    assert solution.feasible
    assert solution.upper_bound >= painless.solve(problem, LinearProgram()).reward_value - 1e-8


def test_interrupt_returns_the_best_proved_answer():
    def interrupt(progress):
        if progress.iteration >= 5:
            raise KeyboardInterrupt

    solution = painless.solve(painless.gridworld(), iterations=1000, progress=interrupt)
    assert solution.status.kind is Kind.STOPPED
    assert "interrupted" in str(solution.status)
    assert solution.feasible
    assert 5 <= solution.iterations < 1000


def test_a_tolerance_beyond_double_precision_ends():
    solution = painless.solve(painless.gridworld(), tolerance=1e-300)
    assert solution.status.kind is Kind.STOPPED
    assert "double precision" in str(solution.status)
    assert solution.gap < 1e-10


def test_progress_is_in_the_user_s_terms():
    seen = []
    painless.solve(painless.gridworld(), iterations=300, progress=seen.append)
    assert [now.iteration for now in seen] == sorted({now.iteration for now in seen})
    assert seen[-1].iterations == 300
    seen.clear()
    painless.solve(painless.garnet(40, 4, 5, 3, seed=2, tightness=0.99), tolerance=1e-9, progress=seen.append)
    assert seen
    assert not any(now.upper_bound < now.reward_value for now in seen)  # which is unknown at first


def test_initial_policy_may_be_a_policy():
    world = painless.gridworld()
    first = painless.solve(world, iterations=3)
    start = painless.TabularPolicy(0.5 * first.policy.probabilities + 0.125)
    again = painless.solve(world, iterations=3, initial_policy=start)
    assert again.trace.reward_value[0] != first.trace.reward_value[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"iterations": 0}, "whole number of at least 1"),
        ({"iterations": 1.5}, "whole number of at least 1"),
        ({"iterations": True}, "whole number of at least 1"),
        ({"tolerance": 0.0}, "positive number"),
        ({"tolerance": np.nan}, "positive number"),
        ({"time_limit": -1.0}, "positive number of seconds"),
        ({"output": Output.UNIFORM}, "needs a given number of iterations"),
        ({"algorithm": GDA.theoretical()}, "known horizon"),
        ({"algorithm": CBP(-1.0)}, "alpha is -1.0"),
        ({"algorithm": GDA(0.0, 1.0)}, "policy_rate is 0.0"),
        ({"algorithm": GDA(1.0, np.inf)}, "multiplier_rate is inf"),
        ({"algorithm": CRPO(1.0, -1.0)}, "tolerance is -1.0"),
        ({"algorithm": CBP(1.0, entropy=-0.1)}, "entropy is -0.1"),
        ({"algorithm": GDA(2.0, 0.1, entropy=0.5)}, "entropy 0.5 times rate 2.0 is at least 1"),
        ({"initial_policy": np.ones((2, 2))}, r"shape \(2, 2\), not \(S, A\)"),
        ({"initial_policy": np.full((25, 4), 0.3)}, r"initial_policy\[0\] sums to 1.200000, not 1"),
        ({"initial_policy": np.zeros(25, int)}, r"shape \(25,\), not \(S, A\) = \(25, 4\).*np.eye"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InputError, match=message):
        painless.solve(painless.gridworld(), **arguments)


def test_initial_policy_on_an_action_that_is_not_there():
    problem = CMDP(np.ones((1, 2, 1)), [[0.0, 1.0]], initial=[1.0], discount=0.5, actions=[[True, False]])
    with pytest.raises(InputError, match="state 0 does not have action 1"):
        painless.solve(problem, initial_policy=[[0.5, 0.5]])


# ---------------------------------------------------------------- column generation through the same verb


@settings(max_examples=60)
@given(garnets(constraints=(0, 3)))
def test_column_generation_agrees_with_the_program(problem):
    solution = painless.solve(problem, painless.ColumnGeneration(), tolerance=1e-6)
    plan = painless.solve(problem, LinearProgram())
    if plan.status.kind is Kind.INFEASIBLE or solution.status.kind is Kind.INFEASIBLE:
        assert not (plan.feasible and solution.feasible)
        return
    span = np.ptp(problem.reward[problem.actions]) or 1.0
    rounding = 1e-8 * max(abs(plan.reward_value), span / (1 - problem.discount))
    assert solution.feasible
    assert meets(problem, solution)
    assert solution.upper_bound >= plan.reward_value - rounding
    assert solution.reward_value <= plan.upper_bound + rounding


def test_column_generation_leaves_tight_problems_to_the_program():
    problem = single([5.0, 1.0, 2.0], constraint=[[0.0, 1.0, 1.0], [0.0, 1.0, 0.5]], threshold=[2.0, 1.5])
    solution = painless.solve(problem, painless.ColumnGeneration())
    assert solution.feasible
    assert solution.reward_value == pytest.approx(painless.solve(problem, LinearProgram()).reward_value)


def test_column_generation_on_a_model_with_many_states():
    queue = painless.make("queueing", buffer=20_000)
    solution = painless.solve(queue, painless.ColumnGeneration(), tolerance=1e-6)
    assert solution.status.kind is Kind.SOLVED
    assert solution.feasible
    assert solution.gap <= 1e-6 * abs(solution.upper_bound) * (1 + 1e-9)
    assert "unconstrained problems were solved" in str(solution.status)


def test_column_generation_can_be_interrupted():
    def interrupt(progress):
        raise KeyboardInterrupt

    solution = painless.solve(
        painless.garnet(60, 4, 5, 3, seed=1), painless.ColumnGeneration(), progress=interrupt
    )
    assert solution.status.kind is Kind.STOPPED
    assert solution.upper_bound >= solution.reward_value
    infeasible = painless.solve(painless.gridworld(threshold=3.0), painless.ColumnGeneration())
    assert infeasible.status.kind is Kind.INFEASIBLE
    assert infeasible.infeasibility.conflict == (0,)


@pytest.mark.parametrize("loosened", [0.0, 1e-12, 1e-10])
def test_the_program_decides_the_tightest_limit(loosened):
    """HiGHS calls it undecided there; the tolerance that a constraint has is enough to decide it."""
    queue = painless.make("queueing")
    tightest = painless.frontier(queue).feasible_to
    solution = painless.solve(queue.with_limits([tightest - loosened, *queue.limit[1:]]), LinearProgram())
    assert solution.status.kind is Kind.SOLVED
    assert solution.feasible
    assert solution.gap == pytest.approx(0, abs=1e-6)


def test_the_program_says_where_it_has_no_answer(monkeypatch):
    """A policy that merely comes closest is not called optimal."""
    monkeypatch.setattr(LinearProgram, "plan", lambda self, problem, time_limit: None)
    problem = single([0.0, 1.0, 2.0], constraint=[[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]], threshold=[0.5, 1.5])
    case = Case.of(problem)
    found, closed = (LinearProgram().answer(case, Task(1e-3, Clock(), rounds=rounds)) for rounds in (0, 200))
    assert found.answer.gap > 0.1
    assert closed.answer.gap < 1e-6
    assert "skipped or failed" in found.note


# ---------------------------------------------------------------- what it says is true


@pytest.mark.parametrize("threshold", [2.54, 2.0, 1.0])
def test_crpo_says_solved_only_with_a_proof(threshold):
    """While no iterate served the reward, any gap was within the target of an infinite bound."""
    problem = painless.gridworld(threshold=threshold)
    solution = painless.solve(problem, CRPO())
    best = painless.solve(problem, LinearProgram()).reward_value
    assert solution.status.kind is Kind.SOLVED
    assert solution.gap <= 1e-3 * solution.upper_bound
    assert solution.reward_value >= best * (1 - 1e-3)


@pytest.mark.parametrize("algorithm", [None, LinearProgram(), painless.ColumnGeneration()])
def test_a_patient_discount_to_a_fine_tolerance(algorithm):
    problem = painless.garnet(12, 3, 3, 1, seed=2).with_discount(0.999999)
    problem = problem.with_limits([0.45 / (1 - 0.999999)])
    solution = painless.solve(problem, algorithm, tolerance=1e-6)
    if solution.status.kind is Kind.SOLVED:
        assert solution.gap <= 1e-6 * abs(solution.upper_bound)
    assert solution.status.kind in (Kind.SOLVED, Kind.STOPPED)
    assert not solution.feasible or meets(problem, solution)


def test_a_miss_of_a_third_per_cent_is_no_rounding():
    """Feasible was judged against 1e-9·span/(1−γ): at γ = 0.999999, 0.050172 passed for 0.05."""
    problem = CMDP(
        np.ones((1, 2, 1)),
        [[1.0, 0.0]],
        initial=[1.0],
        discount=0.999999,
        constraint_cost=[[1.0, 0.0]],
        budget=0.05,
    )
    for algorithm in (None, LinearProgram(), painless.ColumnGeneration()):
        solution = painless.solve(problem, algorithm)
        assert solution.feasible
        assert solution.constraint_value[0] <= 0.05 * (1 + 1e-8)
        assert solution.violation[0] <= 1e-9


@pytest.mark.parametrize("limit", [-1e15, -1e300, -np.inf])
@pytest.mark.parametrize("algorithm", [None, LinearProgram(), painless.ColumnGeneration(), CRPO()])
def test_any_number_may_stand_for_no_limit(limit, algorithm):
    problem = painless.gridworld(constraints=3).with_limits([1.5, limit, limit])
    solution = painless.solve(problem, algorithm, tolerance=1e-6)
    assert solution.reward_value == pytest.approx(OPTIMUM, rel=1e-6)
    assert solution.multiplier[1:].tolist() == [0.0, 0.0]
    assert solution.feasible


@pytest.mark.parametrize("algorithm", [None, LinearProgram(), painless.ColumnGeneration()])
def test_states_that_are_never_visited_get_the_best_action(algorithm):
    """From the left end of a corridor nobody comes to the state beyond the wall; there, too, an action is best."""
    transition = np.zeros((3, 2, 3))
    transition[0, :, 0] = transition[1, 0, 1] = transition[1, 1, 0] = transition[2, 0, 1] = transition[
        2, 1, 2
    ] = 1
    problem = CMDP(
        transition,
        [[0.0, 1.0], [0.0, 0.5], [0.1, 3.0]],
        initial=[1.0, 0.0, 0.0],
        discount=0.9,
        constraint_cost=[[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]],
        budget=5.0,
    )
    policy = painless.solve(problem, algorithm).policy
    assert policy.visits == pytest.approx([10.0, 0.0, 0.0])
    assert policy.probabilities[2].tolist() == [0.0, 1.0]
    assert sorted(policy.probabilities[1].tolist()) == [0.0, 1.0]


def test_values_that_hardly_vary():
    problem = single([1e6, 1e6 + 1e-6], constraint=[1e6 + 1e-6, 1e6], threshold=[2e6 + 1e-6])
    solution = painless.solve(problem, tolerance=1e-6)
    assert solution.status.kind is Kind.SOLVED
    assert solution.feasible
    assert solution.reward_value == pytest.approx(2e6)


def test_a_warm_start_saves_solves():
    problem = painless.garnet(6000, 4, 5, 1, seed=1, dense=False)
    counts = []
    first = painless.solve(problem, painless.ColumnGeneration(), tolerance=1e-6)
    for start in (None, first.policy):
        found = painless.solve(problem, painless.ColumnGeneration(), tolerance=1e-6, initial_policy=start)
        assert found.status.kind is Kind.SOLVED
        counts.append(int(str(found.status).split()[-5]))
    assert counts[1] < counts[0]


@pytest.mark.parametrize("constraints", [0, 1, 3])
def test_a_warm_start_that_shows_no_prices(constraints):
    problem = painless.garnet(10, 3, 3, constraints, seed=4)
    start = dirichlet_policy(problem.actions, np.random.default_rng(0))
    found = painless.solve(problem, painless.ColumnGeneration(), initial_policy=start)
    assert found.status.kind is Kind.SOLVED


@pytest.mark.parametrize("spare", range(8))
@pytest.mark.parametrize("planner", [LinearProgram(), ColumnGeneration()])
def test_a_limit_that_the_best_policy_misses_by_rounding(spare, planner):
    """Just enough of the Slater policy is mixed in, even though rounding hides by how much the limit is missed."""
    budget = 100 - spare * 2.0**-46
    problem = CMDP(
        *(np.ones((1, 2, 1)), [[1.0, 0.0]]),
        initial=[1.0],
        discount=0.99,
        constraint_cost=[[[1.0, 0.0]]],
        budget=[budget],
    )
    solution = painless.solve(problem, planner, tolerance=1e-9)
    assert solution.status.kind is Kind.SOLVED
    assert solution.reward_value == pytest.approx(100, rel=1e-9)
