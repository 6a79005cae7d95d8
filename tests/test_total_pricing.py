"""Totals of large models by sweeps: the same answers as with a discount, and the equations that they rest on."""

import numpy as np
import pytest
import scipy

import painless
from painless import CMDP
from painless.engines.ending_soon import EndingSoon, arrival_of
from painless.engines.engine import as_table, engine_of
from painless.engines.factorised import Factorised
from painless.engines.sweeps._total_kernels import add_the_rest
from painless.engines.total import Total
from painless.problem.units import normalise


def ending(seed, states=900, stop=0.05, constraints=1):
    """Return a discounted problem, and the same with a chance to end in every step in place of the discount."""
    garnet = painless.garnet(states, 3, 4, constraints, seed=seed, discount=1 - stop, dense=False)
    kernel = garnet.transition
    ends = scipy.sparse.csr_array(
        ((1 - stop) * kernel.data, kernel.indices, kernel.indptr), shape=kernel.shape
    )
    total = CMDP(
        ends,
        garnet.reward,
        initial=garnet.initial,
        discount=1.0,
        constraint_reward=garnet.constraint_reward,
        threshold=garnet.threshold,
    )
    return garnet, total


@pytest.mark.parametrize("constraints", [0, 1, 2])
def test_a_chance_to_end_is_a_discount(constraints):
    discounted, total = (
        painless.solve(one, tolerance=1e-9) for one in ending(constraints, 900, 0.05, constraints)
    )
    assert total.reward_value == pytest.approx(discounted.reward_value, rel=3e-9)
    assert total.multiplier == pytest.approx(discounted.multiplier, rel=1e-5)
    assert total.status.kind is discounted.status.kind


def test_best_responses_come_from_sweeps_and_are_those_of_policy_iteration():
    engine = Total(normalise(ending(4)[1])[0])
    weight = np.array([1.0, 0.3])
    swept = engine._swept_best(weight, 1e-7, 1e-8)
    exact = engine._best(weight)
    assert swept is not None
    assert swept.upper_bound - swept.weighted_value <= 1e-7
    assert swept.weighted_value <= exact.upper_bound
    assert exact.weighted_value <= swept.upper_bound
    assert (swept.value <= exact.middle + 1e-6).all()
    assert engine.unit == pytest.approx(20.0, rel=0.1)  # the time to stop


def test_mixtures_have_the_averaged_values():
    engine = Total(normalise(ending(5)[1])[0])
    answers = [engine.best(np.array(weight), 1e-9, 1e-10) for weight in ([1.0, 0.0], [0.2, 1.0])]
    share = np.array([0.3, 0.7])
    table, value = engine.mixed([one.actions for one in answers], share)
    assert value.guess == pytest.approx(share @ [one.middle for one in answers], abs=1e-7)
    assert (value.low <= value.guess).all()
    assert engine.values(table).guess == pytest.approx(value.guess, abs=1e-8)


def slippery(side, **criterion):
    """Return a shortest path over a grid with pits, in which one may walk against the wall for ever."""
    states = side * side
    row, column = np.divmod(np.arange(states), side)
    ahead = [
        np.clip(row + down, 0, side - 1) * side + np.clip(column + right, 0, side - 1)
        for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0))
    ]
    pairs = np.arange(4 * states).reshape(-1, 4)
    ahead = [np.append(to[:-1], states - 1) for to in ahead]  # the last cell is never left
    kernel = sum(
        scipy.sparse.csr_array(
            (np.full(states, p), (pairs[:, a], ahead[(a + turn) % 4])), (4 * states, states)
        )
        for a in range(4)
        for turn, p in ((0, 0.8), (1, 0.1), (3, 0.1))
    )
    pits = np.random.default_rng(0).random(states) < 0.2
    going = (np.arange(states) < states - 1)[:, None] * np.ones((states, 4))
    return CMDP(
        scipy.sparse.csr_array(kernel),
        cost=going,
        initial=(np.arange(states) == 0) * 1.0,
        constraint_cost=np.repeat(pits[:, None], 4, 1) * going,
        budget=4.0 * side / 30,
        **criterion,
    )


def test_shortest_paths_whose_other_policies_never_stop():
    problem = slippery(30, discount=1.0)
    swept = painless.solve(problem, tolerance=1e-8)
    linear = painless.solve(problem, painless.LinearProgram(), tolerance=1e-6)
    assert swept.feasible
    assert swept.reward_value == pytest.approx(linear.reward_value, rel=1e-6)
    assert swept.multiplier == pytest.approx(linear.multiplier, rel=1e-4)


@pytest.mark.parametrize("discount", [0.9999, 1 - 1e-6])
def test_a_path_with_a_discount_close_to_one_is_a_total(discount):
    """Beside factorised equations: best responses, values, visits and action values."""
    problem = normalise(slippery(24, discount=discount))[0]
    engine, exact = engine_of(problem), Factorised(problem)
    assert isinstance(engine, EndingSoon)
    weight = np.array([1.0, 0.02])
    found, known = engine.best(weight, 1e-6, 1e-7), exact.best(weight, 0.0, 0.0)
    unit = problem.unit
    assert found.upper_bound - found.weighted_value <= 1e-6 + 1e-11 * unit
    assert found.weighted_value <= known.upper_bound
    assert known.weighted_value - 1e-10 * unit <= found.upper_bound
    np.testing.assert_allclose(
        engine.values(found.actions).guess, exact.values(found.actions).guess, rtol=1e-10
    )
    np.testing.assert_allclose(
        engine.visits(found.actions), exact.visits(found.actions), rtol=1e-6, atol=1e-6
    )
    table, states = as_table(found.actions, 4), np.array([0, 7])
    np.testing.assert_allclose(
        engine.action_values(table, states, 0.0), exact.action_values(table, states, 0.0), rtol=1e-9
    )


