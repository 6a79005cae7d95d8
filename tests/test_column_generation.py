"""Column generation: against the linear program, with bounds that hold at any moment, and at scale."""

import gc
import subprocess
import sys
import weakref
from threading import Barrier

import numpy as np
import pytest
import scipy
from hypothesis import example, given, settings
from hypothesis import strategies as st

import painless
import painless.problems
from painless.backends.base import single_threads
from painless.bellman import occupancy, policy_utility, policy_value
from painless.bellman import policy_transition as transition_of
from painless.common.clock import Clock
from painless.common.errors import InputError
from painless.common.threads import Threads, cores
from painless.engines import policy_iteration
from painless.engines.engine import engine_of
from painless.engines.sweeps import _chain_kernels, _improve_kernels
from painless.engines.sweeps.active_states import ActiveStates
from painless.engines.sweeps.chain import ChangingChain, chain_of, flow_order
from painless.engines.sweeps.chain_occupancy import chain_occupancy
from painless.engines.sweeps.chain_values import ChainValues
from painless.engines.sweeps.elimination import eliminate
from painless.engines.sweeps.likely_price import PRICES, likely_price
from painless.engines.sweeps.policy_steps import IDLE, Progress
from painless.engines.sweeps.pricing import Pricer
from painless.engines.sweeps.sparse_rows import sparse_rows
from painless.engines.sweeps.state_threads import StateThreads
from painless.engines.swept import Swept
from painless.planning import LinearProgram
from painless.planning.case import Relaxation
from painless.planning.column_generation import ColumnGeneration, Searcher
from painless.planning.feasibility import Feasibility, slater_policy
from painless.planning.game import Game
from painless.planning.master import Column, _best_by_highs, _slack_by_highs, best_mixture, largest_slack
from painless.planning.planner import Ending
from painless.problem.units import TOLERANCE, normalise
from painless.problems import slippery_grid
from painless.solving.solution import Kind
from tests.extras import POSIX

from .problems import garnets


def optimal_value(problem):
    """Return the optimal value by HiGHS, or None where the constraints cannot be met."""
    optimum = LinearProgram().plan(problem)
    return None if optimum is None else float((optimum.occupancy * problem.reward).sum())


def unread(problem):
    """Return the most that HiGHS reads as 0 of a row of γP: entries of at most 1e-9."""
    kernel = problem.transition
    rows = scipy.sparse.csr_array(
        kernel.reshape(-1, len(kernel)) if isinstance(kernel, np.ndarray) else kernel
    )
    entries = problem.discount * rows.data
    lost = np.where(entries <= 1e-9, entries, 0.0)
    return float(scipy.sparse.csr_array((lost, rows.indices, rows.indptr), rows.shape).sum(1).max())


def check_planned(problem, planned, tolerance=1e-9):
    """Hold a feasible answer to the linear program, to a fresh evaluation, and to its own bounds."""
    scale = 1 / (1 - problem.discount)
    best = optimal_value(problem)
    value = policy_value(problem, planned.answer.policy)
    assert planned.feasible
    assert (value[1:] >= problem.threshold - 1e-14 * scale * scale).all()
    np.testing.assert_allclose(planned.answer.value, value, atol=1e-10 * scale)
    assert not planned.answer.policy[~problem.actions].any()
    np.testing.assert_allclose(planned.answer.policy.sum(1), 1.0, atol=1e-12)
    if best is not None:
        price = 1 + planned.answer.multiplier.sum()
        error = (tolerance + 2 * unread(problem) * scale) * scale * price
        assert planned.answer.value[0] == pytest.approx(best, rel=tolerance, abs=error)
        assert planned.answer.upper_bound >= best - max(error, 1e-9 * scale * price)
    return planned


