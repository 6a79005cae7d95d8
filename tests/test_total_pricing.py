"""Totals of large models by sweeps: the same answers as with a discount, and the equations that they rest on."""

import numpy as np
import pytest
import scipy

import painless
from painless import CMDP
from painless.engines.engine import engine_of
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
    exact = engine._best(engine.guard, weight)
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


def test_shortest_paths_whose_other_policies_never_stop():
    """A grid in which one may walk against the wall for ever, beside the factorised engine on a smaller tolerance."""
    side = 30
    row, column = np.divmod(np.arange(side * side), side)
    ahead = [
        np.clip(row + down, 0, side - 1) * side + np.clip(column + right, 0, side - 1)
        for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0))
    ]
    pairs = np.arange(4 * side * side).reshape(-1, 4)
    kernel = sum(
        scipy.sparse.csr_array(
            (np.full(side * side, p), (pairs[:, a], ahead[(a + turn) % 4])), (pairs.size, side * side)
        )
        for a in range(4)
        for turn, p in ((0, 0.8), (1, 0.1), (3, 0.1))
    )
    pits = np.random.default_rng(0).random(side * side) < 0.2
    problem = CMDP(
        scipy.sparse.csr_array(kernel),
        cost=np.ones((side * side, 4)),
        initial=np.eye(side * side)[0],
        end=[side * side - 1],
        constraint_cost=np.repeat(pits[:, None], 4, 1) * 1.0,
        budget=4.0,
    )
    swept = painless.solve(problem, tolerance=1e-8)
    linear = painless.solve(problem, painless.LinearProgram(), tolerance=1e-6)
    assert swept.feasible
    assert swept.reward_value == pytest.approx(linear.reward_value, rel=1e-6)
    assert swept.multiplier == pytest.approx(linear.multiplier, rel=1e-4)


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
