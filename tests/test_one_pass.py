"""Totals in one pass: against exact arithmetic, the sweeps that take their place otherwise, and a linear program."""

from fractions import Fraction

import numpy as np
import pytest
import scipy

import painless
from painless.engines.sweeps.one_pass import OnePass
from painless.engines.total import Total
from tests.test_in_order import layered


def rows_down(seed, states=40, utilities=2):
    """Return rows that lead to lower states or stay, their utilities, and the first row of each state; state 0 stops."""
    rng = np.random.default_rng(seed)
    count = np.append(1, rng.integers(1, 4, states - 1))
    state = np.repeat(np.arange(states), count)
    kernel = np.zeros((len(state), states))
    for row, s in enumerate(state.tolist()):
        to = rng.integers(0, s + 1, 3) if s else np.empty(0, int)
        np.add.at(kernel[row], to, rng.dirichlet(np.ones(3)) if s else np.empty(0))
        kernel[row, s] = 0.0 if kernel[row, s] > 0.95 else kernel[row, s]
    utility = np.where(state > 0, rng.normal(size=(utilities, len(state))), 0.0)
    return kernel, utility, np.append(0, np.cumsum(count))


def one_pass_of(kernel, utility, begin, order=None):
    """Return the passes over dense rows, from the last three states, by default in the order of their numbers."""
    matrix, states = scipy.sparse.csr_array(kernel), kernel.shape[1]
    order = np.arange(states, dtype=np.uint32) if order is None else order
    arrays = (*(part.astype(np.uint32) for part in (begin, matrix.indptr, matrix.indices)), matrix.data)
    terms = int(np.diff(matrix.indptr).max())
    initial = np.append(np.zeros(states - 3), [0.25, 0.25, 0.5])
    return OnePass(arrays, utility, terms, order, initial, begin[:-1].astype(np.uint32), 1 - 1e-12)


def exactly(kernel, utility, choice, initial):
    """Return the values of a policy at ρ without rounding."""
    value = [[Fraction(0)] * len(kernel[0]) for _ in utility]
    for s, row in enumerate(choice.tolist()):
        chance = [Fraction(p) for p in kernel[row].tolist()]
        for one, gain in zip(value, utility, strict=True):
            ahead = sum(
                (p * v for t, (p, v) in enumerate(zip(chance, one, strict=True)) if t != s and p), Fraction(0)
            )
            one[s] = (Fraction(float(gain[row])) + ahead) / (1 - chance[s])
    return [sum(Fraction(p) * v for p, v in zip(initial.tolist(), one, strict=True)) for one in value]


def best_by_arrays(kernel, utility, begin):
    """Return the largest totals of one utility (n,) from all states, state by state."""
    value = np.zeros(kernel.shape[1])
    for s in range(len(value)):
        rows = slice(begin[s], begin[s + 1])
        stay, value[s] = kernel[rows, s], 0.0
        value[s] = ((utility[rows] + kernel[rows] @ value) / (1 - stay)).max()
    return value


@pytest.mark.parametrize("utilities", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(5))
def test_one_pass_finds_the_best_policy_and_proves_it(seed, utilities):
    kernel, utility, begin = rows_down(seed, utilities=utilities)
    passes, weight = one_pass_of(kernel, utility, begin), np.linspace(1.0, 0.3, utilities)
    best = passes.best(weight)
    value = best_by_arrays(kernel, weight @ utility, begin)
    np.testing.assert_allclose(weight @ best.found.value, passes.initial @ value, rtol=1e-12)
    exact = exactly(kernel, utility, best.choice, passes.initial)
    for middle, error, truth in zip(best.found.value, best.found.error, exact, strict=True):
        assert abs(Fraction(float(middle)) - truth) <= Fraction(float(error))
        assert error <= 1e-10
    weighted = sum(Fraction(float(w)) * truth for w, truth in zip(weight, exact, strict=True))
    assert weighted <= Fraction(best.bound) <= weighted + Fraction(1e-10)
    assert passes.best(weight) is best  # the same question is not answered twice


