"""Plans whose margins are part of what is planned: the best mixture of policies, and what it makes of a learned model."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

import painless
from painless.counting.learned_model import LearnedModel
from painless.counting.margin_plan import GAP, Pessimist, margin_plans
from painless.counting.memory import Memory
from painless.counting.pessimistic_mixture import best_mixture
from painless.counting.safe_plan import Limits, WarmPlanner, best_of, candidate
from painless.counting.tightened_plan import tightened_plans
from painless.simulation.simulator import TableSimulator
from painless.training.episodes import Player, SimulatedEpisodes

CERTAIN = 1e-24  # in place of an error of 0


def drawn(seed, n=6, limits=2):
    """Return values, products and constants of n policies."""
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(1 + limits, n, n))
    gram = 0.2 * roots @ roots.swapaxes(1, 2)
    return rng.normal(size=(1 + limits, n)), gram, np.full(1 + limits, 0.01)


def pessimistic(weight, value, gram, constant):
    return value @ weight - np.sqrt(np.einsum("jab,a,b->j", gram, weight, weight) + constant)


def by_slsqp(value, gram, constant, limit):
    """Return the largest f_0, from several starts."""
    n, found = value.shape[1], []
    for start in (np.full(n, 1 / n), *(0.9 * np.eye(n) + 0.1 / n)):
        one = minimize(
            lambda w: -pessimistic(w, value, gram, constant)[0],
            start,
            bounds=[(0, 1)] * n,
            constraints=[
                {"type": "eq", "fun": lambda w: w.sum() - 1},
                {"type": "ineq", "fun": lambda w: pessimistic(w, value, gram, constant)[1:] - limit},
            ],
            options={"maxiter": 500, "ftol": 1e-12},
        )
        if one.success and (pessimistic(one.x, value, gram, constant)[1:] >= limit - 1e-7).all():
            found.append(-one.fun)
    return max(found)


@pytest.mark.parametrize("seed", range(5))
def test_mixtures_are_those_of_another_solver(seed):
    value, gram, constant = drawn(seed)
    limit = pessimistic(np.full(6, 1 / 6), value, gram, constant)[1:] - 0.1
    found = best_mixture(value, gram, constant, limit, np.eye(6)[0], 1e-6)
    assert found.weight.sum() == pytest.approx(1)
    assert (found.weight >= 0).all()
    assert (found.value[1:] >= limit).all()
    assert found.value == pytest.approx(pessimistic(found.weight, value, gram, constant))
    assert found.value[0] == pytest.approx(by_slsqp(value, gram, constant, limit), abs=2e-5)
    # The multipliers prove it: no policy gains by the slope of the Lagrangian.
    root = np.sqrt(np.einsum("jab,a,b->j", gram, found.weight, found.weight) + constant)
    slope = found.multiplier @ (value - (gram @ found.weight) / root[:, None])
    assert slope.max() - slope @ found.weight <= 1e-4


def test_without_errors_it_is_a_linear_program():
    value, gram, _ = drawn(7)
    limit = value[1:].mean(1)
    found = best_mixture(value, 0 * gram, np.full(3, CERTAIN), limit, np.full(6, 1 / 6), 1e-7)
    best = linprog(-value[0], -value[1:], -limit, np.ones((1, 6)), [1.0])
    assert found.value[0] == pytest.approx(-best.fun, abs=1e-6)
    assert found.multiplier[1:] == pytest.approx(-best.ineqlin.marginals, abs=1e-4)


def test_no_limits_are_allowed():
    value, gram, constant = drawn(3, limits=0)
    found = best_mixture(value, 0 * gram, constant, np.empty(0), np.full(6, 1 / 6), 1e-6)
    assert found.weight.argmax() == value[0].argmax()
    assert found.multiplier.tolist() == [1.0]


def test_the_safest_mixture_where_none_is_safe():
    value, gram, _ = drawn(7)
    limit = value[1:].max(1) + 1.0
    found = best_mixture(value, 0 * gram, np.full(3, CERTAIN), limit, np.full(6, 1 / 6), 1e-6)
    rows = np.column_stack([-value[1:], np.ones(2)])
    best = linprog(
        np.append(np.zeros(6), -1.0),
        rows,
        -limit,
        [[1.0] * 6 + [0.0]],
        [1.0],
        [(0, None)] * 6 + [(None, None)],
    )
    assert (found.value[1:] - limit).min() == pytest.approx(-best.fun, abs=1e-5)
    assert found.multiplier[0] == 0
    assert found.multiplier[1:].sum() == pytest.approx(1, abs=1e-3)


def bandit():
    """Return a model of one state and four actions that end: two pay well and are hardly known, one is known, one is free."""
    memory = Memory(actions=4, utilities=2)
    rng = np.random.default_rng(0)
    for action, (visits, reward, cost) in enumerate(
        [(12, 1.0, 0.5), (12, 1.0, 0.5), (600, 0.8, 0.4), (600, 0.1, 0.0)]
    ):
        spent = np.where(rng.permutation(visits) < cost * visits, -1.0, 0.0)
        for half in (0, 1):
            own = spent[half::2]
            numbers = np.zeros(len(own), dtype=np.int64)
            utilities = np.column_stack([np.full(len(own), reward), own])
            memory.add(half, numbers, numbers + action, numbers - 1, utilities, numbers)
    return LearnedModel(memory, 0.9, np.array([-0.4])), Limits(np.array([-0.4]), np.zeros(1, dtype=bool), 100)


def test_ways_that_are_well_known_are_taken_as_far_as_they_are_safe():
    model, limits = bandit()
    planner = WarmPlanner()
    made = planner(model.nominal(model.threshold))
    nominal = candidate(model, model.own(made.policy), limits, made.multiplier)
    assert not nominal.safe
    assert nominal.judged.policy[0, :2].sum() > 0.5
    found = best_of(margin_plans(model, limits, nominal, list(planner.policies)))
    grid = [np.array(one) / 20 for one in itertools.product(range(21), repeat=4) if sum(one) == 20]
    known = [candidate(model, one[None], limits, np.zeros(1)) for one in grid]
    best = max(one.judged.value[0] for one in known if one.safe)
    assert found.safe
    assert found.judged.value[0] >= (1 - GAP) * best - 0.01
    assert found.judged.policy[0, 2] > 0.5  # the known one


def test_plans_with_margins_gain_on_a_learned_model():
    """In the gridworld after few steps, all plans are safe by their own errors, and one is better than those at tightened limits."""
    episodes = SimulatedEpisodes(TableSimulator(painless.gridworld(), 60))
    memory = Memory(4, 2)
    Player(episodes, memory, np.random.default_rng(1)).play([], 3000, explore=True)
    model, limits = (
        LearnedModel(memory, 0.9, np.array([1.5])),
        Limits(np.array([1.5]), np.zeros(1, dtype=bool), 60),
    )
    tightened = tightened_plans(model, limits)
    found = margin_plans(model, limits, tightened[0], [])
    assert found[-1].safe
    assert found[-1].judged.value[0] >= best_of(tightened).judged.value[0]


def test_margins_are_those_of_the_judged_plan():
    model, limits = bandit()
    one = candidate(model, np.full((1, 4), 0.25), limits, np.zeros(1))
    about = Pessimist.about(model, one, limits, np.zeros(1))
    occupancy = one.judged.occupancy.reshape(-1)
    error = np.sqrt(about.variance @ occupancy**2 + about.first)
    assert error == pytest.approx(one.judged.error, rel=1e-6)
    assert about.deviations.tolist() == [0.0, limits.deviations]
    assert about.threshold == pytest.approx(-0.4 + 0.02 * limits.deviations * one.judged.error[1:])


@pytest.mark.parametrize("limit", [-0.4, 0.4])
def test_utilities_that_are_always_zero_do_no_harm(limit):
    model, _ = bandit()
    memory = model.memory.copy()
    memory.sums, memory.squares = 0 * memory.sums, 0 * memory.squares
    memory.low = memory.high = np.zeros(2)
    nothing = LearnedModel(memory, 0.9, np.array([limit]))
    limits = Limits(np.array([limit]), np.zeros(1, dtype=bool), 100)
    start = candidate(nothing, np.full((1, 4), 0.25), limits, np.zeros(1))
    found = margin_plans(nothing, limits, start, [])
    assert all(one.safe is (limit < 0) for one in found)
    assert found[-1].judged.value.tolist() == [0.0, 0.0]