@st.composite
def degenerate(draw):
    """Small problems with repeated, equal, redundant and tied constraints and rewards, K up to 6, and masks."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    states, actions = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    base = painless.garnet(
        *(states, actions, draw(st.integers(1, states)), draw(st.integers(1, 3))),
        seed=int(rng.integers(2**31)),
        discount=draw(st.sampled_from([0.5, 0.9, 0.99])),
        tightness=draw(st.sampled_from([0.0, 0.5, 0.9])),
    )
    digits = draw(st.sampled_from([0, 1, 15]))  # few digits make ties
    constraint, threshold = base.constraint_reward.round(digits), base.threshold
    copies = rng.integers(0, len(threshold), draw(st.integers(0, 3)))
    slackening = rng.choice([0.0, 0.0, 0.3], len(copies))  # equal or redundant
    mask = rng.random((states, actions)) < 0.8
    mask[:, 0] = True
    return painless.CMDP(
        base.transition,
        base.reward.round(digits) if draw(st.booleans()) else np.ones((states, actions)),
        initial=base.initial,
        discount=base.discount,
        constraint_reward=np.concatenate([constraint, constraint[copies]]),
        threshold=np.concatenate([threshold, threshold[copies] - slackening]),
        actions=mask if draw(st.booleans()) else None,
    )


# ---------------------------------------------------------------- against the linear program


def against_the_program(problem):
    normal, _ = normalise(problem)
    planned = ColumnGeneration().plan(normal, 1e-10)
    slater = slater_policy(normal)
    scale = 1 / (1 - normal.discount)
    least = slater.slack.min(initial=np.inf)
    if slater.feasibility is Feasibility.NONE and least < -1.2 * TOLERANCE * scale:
        assert planned.ending is Ending.INFEASIBLE
        assert not planned.feasible
        assert planned.slack.upper < 0
        found = (planned.answer.value[1:] - normal.threshold).min()
        assert found == pytest.approx(least, rel=2e-3, abs=1e-8 * scale)
    elif least > 2 * TOLERANCE * scale:
        assert planned.ending in (Ending.PROVED, Ending.ROUNDING)
        check_planned(normal, planned)
        assert planned.answer.gap <= 1e-9 * scale * (1 + planned.answer.multiplier.sum())
    if planned.slack is not None:
        assert least - 1e-9 * scale <= planned.slack.upper


@settings(max_examples=150, deadline=None)
@given(garnets(constraints=(0, 4)))
def test_agrees_with_the_linear_program(problem):
    against_the_program(problem)


@settings(max_examples=150, deadline=None)
@given(degenerate())
def test_agrees_with_the_linear_program_on_degenerate_problems(problem):
    against_the_program(problem)


def test_a_threshold_that_is_free_up_to_a_point_and_dear_beyond_it_is_proved():
    """At b = 5 the best policy meets the constraint by chance, λ = 0, and any more than 5 is paid for a thousandfold."""
    problem = painless.CMDP(
        transition=np.ones((1, 3, 1)),
        reward=[[1.0, 0.0, 0.0]],
        initial=[1.0],
        discount=0.9,
        constraint_reward=[[0.5, 0.501, 0.0]],
        threshold=[5.0],
    )
    for tolerance in (1e-4, 1e-6, 1e-9):
        planned = ColumnGeneration().plan(problem, tolerance)
        assert planned.ending is Ending.PROVED
        assert planned.answer.gap <= tolerance * 10


@pytest.mark.parametrize("constraints", [1, 3, 20])
@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_many_constraints(constraints, smoothing):
    normal, _ = normalise(painless.garnet(80, 4, 5, constraints, seed=constraints, discount=0.95))
    planned = check_planned(normal, ColumnGeneration(smoothing).plan(normal, 1e-8), 1e-7)
    assert planned.ending is Ending.PROVED
    assert planned.answer.gap <= 1e-8 * planned.answer.upper_bound


def test_few_solves():
    """At most 12 unconstrained problems for one constraint, and 30 for three, at a gap of 1e-6."""
    for constraints, most in ((1, 12), (3, 30)):
        counts = []
        for seed in range(5):
            normal, _ = normalise(
                painless.garnet(300, 4, 5, constraints, seed=seed, discount=0.95, dense=False)
            )
            counts.append(ColumnGeneration().plan(normal, 1e-6).solves)
        assert np.median(counts) <= most


def test_the_gridworld_s_known_answer():
    planned = ColumnGeneration().plan(painless.gridworld(), 1e-10)
    assert planned.answer.value == pytest.approx([1.6527218430, 1.5], abs=1e-9)
    assert planned.answer.multiplier == pytest.approx([0.1732303], abs=1e-6)
    assert planned.ending is Ending.PROVED


# ---------------------------------------------------------------- what breaks naive versions


def tied(discount, states=30, actions=6):
    transition = np.random.default_rng(0).dirichlet(np.ones(states), (states, actions))
    constraint = np.zeros((states, actions))
    constraint[:, 0] = 1.0
    return painless.CMDP(
        transition,
        np.ones((states, actions)) - constraint * (np.arange(states) == 0)[:, None],
        initial=np.full(states, 1 / states),
        discount=discount,
        constraint_reward=constraint,
        threshold=0.4 / (1 - discount),
    )


def queue(length, discount):
    """A queue served fast or slowly: serving fast costs, and a long queue costs too."""
    last = length - 1
    rows = []
    for s in range(length):
        for serve in (0.3, 0.7):
            row = np.zeros(length)
            row[min(s + 1, last)] += 0.4 * (1 - serve)
            row[max(s - 1, 0)] += 0.6 * serve
            row[s] += 1 - 0.4 * (1 - serve) - 0.6 * serve
            rows.append(row)
    return painless.CMDP(
        scipy.sparse.csr_array(np.array(rows)),
        cost=np.repeat(np.arange(length)[:, None] / length, 2, 1),
        initial=np.full(length, 1 / length),
        discount=discount,
        constraint_cost=np.tile([0.0, 1.0], (length, 1)),
        budget=0.3 / (1 - discount),
    )


@pytest.mark.parametrize("discount", [0.9, 0.999, 0.9999])
def test_ties_neither_cycle_nor_stall(discount):
    normal, _ = normalise(tied(discount))
    planned = ColumnGeneration().plan(normal, 1e-8)
    assert planned.ending is Ending.PROVED
    check_planned(normal, planned, 1e-7)


@pytest.mark.parametrize("discount", [0.999, 0.9999])
def test_a_long_queue(discount):
    normal, _ = normalise(queue(300, discount))
    planned = ColumnGeneration().plan(normal, 1e-7)
    assert planned.ending is Ending.PROVED
    check_planned(normal, planned, 1e-6)


@pytest.mark.parametrize("constraints", [1, 3])
def test_discount_near_one(constraints):
    normal, _ = normalise(painless.garnet(60, 4, 5, constraints, seed=1, discount=0.9999))
    planned = ColumnGeneration().plan(normal, 1e-8)
    assert planned.ending is Ending.PROVED
    check_planned(normal, planned, 1e-7)


def test_just_feasible():
    """Slack zero: two actions meet the constraint exactly, and only one of them is worth taking."""
    problem = painless.CMDP(
        np.ones((1, 3, 1)),
        [[1.0, 0.0, 0.25]],
        initial=[1.0],
        discount=0.5,
        constraint_reward=[[0.0, 1.0, 1.0]],
        threshold=[2.0],
    )
    assert ColumnGeneration().plan(problem, 1e-6).ending is Ending.TIGHT
    found = painless.solve(problem, ColumnGeneration(), tolerance=1e-6)
    assert found.feasible
    assert found.reward_value == pytest.approx(0.5, abs=1e-8)
    assert found.upper_bound >= 0.5
    assert (found.violation == 0).all()


def test_infeasible_only_together():
    problem = painless.CMDP(
        np.ones((1, 3, 1)),
        [[1.0, 0.0, 0.0]],
        initial=[1.0],
        discount=0.5,
        constraint_reward=[[[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]]],
        threshold=[1.2, 1.2],
    )
    planned = ColumnGeneration().plan(problem, 1e-6)
    assert planned.ending is Ending.INFEASIBLE
    assert planned.slack.upper == pytest.approx(-0.2, abs=1e-3)
    assert planned.answer.value[1:] == pytest.approx([1.0, 1.0], abs=1e-3)
    assert planned.slack.price == pytest.approx([0.5, 0.5])


def test_a_tolerance_beyond_double_precision_ends():
    planned = ColumnGeneration().plan(painless.gridworld(), 1e-300)
    assert planned.ending is Ending.ROUNDING
    assert planned.answer.gap < 1e-9


# ---------------------------------------------------------------- stopped at any moment


@settings(max_examples=60, deadline=None)
@given(garnets(constraints=(1, 3)), st.integers(0, 25))
def test_bounds_hold_when_interrupted(problem, steps):
    normal, _ = normalise(problem)
    best = optimal_value(normal)
    seen = []

    def interrupt(solves, value, bound):
        seen.append(bound)
        if len(seen) > steps:
            raise KeyboardInterrupt

    planned = ColumnGeneration().plan(normal, 1e-9, progress=interrupt)
    scale = 1 / (1 - normal.discount)
    value = policy_value(normal, planned.answer.policy)
    np.testing.assert_allclose(planned.answer.value, value, atol=1e-9 * scale)
    assert planned.ending is not Ending.INTERRUPT or len(seen) == steps + 1
    assert seen == sorted(seen, reverse=True)
    if best is not None and planned.ending is not Ending.INFEASIBLE:
        assert planned.answer.upper_bound >= best - 1e-9 * scale * (1 + planned.answer.multiplier.sum())
        if planned.feasible:
            assert value[0] <= best + 1e-8 * scale * (1 + planned.answer.multiplier.sum())


class TickingClock(Clock):
    """A clock whose time is up after so many ticks, and then again after a few more."""

    stop = TimeoutError

    def __init__(self, ticks):
        super().__init__(1.0)
        self.ticks = ticks

    def tick(self):
        self.ticks -= 1
        if self.ticks < 0:
            raise self.stop

    def extend(self):
        self.ticks = 5


def test_a_deadline_returns_what_is_proved():
    normal, _ = normalise(painless.garnet(300, 4, 5, 3, seed=1, discount=0.99, dense=False))
    best = optimal_value(normal)
    for ticks in (0, 3, 10, 30, 100, 300):
        planned = ColumnGeneration().plan(normal, 1e-9, clock=TickingClock(ticks))
        assert planned.answer.upper_bound >= best - 1e-9
        assert planned.ending is not Ending.TIMEOUT or planned.answer.gap > 0
        value = policy_value(normal, planned.answer.policy)
        assert (planned.answer.low <= value + 1e-9).all()
        assert not planned.feasible or (value[1:] >= normal.threshold - 1e-12).all()
    assert ColumnGeneration().plan(normal, 1e-9, clock=TickingClock(0)).ending is Ending.TIMEOUT


def wandering(room=40):
    """Return two queues side by side: chains that mix slowly, and fill in much."""
    own = np.arange(room * room)
    first, second = np.divmod(own, room)
    moves = [(first < room - 1) * room, (second < room - 1) * 1, (first > 0) * -room, (second > 0) * -1]
    successor = np.stack([own + move for move in moves], -1)
    chance = np.array([[0.2, 0.2, 0.5, 0.1], [0.2, 0.2, 0.1, 0.5]])  # which of both is served
    rows = np.repeat(np.arange(2 * room * room), 4)
    entries = np.tile(chance, (room * room, 1)).ravel(), (rows, np.repeat(successor, 2, 0).ravel())
    waiting = -(first + 2.0 * second) / room
    return painless.CMDP(
        *(scipy.sparse.csr_array(entries, (2 * room * room, room * room)), np.stack([waiting, waiting], 1)),
        initial=np.eye(room * room)[0],
        discount=0.99,
    )


@pytest.mark.parametrize("stop", [TimeoutError, KeyboardInterrupt])
@pytest.mark.parametrize("kind", ["garnet", "queues", "maze"])
def test_without_constraints_what_a_sweep_proves_is_kept(kind, stop, monkeypatch):
    """One response is all that is asked for: if it is interrupted, its best policy by then is the answer, with both bounds; later is no worse."""
    monkeypatch.setattr("painless.engines.sweeps.elimination_order.WHOLE", 0)  # as in larger models
    if kind == "garnet":
        problem = painless.garnet(1500, 4, 5, 0, seed=1, discount=0.99, dense=False)
    else:
        problem = wandering() if kind == "queues" else without_limits(slippery_grid(height=40, width=40))
    normal, gaps = normalise(problem)[0], []
    best = ColumnGeneration().plan(normal, 1e-9)
    assert best.solves == 1
    for ticks in (1, 4, 16, 64):
        clock = TickingClock(ticks)
        clock.stop = stop
        planned = ColumnGeneration().plan(normal, 1e-9, clock=clock)
        low, high = float(planned.answer.low[0]), planned.answer.upper_bound
        assert planned.ending in (Ending.of(stop()), Ending.PROVED)
        assert high >= best.answer.low[0]
        assert low <= engine_of(normal).values(planned.answer.policy).high[0]
        gaps.append(high - low)
    assert np.isfinite(gaps).all()
    assert gaps[-1] < 0.1 * gaps[0]


def without_limits(problem):
    """Return a problem with its reward alone."""
    return painless.CMDP(
        problem.transition, problem.reward, initial=problem.initial, discount=problem.discount
    )


@pytest.mark.parametrize(("setting", "message"), [((1.0,), "smoothing is 1.0"), ((0.3, 0), "rounds is 0")])
def test_bad_settings(setting, message):
    with pytest.raises(InputError, match=message):
        ColumnGeneration(*setting)


# ---------------------------------------------------------------- the parts


@settings(max_examples=40, deadline=None)
@given(garnets(constraints=(0, 3)))
def test_rows_leave_out_what_is_masked(problem):
    rows = sparse_rows(problem)
    states, actions, _ = problem.shape
    assert len(rows.pointer) == problem.actions.sum() + 1
    kernel = problem.transition if problem.is_sparse else problem.transition.reshape(-1, states)
    table = kernel.toarray() if problem.is_sparse else kernel
    shape = (len(rows.pointer) - 1, states)
    parts = (rows.probability, rows.successor.view(np.int32), rows.pointer.view(np.int32))
    np.testing.assert_array_equal(
        scipy.sparse.csr_array(parts, shape=shape).toarray(), table[problem.actions.ravel()]
    )
    np.testing.assert_array_equal(
        rows.utility, problem.utility.reshape(-1, states * actions)[:, problem.actions.ravel()]
    )


@settings(max_examples=40, deadline=None)
@given(garnets(constraints=(0, 3)), st.integers(0, 2**32 - 1))
def test_a_bellman_sweep_is_numpy_s(problem, seed):
    rows, rng = sparse_rows(problem), np.random.default_rng(seed)
    value = rng.random(problem.shape[0])
    q = problem.reward + problem.discount * (problem.transition.reshape(-1, len(value)) @ value).reshape(
        problem.reward.shape
    )
    q = np.where(problem.actions, q, -np.inf)
    choice, updated = rows.first[:-1].copy(), q.max(1)
    at_start, low, high, changed = _improve_kernels.improve(
        *(*rows[:4], rows.utility[0], problem.discount, problem.initial, value, 0.0, choice, 0, len(value)),
    )
    assert at_start == pytest.approx(problem.initial @ updated, rel=1e-12)
    assert (low, high) == pytest.approx(
        ((updated - value).min(), (updated - value).max()), rel=1e-9, abs=1e-12
    )
    action = choice - rows.first[:-1] if rows.action is None else rows.action[choice]
    np.testing.assert_allclose(q[np.arange(len(value)), action], q.max(1), rtol=1e-13)
    assert changed == (choice != rows.first[:-1]).sum()


@settings(max_examples=40, deadline=None)
@given(garnets(constraints=(0, 3)), st.booleans(), st.integers(0, 2**32 - 1))
def test_chains_are_solved_to_what_they_promise(problem, along_flow, seed):
    rng = np.random.default_rng(seed)
    rows = sparse_rows(problem)
    states = np.arange(problem.shape[0])
    choices = rng.integers(rows.first[:-1], rows.first[1:], (2, len(states))).astype(np.uint32)
    share = rng.random(len(states))
    policy = np.zeros(problem.actions.shape)
    for choice, part in zip(choices, (share, 1 - share), strict=True):
        action = choice - rows.first[:-1] if rows.action is None else rows.action[choice]
        np.add.at(policy, (states, action), part)
    chain = chain_of(rows, problem.discount, choices, np.array([share, 1 - share]))
    assert sorted(flow_order(chain, StateThreads())) == list(states)
    values = ChainValues(np.zeros((len(states), len(rows.utility))), problem.discount, lambda _: None)
    values.along_flow = along_flow
    scale = np.abs(problem.utility).max() / (1 - problem.discount)
    error = values.solve(chain, 1e-9 * scale)
    system = np.eye(len(states)) - problem.discount * _dense(transition_of(problem, policy))
    exact = np.linalg.solve(system, policy_utility(problem.utility, policy).T)
    assert (np.abs(values.value - exact) <= error + 1e-12 * scale).all()
    assert error.max() <= 1.1e-9 * scale
    held = chain_occupancy(
        chain, problem.discount, problem.initial, 1e-10, lambda _: None, along_flow=along_flow
    )
    wanted = occupancy(problem, policy).sum(1)
    assert np.abs(held - wanted).sum() <= 1.1e-10 / (1 - problem.discount)
    again = chain_occupancy(chain, problem.discount, problem.initial, 1e-10, lambda _: None, held + 0.1)
    assert np.abs(again - wanted).sum() <= 1.1e-10 / (1 - problem.discount)


def test_a_pair_of_states_that_hold_each_other_does_not_hold_up_the_rest():
    problem = painless.garnet(2000, 1, 5, 1, discount=0.99, seed=0, dense=False)
    transition = problem.transition.tolil()
    for s, other in ((0, 1), (1, 0)):
        transition[s] = 0.0
        transition[s, other], transition[s, 2] = 0.99, 0.01
    problem = painless.CMDP(
        transition=scipy.sparse.csr_array(transition),
        reward=problem.reward,
        constraint_reward=problem.constraint_reward,
        threshold=problem.threshold,
        initial=problem.initial,
        discount=0.99,
    )
    sweeps = []
    values = ChainValues(np.zeros((2000, 2)), 0.99, sweeps.append)
    rows = sparse_rows(problem)
    error = values.solve(chain_of(rows, 0.99, rows.first[:-1]), 1e-9)
    system = np.eye(2000) - 0.99 * problem.transition.toarray()
    exact = np.linalg.solve(system, problem.utility.reshape(2, -1).T)
    assert (np.abs(values.value - exact) <= error + 1e-10).all()
    assert sum(sweeps) < 150, "a plain sweep shrinks the error by 0.98 there"


def _dense(matrix):
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def test_a_sweep_of_each_kind_is_numpy_s():
    problem = painless.garnet(15, 3, 4, 2, seed=3, dense=False)
    rows, states = sparse_rows(problem), np.arange(15)
    choice = rows.first[:-1] + np.uint32(1)
    chain = chain_of(rows, 0.9, choice)
    matrix = 0.9 * problem.transition.toarray()[choice]
    gain = problem.utility.reshape(3, -1)[:, choice].T
    start = np.random.default_rng(0).random((15, 3))
    low, high, updated = np.empty(3), np.empty(3), np.empty((15, 3))
    _chain_kernels.even_sweeps(*chain, start, updated, 1, 0, 15)
    np.testing.assert_allclose(updated, gain + matrix @ start)
    twice = start.copy()
    _chain_kernels.even_sweeps(*chain, twice, np.empty_like(start), 2, 0, 15)
    np.testing.assert_allclose(twice, gain + matrix @ updated)
    _chain_kernels.change(start, updated, low, high, 0, 15)
    np.testing.assert_allclose([low, high], [(updated - start).min(0), (updated - start).max(0)])
    order = flow_order(chain, StateThreads())
    for parts in ([(0, 15)], [(0, 7), (7, 15)]):  # alone, and as two threads do it
        value, lows, highs = start.copy(), [], []
        for begin, end in parts:
            order_of_part, path, seen = order.copy(), order.copy(), np.zeros(15, dtype=bool)
            _chain_kernels.flow_order(*chain[:4], path, seen, order_of_part, begin, end)
            assert sorted(order_of_part[begin:end]) == list(range(begin, end))
            _chain_kernels.flow_sweep(*chain, order_of_part, value, start, low, high, begin, end)
            wanted = start.copy()
            for s in order_of_part[begin:end]:
                others = states != s
                wanted[s] = (gain[s] + matrix[s, others] @ wanted[others]) / (1 - matrix[s, s])
            np.testing.assert_allclose(value[begin:end], wanted[begin:end])
            lows.append(low.copy())
            highs.append(high.copy())
        residual = gain + matrix @ value - value
        assert (residual >= 0.9 * np.min(lows, 0) - 1e-12).all()
        assert (residual <= 0.9 * np.max(highs, 0) + 1e-12).all()


def test_a_changing_chain_is_that_of_its_policy():
    problem = painless.garnet(30, 3, 4, 2, seed=3, dense=False)
    rows, rng = sparse_rows(problem), np.random.default_rng(0)
    changing = ChangingChain(rows, 0.9, StateThreads())
    choice = rows.first[:-1].copy()
    for turn in range(5):
        choice[rng.random(30) < 0.4] += np.uint32(1)
        choice = np.minimum(choice, rows.first[1:] - np.uint32(1))
        if turn == 3:
            changing.release()
        kept, fresh = changing.follow(choice), chain_of(rows, 0.9, choice)
        np.testing.assert_array_equal(kept.gain, fresh.gain)
        np.testing.assert_array_equal(kept.stay, fresh.stay)
        for s in range(30):
            for field in ("target", "weight"):
                one, other = getattr(kept, field), getattr(fresh, field)
                np.testing.assert_array_equal(
                    one[kept.start[s] : kept.stop[s]], other[fresh.start[s] : fresh.stop[s]]
                )


@pytest.mark.parametrize("written", [False, True])
def test_a_chain_interrupted_while_it_changes_is_written_anew(written):
    """Ctrl-C may come before the rows are written or after, and the answer still has to be proved."""
    rows = sparse_rows(painless.garnet(30, 3, 4, 2, seed=3, dense=False))
    changing = ChangingChain(rows, 0.9, StateThreads())
    first = rows.first[:-1].copy()
    changing.follow(first)

    class Interrupted(StateThreads):
        def share(self, part, states, pieces=2):
            if written:
                super().share(part, states, pieces)
            raise KeyboardInterrupt

    changing.threads = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        changing.follow(first + np.uint32(1))
    changing.threads = StateThreads()
    for choice in (first, first + np.uint32(1)):
        np.testing.assert_array_equal(changing.follow(choice).gain, chain_of(rows, 0.9, choice).gain)


@pytest.mark.parametrize("pieces", [1, 2, 3, 16])
def test_pieces_cover_all_states_in_order(pieces):
    ranges = StateThreads(large=2).share(lambda begin, end: range(begin, end), 7, pieces)
    assert len(ranges) == pieces
    assert [s for piece in ranges for s in piece] == list(range(7))
    assert StateThreads(large=8).share(lambda begin, end: range(begin, end), 7, pieces) == [range(7)]
    with pytest.raises(ZeroDivisionError):
        StateThreads(large=2).share(lambda begin, _: 1 // begin, 7, pieces)


def test_as_many_threads_as_there_are_cores_and_pieces():
    meeting = Barrier(3, timeout=60)  # three threads have to come
    threads = Threads(5)
    threads.share(lambda *_: meeting.wait(), 3, pieces=3)
    with single_threads():
        assert cores() == 1
        assert StateThreads().workers == 1
    assert cores() >= 1


@pytest.mark.parametrize("criterion", [{"discount": 0.99}, {"horizon": 20}, {"average": True}])
def test_answers_do_not_depend_on_the_number_of_cores(criterion, monkeypatch):
    """Many states in place of few: every sweep is done in several parts."""
    model = painless.garnet(600, 3, 4, 1, seed=5, dense=False)
    limit = {"constraint_reward": model.constraint_reward}
    problem = painless.CMDP(
        *(model.transition, model.reward), initial=model.initial, **limit, threshold=[-1e6], **criterion
    )
    monkeypatch.setattr(StateThreads.__init__, "__defaults__", (2,))
    monkeypatch.setattr("painless.engines.finite_horizon.SHARED", 2)
    found = {}
    for count in (1, 2, 5):
        monkeypatch.setattr("painless.engines.sweeps.state_threads.cores", lambda count=count: count)
        free = painless.solve(problem, painless.ColumnGeneration())
        tight = problem.with_limits(free.constraint_value + 0.01 * np.abs(free.constraint_value))
        answer = painless.solve(tight, painless.ColumnGeneration())
        found[count] = answer.reward_value, answer.upper_bound, answer.policy.probabilities.tobytes()
    assert found[1] == found[2] == found[5]


@settings(max_examples=40, deadline=None)
@given(garnets(constraints=(0, 2)), st.integers(0, 2**32 - 1))
def test_active_states_end_at_the_optimum(problem, seed):
    rows, rng = sparse_rows(problem), np.random.default_rng(seed)
    scale = np.abs(problem.reward).max() / (1 - problem.discount)
    wanted = policy_iteration(problem, problem.reward)
    for threads in (StateThreads(), StateThreads(large=2)):
        value, choice = scale * rng.random(problem.shape[0]), rows.first[:-1].copy()
        active = ActiveStates(rows, problem.discount, threads)
        work = active.improve(rows.utility[0].copy(), value, choice, 1e-12 * scale, 1e6)
        assert work < 1e6
        assert problem.initial @ value == pytest.approx(wanted.value, abs=1e-9 * scale)
        greedy = ChainValues(np.zeros((len(value), 1)), problem.discount, lambda _: None)
        greedy.solve(
            chain_of(rows._replace(utility=rows.utility[:1]), problem.discount, choice), 1e-12 * scale
        )
        assert problem.initial @ greedy.value[:, 0] == pytest.approx(wanted.value, abs=1e-9 * scale)


def test_active_states_stop_at_the_limit():
    rows = sparse_rows(painless.garnet(50, 3, 4, 1, seed=1, discount=0.999, dense=False))
    active = ActiveStates(rows, 0.999, StateThreads())
    work = active.improve(rows.utility[0].copy(), np.zeros(50), rows.first[:-1].copy(), 1e-9, 7.0)
    assert 7 <= work <= 8


@pytest.mark.parametrize("scrambled", [False, True])
def test_narrow_chains_are_eliminated(scrambled):
    rng = np.random.default_rng(0)
    problem = painless.problems.queueing(300, discount=0.999)
    label = rng.permutation(301) if scrambled else np.arange(301)
    kernel = problem.transition.toarray() if problem.is_sparse else problem.transition.reshape(-1, 301)
    choice = rng.integers(0, 8, 301)
    matrix = np.empty((301, 301))
    matrix[np.ix_(label, label)] = kernel.reshape(301, 8, 301)[np.arange(301), choice]
    rows = sparse_rows(
        painless.CMDP(matrix[:, None], np.zeros((301, 1)), initial=np.full(301, 1 / 301), discount=0.999)
    )
    chain = chain_of(rows, 0.999, rows.first[:-1])
    right = rng.random((301, 2))
    system = np.eye(301) - 0.999 * matrix
    np.testing.assert_allclose(eliminate(chain, right), np.linalg.solve(system, right), rtol=1e-9)
    np.testing.assert_allclose(
        eliminate(chain, right[:, 0], transposed=True), np.linalg.solve(system.T, right[:, 0]), rtol=1e-9
    )


@pytest.mark.parametrize("side", [30, 60])
def test_mazes_are_eliminated(side):
    """A small one within its band, a larger one in an order that fills in little."""
    problem = painless.make("slippery-grid", height=side, width=side)
    rows = sparse_rows(problem)
    states = len(rows.first) - 1
    chain = chain_of(rows, 0.99, rows.first[:-1])
    right = np.random.default_rng(0).random((states, 2))
    kernel = problem.transition.toarray() if problem.is_sparse else problem.transition.reshape(-1, states)
    system = np.eye(states) - 0.99 * kernel[rows.first[:-1]]
    np.testing.assert_allclose(eliminate(chain, right), np.linalg.solve(system, right), rtol=1e-9)
    visits = eliminate(chain, right[:, 0], transposed=True)
    np.testing.assert_allclose(visits, np.linalg.solve(system.T, right[:, 0]), rtol=1e-9)


def test_a_plane_that_fills_in_is_not_eliminated():
    """Two queues in a row: a customer comes, goes from one to the other, or leaves."""
    side = 60
    first, second = np.divmod(np.arange(side * side), side)
    moves = ((first + 1, second), (first - 1, second + 1), (first, second - 1))
    kernel = scipy.sparse.csr_array((side * side, side * side))
    for one, other in moves:
        inside = (one >= 0) & (one < side) & (other >= 0) & (other < side)
        target = np.where(inside, one * side + other, np.arange(side * side))
        kernel = kernel + scipy.sparse.csr_array(
            (np.full(side * side, 1 / 3), (np.arange(side * side), target)), kernel.shape
        )
    problem = painless.CMDP(kernel, first[:, None], initial=np.full(side * side, side**-2.0), discount=0.99)
    rows = sparse_rows(problem)
    chain = chain_of(rows, 0.99, rows.first[:-1])
    assert eliminate(chain, chain.gain) is None


def test_wide_chains_are_not_eliminated():
    rows = sparse_rows(painless.garnet(300, 2, 5, 1, seed=0, dense=False))
    assert eliminate(chain_of(rows, 0.9, rows.first[:-1]), np.ones(300)) is None


def test_a_long_queue_takes_few_sweeps():
    """Sweeps alone took ten thousand."""
    normal, _ = normalise(painless.problems.queueing(2000, discount=0.9999))
    planned = ColumnGeneration().plan(normal, 1e-6)
    assert planned.ending is Ending.PROVED
    assert planned.certifier.engine.pricer.sweeps < 1000


def test_a_pricer_leaves_nothing_behind():
    """A million states must not wait for the garbage collector."""
    pricer = Pricer(normalise(painless.gridworld())[0])
    pricer.price(np.array([1.0, 0.0]), 1e-3, 1e-3)
    gone = weakref.ref(pricer.values)
    gc.disable()
    try:
        del pricer
        assert gone() is None
    finally:
        gc.enable()


@settings(max_examples=40, deadline=None)
@given(garnets(constraints=(1, 3)), st.integers(0, 2**32 - 1))
def test_pricing_against_policy_iteration(problem, seed):
    normal, _ = normalise(problem)
    pricer = Pricer(normal)
    rng = np.random.default_rng(seed)
    scale = 1 / (1 - normal.discount)
    for tolerance in (1e-2, 1e-9, 1e-3):
        weight = rng.dirichlet(np.ones(1 + normal.shape[2]))
        plan = policy_iteration(normal, np.tensordot(weight, normal.utility, 1))
        priced = pricer.price(weight, tolerance * scale, 1e-9 * scale)
        assert plan.value - 1e-12 * scale <= priced.upper_bound <= plan.value + (tolerance + 1e-10) * scale
        assert weight @ priced.value >= plan.value - (tolerance + 2e-9) * scale


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 30), st.integers(1, 6), st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 15]))
@example(count=15, constraints=4, seed=455260, digits=0)  # at a tie the safe mixture stays in the basis
def test_the_tiny_simplex_method_agrees_with_highs(count, constraints, seed, digits):
    rng = np.random.default_rng(seed)
    value = rng.random((count, 1 + constraints)).round(digits)
    threshold = rng.random(constraints) * rng.choice([0.2, 0.6])
    slack, wanted = largest_slack(value[:, 1:], threshold), _slack_by_highs(value[:, 1:] - threshold)
    assert slack.value == pytest.approx(wanted.value, abs=1e-9)
    assert (slack.weights @ (value[:, 1:] - threshold)).min() == pytest.approx(wanted.value, abs=1e-9)
    assert ((value[:, 1:] - threshold) @ slack.multiplier).max() == pytest.approx(wanted.value, abs=1e-8)
    if abs(wanted.value) > 1e-6:
        safe = slack.weights if slack.value > 0 else None
        mixture, program = best_mixture(value, threshold, safe), _best_by_highs(value, threshold)
        assert (mixture is None) == (program is None)
        if mixture is not None:
            assert mixture.value == pytest.approx(program.value, abs=1e-9)
            dual = (value[:, 0] + (value[:, 1:] - threshold) @ mixture.multiplier).max()
            assert dual == pytest.approx(program.value, abs=1e-8)
            assert (mixture.weights > 0).sum() <= constraints + 1


# ---------------------------------------------------------------- at scale

LARGE = """
import sys
import numpy as np, scipy
import painless
from painless.planning.column_generation import ColumnGeneration
from painless.problem.units import normalise
from tests.memory import peak
states, actions, branching = int(sys.argv[1]), 4, 5
rng = np.random.default_rng(0)
pairs = states * actions
successor = rng.integers(0, states, (pairs, branching), dtype=np.int32)
probability = rng.dirichlet(np.ones(branching), pairs)
pointer = np.arange(0, pairs * branching + 1, branching, dtype=np.int32)
kernel = scipy.sparse.csr_array((probability.ravel(), successor.ravel(), pointer), shape=(pairs, states))
kernel.sum_duplicates()
utility = rng.random((2, states, actions))
problem = painless.CMDP(
    kernel, utility[0], initial=np.full(states, 1 / states), discount=0.9,
    constraint_reward=utility[1], threshold=6.5,
)
planned = ColumnGeneration().plan(normalise(problem)[0], 1e-5)
print(planned.feasible, planned.answer.gap <= 1e-5 * planned.answer.upper_bound, peak() >> 20)
"""


@POSIX
def test_many_states_in_little_memory():
    """A square table of these states would take 80 GB."""

    def cap():
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

    for states in ("2000", "100000"):  # the first compiles, which takes memory of its own
        done = subprocess.run(
            [sys.executable, "-c", LARGE, states], capture_output=True, text=True, check=True, preexec_fn=cap
        )
    feasible, proved, megabytes = done.stdout.split()
    assert (feasible, proved) == ("True", "True")
    assert int(megabytes) < 500


def test_policies_of_which_too_little_is_known_are_evaluated_before_they_are_mixed():
    normal = normalise(painless.garnet(1500, 4, 5, constraints=1, seed=3, discount=0.99, dense=False))[0]
    engine = engine_of(normal)
    target = 1e-3 * engine.unit
    search = Searcher(
        *(engine, lambda bound: target, Clock(), Relaxation.of(normal)), rounds=100, share=0.2, progress=None
    )
    first, second = (engine.best(np.array(weight), 0.1, 0.1) for weight in ([1.0, 0.0], [0.0, 1.0]))
    for response in (first, second):
        search.game.add(Column(response.actions, response.value + 5.0, response.value - 5.0))
    weights = np.array([0.5, 0.5])
    assert not search._refresh(weights, margin=10.0)
    assert search._refresh(weights, margin=1.0)
    for k, response in enumerate((first, second)):
        known, exact = search.game.columns[k], engine.values(response.actions)
        assert known.value == pytest.approx(exact.guess, rel=1e-9)
        assert (known.value - known.low).max() < 1e-6
    assert not search._refresh(weights, margin=1.0)


def test_values_that_are_dear_come_roughly_with_a_response_and_more_precisely_with_its_visits(monkeypatch):
    """Two queues, whose policies are evaluated on several levels; the second is served at a price."""
    monkeypatch.setattr("painless.engines.sweeps.elimination_order.WHOLE", 0)
    queues = wandering()
    served = np.tile([0.0, -1.0], (queues.shape[0], 1))
    problem = painless.CMDP(
        *(queues.transition, queues.reward),
        initial=queues.initial,
        discount=0.99,
        constraint_reward=served,
        threshold=-20.0,
    )
    normal = normalise(problem)[0]
    search = Searcher(
        *(engine_of(normal), lambda bound: 1e-3 * normal.unit, Clock(), Relaxation.of(normal)),
        rounds=100,
        share=0.2,
        progress=None,
    )
    responses = [search.game.respond(np.array([price]), 0.1) for price in (0.0, 0.5)]
    assert search.engine.are_values_dear
    exact = [engine_of(normal).values(response.policy) for response in responses]
    for response, values in zip(responses, exact, strict=True):
        assert (response.low <= values.high).all()
        assert (response.value - response.low).max() <= 0.3
    monkeypatch.setattr(search.engine, "values", None)
    assert search._refresh(np.array([0.5, 0.5]), margin=1e-6)
    for k, values in enumerate(exact):
        known = search.game.columns[k]
        assert (known.low <= values.high).all()
        assert known.value == pytest.approx(values.guess, abs=2e-6)
    assert not search._refresh(np.array([0.5, 0.5]), margin=1e-6)
    solution = painless.solve(problem, tolerance=1e-3)
    assert solution.status.kind is Kind.SOLVED
    assert solution.gap <= 1e-3 * abs(solution.upper_bound)


def test_a_mixture_that_misses_its_values_is_mixed_more_precisely(monkeypatch):
    """As if errors of visits cancelled much more than they do."""
    monkeypatch.setattr("painless.engines.sweeps.mixing.CANCELLED", 1e6)
    monkeypatch.setattr("painless.engines.sweeps.mixing.COARSEST", 0.5)
    problem, _ = normalise(painless.garnet(600, 3, 4, constraints=1, seed=2, discount=0.95, dense=False))
    planned = ColumnGeneration().plan(problem, 1e-6)
    assert planned.ending is Ending.PROVED
    assert planned.answer.gap <= 1e-6 * abs(planned.answer.upper_bound)


def tree_rows(states, rng, loops=0):
    """Return a model of one action whose states form a random tree: to the parent, or to one of the children; and arrows to anywhere."""
    parent = np.array([0, *(rng.integers(n) for n in range(1, states))])
    kernel = np.zeros((states, states))
    for n in range(1, states):
        kernel[n, parent[n]] += rng.random()
        kernel[parent[n], n] += rng.random()
    for source, target in rng.integers(states, size=(loops, 2)):
        kernel[source, target] += 1.0
    kernel /= kernel.sum(1, keepdims=True)
    rewards = rng.random((states, 1))
    problem = painless.CMDP(
        scipy.sparse.csr_array(kernel), rewards, initial=np.full(states, 1 / states), discount=0.99
    )
    return kernel, sparse_rows(problem)


@pytest.mark.parametrize("loops", [0, 200])
def test_a_tree_is_eliminated_from_its_leaves(loops):
    """Also with some cycles."""
    rng = np.random.default_rng(3)
    kernel, rows = tree_rows(1500, rng, loops)
    chain, right = chain_of(rows, 0.99, rows.first[:-1]), rng.random((1500, 2))
    system = np.eye(1500) - 0.99 * kernel
    np.testing.assert_allclose(eliminate(chain, right), np.linalg.solve(system, right), rtol=1e-9)
    visits = eliminate(chain, right[:, 0], transposed=True)
    np.testing.assert_allclose(visits, np.linalg.solve(system.T, right[:, 0]), rtol=1e-9)


def test_a_graph_with_many_cycles_is_not_eliminated():
    _, rows = tree_rows(1500, np.random.default_rng(4), loops=1500)
    chain = chain_of(rows, 0.99, rows.first[:-1])
    assert eliminate(chain, chain.gain) is None


@pytest.mark.parametrize("spare", [1e-4, 1e-6])
def test_rough_values_do_not_hide_a_small_slack(spare):
    """At a loose tolerance, a limit just below the best that any policy has."""
    problem = painless.garnet(800, 4, 5, 1, seed=0, discount=0.99, dense=False)
    alone = painless.CMDP(
        problem.transition, problem.constraint_reward[0], initial=problem.initial, discount=0.99
    )
    best = painless.solve(alone, tolerance=1e-12).reward_value
    solution = painless.solve(problem.with_limits([best - spare]), tolerance=1e-3)
    assert solution.algorithm == "column-generation"
    assert solution.status.kind is Kind.SOLVED
    assert solution.constraint_value[0] >= best - spare


@pytest.mark.parametrize("tolerance", [1e-2, 1e-8])
def test_a_limit_of_which_nothing_is_used_has_the_value_zero(tolerance):
    """Sweeps know it to rounding alone, such as 1.06e-12; the other limit is used up."""
    rng = np.random.default_rng(0)
    model = painless.garnet(700, 4, 5, constraints=0, seed=3, discount=0.95, dense=False)
    dear = np.zeros((700, 4))
    dear[:, 3] = 1.0
    problem = painless.CMDP(
        model.transition,
        model.reward - 5 * dear,
        initial=model.initial,
        discount=0.95,
        constraint_cost=[dear, rng.uniform(size=(700, 4))],
        budget=[1.0, 9.3],
    )
    used, other = painless.solve(problem, tolerance=tolerance).constraint_value
    assert used == 0
    assert not np.signbit(used)
    assert 9.2 < other <= 9.3 + 1e-9


def one_step_gain(problem, value, visits, policy_price):
    """What the constraint gains to first order if every state takes its best action for A_r + λ·A_c, by NumPy."""
    ahead = problem.transition.toarray().reshape(*problem.actions.shape, -1) @ value  # (S, A, J)
    advantage = np.moveaxis(problem.utility, 0, -1) + problem.discount * ahead - value[:, None]
    best = (advantage @ np.array([1.0, policy_price])).argmax(1)
    return float(visits @ advantage[np.arange(len(best)), best, 1])


@pytest.mark.parametrize("seed", [0, 1])
def test_a_likely_price_is_where_one_step_gains_what_is_missed(seed):
    """Between two prices of the ladder; a limit that no step reaches has the most."""
    problem, _ = normalise(painless.garnet(60, 3, 4, constraints=1, seed=seed, discount=0.9, dense=False))
    pricer = Pricer(problem)
    pricer.price(np.array([1.0, 0.0]), 1e-9, 1e-9)
    chain = pricer.chain(pricer.pairs(pricer.compact()))
    visits = chain_occupancy(chain, 0.9, problem.initial, 1e-12, lambda _: None)
    value, missed, most = pricer.values.value, np.array([0.0, 1.0]), 8.0
    reached = one_step_gain(problem, value, visits, most)
    assert reached > 0
    price = likely_price(pricer.rows, 0.9, value, visits, missed, 0.5 * reached, most)
    assert most * 0.5**PRICES < price < most
    assert one_step_gain(problem, value, visits, 2 * price) >= 0.5 * reached * (1 - 1e-9)
    assert one_step_gain(problem, value, visits, 0.5 * price) <= 0.5 * reached * (1 + 1e-9)
    assert likely_price(pricer.rows, 0.9, value, visits, missed, 2 * reached, most) == most


def test_the_first_price_of_a_garnet_is_close(monkeypatch):
    """The second response is priced within a factor of three of the answer's price, far below where it would cost all of the reward."""
    problem, _ = normalise(painless.garnet(6000, 4, 5, constraints=1, seed=3, discount=0.99, dense=False))
    tried = []
    respond = Game.respond
    monkeypatch.setattr(
        Game,
        "respond",
        lambda game, price, *rest: (tried.append(float(price[0])), respond(game, price, *rest))[1],
    )
    found = ColumnGeneration().plan(problem, 1e-4)
    assert found.feasible
    assert tried[0] == 0
    assert 1 / 3 < tried[1] / float(found.answer.multiplier[0]) < 3


@pytest.mark.parametrize("share", [1e-9, 1e-3, 1.0, 5.0])
def test_any_first_price_leads_to_the_same_answer(monkeypatch, share):
    """If it is too low a few larger ones follow, and then the most."""
    problem, _ = normalise(painless.garnet(6000, 4, 5, constraints=2, seed=4, discount=0.95, dense=False))
    usual = ColumnGeneration().plan(problem, 1e-5)
    monkeypatch.setattr(Swept, "likely_price", lambda self, policy, missed, short, most: share * most)
    found = ColumnGeneration().plan(problem, 1e-5)
    assert found.feasible
    assert usual.feasible
    assert found.answer.low[0] <= usual.answer.upper_bound
    assert usual.answer.low[0] <= found.answer.upper_bound
    assert found.solves <= usual.solves + 10


def test_policy_iteration_that_served_before_may_idle_longer():
    """It ends after as many more steps that do not close in as the prices at which it served."""
    for credit, steps in ((-2, IDLE), (0, IDLE), (4, IDLE + 4)):
        progress = Progress(credit)
        progress.has_ended(1.0)
        assert [progress.has_ended(1.0) for _ in range(steps)] == [False] * (steps - 1) + [True]
