"""Certificates: every answer has one that verifies, and one that was changed is refused or still true."""

import ast
import json
import re
import shutil
import subprocess
import sys
import zipfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import painless
from painless import CBP, ColumnGeneration, InputError, LinearProgram, verify
from painless.problem import Criterion
from painless.solving.certificate_files import (
    certify,
    certify_policy,
    check_certificate,
    model_of,
    write_certificate,
)
from painless.solving.paired_doubles import SAFE, Outward
from painless.solving.residuals import pair_surplus
from painless.solving.solution import Kind
from tests import averages, ending_models, mutants, snippets
from tests.fuzz.families import FAMILIES
from tests.fuzz.running import problem as drawn
from tests.problems import garnets
from tests.test_finite_horizon import models as horizons

WORLD_OPTIMUM = 1.652721843048


def two_actions(limit=4.0, **changes):
    """One state: reward 1 or 0, V_c of 3 or 7; a limit of 4 is met by a quarter of the second, which is worth 3/2."""
    given = {
        "reward": [[1.0, 0.0]],
        "initial": [1.0],
        "discount": 0.5,
        "constraint_reward": [[1.5, 3.5]],
        "threshold": limit,
    }
    return painless.CMDP(np.ones((1, 2, 1)), **(given | changes))


def by_hand(made, /, **changes):
    """The proof of `two_actions` by hand: the price is 1/2, and r + c/2 is 7/4 whatever one does, hence 7/2 − 4/2 = 3/2."""
    certificate = verify.Certificate(
        problem=verify.content_hash(model_of(made)),
        policy=np.array([[0.75, 0.25]]),
        weight=np.array([1.0, 0.5]),
        upper_constant=np.array([1.75, 0.0]),
        upper_value=np.zeros(1),
        lower_constant=np.array([[0.75, 0.0], [2.0, 0.0]]),
        lower_value=np.zeros((2, 1)),
        lower_bound=1.5,
        upper_bound=1.5,
        violation=(0.0,),
    )
    return certificate._replace(**changes)


# ------------------------------------------------------------ what the checker says


def test_a_proof_by_hand():
    problem = two_actions()
    verdict = verify.verify(by_hand(problem), model_of(problem))
    assert verdict.sentence == "Optimal value in [1.5, 1.5]; limit 1 met with at least 0.0 to spare."
    assert verdict == (True, verdict.sentence, 1.5, 1.5, (0.0,), False)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"upper_constant": np.array([1.75, -1e-15])},
            "the upper value is too small in state 0 for action 0, by 1e-15",
        ),
        (
            {"upper_value": np.array([-1e-9])},
            "the upper value is too small in state 0 for action 0, by 5e-10",
        ),
        (
            {"lower_constant": np.array([[0.75, 1e-15], [2.0, 0.0]])},
            "the lower value of the objective is too large in state 0 for the policy, by 1e-15",
        ),
        (
            {"lower_value": np.array([[0.0], [1e-15]])},
            "the lower value of limit 1 is too large in state 0 for the policy, by 5e-16",
        ),
        ({"weight": np.array([1.0, 0.5 + 1e-15])}, "the upper value is too small in state 0 for action 0"),
        ({"weight": np.array([1.0, -0.5])}, "weight has an entry below 0"),
        ({"weight": np.array([0.5, 0.5])}, "its weights are not those of a bound"),
        ({"weight": np.array([0.0, 0.5])}, "do not prove that no policy meets all limits"),
        ({"weight": np.array([1.0])}, r"weight has shape \(1,\)"),
        ({"upper_value": np.array([np.nan])}, "upper_value has an entry that is not finite"),
        ({"upper_value": np.zeros(1, np.float32)}, "type float32"),
        ({"upper_value": np.array([1e200])}, "claims the upper bound 1.5 and proves 1"),
        (
            {"upper_value": np.array([1e308]), "upper_constant": np.array([1e308, 1e308])},
            "beyond the range of doubles",
        ),
        ({"policy": np.array([[0.75, 0.0]])}, "its policy is not a distribution"),
        ({"policy": np.array([[1.25, -0.25]])}, "policy has an entry below 0"),
        ({"policy": np.array([[0.7, 0.3]])}, "the lower value of the objective is too large"),
        ({"lower_bound": np.nextafter(1.5, 2)}, "claims the lower bound 1.5.* and proves 1.5"),
        ({"upper_bound": np.nextafter(1.5, 1)}, "claims the upper bound 1.49.* and proves 1.5"),
        ({"upper_bound": None}, "claims the upper bound None"),
        ({"violation": ()}, "something of 0 limits"),
        ({"infeasible": True}, "claims that no policy meets all limits, which its arrays do not prove"),
        ({"problem": "0" * 64}, "it was written for another problem"),
    ],
)
def test_what_is_not_proved_is_refused(changes, why):
    problem = two_actions()
    verdict = verify.verify(by_hand(problem, **changes), model_of(problem))
    assert not verdict.verified
    assert verdict.lower_bound is None
    assert re.search(why, verdict.sentence), verdict.sentence


