"""Factorised systems and sweeps through the same interface: they agree, and large sparse models are solved by sweeps."""

import tracemalloc
from functools import cache

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

import painless
from painless import bellman
from painless.engines.engine import ENGINES, as_table, engine_of, occupancy
from painless.engines.factorised import Factorised
from painless.engines.swept import Swept
from painless.evaluators import ExactEvaluator, SweptEvaluator, exact_evaluator
from painless.learners import CoinBetting
from painless.loop.algorithms import CBP, CRPO, GDA, PRM
from painless.loop.averages import Output
from painless.planning import LinearProgram
from painless.planning.certificate import Certifier
from painless.planning.feasibility import Feasibility, attainable_slack, conflict, slater_policy
from painless.policies.learning_table import LearningTable
from painless.policies.table import dirichlet_policy, uniform_policy
from painless.problem.units import normalise
from painless.problems.slippery_grid import slippery_grid
from painless.solving.solution import Kind, Solution

from .problems import garnets

MODERATE = settings(max_examples=60, deadline=None)


@pytest.fixture(autouse=True, scope="module")
def sweeps_even_where_small():
    """Sweep small chains as large ones are, which would otherwise be eliminated at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("painless.engines.sweeps.chain_values.SMALL", 0)
        yield


@cache
def large(states=600, constraints=1, seed=0, discount=0.95, tightness=0.5):
    """Return a sparse Garnet of the smallest size that is swept by itself."""
    return painless.garnet(
        states, 3, 4, constraints, seed, discount=discount, tightness=tightness, dense=False
    )


@cache
def optimum(constraints):
    """Return the linear program's solution of a large problem."""
    return painless.solve(large(constraints=constraints, seed=constraints), LinearProgram())


def table_of(*policies):
    return LearningTable.start(CoinBetting(), np.array(policies))


def some_policies(problem, rng):
    """Return a policy of every kind: inner, on the boundary, deterministic as a table and as actions."""
    inner = dirichlet_policy(problem.actions, rng)
    kept = np.where(inner >= np.median(inner, 1, keepdims=True), inner, 0.0)
    actions = inner.argmax(1).astype(np.uint8)
    return inner, kept / kept.sum(1, keepdims=True), as_table(actions, problem.shape[1]), actions


# ---------------------------------------------------------------- the two engines


def test_the_engine_goes_by_kind_and_size():
    assert isinstance(engine_of(painless.gridworld()), Factorised)
    assert isinstance(engine_of(painless.garnet(100, 2, 3, dense=False)), Factorised)
    dense = painless.garnet(501, 2, 3, constraints=0, dense=True)
    assert isinstance(engine_of(dense), Factorised)
    assert isinstance(engine_of(dense, 500), Swept)
    assert isinstance(engine_of(large()), Swept)
    assert isinstance(exact_evaluator(large()), SweptEvaluator)
    assert isinstance(exact_evaluator(painless.gridworld()), ExactEvaluator)


@MODERATE
@given(garnets(), st.integers(0, 2**32 - 1))
def test_values_and_visits_agree(problem, seed):
    normal, _ = normalise(problem)
    unit = 1 / (1 - normal.discount)
    exact, swept = Factorised(normal), Swept(normal)
    for policy in some_policies(normal, np.random.default_rng(seed)):
        value, other = exact.values(policy), swept.values(policy)
        np.testing.assert_allclose(other.guess, value.guess, atol=1e-9 * unit)
        assert (other.low <= value.high).all()
        assert (value.low <= other.high).all()
        np.testing.assert_allclose(swept.visits(policy), exact.visits(policy), atol=1e-9 * unit)
        taken = occupancy(swept, policy)
        np.testing.assert_allclose(bellman.occupancy_value(normal, taken), value.guess, atol=1e-9 * unit)
        assert taken[~normal.actions].sum() == 0


