"""The answer of `solve`, and the score's merit, depend on neither units, nor order, nor copies."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from painless import CMDP, garnet, solve
from painless.bellman import policy_value
from painless.policies.table import dirichlet_policy
from painless.problem.units import normalise
from painless.study.score.merit import DELTA, Judge

factors = st.floats(-3, 3).map(lambda power: 10.0**power)
shifts = st.floats(-3, 3)  # in units of the factor


@st.composite
def problems(draw):
    """Garnets with one to three binding constraints."""
    return garnet(
        draw(st.integers(3, 12)),
        draw(st.integers(2, 4)),
        draw(st.integers(2, 3)),
        draw(st.integers(1, 3)),
        seed=draw(st.integers(0, 10_000)),
        discount=draw(st.sampled_from([0.5, 0.8, 0.9, 0.95])),
        tightness=draw(st.sampled_from([0.3, 0.5, 0.8])),
    )


def in_units(problem, reward=(1.0, 0.0), constraint=(1.0, 0.0)):
    """Return the problem with utilities times a factor, plus the factor times a shift."""
    (factor, shift), (other, offset) = reward, constraint
    return problem.with_constraints(
        factor * (problem.reward + shift),
        other * (problem.constraint_reward + offset),
        other * (problem.threshold + offset / (1 - problem.discount)),
    )


def reordered(problem, order):
    """Return the problem with state `order[i]` in place i."""
    return CMDP(
        problem.transition[order][:, :, order],
        problem.reward[order],
        initial=problem.initial[order],
        discount=problem.discount,
        constraint_reward=problem.constraint_reward[:, order],
        threshold=problem.threshold,
    )


def same_prices(found, expected):
    """At a vertex any multiplier of the range proves the bound; the range is what does not depend on units."""
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def copied(problem, index):
    """Return the problem with one constraint twice."""
    rows = [*range(problem.shape[2]), index]
    return problem.with_constraints(problem.reward, problem.constraint_reward[rows], problem.threshold[rows])


def answer(problem):
    """Return values in units of their spans, and the policy."""
    solution = solve(problem, tolerance=1e-8)
    assert solution.feasible
    return solution


def assert_same(solution, plain, *, value=None, policy=None):
    """Hold an answer to the plain one: the value, as it would be in plain units, and the policy's table."""
    value = solution.reward_value if value is None else value
    policy = solution.policy.probabilities if policy is None else policy
    assert value == pytest.approx(plain.reward_value, rel=1e-6, abs=1e-6)
    np.testing.assert_allclose(policy, plain.policy.probabilities, atol=1e-3)


@settings(max_examples=12, deadline=None)
@given(problems(), factors, shifts)
def test_units_of_the_reward(problem, factor, shift):
    plain, scaled = answer(problem), answer(in_units(problem, reward=(factor, shift)))
    assert_same(scaled, plain, value=scaled.reward_value / factor - shift / (1 - problem.discount))
    np.testing.assert_allclose(scaled.constraint_value, plain.constraint_value, rtol=1e-5, atol=1e-5)
    same_prices(scaled.price_range / factor, plain.price_range)


@settings(max_examples=12, deadline=None)
@given(problems(), factors, shifts)
def test_units_of_the_constraints(problem, factor, shift):
    plain, scaled = answer(problem), answer(in_units(problem, constraint=(factor, shift)))
    assert_same(scaled, plain)
    level = shift / (1 - problem.discount)
    np.testing.assert_allclose(
        scaled.constraint_value / factor - level, plain.constraint_value, rtol=1e-5, atol=1e-5
    )
    same_prices(scaled.price_range * factor, plain.price_range)


@settings(max_examples=12, deadline=None)
@given(problems(), st.randoms(use_true_random=False))
def test_order_of_the_states(problem, random):
    order = list(range(problem.shape[0]))
    random.shuffle(order)
    plain, moved = answer(problem), answer(reordered(problem, order))
    assert_same(moved, plain, policy=moved.policy.probabilities[np.argsort(order)])


@settings(max_examples=12, deadline=None)
@given(problems(), st.integers(0, 2))
def test_copies_of_a_constraint(problem, index):
    count, index = problem.shape[2], index % problem.shape[2]
    plain, doubled = answer(problem), answer(copied(problem, index))
    assert_same(doubled, plain)
    np.testing.assert_allclose(doubled.constraint_value[:count], plain.constraint_value, rtol=1e-5, atol=1e-5)
    ranges = doubled.price_range[:count].copy()
    np.testing.assert_allclose(doubled.price_range[count], ranges[index], rtol=1e-3, atol=1e-4)
    assert ranges[index, 0] <= 1e-4  # loosening one of two copies brings nothing
    ranges[index, 0] = plain.price_range[index, 0]
    same_prices(ranges, plain.price_range)


@settings(max_examples=8, deadline=None)
@given(problems(), factors, shifts, st.integers(0, 1000))
def test_merit(problem, factor, shift, seed):
    rng = np.random.default_rng(seed)
    policy = dirichlet_policy(problem.actions, rng) ** 4
    policy /= policy.sum(-1, keepdims=True)

    prices = solve(problem, tolerance=1e-8).price_range
    # At a kink the merit is that of any of them
    assume((np.ptp(prices, 1) <= 1e-6 * (1 + prices[:, 0])).all())

    def merit(changed, table=policy):
        normal = normalise(changed)[0]
        return float(Judge.of(normal).merit(policy_value(normal, table)))

    plain = merit(problem)
    units = (factor, shift)
    assert merit(in_units(problem, reward=units, constraint=units)) == pytest.approx(
        plain, rel=1e-4, abs=1e-8
    )
    order = rng.permutation(problem.shape[0])
    assert merit(reordered(problem, order), policy[order]) == pytest.approx(plain, rel=1e-6, abs=1e-8)
    # Of a copy only δ is counted again: λ* is shared.
    normal = normalise(problem)[0]
    missed = float(Judge.of(normal).violation(policy_value(normal, policy))[0])
    assert merit(copied(problem, 0)) == pytest.approx(plain + DELTA * missed, rel=1e-5, abs=1e-8)