def test_a_limit_that_is_missed_is_said_so():
    """The same policy misses 4.5 by a half; no policy that meets it exceeds 7/2 − 9/4."""
    problem = two_actions(4.5)
    changed = by_hand(problem, upper_bound=1.25, violation=(0.5,))
    verdict = verify.verify(changed, model_of(problem))
    assert (
        verdict.sentence
        == "Value 1.5, limit 1 missed by at most 0.5; no policy that meets the limits exceeds 1.25."
    )
    assert not verify.verify(changed._replace(violation=(0.25,)), model_of(problem)).verified


def test_costs_are_in_the_users_terms():
    problem = two_actions(reward=None, cost=[[-1.0, 0.0]])
    certificate = by_hand(problem, lower_bound=-1.5, upper_bound=-1.5)
    assert verify.verify(certificate, model_of(problem)).verified
    problem = two_actions(4.5, reward=None, cost=[[-1.0, 0.0]])
    missed = by_hand(problem, lower_bound=-1.25, upper_bound=-1.5, violation=(0.5,))
    sentence = verify.verify(missed, model_of(problem)).sentence
    assert (
        sentence
        == "Value -1.5, limit 1 missed by at most 0.5; no policy that meets the limits costs less than -1.25."
    )


def test_two_steps_by_hand():
    """Twice reward 1 or 0, and c of 3/2 or 7/2: a limit of 4 is met by the second action in a quarter of all steps, at the price 1/2."""
    rest = {"initial": [1.0], "horizon": 2, "constraint_reward": [[1.5, 3.5]], "threshold": 4.0}
    problem = painless.CMDP(np.ones((1, 2, 1)), [[1.0, 0.0]], **rest)
    certificate = by_hand(
        problem,
        policy=np.array([[1.0, 0.0], [0.5, 0.5]]),
        upper_value=np.zeros(2),
        lower_value=np.array([[-0.25, -0.25], [0.5, 0.5]]),
        criterion="finite horizon",
    )
    model = model_of(problem)
    verdict = verify.verify(certificate, model)
    assert (verdict.verified, verdict.lower_bound, verdict.upper_bound) == (False, None, None)
    assert "the lower value of limit 1 is too large in state 0 at step 0 for the policy" in verdict.sentence
    # step 1 collects 1/2 and 5/2, which is 3/4 − 1/4 and 2 + 1/2; step 0 collects 1 and 3/2
    certificate = certificate._replace(lower_value=np.array([[0.0, -0.25], [0.0, 0.5]]))
    verdict = verify.verify(certificate, model)
    assert verdict.sentence == "Optimal value in [1.5, 1.5]; limit 1 met with at least 0.0 to spare."
    longer = verify.verify(certificate._replace(criterion="discounted"), model)
    assert (
        longer.sentence
        == "Not verified: its criterion is 'discounted', and that of the problem 'finite horizon'."
    )


def lasting(**changes):
    """Two states for ever: from 0 one goes to 1 at once, and stays; 1 earns 3 there."""
    model = verify.Model(
        actions=np.ones((2, 1), dtype=bool),
        pointer=np.array([0, 1, 2]),
        successor=np.array([1, 1]),
        probability=np.ones(2),
        utility=np.array([[5.0, 3.0]]),
        threshold=np.empty(0),
        initial=np.array([1.0, 0.0]),
        discount=1.0,
        minimise=False,
        sense=(),
        average=True,
    )
    certificate = verify.Certificate(
        problem=verify.content_hash(model),
        criterion="long-run average",
        policy=np.ones((1, 2, 1)),
        share=np.ones(1),
        weight=np.ones(1),
        upper_gain=np.full(2, 3.0),
        upper_value=np.array([2.0, 0.0]),
        upper_steps=np.zeros(2),
        lower_gain=np.full((1, 1, 2), 3.0),
        lower_value=np.zeros((1, 1, 2)),
        lower_steps=np.array([[1.5, 0.0]]),
        lower_bound=3.0,
        upper_bound=3.0,
    )
    return model, certificate._replace(**changes)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, None),
        ({"upper_value": np.zeros(2), "upper_steps": np.array([1.0, 0.0])}, None),
        ({"upper_value": np.zeros(2)}, "the upper gain is too small in state 0 for action 0, by 2"),
        ({"upper_steps": np.array([0.0, 1.0])}, "the number of steps is too small in state 0 for action 0"),
        ({"upper_steps": np.full(2, -1.0)}, "upper_steps has an entry below 0"),
        ({"upper_gain": np.array([2.9, 3.0])}, "the upper gain is too small in state 0 for action 0, by 0.1"),
        ({"upper_gain": np.array([3.0, 2.9])}, "the upper gain is too small in state 1 for action 0, by 0.1"),
        (
            {"lower_gain": np.array([[[3.1, 3.0]]])},
            "the lower gain of the objective is too large in state 0 for the policy, by 0.1",
        ),
        (
            {"lower_gain": np.full((1, 1, 2), 3.1)},
            "the lower gain of the objective is too large in state 1 for the policy, by 0.1",
        ),
        ({"lower_steps": np.array([[-1.0, 0.0]])}, "lower_steps has an entry below 0"),
        (
            {"lower_steps": np.array([[0.0, 1.0]])},
            "the number of steps is too small in state 0 for the policy",
        ),
        ({"share": np.array([0.5])}, "its shares are not a distribution"),
        ({"policy": np.ones((2, 1))}, "policy has shape"),
    ],
)
def test_an_average_by_hand(changes, why):
    model, certificate = lasting(**changes)
    verdict = verify.verify(certificate, model)
    assert verdict.verified == (why is None), verdict.sentence
    assert why is None or why in verdict.sentence