@MODERATE
@given(garnets(), st.integers(0, 2**32 - 1))
def test_best_responses_agree(problem, seed):
    normal, _ = normalise(problem)
    unit = 1 / (1 - normal.discount)
    exact, swept = Factorised(normal), Swept(normal)
    rng = np.random.default_rng(seed)
    for scale in (1.0, 50.0, 1e-3):
        weight = scale * rng.dirichlet(np.ones(1 + normal.shape[2]))
        one, other = exact.best(weight, 0.0, 0.0), swept.best(weight, 1e-11 * scale * unit, 1e-12 * unit)
        close = {"abs": 1e-9 * scale * unit}
        assert other.upper_bound == pytest.approx(one.upper_bound, **close)
        assert other.weighted_value == pytest.approx(one.weighted_value, **close)
        assert other.upper_bound >= one.weighted_value - 1e-13 * scale * unit
        assert other.weighted_value <= one.upper_bound + 1e-13 * scale * unit
        assert weight @ other.value == pytest.approx(other.weighted_value)
        assert normal.actions[np.arange(normal.shape[0]), other.actions].all()
        np.testing.assert_allclose(exact.values(other.actions).guess, other.value, atol=1e-9 * unit)
        np.testing.assert_allclose(one.visits, exact.visits(one.actions), atol=1e-12 * unit)


@MODERATE
@given(garnets(constraints=(0, 3)))
def test_slater_policies_agree(problem):
    normal, _ = normalise(problem)
    unit = 1 / (1 - normal.discount)
    one, other = slater_policy(normal, Factorised(normal)), slater_policy(normal, Swept(normal))
    least = one.slack.min(initial=np.inf)
    assert other.feasibility is one.feasibility or abs(abs(least) - 1e-9 * unit) < 1e-9 * unit
    if normal.shape[2]:
        assert other.slack.min() == pytest.approx(least, rel=2e-6, abs=1e-9 * unit)
    value = bellman.policy_value(normal, other.policy)
    assert (other.value <= value + 1e-13 * unit).all()
    np.testing.assert_allclose(other.value, value, atol=1e-9 * unit)
    np.testing.assert_allclose(other.occupancy.sum(), unit, atol=1e-8 * unit)


@MODERATE
@given(garnets(constraints=(1, 3)))
def test_infeasibility_is_explained_alike(problem):
    normal, _ = normalise(problem.with_limits(problem.limit + 100.0 * problem.sign[1:]))
    count = normal.shape[2]
    if not count:
        return
    exact, swept = Factorised(normal), Swept(normal)
    assert conflict(normal) == [count - 1]
    np.testing.assert_allclose(
        attainable_slack(normal, swept), attainable_slack(normal, exact), atol=1e-9 / (1 - normal.discount)
    )


# ---------------------------------------------------------------- the evaluator


@MODERATE
@given(garnets(), st.integers(0, 2**32 - 1))
def test_swept_evaluations_are_those_of_the_factorised_system(problem, seed):
    normal, _ = normalise(problem)
    unit = 1 / (1 - normal.discount)
    swept = SweptEvaluator(normal, tolerance=0.0)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        policy = table_of(*some_policies(normal, rng)[:2])
        one, other = ExactEvaluator(normal).evaluate(policy), swept.evaluate(policy)
        np.testing.assert_allclose(other.value, one.value, atol=1e-9 * unit)
        assert (other.value <= one.value + 1e-13 * unit).all()
        available = (..., normal.actions)
        np.testing.assert_allclose(other.q.values[available], one.q.values[available], atol=1e-9 * unit)