@pytest.mark.parametrize("discount", [0.9999, 1 - 1e-6, 1 - 3e-8])
def test_a_path_costs_what_it_costs(discount):
    """The optimum tends to the total, and never to 1/(1−γ)."""
    total = painless.solve(slippery(24, discount=1.0), tolerance=1e-7)
    found = painless.solve(slippery(24, discount=discount), tolerance=1e-7)
    assert found.status.kind.value == "solved"
    lost = (1 - discount) * total.reward_value**2
    assert total.reward_value - lost <= found.reward_value <= total.reward_value * (1 + 1e-6)


def test_only_what_ends_is_solved_as_a_total():
    assert not isinstance(engine_of(slippery(24, discount=0.99)), EndingSoon)
    garnet = painless.garnet(600, 3, 4, 1, discount=0.9999, dense=False)
    assert not isinstance(engine_of(garnet), EndingSoon)
    assert isinstance(engine_of(slippery(24, discount=0.9995)), EndingSoon)


def test_a_state_that_is_left_once_in_a_while_is_no_arrival():
    """With a discount close to 1, a chance of 1e-13 to leave is worth something."""
    problem = slippery(24, discount=1 - 1e-6)
    arrived = int(np.flatnonzero(arrival_of(problem).states)[0])
    kernel = problem.transition.tolil()
    for pair in range(4 * arrived, 4 * arrived + 4):
        kernel[pair, arrived], kernel[pair, 0] = 1 - 1e-13, 1e-13
    leaking = problem._replace(transition=scipy.sparse.csr_array(kernel))
    assert not getattr(arrival_of(leaking), "states", np.zeros(problem.shape[0], dtype=bool))[arrived]


def test_what_is_to_come_is_the_sum_of_a_series():
    """The whole of a change along an eigenvector is added at once."""
    rng = np.random.default_rng(1)
    chain = 0.9 * rng.dirichlet(np.ones(6), 6)  # rows sum to 0.9: the constant is an eigenvector
    gain = np.column_stack([np.ones(6), 2 * np.ones(6)])
    before = np.zeros((6, 2))
    value = gain + chain @ before
    add_the_rest(before, value, np.ones(6), 0.9)
    np.testing.assert_allclose(value, np.linalg.solve(np.eye(6) - chain, gain), rtol=1e-12)


def test_the_engine_of_a_small_total_is_exact():
    assert engine_of(ending(0, 50)[1]).exact
    assert not engine_of(ending(0)[1]).exact


def test_what_else_is_asked_of_a_discount_close_to_one():
    """An algorithm, a frontier and the value of a policy."""
    problem = slippery(24, discount=0.9999)
    run = painless.solve(problem, painless.PRM(), iterations=20)
    assert run.feasible
    known = painless.solve(problem, tolerance=1e-6)
    assert known.reward_value <= run.reward_value * (1 + 1e-6)
    curve = painless.frontier(problem, tolerance=1e-3)
    within = 1e-3 * float(np.ptp(curve.reward_value))  # the tolerance is relative to the range
    assert known.reward_value * (1 - 1e-6) <= curve.at(3.2).reward_value <= known.reward_value + within
    assert painless.value(known, problem).reward_value == pytest.approx(known.reward_value, rel=1e-9)


def test_no_more_is_claimed_than_is_proved():
    """Blocks of states that are left rarely, without constraints and to a loose tolerance: an answer that is not evaluated further."""
    rng = np.random.default_rng(5)
    states = 1500
    origin = np.repeat(np.arange(states), 4)
    target = origin // 50 * 50 + rng.integers(0, 50, len(origin))
    weight = 0.995 * rng.dirichlet(np.ones(2), states * 2).ravel()
    kernel = scipy.sparse.csr_array(
        (weight, (np.arange(len(origin)) // 2, target)), shape=(2 * states, states)
    )
    reward = rng.random((states, 2))
    problem = painless.CMDP(kernel, reward, initial=np.full(states, 1 / states), discount=1.0)
    solution = painless.solve(problem, tolerance=1e-3)
    policy = solution.policy.probabilities
    chain = scipy.sparse.block_diag([row[None] for row in policy], format="csr") @ kernel
    exact = scipy.sparse.linalg.spsolve(
        scipy.sparse.csc_array(scipy.sparse.eye_array(states) - chain), (policy * reward).sum(1)
    ).mean()
    assert exact * (1 - 1e-3) <= solution.reward_value <= exact * (1 + 1e-12) <= solution.upper_bound


def test_a_loop_that_no_number_of_rounds_can_be_proved_of():
    """Steps lead down, mostly, and some loops earn and cost: at a budget of 1e12 nothing is proved, and nothing is said to be."""
    rng = np.random.default_rng(8)
    states = 1500
    origin = np.repeat(np.arange(states), 4)
    target = origin - rng.integers(-3, 12, len(origin))
    weight = rng.dirichlet(np.ones(2), states * 2).ravel()
    inside = (target >= 0) & (target < states)
    place = (np.arange(len(origin)) // 2)[inside], target[inside]
    kernel = scipy.sparse.csr_array((weight[inside], place), shape=(2 * states, states))
    problem = painless.CMDP(
        *(kernel, rng.random((states, 2))),
        initial=np.full(states, 1 / states),
        discount=1.0,
        constraint_cost=rng.random((2, states, 2)),
        budget=[1e12, 1e12],
    )
    solution = painless.solve(problem, tolerance=1e-6)
    assert solution.feasible or np.isnan(solution.reward_value)