@pytest.mark.parametrize("seed", range(5))
def test_mixtures_and_visits_are_those_of_arrays(seed):
    kernel, utility, begin = rows_down(seed, utilities=3)
    passes, rng = one_pass_of(kernel, utility, begin), np.random.default_rng(seed)
    choices = np.array([begin[:-1], begin[1:] - 1]).astype(np.uint32)
    share = rng.random(len(begin) - 1) * (rng.random(len(begin) - 1) < 0.8)
    shares = np.array([share, 1 - share])
    chain = shares[0][:, None] * kernel[choices[0]] + shares[1][:, None] * kernel[choices[1]]
    gain = shares[0] * utility[:, choices[0]] + shares[1] * utility[:, choices[1]]
    inverse, found = np.linalg.inv(np.eye(len(chain)) - chain), passes.values(choices, shares)
    np.testing.assert_allclose(found.value, gain @ inverse.T @ passes.initial, rtol=1e-11, atol=1e-12)
    assert (np.abs(found.value - gain @ inverse.T @ passes.initial) <= found.error + 1e-12).all()
    alone = np.linalg.inv(np.eye(len(chain)) - kernel[choices[0]])
    np.testing.assert_allclose(passes.time(choices[0]), passes.initial @ alone.sum(1), rtol=1e-11)
    np.testing.assert_allclose(passes.visits(choices[0]), passes.initial @ alone, rtol=1e-11, atol=1e-15)


def test_what_is_in_no_order_is_not_proved():
    kernel, utility, begin = rows_down(1)
    turned = np.arange(len(begin) - 1, dtype=np.uint32)[::-1].copy()
    for order in (turned, np.zeros_like(turned)):
        best = one_pass_of(kernel, utility, begin, order).best(np.array([1.0, 0.5]))
        assert best.bound == np.inf
        assert np.isinf(best.found.error).all()


@pytest.mark.parametrize(("gain", "is_proved"), [(-0.5, True), (0.5, False)])
def test_rows_that_hardly_leave_their_state_are_not_taken_but_count_for_the_bound(gain, is_proved):
    kernel = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    best = one_pass_of(kernel, np.array([[0.0, 1.0, gain, 0.0]]), np.array([0, 1, 3, 4])).best(np.ones(1))
    assert best.choice.tolist() == [0, 1, 3]
    assert np.isfinite(best.bound) == is_proved


@pytest.mark.parametrize("seed", range(3))
def test_sweeps_and_one_pass_agree(seed):
    """Of a model that is large enough: the same policies, values and mixtures."""
    engine, other = (Total(layered(seed, 5_000)) for _ in range(2))
    weight, (_, swept), (_, usual) = np.array([1.0, 0.7]), engine._swept(np.ones(2)), other._swept(np.ones(2))
    usual.one_pass = None
    assert swept.one_pass is not None
    ours, theirs = (one.best(weight, 1e-9, 1e-9) for one in (engine, other))
    assert (ours.actions == theirs.actions).all()
    np.testing.assert_allclose(ours.middle, theirs.middle, rtol=1e-12)
    assert 0 <= ours.upper_bound - weight @ ours.middle <= 1e-9 * abs(ours.upper_bound)
    assert swept.rough_time(weight) == pytest.approx(usual.rough_time(weight), rel=0.1)
    policies = [ours.actions, engine.best(np.array([1.0, 0.1]), 1e-9, 1e-9).actions]
    mixtures = [one.mixed(policies, np.array([0.4, 0.6])) for one in (engine, other)]
    np.testing.assert_allclose(mixtures[0][0], mixtures[1][0], atol=1e-9)
    np.testing.assert_allclose(mixtures[0][1].guess, mixtures[1][1].guess, rtol=1e-9)


def test_a_pass_that_proves_nothing_is_left_to_sweeps():
    problem = layered(4, 5_000)
    engine = Total(problem)
    _, swept = engine._swept(np.ones(2))
    swept.one_pass.is_in_order = False
    response = engine.best(np.array([1.0, 0.5]), 1e-6, 1e-6)
    assert swept.one_pass is None
    assert response.upper_bound <= np.array([1.0, 0.5]) @ response.middle + 1e-6


def test_one_pass_solves_a_constrained_problem():
    problem = layered(5, 5_000)
    free = painless.solve(problem, tolerance=1e-6)
    limited = problem.with_limits([0.9 * float(free.constraint_value[0])])
    solution = painless.solve(limited, tolerance=1e-6)
    assert solution.status.kind in ("solved", "infeasible")
    if solution.status.kind == "solved":
        assert solution.reward_value >= free.reward_value * (1 - 1e-6)