@MODERATE
@given(garnets(), st.integers(0, 2**32 - 1))
def test_an_iteration_gets_the_precision_that_it_needs(problem, seed):
    normal, _ = normalise(problem)
    unit = 1 / (1 - normal.discount)
    swept = SweptEvaluator(normal)
    rng = np.random.default_rng(seed)
    for t in range(1, 6):
        policy = table_of(dirichlet_policy(normal.actions, rng))
        one, other = ExactEvaluator(normal).evaluate(policy), swept.evaluate(policy)
        error = one.value - other.value  # the recorded values are attained
        assert (error >= -1e-13 * unit).all()
        assert (error <= 2.01e-3 * unit / t).all()  # a lower bound: it lies an error below the middle
        near = np.abs(one.q.values - other.q.values)[..., normal.actions]
        assert (near <= 1.01e-3 * unit / t).all()


def test_a_batch_is_swept_as_its_runs_are_alone():
    problem, _ = normalise(large())
    rng = np.random.default_rng(0)
    steps = [[dirichlet_policy(problem.actions, rng) for _ in range(2)] for _ in range(3)]
    batch, alone = SweptEvaluator(problem), [SweptEvaluator(problem) for _ in range(2)]
    for pair in steps:
        together = batch.evaluate(table_of(*pair))
        for i, policy in enumerate(pair):
            single = alone[i].evaluate(table_of(policy))
            np.testing.assert_array_equal(together.q.values[i], single.q.values[0])
            np.testing.assert_array_equal(together.value[i], single.value[0])


def test_warm_evaluations_take_fewer_sweeps():
    problem, _ = normalise(large(2100, discount=0.99))
    rng = np.random.default_rng(0)
    policy = dirichlet_policy(problem.actions, rng)
    warm, cold = SweptEvaluator(problem, tolerance=1e-6), SweptEvaluator(problem, tolerance=1e-6)
    warm.evaluate(table_of(policy))
    before = warm.sweeps
    near = 0.999 * policy + 0.001 * uniform_policy(problem.actions)
    warm.evaluate(table_of(near))
    cold.evaluate(table_of(near))
    assert warm.sweeps - before <= 0.75 * cold.sweeps


def test_slow_chains_are_solved_as_chains():
    grid, _ = normalise(slippery_grid(height=40, width=40))
    policy = table_of(dirichlet_policy(grid.actions, np.random.default_rng(0)))
    slow = SweptEvaluator(grid, tolerance=1e-8)
    found = slow.evaluate(policy)
    np.testing.assert_allclose(found.value, ExactEvaluator(grid).evaluate(policy).value, atol=2e-8)
    assert slow.sweeps < 10 < slow.engine.pricer.sweeps


# ---------------------------------------------------------------- solve


@pytest.mark.parametrize("algorithm", [CBP(), PRM(), GDA(), CRPO()], ids=lambda one: one.name)
@pytest.mark.parametrize("constraints", [0, 1, 3])
def test_large_models_are_solved_with_a_proof(algorithm, constraints):
    problem = large(constraints=constraints, seed=constraints)
    best = optimum(constraints)
    assert best.gap <= 1e-7 * abs(best.upper_bound)
    found = painless.solve(problem, algorithm)
    assert found.status.kind is Kind.SOLVED
    assert found.feasible
    assert found.gap <= 1e-3 * abs(found.upper_bound)
    assert found.reward_value <= best.reward_value + 1e-8 * abs(best.reward_value)
    assert found.upper_bound >= best.reward_value * (1 - 1e-9)
    exact = bellman.policy_value(problem, found.policy.probabilities)
    assert exact[0] == pytest.approx(found.reward_value, rel=1e-9)
    assert (exact[1:] >= problem.threshold - 1e-9 * np.maximum(problem.threshold, 20)).all()


def test_visits_of_best_responses_are_kept_to_the_bit():
    normal = normalise(painless.garnet(20, 3, 4, 2, seed=3))[0]
    engine = Factorised(normal)
    for weight in np.random.default_rng(0).random((100, 3)):  # more than are kept
        actions = engine.best(weight, 0.0, 0.0).actions
        np.testing.assert_array_equal(engine.visits(actions), Factorised(normal).visits(actions))