def ending(**changes):
    """From 0, which costs 1, the process ends, comes back or rests in 1, where nothing is paid: a third each, unless it goes round at 2 a time."""
    model = verify.Model(
        actions=np.array([[True, True], [True, False], [True, False]]),
        pointer=np.array([0, 3, 4, 5, 6]),
        successor=np.array([0, 1, 3, 0, 1, 2]),
        probability=np.array([1 / 3, 1 / 3, 1 / 3, 1.0, 1.0, 1.0]),
        utility=np.array([[-1.0, -2.0, 0.0, 7.0]]),
        threshold=np.empty(0),
        initial=np.array([1.0, 0.0, 0.0]),
        discount=1.0,
        minimise=False,
        sense=(),
    )
    certificate = verify.Certificate(
        problem=verify.content_hash(model),
        criterion="total reward",
        policy=np.array([[[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]]),
        share=np.ones(1),
        weight=np.ones(1),
        upper_value=np.array([-1.5, 0.0, 0.0]),
        stop_weight=np.array([1.0]),
        stop_value=np.zeros(3),
        lower_value=np.array([[[-1.5, 0.0, 0.0]]]),
        lower_steps=np.zeros((1, 3)),
        lower_bound=-1.5,
        upper_bound=-1.5,
    )
    return model, certificate._replace(**changes)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"lower_bound": -1.5000001, "upper_bound": -1.4999999}, None),
        (
            {"upper_value": np.array([-1.6, 0.0, 0.0])},
            "the upper value is too small in state 0 for action 0",
        ),
        (
            {"upper_value": np.array([-2.9, -3.0, 0.0])},
            "the stop value is too small in state 1 for action 0, by 1",
        ),  # where it may rest, V < 0
        ({"stop_weight": np.array([0.5])}, "the stop value is too small in state 0 for action 0, by 0.5"),
        ({"stop_weight": np.array([-1.0])}, "stop_weight has an entry below 0"),
        ({"lower_value": np.array([[[-1.1, 1.0, 0.0]]])}, "the number of steps is too small in state"),
        ({"lower_value": np.array([[[-1.0, 0.0, 0.0]]])}, "the lower value of the objective is too large"),
        ({"lower_steps": np.array([[-1.0, 0.0, 0.0]])}, "lower_steps has an entry below 0"),
        ({"lower_value": np.array([[[-1.5000001, 0.0, 9.0]]])}, None),  # where it never comes
        ({"lower_bound": -1.4}, "claims the lower bound"),
    ],
)
def test_a_total_by_hand(changes, why):
    easy = {
        "upper_value": np.array([-1.4999999, 0.0, 0.0]),
        "lower_value": np.array([[[-1.5000001, 0.0, 0.0]]]),
    }
    model, certificate = ending(**easy | {"lower_bound": -1.5000001, "upper_bound": -1.4999999} | changes)
    verdict = verify.verify(certificate, model)
    assert verdict.verified == (why is None), verdict.sentence
    assert why is None or re.search(why, verdict.sentence), verdict.sentence


def test_infeasibility_by_hand():
    """V_c is at most 7: with weight 1 on the constraint alone, 7 − 7.5 < 0."""
    problem = two_actions(7.5)
    proof = {"weight": np.array([0.0, 1.0]), "upper_constant": np.array([3.5, 0.0]), "lower_bound": None}
    certificate = by_hand(problem, **proof, upper_bound=None, violation=(3.5,), infeasible=True)
    verdict = verify.verify(certificate, model_of(problem))
    assert verdict.sentence == "No policy meets all limits; limit 1 missed by at most 3.5."
    assert not verify.verify(certificate._replace(infeasible=False), model_of(problem)).verified


def test_a_limit_that_every_policy_meets_has_no_price():
    problem = two_actions(-1e15)
    certificate = certify_policy(problem, np.array([[1.0, 0.0]]), np.array([1.0, 0.5]))
    np.testing.assert_array_equal(certificate.weight, [1.0, 0.0])
    assert certificate.upper_bound == certificate.lower_bound == 2.0


def test_rows_count_as_their_quotients():
    """Of the stored rows (0.7, 0.2, 0.1) and (1/3, 1/3, 1/3) neither sums to 1; whatever is paid in every state is worth 1/(1−γ)."""
    rows = np.array([[[0.7, 0.2, 0.1]], [[1 / 3, 1 / 3, 1 / 3]], [[0.1, 0.2, 0.7]]])
    assert any(sum(map(Fraction, row[0])) != 1 for row in rows.tolist())
    problem = painless.CMDP(rows, np.ones((3, 1)), initial=[0.1, 0.2, 0.7], discount=0.99)
    model = model_of(problem)
    value = np.full(3, 2.0**-30)  # constant, so that only the sums of rows matter
    constant = np.array([1.0, 0.0])
    surplus = pair_surplus(
        model, Outward(model.probability), np.arange(3), np.ones(1), (*constant, value), value
    )
    np.testing.assert_allclose(surplus, 2.0**-30 * (1 - 0.99), rtol=1e-15)
    side, own = verify.Side(model), verify.Exact.of(1.0) + verify.Exact.of(value)
    above, below = side._surplus(np.ones(1), own, verify.Exact.of(value), slice(0, 3))
    assert {Fraction(*pair) for pair in zip(above, below, strict=True)} == {
        Fraction(1, 2**30) * (1 - Fraction(0.99))
    }


