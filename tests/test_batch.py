"""Batches: row i is, to the bit, the run done alone."""

import numpy as np
import pytest

import painless
from painless import CBP, CRPO, GDA, InputError, PrimalDual
from painless.duals import Lagrangian
from painless.learners import Cocob, CoinBetting, Winnings
from painless.loop.batch import solve_batch
from painless.policies.table import dirichlet_policy

OWN = PrimalDual(
    primal=lambda s: CoinBetting(s.normaliser, s.iterations),
    dual=lambda s: Lagrangian(Cocob(8.0, Winnings.PRINTED), s.multiplier_bound),
)
MIXED = [
    *(CBP(1.0), CBP(8.0), GDA(1.0, 0.1), CBP.theoretical(), CRPO(0.75), CRPO(0.1, 0.25), CBP(500.0), OWN),
    *(GDA(0.1, 0.01), GDA.theoretical(), OWN, CRPO(0.5, 0.0, seed=3), CRPO(0.5, 0.0, seed=4)),
]


@pytest.mark.parametrize(
    "problem",
    [
        painless.gridworld(),
        painless.gridworld(constraints=3),
        painless.garnet(12, 3, 4, 2, seed=1),
        painless.garnet(12, 3, 4, 1, seed=1, dense=False),
        painless.garnet(90, 5, 8, 2, seed=5, discount=0.99),
    ],
    ids=["gridworld", "three constraints", "garnet", "sparse garnet", "larger garnet"],
)
def test_row_of_a_batch_is_the_run_alone(problem):
    starts = [dirichlet_policy(problem.actions, np.random.default_rng(i)) for i in range(len(MIXED))]
    traces = solve_batch(problem, MIXED, iterations=30, initial_policies=starts)
    for algorithm, start, trace in zip(MIXED, starts, traces, strict=True):
        alone = painless.solve(problem, algorithm, iterations=30, initial_policy=start).trace
        for name in ("reward_value", "constraint_value", "multiplier"):
            np.testing.assert_array_equal(getattr(trace, name), getattr(alone, name), err_msg=f"{algorithm}")


def test_random_switching_depends_on_its_seed_alone():
    problem = painless.gridworld(constraints=3, threshold=(2.0, 1.0, 3.0))
    several = [CRPO(0.5, 0.0, seed=seed) for seed in (1, 2, 1)]
    one, two, three = solve_batch(problem.with_limits((1.5, 0.85, 2.7)), several, iterations=60)
    np.testing.assert_array_equal(one.multiplier, three.multiplier)
    assert not np.array_equal(one.multiplier, two.multiplier)


def test_batch_refuses_what_cannot_run():
    with pytest.raises(InputError, match="no policy meets all constraints"):
        solve_batch(painless.gridworld(threshold=9.0), [CBP()], iterations=3)
    with pytest.raises(InputError, match="1 initial policies for 2 algorithms"):
        solve_batch(painless.gridworld(), [CBP(), GDA()], iterations=3, initial_policies=[None])
    with pytest.raises(InputError, match="whole number"):
        solve_batch(painless.gridworld(), [CBP()], iterations=0)


def test_an_empty_batch_is_empty():
    assert solve_batch(painless.gridworld(), [], iterations=3) == []