@settings(max_examples=40, deadline=None)
@given(garnets(constraints=(1, 3)))
def test_swept_bounds_bracket_the_optimum(problem):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ENGINES, "swept", lambda model, _: Swept(model))
        sparse = as_sparse(problem)
        assert isinstance(engine_of(sparse), Swept)
        found = painless.solve(sparse, PRM(), tolerance=1e-4)
    optimum = LinearProgram().plan(normalise(problem)[0])
    if found.infeasibility is not None or optimum is None:
        return
    value = painless.solve(problem, LinearProgram()).reward_value
    scale = 1e-7 * (1 + abs(value) + np.ptp(problem.reward[problem.actions]) / (1 - problem.discount))
    sign = -1 if problem.minimise else 1
    assert sign * found.upper_bound >= sign * value - scale
    if found.feasible:
        assert sign * found.reward_value <= sign * value + scale


def as_sparse(problem):
    """Return the same problem with sparse transitions."""

    kernel = problem.transition
    if isinstance(kernel, np.ndarray):
        kernel = scipy.sparse.csr_array(kernel.reshape(-1, problem.shape[0]))
    return painless.CMDP(
        kernel,
        problem.reward,
        initial=problem.initial,
        discount=problem.discount,
        constraint_reward=problem.constraint_reward,
        threshold=problem.threshold,
        actions=problem.actions,
    )


def test_a_tighter_tolerance_is_proved_by_sweeps():
    problem = large(constraints=2, seed=5)
    found = painless.solve(problem, CBP(), tolerance=1e-8)
    assert found.status.kind is Kind.SOLVED
    assert found.gap <= 1e-8 * found.upper_bound


@pytest.mark.parametrize("output", [Output.POLISHED, Output.UNIFORM, Output.LINEAR])
def test_a_given_horizon_on_a_large_model(output):
    problem = large()
    found = painless.solve(problem, CBP(), iterations=30, output=output)
    assert found.status.kind is Kind.COMPLETED
    assert len(found.trace) == 30
    exact = bellman.policy_value(problem, found.policy.probabilities)
    assert exact[0] == pytest.approx(found.reward_value, rel=1e-8)
    if output is Output.POLISHED:
        optimum = painless.solve(problem, painless.ColumnGeneration(), tolerance=1e-7)
        assert found.feasible
        assert found.reward_value <= optimum.upper_bound <= found.upper_bound * (1 + 1e-9)
        assert found.upper_bound == pytest.approx(optimum.reward_value, rel=1e-6)
    if output is Output.UNIFORM:
        assert found.reward_value == pytest.approx(found.trace.reward_value.mean(), rel=1e-3)


def test_trace_values_are_attained_and_close():
    problem = large()
    normal = painless.solve(problem, PRM(), iterations=20).trace
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ENGINES, "swept", lambda *_: None)  # deleted and put back, it would be the last
        exact = painless.solve(problem, PRM(), iterations=20).trace
    assert normal.exact
    np.testing.assert_allclose(normal.reward_value[:4], exact.reward_value[:4], atol=4e-3 * 20)
    assert normal.reward_value[-5:].mean() == pytest.approx(exact.reward_value[-5:].mean(), rel=3e-3)


def test_memory_does_not_grow_with_the_candidates():
    problem, _ = normalise(large(5000))
    engine = engine_of(problem)
    slater = slater_policy(problem, engine)
    policies, peaks = [uniform_policy(problem.actions) for _ in range(2)], []
    for count in (30, 270):
        tracemalloc.start()
        certifier = Certifier(engine, slater, memory=1)  # room for a few tables, as with a million states
        for k in range(count):
            certifier.add(slater.value, policies[k % 2].copy())
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] <= peaks[0] + problem.reward.nbytes