def test_a_limit_that_leaves_no_choice():
    """A budget of 0 needs no price: pairs that pay, or lead to where one must pay, are not taken."""
    rows = np.zeros((3, 2, 3))
    rows[0, 0, 1] = rows[0, 1, 2] = rows[1, :, 1] = rows[2, :, 2] = 1.0
    given = {"initial": [1.0, 0.0, 0.0], "discount": 0.9, "budget": 0.0}
    cost = [[0.0, 0.0], [0.0, 0.0], [1.0, 1e-3]]
    problem = painless.CMDP(rows, [[0.0, 0.0], [1.0, 0.0], [5.0, 0.0]], constraint_cost=cost, **given)
    np.testing.assert_array_equal(verify.allowed_pairs(model_of(problem)), [0, 2, 3])
    certificate = certify(painless.solve(problem), problem)
    verdict = verify.verify(certificate, model_of(problem))
    assert verdict.violation == (0.0,)
    assert verdict.lower_bound == pytest.approx(9.0, rel=1e-14)
    assert verdict.upper_bound == pytest.approx(9.0, rel=1e-14)


def test_without_a_future_a_limit_leaves_a_choice():
    """At a discount of 0 it does not matter that the best first step leads to where one must pay."""
    rows = np.zeros((2, 2, 2))
    rows[0, 0, 1] = rows[0, 1, 0] = rows[1, :, 1] = 1.0
    given = {
        "initial": [1.0, 0.0],
        "discount": 0.0,
        "budget": 0.0,
        "constraint_cost": [[0.0, 0.0], [1.0, 1.0]],
    }
    problem = painless.CMDP(rows, [[5.0, 0.0], [0.0, 0.0]], **given)
    solution = painless.solve(problem)
    assert solution.reward_value == 5.0
    assert solution.upper_bound == pytest.approx(5.0, rel=1e-14)
    np.testing.assert_array_equal(verify.allowed_pairs(model_of(problem)), [0, 1])
    verdict = verify.verify(certify(solution, problem), model_of(problem))
    assert (verdict.lower_bound, verdict.upper_bound, verdict.violation) == (5.0, 5.0, (0.0,))


# ------------------------------------------------------------ arithmetic


@settings(max_examples=300)
@given(st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=30), st.integers(0, 2**32 - 1))
def test_averages_are_enclosed(values, seed):
    rng = np.random.default_rng(seed)
    value = np.array(values)
    probability = rng.dirichlet(np.full(len(value), 0.3)) + 1e-30
    pointer = np.array([0, len(value)])
    outward = Outward(probability, value)
    found = outward.average(probability, value, pointer)
    chances = [Fraction(one) for one in probability.tolist()]
    true = sum(p * Fraction(v) for p, v in zip(chances, value.tolist(), strict=True)) / sum(chances)
    assert Fraction(float(outward.least(found)[0])) <= true <= -Fraction(float(outward.least(-found)[0]))
    size = float(np.abs(value).max())
    assert float(found.error[0]) <= 1e-28 * size + 1e-170
    assert abs(Fraction(float(found.high[0])) + Fraction(float(found.low[0])) - true) <= Fraction(
        float(found.error[0]) * SAFE
    )


numbers = st.one_of(st.floats(-1e40, 1e40), st.sampled_from([0.0, 1e-310, 1e-160, -1.0, 0.1]))


@settings(max_examples=300)
@given(st.lists(numbers, min_size=4, max_size=4))
def test_sums_and_products_are_enclosed(given):
    """(a + b)·(c + d) − a·d."""
    outward = Outward(np.array(given))
    found, true, whole = (
        (a + b) * (c + d) + a * of(-given[3])
        for (a, b, c, d), of in ((map(of, given), of) for of in (outward.of, Fraction, verify.Exact.of))
    )
    assert Fraction(int(whole.whole), 2**whole.places) == true
    low, high = (float(sign * outward.least(found if sign > 0 else -found)) for sign in (1, -1))
    assert Fraction(low) <= true <= Fraction(high)


# ------------------------------------------------------------ every answer has a certificate


