"""Shadow prices: proved ranges that hold the derivatives, against the linear program with each limit moved both ways."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import painless
from painless import CBP, CMDP, ColumnGeneration, LinearProgram
from painless.common import render
from painless.planning import prices
from painless.planning.prices import PricePrecision, closed_in, price_ranges
from painless.problem.units import normalise
from painless.solving.solution import Kind

from .problems import garnets

ALGORITHMS = [None, CBP(), LinearProgram(), ColumnGeneration()]


def one_state(reward, constraint, threshold, **rest):
    """One state in which every action stays, discounted by a half."""
    return CMDP(
        np.ones((1, len(reward), 1)),
        [reward],
        initial=[1.0],
        discount=0.5,
        constraint_reward=np.reshape(constraint, (-1, 1, len(reward))),
        threshold=threshold,
        **rest,
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_gridworld_at_the_default_tolerance(algorithm):
    solution = painless.solve(painless.gridworld(), algorithm)
    assert solution.price_range == pytest.approx(np.array([[0.1732303, 0.1732303]]), abs=1e-7)
    assert solution.shown_prices == ["0.17323"]
    assert solution.price_range[0, 0] <= solution.multiplier[0] <= solution.price_range[0, 1]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_limit_that_is_not_tight_costs_nothing(algorithm):
    solution = painless.solve(painless.gridworld(threshold=0.1), algorithm)
    assert solution.multiplier.tolist() == [0.0]
    assert solution.shown_prices == ["0"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_at_a_vertex_loosening_and_tightening_differ(algorithm):
    """V_r over b is min(4 − b, 6 − 2b): both slopes hold at b = 2."""
    problem = one_state([2.0, 1.0, 0.0], [0.0, 1.0, 1.5], [2.0])
    solution = painless.solve(problem, algorithm)
    np.testing.assert_allclose(solution.price_range, [[1.0, 2.0]], rtol=1e-7)
    assert 1 - 1e-7 <= solution.multiplier[0] <= 2 + 1e-7
    assert solution.shown_prices in (["0.999 to 2.01"], ["1 to 2"], ["1 to 2.01"], ["0.999 to 2"])


def test_one_of_two_equal_limits_brings_nothing_alone():
    problem = one_state([1.0, 0.0], [[0.0, 1.0], [0.0, 1.0]], [1.0, 1.0])
    solution = painless.solve(problem)
    np.testing.assert_allclose(solution.price_range, [[0.0, 1.0], [0.0, 1.0]], atol=1e-8)


def test_a_budget_of_nothing_has_a_price_too():
    problem = CMDP(
        np.ones((1, 3, 1)),
        [[1.0, 2.0, 5.0]],
        initial=[1.0],
        discount=0.5,
        constraint_cost=[[0.0, 0.0, 2.0]],
        budget=0.0,
    )
    solution = painless.solve(problem)
    assert solution.reward_value == 4.0
    assert solution.violation.tolist() == [0.0]
    assert solution.price_range == pytest.approx(np.array([[1.5, np.inf]]))


NEXT_TO_NOTHING = {  # reward, constraint rewards and thresholds of one state
    "one": ([0.00691814, 0.88308546], [[0.93579324, 0.80667591]], [0.80667591]),
    "two": (
        [0.93579324, 0.80667591, 0.4576626],
        [[0.36743799, 0.59236105, 0.34507484], [0.35325979, 0.43284351, 0.54538211]],
        [0.36743799, 0.35325979],
    ),
}


@pytest.mark.parametrize("discount", [5e-324, 1e-310, 1e-300])
@pytest.mark.parametrize("algorithm", [None, LinearProgram(), CBP()])
@pytest.mark.parametrize("case", NEXT_TO_NOTHING)
def test_a_slack_of_next_to_nothing_is_none(discount, algorithm, case):
    reward, constraint_reward, threshold = NEXT_TO_NOTHING[case]
    problem = CMDP(
        np.ones((1, len(reward), 1)),
        [reward],
        initial=[1.0],
        discount=discount,
        constraint_reward=np.array(constraint_reward)[:, None],
        threshold=threshold,
    )
    for index in range(len(threshold)):
        for moved in (-1e-4, 0.0, 1e-4):
            limits = problem.limit.copy()
            limits[index] += moved
            solution = painless.solve(problem.with_limits(limits), algorithm, tolerance=1e-6)
            assert solution.status.kind is Kind.SOLVED
            assert solution.reward_value == pytest.approx(max(reward), rel=1e-3)
            assert (solution.price_range[:, 0] <= solution.multiplier).all()


@settings(max_examples=60)
@given(garnets(constraints=(1, 3)), st.sampled_from([None, LinearProgram(), ColumnGeneration()]))
def test_moved_limits_change_the_optimum_by_the_price(problem, algorithm):
    solution = painless.solve(problem, algorithm, tolerance=1e-6)
    if not solution.feasible or not np.isfinite(solution.price_range).all():
        return
    spans = np.array([np.ptp(u[problem.actions]) for u in problem.utility])
    sign = problem.sign
    for i in np.flatnonzero(spans[1:]):
        step = 1e-4 * spans[1 + i] / (1 - problem.discount)
        values = []
        for side in (-1, 1):
            limits = problem.limit.copy()
            limits[i] += side * step * sign[1 + i]
            moved = painless.solve(problem.with_limits(limits), LinearProgram(), tolerance=1e-9)
            values.append(sign[0] * moved.reward_value if moved.feasible else np.nan)
        now = sign[0] * solution.reward_value
        loosened, tightened = (values[0] - now) / step, (now - values[1]) / step
        least, most = solution.price_range[i]
        slip = 1e-4 * (1 + spans[0] / spans[1 + i])  # of the optima that are compared
        assert loosened <= most + slip  # the frontier is concave: prices rise with the limit
        assert np.isnan(tightened) or tightened >= least - slip


def test_digits_that_both_ends_share():
    assert render.price(0.1732302, 0.1732304) == "0.17323"
    assert render.price(0.2499685, 0.2499701) == "0.24997"
    assert render.price(0.0, 3e-9) == "0 to 3e-09"


def test_more_constraints_than_anybody_narrows():
    rng = np.random.default_rng(0)
    problem = CMDP(
        rng.dirichlet(np.ones(4), (4, 2)),
        rng.random((4, 2)),
        initial=np.full(4, 0.25),
        discount=0.9,
        constraint_reward=rng.random((60, 4, 2)),
        threshold=np.full(60, 3.0),
    )
    solution = painless.solve(problem)
    assert (solution.price_range[:, 0] <= solution.multiplier).all()
    assert (solution.multiplier <= solution.price_range[:, 1]).all()


@pytest.mark.parametrize("constraints", [1, 3])
def test_ranges_follow_from_what_is_known_when_the_time_is_up(constraints):
    """The policies of the search price every limit from both sides; that takes no best response."""

    def stop():
        raise TimeoutError

    normal = normalise(painless.garnet(30, 3, 3, constraints, seed=2))[0]
    planned = ColumnGeneration().plan(normal, 1e-4)
    exact = price_ranges(planned.certifier, planned.answer)
    again = ColumnGeneration().plan(normal, 1e-4)
    again.certifier.engine.call_between_steps(stop)
    found = price_ranges(again.certifier, again.answer, stop)
    assert (found.low <= exact.low).all()
    assert (found.high >= exact.high).all()
    np.testing.assert_allclose(found.low, exact.low, rtol=0.2)
    np.testing.assert_allclose(found.high, exact.high, rtol=0.2)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-5])
@pytest.mark.parametrize("constraints", [1, 2])
def test_prices_of_a_large_model_are_as_precise_as_asked(constraints, tolerance, monkeypatch):
    problem = painless.garnet(520, 3, 4, constraints=constraints, seed=3, discount=0.95, dense=False)
    exact = painless.solve(problem, LinearProgram(), tolerance=1e-9).price_range
    monkeypatch.setattr("painless.solving.conclusion.QUICK_WORK", -1.0)  # as if it were slow
    monkeypatch.setattr("painless.solving.conclusion.SHARE", np.inf)  # and there were time
    low, high = painless.solve(problem, ColumnGeneration(), tolerance=tolerance).price_range.T
    assert (low <= exact[:, 1] * (1 + 1e-9)).all()
    assert (high >= exact[:, 0] * (1 - 1e-9)).all()
    if constraints == 1:
        assert high[0] - low[0] <= max(min(100 * tolerance, 0.3), 0.03) * high[0]


@pytest.mark.parametrize("seed", [5, 6])
def test_responses_beside_the_price_narrow_a_range_as_far_as_asked(seed):
    problem, _ = normalise(painless.garnet(520, 3, 4, constraints=1, seed=seed, discount=0.95, dense=False))
    planned = ColumnGeneration().plan(problem, 1e-3)
    low, high = price_ranges(planned.certifier, planned.answer, narrow=False)
    assert high[0] - low[0] > 0.1 * high[0]
    before = planned.certifier.game.responses
    precise = PricePrecision(gap=1e-4, settled=1e-6, digits=2e-2)
    answer = closed_in(planned.certifier, planned.answer, precise=precise)
    low, high = price_ranges(planned.certifier, answer, precise=precise)
    assert 0 < high[0] - low[0] <= 2e-2 * high[0]
    assert planned.certifier.game.responses - before <= 12


def test_ranges_that_are_narrow_enough_cost_nothing():
    """A closer gap is sought for the prices alone."""
    problem, _ = normalise(painless.garnet(520, 3, 4, constraints=1, seed=5, discount=0.95, dense=False))
    planned = ColumnGeneration().plan(problem, 1e-3)
    low, high = price_ranges(planned.certifier, planned.answer, narrow=False)
    before, width = planned.certifier.game.responses, float((high[0] - low[0]) / high[0])
    for digits, is_enough in ((1.01 * width, True), (0.5 * width, False)):
        closed_in(planned.certifier, planned.answer, precise=PricePrecision(1e-12, 1e-14, digits))
        assert (planned.certifier.game.responses == before) == is_enough


def test_a_large_model_narrows_its_prices_as_far_as_asked_however_quick_it_is(monkeypatch):
    problem = painless.garnet(5200, 3, 4, constraints=1, seed=3, discount=0.95, dense=False)
    monkeypatch.setattr("painless.solving.conclusion.QUICK_WORK", np.inf)
    monkeypatch.setattr("painless.solving.conclusion.LEAST_WORK", np.inf)
    as_asked = painless.solve(problem, tolerance=1e-2)
    monkeypatch.setattr("painless.solving.conclusion.FEW_STATES", 10_000)
    full = painless.solve(problem, tolerance=1e-2)
    assert as_asked.best_responses < full.best_responses
    low, high = as_asked.price_range[0]
    assert low <= full.price_range[0, 0] <= full.price_range[0, 1] <= high <= 1.5 * low


def test_ranges_cost_a_least_work_or_as_little_as_the_tolerance_is_loose(monkeypatch):
    """Without the least work no response is begun at 1e-3, since an eighth of the passes does not suffice for one."""
    problem = painless.garnet(5200, 3, 4, constraints=1, seed=3, discount=0.95, dense=False)
    usual = painless.solve(problem)
    monkeypatch.setattr("painless.solving.conclusion.QUICK_WORK", 1e-9)
    loose = painless.solve(problem)
    monkeypatch.setattr("painless.solving.conclusion.SHARE", 0.0)
    alone = painless.solve(problem)
    assert usual.best_responses > loose.best_responses == alone.best_responses
    (low, high), (wide_low, wide_high) = usual.price_range[0], alone.price_range[0]
    assert wide_low <= low <= high <= wide_high
    assert high - low < 0.5 * (wide_high - wide_low)


def test_prices_do_not_depend_on_the_time_that_they_take(monkeypatch):
    """By one clock years pass, and by the other no time."""
    problem = painless.garnet(700, 3, 4, 1, seed=2, dense=False)
    found = []
    for speed in (1e-9, 1e9):
        for name in ("perf_counter", "thread_time", "process_time"):
            monkeypatch.setattr(time, name, itertools.count(0, speed).__next__)
        solution = painless.solve(problem, tolerance=1e-4)
        found.append((solution.reward_value, solution.price_range.tobytes()))
    monkeypatch.undo()
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(20))
def test_ends_of_a_range_by_pivots_are_those_of_highs(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    slack, room = rng.normal(size=(8, 3)), rng.normal(size=8) + 0.5
    slack[0], room[0] = rng.random(3) + 0.05, abs(room[0])
    room[1] = 0.0
    places = [(index, side) for index in range(3) for side in (-1, 1)]
    found = [prices._end(slack, room, *place) for place in places]
    monkeypatch.setattr(prices, "_by_pivots", lambda *_: None)
    for place, (multiplier, proved) in zip(places, found, strict=True):
        other, end = prices._end(slack, room, *place)
        assert (multiplier is None) == (other is None)
        assert proved == pytest.approx(end, rel=1e-7, abs=1e-9)