def test_candidates_fit_into_the_room_that_they_have():
    problem, _ = normalise(large())
    slater = slater_policy(problem)
    certifier = Certifier(engine_of(problem), slater, memory=1)
    columns = certifier.game.columns
    rng = np.random.default_rng(0)
    for multiplier in np.linspace(0.0, 3.0, 12):
        certifier.bound(np.array([multiplier]))
        policy = dirichlet_policy(problem.actions, rng)
        certifier.add(certifier.engine.values(policy).low, policy)
        assert sum(column.policy.nbytes for column in columns.known) <= 6 * policy.nbytes
    assert sum(column.policy.ndim == 1 for column in columns.known) >= 3  # a byte for each state
    np.testing.assert_array_equal(columns[0].policy, slater.policy)
    answer = certifier.answer(certifier.game.mix().weights)
    assert answer.feasible
    assert answer.value[0] >= slater.value[0]


def test_an_infeasible_large_model_is_explained():
    problem = large(constraints=3, seed=3)
    out_of_reach = problem.limit.copy()
    out_of_reach[1] = 19.9
    found = painless.solve(problem.with_limits(out_of_reach))
    assert found.status.kind is Kind.INFEASIBLE
    assert found.infeasibility.conflict == (1,)
    assert "no policy has constraint 2 >= 19.9" in str(found.status)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ENGINES, "swept", lambda *_: None)  # deleted and put back, it would be the last
        exact = painless.solve(problem.with_limits(out_of_reach))
    np.testing.assert_allclose(found.infeasibility.own_slack, exact.infeasibility.own_slack, atol=1e-7)
    np.testing.assert_allclose(found.infeasibility.joint_slack, exact.infeasibility.joint_slack, atol=1e-4)


def test_large_constraints_that_conflict_are_named():
    problem = large(constraints=3, seed=4)
    best = problem.limit + attainable_slack(normalise(problem)[0]) * np.ptp(problem.constraint_reward, (1, 2))
    found = painless.solve(problem.with_limits([0.0, *(0.999 * best[1:])]))
    assert found.status.kind is Kind.INFEASIBLE
    assert found.infeasibility.conflict == (1, 2)
    assert (found.infeasibility.own_slack > 0).all()


def test_large_models_without_a_slater_point_are_planned():
    problem = large()
    own = attainable_slack(normalise(problem)[0]) * np.ptp(problem.constraint_reward)
    tight = problem.with_limits(problem.limit + own)
    prepared = slater_policy(normalise(tight)[0])
    assert prepared.feasibility is Feasibility.TIGHT

    class SmallProgram(LinearProgram):
        tight_pairs = 1000

    found = painless.solve(tight, SmallProgram())
    assert found.feasible
    # The program was skipped, and nobody says otherwise
    assert "best responses were used instead" in str(found.status)


def test_algorithms_without_a_multiplier_bound_give_way_to_the_linear_program():
    problem = large(60)
    own = attainable_slack(normalise(problem)[0]) * np.ptp(problem.constraint_reward)
    found = painless.solve(problem.with_limits(problem.limit + own), CBP())
    assert found.algorithm == "lp"
    assert "cbp has no multiplier bound" in found.reason
    assert found.feasible


@pytest.mark.parametrize("algorithm", [None, CBP(), LinearProgram(), painless.ColumnGeneration()])
def test_a_time_limit_that_is_over_at_once_claims_nothing(algorithm):
    problem = large(2000, constraints=2, discount=0.99)
    found = painless.solve(problem, algorithm, time_limit=1e-9)
    assert found.status.kind is Kind.STOPPED
    value = bellman.policy_value(problem, found.policy.probabilities)
    assert (found.violation >= problem.threshold - value[1:]).all()
    assert not found.feasible or (found.violation == 0).all()
    assert found.upper_bound >= value[0]


def test_an_estimator_on_a_large_model_is_monitored_by_sweeps():
    problem = large()
    found = painless.solve(
        problem, CBP(), iterations=3, evaluator=lambda normal: SweptEvaluator(normal, tolerance=1.0)
    )
    assert len(found.trace) == 3
    assert found.trace.exact