def agree(problem, solution):
    """Hold a solution against what its certificate proves: the same verdict, and no interval that is visibly wider."""
    certificate, model = certify(solution, problem), model_of(problem)
    verdict = verify.verify(certificate, model)
    assert verdict.verified, verdict.sentence
    assert verdict.infeasible == (solution.status.kind is Kind.INFEASIBLE)
    stepwise = problem.criterion in (Criterion.DISCOUNTED, Criterion.HORIZON)
    for j, (mine, own) in enumerate(zip(verdict.violation, solution.violation, strict=True)):
        most = np.abs(problem.utility[1 + j]).max() + abs(problem.limit[j])
        rounding = (1e-15 * (abs(problem.limit[j]) + own) if own else 0.0) if stepwise else 1e-9 * most
        assert mine <= own + rounding
    if verdict.infeasible:
        return certificate
    sign = problem.sign[0]
    bounds = (
        (verdict.upper_bound, verdict.lower_bound)
        if problem.minimise
        else (verdict.lower_bound, verdict.upper_bound)
    )
    low, high = (sign * end for end in bounds)
    size = float(np.abs(problem.reward[problem.actions]).max()) * problem.unit
    if np.isfinite(solution.upper_bound):
        slip = 1e-13 if stepwise else 1e-9
        assert high <= sign * solution.upper_bound + max(0.02 * solution.gap, slip * size)
    assert low >= sign * solution.reward_value - (1e-10 if stepwise else 1e-8) * size
    return certificate


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_answer_verifies(family, seed):
    problem = drawn(family, 7000 + seed)[0]
    for algorithm in (None, ColumnGeneration()):
        certificate = agree(problem, painless.solve(problem, algorithm, tolerance=1e-6))
        assert verify.verify(certificate, model_of(problem)).verified


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_answer_with_a_horizon_verifies(family):
    """Limits of discounted problems are mostly out of reach in a few steps; what uniform play collects is not."""
    for seed, (horizon, discount) in enumerate([(0, 1.0), (1, 1.0), (4, 1.0), (7, 0.9)]):
        made = drawn(family, 7100 + seed)[0].with_horizon(horizon, discount)
        played = painless.value(made.actions / made.actions.sum(1, keepdims=True), made)
        for problem in (made, made.with_limits(played.constraint_value)):
            certificate = agree(problem, painless.solve(problem, tolerance=1e-6))
            assert verify.verify(certificate, model_of(problem)).verified


@settings(max_examples=50, deadline=None)
@given(horizons())
def test_steps_that_differ_verify(model):
    problem = painless.CMDP(**model[0])
    agree(problem, painless.solve(problem, tolerance=1e-9))


@pytest.mark.parametrize("seed", range(60))
def test_every_average_verifies(seed):
    """In models of all kinds: periodic, multichain, with transient states, masks, several limits, and draws between policies."""
    problem = averages.random_problem(np.random.default_rng([77, seed]))
    certificate = agree(problem, painless.solve(problem, tolerance=1e-6))
    assert verify.verify(certificate, model_of(problem)).verified


@pytest.mark.parametrize("seed", range(60))
def test_every_total_verifies(seed):
    """With ends, rows that end, loops that lose, and several limits."""
    problem = ending_models.random_problem(np.random.default_rng([78, seed]))
    certificate = agree(problem, painless.solve(problem, tolerance=1e-6))
    assert verify.verify(certificate, model_of(problem)).verified


def test_a_long_way_verifies():
    """A walk of 1,000 steps on average for every step forwards, of which there are 20: much more than what a step costs."""
    rows = np.zeros((21, 1, 21))
    rows[np.arange(20), 0, np.arange(20)] = 0.999
    rows[np.arange(20), 0, np.arange(1, 21)] = 0.001
    rows[20, 0, 20] = 1.0
    problem = painless.CMDP(rows, cost=np.ones((21, 1)), initial=np.eye(21)[0], end=[20])
    certificate = agree(problem, painless.solve(problem))
    assert certificate.lower_bound == pytest.approx(20_000, rel=1e-9)
    assert certificate.upper_bound == pytest.approx(20_000, rel=1e-9)


