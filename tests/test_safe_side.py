"""Everything that is called proved stays on the safe side: of inexact values, of rounding, of the definition of feasible."""

from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

import painless
from painless import CBP, ColumnGeneration, LinearProgram, Output
from painless.engines.factorised import Factorised, policy_iteration
from painless.engines.sweeps.pricing import Pricer
from painless.engines.swept import Swept
from painless.planning.certificate import Certifier
from painless.planning.master import Column
from painless.problem.units import normalise
from painless.solving.solution import Kind
from tests.fuzz.exact import Exact
from tests.fuzz.model import of_arguments

WORLD_OPTIMUM = 1.652721837


class Low:
    """Factors whose values lie below the true ones, as those of an unfinished solve would."""

    def __init__(self, inner, lack):
        self.inner, self.lack = inner, lack

    def state_value(self, utility):
        return self.inner.state_value(utility) - self.lack

    def __getattr__(self, name):
        return getattr(self.inner, name)


@pytest.fixture
def low_values(monkeypatch):
    module = import_module("painless.engines.factorised")
    exact = module.resolvent
    monkeypatch.setattr(module, "resolvent", lambda *given: Low(exact(*given), 0.1))


def test_a_bound_from_inexact_values_holds(low_values):
    """V is too small by 0.1 everywhere, so that TV − V is 0.1·(1−γ): only divided by 1−γ it makes up for that."""
    world = painless.gridworld()
    best = painless.garnet(8, 3, 3, 1, seed=1, discount=0.9)
    for problem in (world, best):
        plan = policy_iteration(problem, problem.reward)
        assert plan.upper_bound >= plan.value + 0.1 - 1e-12


@pytest.mark.parametrize("algorithm", [None, LinearProgram(), CBP()])
def test_a_dual_value_from_inexact_values_bounds_the_optimum(low_values, algorithm):
    horizon = 5 if isinstance(algorithm, CBP) else None
    found = painless.solve(painless.gridworld(), algorithm, iterations=horizon, tolerance=0.5)
    assert found.upper_bound >= WORLD_OPTIMUM - 1e-9


@pytest.mark.parametrize("by_elimination", [None, True])
def test_a_swept_bound_is_above_the_exact_optimum(by_elimination):
    """Values near 1/(1−γ) have their last digits rounded away; in whole numbers the bound is still one."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        states = int(rng.integers(1, 5))
        rows = rng.dirichlet(np.ones(states), size=(states, 2))
        given = {"reward": rng.uniform(0.5, 1, (states, 2)), "discount": 0.999}
        problem = painless.CMDP(rows, initial=np.full(states, 1 / states), **given)
        best = Exact(of_arguments(given, problem.transition, problem.initial)).optimum([]).value
        pricer = Pricer(problem)
        pricer.values.by_elimination = by_elimination
        priced = pricer.price(np.ones(1), 1e-13, 1e-13)
        assert Fraction(float(priced.upper_bound)) >= best
        assert priced.upper_bound <= float(best) * (1 + 1e-9)


def choice(limit, discount=0.9):
    """One state, two actions: a constraint of which 7 can be had at most, and a reward for the other action."""
    return painless.CMDP(
        [[[1.0], [1.0]]],
        [[1.0, 0.0]],
        initial=[1.0],
        discount=discount,
        constraint_reward=[[0.3, 0.7]],
        threshold=limit,
    )


@pytest.mark.parametrize("algorithm", [None, CBP(), LinearProgram(), ColumnGeneration()])
def test_a_limit_missed_by_a_ten_millionth_is_missed(algorithm):
    best = 0.7 / (1 - 0.9)
    beyond = painless.solve(choice(best * (1 + 1e-7)), algorithm)
    assert beyond.status.kind is Kind.INFEASIBLE
    assert not beyond.feasible
    rounding = painless.solve(choice(best * (1 + 1e-12)), algorithm)
    assert rounding.status.kind is not Kind.INFEASIBLE
    assert rounding.feasible


@pytest.mark.parametrize(("miss", "feasible"), [(1e-7, False), (1e-8, False), (1e-12, True), (-1e-7, True)])
def test_feasible_is_judged_to_a_billionth(miss, feasible):
    """The average over one iteration is the first policy, whose values are known: (0.3 + 0.4·p)/(1−γ)."""
    share = 0.25
    limit = (0.3 + 0.4 * share) / (1 - 0.9) * (1 + miss)
    first = [[1 - share, share]]
    found = painless.solve(choice(limit), CBP(), iterations=1, initial_policy=first, output=Output.UNIFORM)
    np.testing.assert_allclose(found.policy.probabilities, first, rtol=1e-15)
    assert found.feasible is feasible


@pytest.mark.parametrize("stray", [5.0, -6.0, 0.0])
def test_what_is_not_available_takes_no_part(stray):
    """Masked pairs within ±max|u| are stored as they are given; spans, runs and prices do not see them."""
    kept = painless.garnet(6, 3, 2, 1, seed=3, discount=0.9)
    mask = np.ones((6, 3), bool)
    mask[::2, 2] = False
    usual, other = (
        painless.CMDP(
            kept.transition,
            np.where(mask, 5 + kept.reward, fill),
            initial=kept.initial,
            discount=0.9,
            constraint_reward=np.where(mask, 5 + kept.constraint_reward[0], fill),
            threshold=kept.threshold + 50,
            actions=mask,
        )
        for fill in (5.5, stray)
    )
    assert other.reward[0, 2] == stray or abs(stray) > other.reward[mask].max()
    one, two = (painless.solve(problem, CBP(), iterations=20) for problem in (usual, other))
    np.testing.assert_array_equal(one.trace.multiplier, two.trace.multiplier)
    np.testing.assert_array_equal(one.policy.probabilities, two.policy.probabilities)
    assert one.reward_value == two.reward_value


@pytest.mark.parametrize("engine", [Factorised, Swept])
def test_a_mixture_that_misses_a_limit_gets_some_of_the_slater_policy(engine):
    problem, _ = normalise(painless.gridworld())
    certifier = Certifier(engine(problem))
    for weight in ([1.0, 0.0], [0.0, 1.0]):
        response = certifier.engine.best(np.array(weight), 1e-12, 1e-12)
        certifier.game.add(Column(response.actions, response.middle, response.value))
    first, last = certifier.game.columns.known
    assert first.value[1] < problem.threshold[0] < last.value[1]
    certifier.game.safe = np.array([0.0, 1.0])
    answer = certifier.answer(np.array([1.0, 0.0]))
    assert answer.feasible
    # And no more of it than that takes
    assert problem.threshold[0] <= answer.low[1] <= problem.threshold[0] + 1e-3


@pytest.mark.parametrize("algorithm", [None, painless.LinearProgram(), painless.PRM(), painless.CBP()])
def test_a_limit_that_is_missed_by_little_is_infeasible(algorithm):
    """What counts as met is far less than 3e-7 here, so that no policy may be called nearly feasible."""
    beyond = painless.frontier(painless.gridworld()).feasible_to + 3e-7
    assert painless.solve(painless.gridworld(threshold=beyond), algorithm).status.kind == "infeasible"