def test_a_large_solution_is_saved_and_shown(tmp_path):
    from painless.report.page_solution import solution_page

    problem = large(5000, constraints=1)
    found = painless.solve(problem)
    found.save(tmp_path / "answer")
    again = Solution.load(tmp_path / "answer")
    np.testing.assert_array_equal(again.policy.probabilities, found.policy.probabilities)
    assert "5,000 states" in solution_page(again, problem, "large")


# ---------------------------------------------------------------- slow chains


def line(states, discount, seed=0):
    """Return a walk along a line, under labels that do not show it."""
    rng = np.random.default_rng(seed)
    label = rng.permutation(states)
    here = np.repeat(np.arange(states), 4)
    to = np.clip(here + np.tile([-1, 1, 1, -1], states), 0, states - 1)
    pair = label[here] * 2 + np.tile([0, 0, 1, 1], states)
    kernel = scipy.sparse.csr_array(
        (np.tile([0.7, 0.3], 2 * states), (pair, label[to])), (2 * states, states)
    )
    utility = np.repeat(np.where(rng.random((2, states, 1)) < 0.05, 1.0, 0.0), 2, 2)
    return painless.CMDP(
        kernel,
        utility[0],
        initial=np.full(states, 1 / states),
        discount=discount,
        constraint_reward=utility[1:],
        threshold=[0.0],
    )


def test_a_long_horizon_on_a_line():
    problem = line(1500, 0.9999)
    best = [engine_of(problem).best(weight, 0.0, 0.0).value[1] for weight in np.eye(2)]
    found = painless.solve(problem.with_limits([np.mean(best)]), PRM())
    assert found.status.kind is Kind.SOLVED


@pytest.mark.parametrize("discount", [0.9999, 0.999999])
def test_arrivals_with_a_discount_close_to_one(discount):
    """To solve the slow states by themselves again and again made values overflow."""
    rng, states = np.random.default_rng(0), 511
    kernel = np.zeros((states, 3, states))
    kernel[-1, :, -1] = 1
    for s, a in np.ndindex(states - 1, 3):
        stops = 0.1 * rng.random()
        np.add.at(kernel[s, a], rng.integers(0, states - 1, 4), rng.dirichlet(np.ones(4)) * (1 - stops))
        kernel[s, a, -1] += stops
    reward, constraint = rng.random((2, states, 3))
    reward[-1], constraint[-1] = 0.3, 0.9
    problem = painless.CMDP(
        kernel,
        reward,
        initial=np.eye(states)[0],
        discount=discount,
        constraint_reward=constraint,
        threshold=0.0,
    )
    free = painless.solve(problem, tolerance=1e-6)
    assert free.status.kind is Kind.SOLVED
    bound = painless.solve(problem.with_limits([free.constraint_value[0] + 2.0]), tolerance=1e-6)
    assert bound.status.kind is Kind.SOLVED
    assert bound.feasible
    assert bound.reward_value < free.reward_value


@pytest.mark.parametrize("masked", [False, True])
def test_sweeps_and_factorised_systems_reach_the_same_states(masked):
    garnet = painless.garnet(40, 3, 1, constraints=1, seed=3, discount=0.9, dense=False)
    actions = np.ones((40, 3), dtype=bool)
    actions[::2, 1] = not masked
    problem = painless.CMDP(
        garnet.transition, garnet.reward, initial=np.eye(40)[7], discount=0.9, actions=actions
    )
    rng = np.random.default_rng(0)
    sizes = set()
    for _ in range(20):
        policy = as_table(np.where(rng.random(40) < 0.5, 0, 2), 3)
        found = Swept(problem).reachable(policy)
        np.testing.assert_array_equal(found, Factorised(problem).reachable(policy))
        sizes.add(int(found.sum()))
    assert len(sizes) > 3
    assert max(sizes) < 40