def test_what_a_policy_would_do_elsewhere_does_not_matter():
    """It ends at once; in a state that it never comes to, where others may, it would lose for ever."""
    rows = np.zeros((3, 2, 3))
    rows[0, 0, 2] = rows[0, 1, 1] = rows[1, 0, 1] = rows[1, 1, 2] = rows[2, :, 2] = 1.0
    problem = painless.CMDP(rows, [[1.0, 1.0], [-1.0, -1.0], [0.0, 0.0]], initial=[1, 0, 0], end=[2])
    table = np.array([[[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]])
    found = certify_policy(problem, table, np.ones(1), share=np.ones(1))
    assert (found.lower_bound, found.upper_bound) == (1.0, 1.0)


def test_every_bit_counts_at_a_limit():
    """The policies meet their limits by less than the last bit, which the solver knows; so must the checker."""
    for family, seed, horizon in (("uneven_rows", 909093, 4), ("offsets", 909090, None)):
        problem = drawn(family, seed)[0]
        problem = problem if horizon is None else problem.with_horizon(horizon, 0.9)
        agree(problem, painless.solve(problem, tolerance=1e-6))


def test_a_draw_between_policies_verifies(run, tmp_path):
    """Stay and earn 1, or go where the limit is met, for ever: half of each is worth a half, and no stationary policy comes near."""
    rows = np.zeros((2, 2, 2))
    rows[0, 0, 0] = rows[0, 1, 1] = rows[1, :, 1] = 1.0
    rest = {"constraint_reward": [[0.0, 0.0], [1.0, 1.0]], "threshold": 0.5, "average": True}
    problem = painless.CMDP(rows, [[1.0, 0.0], [0.0, 0.0]], initial=[1.0, 0.0], **rest)
    solution = painless.solve(problem)
    certificate = agree(problem, solution)
    assert certificate.policy.shape == (2, 2, 2)
    np.testing.assert_allclose(certificate.share, [0.5, 0.5], atol=1e-3)
    solution.save(tmp_path / "answer", problem)
    code, shown, _ = run("verify", tmp_path / "answer", tmp_path / "answer" / "problem.npz", "--exact")
    assert (code, shown[:16]) == (0, "Optimal value in")


@settings(max_examples=25, deadline=None)
@given(garnets())
def test_every_garnet_verifies(problem):
    agree(problem, painless.solve(problem))


@pytest.mark.parametrize(
    "solve",
    [
        lambda world: painless.solve(world, LinearProgram()),
        lambda world: painless.solve(world, CBP(), iterations=30),
        lambda world: painless.solve(world, CBP(), iterations=5, output=painless.Output.UNIFORM),
    ],
)
def test_answers_of_other_algorithms_verify(solve):
    for world in (painless.gridworld(), painless.gridworld(constraints=3)):
        agree(world, solve(world))


@pytest.mark.parametrize("constraints", [0, 2])
def test_a_swept_model_verifies(constraints):
    problem = painless.garnet(1500, 3, 4, constraints, seed=5, discount=0.99, dense=False)
    for tolerance in (1e-3, 1e-8):
        agree(problem, painless.solve(problem, tolerance=tolerance))


def test_a_swept_infeasible_model_verifies():
    problem = painless.garnet(1500, 3, 4, 2, seed=5, dense=False).with_limits([9.0, 9.5])
    agree(problem, painless.solve(problem))


@pytest.mark.parametrize("family", ["plain", "mixed_senses", "units", "masks", "ties"])
def test_points_of_a_frontier_verify(family):
    """Of one constraint: the policy of a point, and its price, prove its value to within the gap of its edge."""
    problem = next(made for seed in range(50) if (made := drawn(family, seed)[0]).shape[2] == 1)
    curve = painless.frontier(problem)
    limits = curve.threshold
    edge = max(
        curve.gap.max(initial=0.0), 1e-9 * (np.ptp(curve.reward_value) + np.abs(curve.reward_value).max())
    )
    for limit in (*limits[:-1], *(limits[1:] + limits[:-1]) / 2):
        point, same = curve.at(limit), problem.with_limits([limit])
        found = certify_policy(same, point.policy.probabilities, np.array([1.0, point.multiplier[0]]))
        verdict = verify.verify(found, model_of(same))
        assert verdict.verified, verdict.sentence
        assert verdict.upper_bound - verdict.lower_bound <= 3 * edge
        assert verdict.lower_bound - edge <= point.reward_value <= verdict.upper_bound + edge
        assert verdict.violation[0] <= 1e-9 * (abs(limit) + np.ptp(limits))


@pytest.mark.parametrize(
    "given",
    [
        ("gridworld",),
        ("gridworld-3", "--constraint", "1"),
        ("gridworld", "--horizon", "6", "--threshold", "0.3"),
        ("maintenance", "--average"),
    ],
)
def test_every_vertex_of_a_frontier_verifies(run, tmp_path, given):
    code, shown, _ = run("frontier", *given, "--certificate", tmp_path / "proof", "--json")
    vertices = json.loads(shown)["vertices"]
    assert code == 0
    problem = [word for word in given if word not in ("--constraint", "1")]
    code, shown, _ = run("verify", tmp_path / "proof", *problem, "--json")
    found = json.loads(shown)
    assert (code, found["verified"], len(found["vertices"])) == (0, True, len(vertices))
    for verdict, vertex in zip(found["vertices"], vertices, strict=True):
        size = 1e-6 * (1 + abs(vertex["reward_value"]))
        assert verdict["lower_bound"] - size <= vertex["reward_value"] <= verdict["upper_bound"] + size
        assert verdict["upper_bound"] - verdict["lower_bound"] <= 2 * size
    code, shown, _ = run("verify", tmp_path / "proof", *problem)
    assert shown.startswith("Vertex 0: ")


def test_damaged_lists_of_vertices_are_refused(run, tmp_path):
    assert run("frontier", "gridworld", "--certificate", tmp_path)[0] == 0
    assert run("verify", tmp_path, "gridworld", "-p", "discount=0.8")[0] == 1
    for content in (
        '{"format": "other", "limit": [[1.0]]}',
        '{"limit": 3}',
        "[",
        '{"format": "painless-certificates", "limit": []}',
    ):
        (tmp_path / "vertices.json").write_text(content)
        code, _, error = run("verify", tmp_path, "gridworld")
        assert code == 2
        assert "vertices.json" in error


def test_nothing_is_proved_of_a_policy_that_is_none():
    world = painless.gridworld()
    with pytest.raises(InputError, match="its policy is not a distribution"):
        certify_policy(world, np.full((25, 4), 0.2), np.ones(2))


def test_a_solution_without_its_weights_is_certified_by_its_prices(tmp_path):
    """As one from a file that has none."""
    world = painless.gridworld()
    solution = painless.solve(world)
    object.__setattr__(solution, "proof_weight", None)
    agree(world, solution)


def test_a_stopped_solve_has_a_certificate():
    """Without any price the bound is that of the problem without limits."""
    world = painless.gridworld()
    solution = painless.solve(world, time_limit=1e-9)
    verdict = verify.verify(certify(solution, world), model_of(world))
    assert verdict.verified
    assert verdict.upper_bound >= WORLD_OPTIMUM


# ------------------------------------------------------------ files and the command


@pytest.fixture
def folder(tmp_path):
    write_certificate(tmp_path / "proof", painless.solve(painless.gridworld()), painless.gridworld())
    return tmp_path / "proof"


def test_saving_a_solution_writes_its_certificate(tmp_path):
    world = painless.gridworld()
    painless.solve(world).save(tmp_path / "a", world)
    assert check_certificate(tmp_path / "a", world).verified
    painless.solve(world).save(tmp_path / "b")
    assert not (tmp_path / "b" / "certificate.json").exists()


def test_dense_and_sparse_are_the_same_problem(folder):
    import scipy.sparse

    world = painless.gridworld()
    rows = scipy.sparse.csr_array(world.transition.reshape(100, 25))
    rest = {"initial": world.initial, "discount": 0.9, "threshold": world.threshold}
    same = painless.CMDP(rows, world.reward, constraint_reward=world.constraint_reward, **rest)
    assert check_certificate(folder, same).verified


def changed_problems():
    world = painless.gridworld()
    arrays = {
        "transition": world.transition,
        "reward": world.reward,
        "constraint_reward": world.constraint_reward,
        "threshold": world.threshold,
        "initial": world.initial,
        "discount": np.array(world.discount),
        "actions": np.ones((25, 4), bool),
    }
    for name in arrays:
        other = {key: value.copy() for key, value in arrays.items()}
        if name == "transition":
            other[name][2, 1, [1, 2, 3]] = [0.0, 0.5, 0.5]
        elif name == "initial":
            other[name][:2] += [0.01, -0.01]
        elif name == "actions":
            other[name][0, 0] = False
        else:
            other[name].flat[0] = np.nextafter(other[name].flat[0], 1)
        yield painless.CMDP(**other | {"discount": float(other["discount"])})
    yield painless.gridworld(constraints=3)
    yield painless.garnet(25, 4, 3, 1)


@pytest.mark.parametrize("other", [*changed_problems()], ids=repr)
def test_the_certificate_of_another_problem_is_refused(folder, other):
    verdict = check_certificate(folder, other)
    assert (verdict.verified, verdict.sentence) == (
        False,
        "Not verified: it was written for another problem.",
    )


def test_the_command(run, folder):
    code, shown, _ = run("verify", folder, "gridworld")
    assert code == 0
    assert shown.startswith("Optimal value in [1.6527218430")
    assert "limit 1 met with at least" in shown
    code, shown, _ = run("verify", folder, "gridworld", "--exact", "--json")
    found = json.loads(shown)
    assert (code, found["verified"], found["violation"]) == (0, True, [0.0])
    assert found["lower_bound"] <= WORLD_OPTIMUM + 1e-12
    assert found["upper_bound"] >= WORLD_OPTIMUM


def test_the_command_refuses(run, folder):
    code, shown, _ = run("verify", folder, "gridworld", "--threshold", "1.4")
    assert (code, shown) == (1, "Not verified: it was written for another problem.\n")
    code, shown, _ = run("verify", folder, "gridworld", "-p", "discount=0.8", "--json")
    assert (code, json.loads(shown)["verified"]) == (1, False)
    code, _, error = run("verify", folder / "none", "gridworld")
    assert code == 2
    assert "does not exist" in error


def test_solve_writes_a_certificate(run, tmp_path):
    place = tmp_path / "a folder.npz"
    assert run("solve", "gridworld", "--threshold", "9", "--certificate", place)[0] == 3
    assert sorted(path.name for path in place.iterdir()) == ["certificate.json", "certificate.npz"]
    code, shown, _ = run("verify", place, "gridworld", "--threshold", "9")
    assert code == 0
    assert "No policy meets all limits" in shown
    (tmp_path / "taken").write_text("x")
    assert run("solve", "gridworld", "--certificate", tmp_path / "taken")[0] == 2


def test_one_folder_may_hold_both(run, tmp_path):
    assert run("solve", "gridworld", "--save", tmp_path, "--certificate", tmp_path)[0] == 0
    assert run("verify", tmp_path, "gridworld")[0] == 0


def test_a_horizon_on_the_command_line(run, tmp_path):
    given = ("gridworld", "--horizon", "5", "--threshold", "0.1")
    assert run("solve", *given, "--certificate", tmp_path / "proof", "--save", tmp_path / "saved")[0] == 0
    for folder in ("proof", "saved"):
        code, shown, _ = run("verify", tmp_path / folder, *given, "--exact")
        assert code == 0
        assert shown.startswith("Optimal value in [")
    code, shown, _ = run("verify", tmp_path / "proof", "gridworld", "--horizon", "6", "--threshold", "0.1")
    assert (code, shown) == (1, "Not verified: it was written for another problem.\n")
    assert run("verify", tmp_path / "proof", "gridworld")[0] == 1


def damages(folder):
    head, arrays = folder / "certificate.json", folder / "certificate.npz"
    content = json.loads(head.read_text())
    stored = dict(np.load(arrays))

    def with_head(**changes):
        head.write_text(json.dumps(content | changes))

    def with_arrays(**changes):
        np.savez(arrays, **(stored | changes))

    return {
        "cut": lambda: arrays.write_bytes(arrays.read_bytes()[:300]),
        "no zip": lambda: arrays.write_bytes(b"nothing"),
        "no json": lambda: head.write_text("{"),
        "a list": lambda: head.write_text("[]"),
        "format": lambda: with_head(format="other"),
        "version": lambda: with_head(version=2),
        "criterion": lambda: with_head(criterion="long-run average"),
        "unknown": lambda: with_head(criterion="risk"),
        "text": lambda: with_head(lower_bound="1.6"),
        "whole": lambda: with_head(upper_bound=2),
        "nan": lambda: with_head(upper_bound=float("nan")),
        "violation": lambda: with_head(violation=None),
        "infeasible": lambda: with_head(infeasible=1),
        "pickle": lambda: with_arrays(policy=np.array([[object()]], dtype=object)),
        "shape": lambda: with_arrays(policy=stored["policy"][:, :2]),
        "integers": lambda: with_arrays(weight=np.array([1, 0])),
        "one number": lambda: with_arrays(policy=np.array(1.0)),
        "other bytes": lambda: with_arrays(upper_value=stored["upper_value"].astype(">f4")),
        "nothing": lambda: with_arrays(lower_value=np.empty(0)),
        "none": lambda: np.savez(arrays, **{name: stored[name] for name in stored if name != "weight"}),
        "large": lambda: unpacks_to_much(arrays),
    }


def unpacks_to_much(path):
    """A few bytes that say that they are 2^60."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("policy.npy", b"x")
        archive.infolist()[0].file_size = 2**60


@pytest.mark.parametrize(
    "name",
    [
        *("cut", "no zip", "no json", "a list", "format", "version"),
        *(
            "criterion",
            "unknown",
            "text",
            "whole",
            "nan",
            "violation",
            "infeasible",
            "pickle",
            "shape",
            "integers",
        ),
        *("one number", "other bytes", "nothing", "none", "large"),
    ],
)
def test_damaged_files_are_refused(folder, name):
    damages(folder)[name]()
    verdict = check_certificate(folder, painless.gridworld())
    assert not verdict.verified
    assert verdict.sentence.startswith("Not verified: ")


# ------------------------------------------------------------ the checker stands alone


def test_the_checker_imports_numpy_alone():
    names = set()
    for node in ast.walk(ast.parse(Path(verify.__file__).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level
            names.add(node.module.split(".")[0])
    assert names - set(sys.stdlib_module_names) == {"numpy"}


def test_the_checker_runs_without_the_package(tmp_path, folder):
    shutil.copy(verify.__file__, tmp_path / "checker.py")
    code = (
        "import sys, pathlib, checker; found = checker.read(pathlib.Path(sys.argv[1]));"
        "print(found.upper_bound > found.lower_bound, 'painless' in sys.modules, 'scipy' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, folder], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["True", "False", "False"]


# ------------------------------------------------------------ mutants


@pytest.mark.parametrize("criterion", mutants.MADE)
def test_a_changed_certificate_is_refused_or_still_true(criterion):
    wrong, refused = mutants.run(50, 3, criterion)
    assert not wrong
    assert refused > 200  # of 350


@pytest.mark.parametrize("criterion", mutants.MADE)
def test_a_checker_that_is_wrong_would_be_noticed(criterion, monkeypatch):
    """With inequalities that may fail by a little, mutants pass that claim what is false."""
    true = verify._floors
    monkeypatch.setattr(verify, "_floors", lambda above, below: true(above * 10**6 + below, below * 10**6))
    total = criterion == "total reward"  # whose judge has an error of its own: it takes more mutants
    assert (
        mutants.run(200, 3, criterion, ("upper_value", "lower_value"))
        if total
        else mutants.run(30, 3, criterion)
    )[0]


# ------------------------------------------------------------ the checker of the page


@pytest.fixture(scope="module")
def page_checker():
    page = Path(__file__).parent.parent / "docs" / "certificates.md"
    code = next(
        block.body
        for block in snippets.blocks(page.read_text(encoding="utf-8"))
        if block.language == "python"
    )
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 40
    names = {}
    exec(code, names)
    return names["check"]


@pytest.mark.parametrize("family", ["plain", "mixed_senses", "masks", "units", "infeasible", "uneven_rows"])
def test_the_checker_of_the_page_agrees(page_checker, family, tmp_path):
    problem = drawn(family, 11)[0]
    painless.solve(problem).save(tmp_path, problem)
    assert page_checker(tmp_path / "problem.npz", tmp_path)
    head, content = tmp_path / "certificate.json", json.loads((tmp_path / "certificate.json").read_text())
    for key in ("lower_bound", "upper_bound"):
        if content[key] is not None:
            beyond = content[key] + (1e-9 if key == "lower_bound" else -1e-9) * abs(content[key])
            head.write_text(json.dumps(content | {key: float(beyond)}))
            assert not page_checker(tmp_path / "problem.npz", tmp_path)
    head.write_text(json.dumps(content | {"infeasible": not content["infeasible"]}))
    assert not page_checker(tmp_path / "problem.npz", tmp_path)
    head.write_text(json.dumps(content))
    stored = dict(np.load(tmp_path / "certificate.npz"))
    stored["upper_value"] -= 1 + np.abs(stored["upper_value"]).max()
    np.savez(tmp_path / "certificate.npz", **stored)
    with pytest.raises(AssertionError, match="is too small"):
        page_checker(tmp_path / "problem.npz", tmp_path)
