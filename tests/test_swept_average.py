"""Long-run averages of large models by sweeps: bounds that hold, many classes, parts that are hardly ever left, and time limits."""

import numpy as np
import pytest
import scipy

import painless
from painless.engines import engine as engines
from painless.engines.average import Average
from painless.engines.chain_gains import RecurrentChain
from painless.engines.components import end_components
from painless.engines.sweeps.chain import as_matrix, chain_of
from painless.engines.sweeps.gain_sweeps import GainSweeps, has_small_factors
from painless.engines.sweeps.sparse_rows import sparse_rows
from painless.engines.swept_average import SweptAverage
from painless.planning.column_generation import ColumnGeneration
from tests.averages import check, sparse_problem


@pytest.fixture
def swept(monkeypatch):
    """Sweep all sparse models, however small."""
    monkeypatch.setattr(engines, "AVERAGED_STATES", 0)


@pytest.mark.parametrize("seed", range(25))
def test_claims_hold_beside_the_linear_program(swept, seed):
    problem = sparse_problem(1000 + seed)
    assert isinstance(engines.engine_of(problem), SweptAverage)
    check(problem, ColumnGeneration(), 1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_best_responses_agree_with_the_exact_engine(seed):
    problem = sparse_problem(500 + seed, constraints=2)
    one, other, rng = SweptAverage(problem), Average(problem), np.random.default_rng(seed)
    for weight in rng.random((4, 3)):
        found, best = one.best(weight, 1e-8, 1e-9), other.best(weight, 0.0, 0.0)
        assert found.upper_bound >= best.weighted_value - 1e-12
        assert found.weighted_value <= best.upper_bound + 1e-12
        assert found.upper_bound - found.weighted_value < 1e-6
        exact = other.values(found.actions)
        assert (found.value <= exact.high + 1e-12).all()
        assert (exact.low <= found.value + 1e-6).all()


@pytest.mark.parametrize("seed", range(12))
def test_bounds_of_tables_hold_and_are_narrow(seed):
    problem = sparse_problem(700 + seed, constraints=1)
    rng = np.random.default_rng(seed)
    table = np.where(problem.actions, rng.random(problem.actions.shape), 0.0)
    table /= table.sum(1, keepdims=True)
    found, exact = SweptAverage(problem).values(table), Average(problem).values(table)
    assert (found.low <= exact.high).all()
    assert (found.high >= exact.low).all()
    np.testing.assert_allclose(found.high, found.low, atol=1e-9)
    shares = SweptAverage(problem).visits(table, 1e-9)
    np.testing.assert_allclose(shares, Average(problem).visits(table), atol=1e-9)


def ring(states):
    """Return a ring that may be walked either way: where it pays most, go back and forth."""
    here = np.arange(states)
    target = np.column_stack([(here + 1) % states, (here - 1) % states]).reshape(-1)
    pointer = np.arange(2 * states + 1)
    return scipy.sparse.csr_array((np.ones(2 * states), target, pointer), (2 * states, states))


def test_many_classes_and_a_border_that_moves():
    """Every policy that goes back and forth somewhere is a class of its own; the way round the ring is a border that moves."""
    states = 1500
    here = np.arange(states)
    reward = np.sin(here)[:, None] * np.ones(2)
    problem = painless.CMDP(ring(states), reward, initial=np.eye(states)[0], average=True)
    best = (np.sin(here) + np.sin((here + 1) % states)).max() / 2
    found = SweptAverage(problem).best(np.ones(1), 1e-9, 1e-9)
    assert best <= found.upper_bound <= best + 1e-8
    assert best - 1e-8 <= found.weighted_value <= best


def test_cells_that_tie_do_not_take_turns():
    """On a grid with rests, the best cell for one utility ties with that for the other at some price: either will do, and it is found."""
    side = 40
    row, column = np.divmod(np.arange(side * side), side)
    moves = [(0, 1), (1, 0), (0, -1), (-1, 0), (0, 0)]
    to = [np.clip(row + y, 0, side - 1) * side + np.clip(column + x, 0, side - 1) for y, x in moves]
    kernel = scipy.sparse.csr_array(
        (np.ones(5 * side * side), np.stack(to, 1).ravel(), np.arange(5 * side * side + 1)),
        (5 * side * side, side * side),
    )
    utility = np.zeros((2, side * side, 5))
    utility[0, 45], utility[1, -45] = 1.0, 2.0
    problem = painless.CMDP(
        kernel,
        utility[0],
        initial=np.eye(side * side)[0],
        constraint_reward=utility[1:],
        threshold=[0.5],
        average=True,
    )
    engine = SweptAverage(problem)
    for weight in ([1.0, 0.0], [0.0, 1.0], [1.0, 0.5], [1.0, 0.5 + 1e-9]):
        found = engine.best(np.array(weight), 1e-8, 1e-9)
        best = max(weight[0], 2 * weight[1])
        assert best - 1e-7 <= found.weighted_value <= best <= found.upper_bound <= best + 1e-7


def two_wells(length=400):
    """Return a line whose ends both attract: work pays at one end, rest at the other, and the way between them takes ages."""
    here = np.arange(length)
    towards = np.where(here < length // 2, -1, 1)
    near, far = (np.clip(here + step, 0, length - 1) for step in (towards, -towards))
    rows = []
    for strength in (0.9, 0.2):  # drift to the nearer end, or to the other one
        step = scipy.sparse.csr_array((np.full(length, strength), (here, near)), (length, length))
        rows.append(
            step + scipy.sparse.csr_array((np.full(length, 1 - strength), (here, far)), (length, length))
        )
    kernel = scipy.sparse.csr_array(scipy.sparse.vstack(rows))[np.arange(2 * length).reshape(2, -1).T.ravel()]
    work = np.repeat((here < 10)[:, None], 2, 1).astype(float)
    rest = np.repeat((here >= length - 10)[:, None], 2, 1).astype(float)
    return painless.CMDP(
        kernel,
        work,
        initial=np.full(length, 1 / length),
        constraint_reward=rest,
        threshold=0.4,
        average=True,
    )


def test_parts_that_are_hardly_ever_left(swept):
    """At the optimal price both ends are as good, and one policy would stay at either for ages: the answer is a draw, and proved."""
    problem = two_wells()
    ends = [SweptAverage(problem).best(np.eye(2)[i], 1e-9, 1e-9).value for i in (0, 1)]
    solution = painless.solve(problem, ColumnGeneration(), tolerance=1e-6)
    assert solution.status.kind == "solved"
    assert solution.feasible
    share = 0.4 / ends[1][1]
    np.testing.assert_allclose(solution.reward_value, (1 - share) * ends[0][0], rtol=1e-5)


def two_parts(size=40, leak=1e-9):
    """Return a model of two parts that pay in one utility each, hardly ever left by one action, and for a fee by the other."""
    rng, states = np.random.default_rng(0), 2 * size
    kernel = np.zeros((states, 2, states))
    for state in range(states):
        part, other = (state // size) * size, (1 - state // size) * size
        kernel[state, 0, part : part + size] = (1 - leak) * rng.dirichlet(np.ones(size))
        kernel[state, 0, other + rng.integers(size)] = leak
        kernel[state, 1, [part + (state + 1) % size, other + state % size]] = 0.5
    utility = np.zeros((2, states, 2))
    utility[0, :size], utility[1, size:] = 1.0, 1.0
    utility[:, :, 1] -= 1.0
    return painless.CMDP(
        scipy.sparse.csr_array(kernel.reshape(-1, states)),
        utility[0] + 0.3 * rng.random((states, 1)),
        constraint_reward=utility[1:],
        threshold=[0.0],
        initial=np.full(states, 1 / states),
        average=True,
    )


@pytest.mark.parametrize("off", [0.0, 1e-8, -1e-6])
def test_parts_that_tie_have_policies_with_proved_gains(off):
    """Where two parts are as good, the gains of a policy that stays in both for ages cannot be told; one that stays in one of them is as good."""
    problem = two_parts()
    inside = [SweptAverage(problem).values(np.eye(2)[np.repeat(one, 40)]).guess for one in ([0, 1], [1, 0])]
    tie = (inside[0][0] - inside[1][0]) / (inside[1][1] - inside[0][1])
    engine, weight = SweptAverage(problem), np.array([1.0, tie * (1 + off)])
    for tolerance in (1e-4, 1e-9, 1e-10):
        found = engine.best(weight, tolerance, 1e-10)
        assert found.upper_bound - found.weighted_value <= max(tolerance, 1e-8)
        assert (found.middle - found.value <= 1e-9).all()


class Ticks:
    """Raises TimeoutError at a given call."""

    def __init__(self, last):
        self.last, self.calls = last, 0

    def __call__(self):
        self.calls += 1
        if self.calls > self.last:
            raise TimeoutError


def wandering(side=40, bridge=False):
    """Return a grid whose cells pay at random; with a bridge, two of them, of which the first leads to the second for good."""
    row, column = np.divmod(np.arange(side * side), side)
    rng, states = np.random.default_rng(0), np.arange(side * side)
    moves = [(0, 1), (1, 0), (0, -1), (-1, 0)]
    to = [np.clip(row + y, 0, side - 1) * side + np.clip(column + x, 0, side - 1) for y, x in moves]
    parts = [scipy.sparse.csr_array((np.ones(len(t)), (states, t)), (len(t), len(t))) for t in to]
    blurred = [0.7 * part + 0.1 * sum(other for other in parts if other is not part) for part in parts]
    kernel = scipy.sparse.csr_array(scipy.sparse.vstack(blurred))[
        np.arange(4 * len(states)).reshape(4, -1).T.ravel()
    ]
    if bridge:
        kernel = scipy.sparse.block_array([[kernel, None], [None, kernel]], format="lil")
        kernel[0] = 0.0
        kernel[0, len(states)] = 1.0
        kernel = scipy.sparse.csr_array(kernel)
    count = kernel.shape[1]
    reward, other = rng.random((2, count, 4))
    return painless.CMDP(
        kernel,
        reward,
        initial=np.eye(count)[0],
        constraint_reward=other,
        threshold=0.55,
        average=True,
    )


@pytest.mark.parametrize("bridge", [False, True])
def test_every_phase_looks_at_the_clock(bridge):
    """A best response can be stopped at any of its ticks, and these are many."""
    problem = wandering(25, bridge)
    engine, counted = SweptAverage(problem), Ticks(np.inf)
    engine.call_between_steps(counted)
    engine.best(np.array([1.0, 0.3]), 1e-6, 1e-7)
    assert counted.calls > 20
    for last in (0, 1, 3, counted.calls // 2, counted.calls - 1):
        engine = SweptAverage(problem)
        engine.call_between_steps(Ticks(last))
        with pytest.raises(TimeoutError):
            engine.best(np.array([1.0, 0.3]), 1e-6, 1e-7)


def test_a_mixture_is_a_draw_if_the_time_is_up():
    engine = SweptAverage(wandering(25))
    policies = [engine.best(weight, 1e-3, 1e-4).actions for weight in np.eye(2)]
    engine.call_between_steps(Ticks(0))
    drawn, value = engine.mixed(policies, np.array([0.5, 0.5]))
    assert len(drawn.parts) == 2
    engine.call_between_steps(lambda: None)
    exact = [Average(engine.problem).values(part).guess for part in policies]
    assert (value.low <= np.mean(exact, 0)).all()
    assert (np.mean(exact, 0) <= value.high).all()
    engine.call_between_steps(Ticks(0))
    with pytest.raises(TimeoutError):
        engine.mixed([np.zeros_like(policies[0]), policies[1]], np.array([0.5, 0.5]))


def test_a_slow_chain_is_stopped_in_time():
    chain = RecurrentChain(
        scipy.sparse.csr_array(wandering(75).transition[::4]), np.eye(75 * 75)[0], tick=Ticks(3)
    )
    with pytest.raises(TimeoutError):
        chain.gain_and_bias(np.arange(75.0 * 75.0)[None])


def test_a_warm_start_reads_prices_from_a_policy():
    engine, problem = SweptAverage(wandering(20)), wandering(20)
    rng = np.random.default_rng(3)
    table = rng.random(problem.actions.shape)
    table /= table.sum(1, keepdims=True)
    some = np.array([0, 7])
    found, exact = (one.action_values(table, some, 1e-10) for one in (engine, Average(problem)))
    np.testing.assert_allclose(np.diff(found, axis=2), np.diff(exact, axis=2), atol=1e-7)


def test_one_component_is_seen_without_a_copy():
    kernel = scipy.sparse.csr_array(ring(30))
    whole = np.ones((30, 2), dtype=bool)
    found = end_components(kernel, whole)
    assert found.number == 1
    assert found.pairs.all()
    kernel.data[4:8] = 0.0  # stored zeros are no transitions
    kernel.data[[4, 6]] = 1.0
    assert end_components(kernel, whole).number == 1
    one_way = whole.copy()
    one_way[:, 1] = False
    assert end_components(kernel, one_way).number == 1


def test_certificates_of_swept_answers_verify(swept, tmp_path):
    from painless.solving.certificate_files import check_certificate, write_certificate

    problem = wandering(20)
    solution = painless.solve(problem, ColumnGeneration(), tolerance=1e-6)
    write_certificate(tmp_path, solution, problem)
    verdict = check_certificate(tmp_path, problem)
    assert verdict.verified
    assert verdict.upper_bound - verdict.lower_bound < 2e-6


def test_factors_refine_a_bias_where_chains_lie_in_a_band():
    """A walk on a line mixes slowly; its bias is found at once."""
    rng, states = np.random.default_rng(5), 3000
    right = np.full(states, 0.499)
    step = np.column_stack(
        [np.maximum(np.arange(states) - 1, 0), np.minimum(np.arange(states) + 1, states - 1)]
    )
    line = painless.CMDP(
        scipy.sparse.csr_array(
            (np.column_stack([1 - right, right]).ravel(), (np.repeat(np.arange(states), 2), step.ravel())),
            (states, states),
        ),
        rng.random((states, 1)),
        initial=np.eye(states)[0],
        average=True,
    )
    rows = sparse_rows(line)
    chain = chain_of(rows, 1.0, rows.first[:-1])
    assert has_small_factors(chain)
    gain, bias = np.ascontiguousarray(chain.gain[:, 0]), np.zeros(states)
    sweeps = GainSweeps(chain, 1e-5, lambda _: None)
    low, high = sweeps.refine(gain, bias, 1e-9)
    rest = gain + as_matrix(chain) @ bias - bias
    assert (low, high) == pytest.approx((rest.min(), rest.max()), abs=1e-11)
    assert high - low < 1e-9
    anywhere = sparse_rows(painless.garnet(3000, seed=1, dense=False))
    assert not has_small_factors(chain_of(anywhere, 1.0, anywhere.first[:-1]))


def two_queues(most):
    """One server of two queues of at most `most` customers: wait, or serve either, slowly or fast; speed costs, and customers who wait are limited."""
    size = most + 1
    states = np.arange(size * size)
    first, second = np.divmod(states, size)
    longer = np.minimum(first + 1, most) * size + second, first * size + np.minimum(second + 1, most)
    shorter = np.maximum(first - 1, 0) * size + second, first * size + np.maximum(second - 1, 0)
    entries = []
    for action, served in enumerate((0.0, 0.35, 0.35, 0.65, 0.65)):
        arriving = (0.3, 0.25) if served < 0.5 else (0.2, 0.15)
        chances = (*arriving, served, 1 - sum(arriving) - served)
        for target, chance in zip((*longer, shorter[(action + 1) % 2], states), chances, strict=True):
            entries.append((5 * states + action, target, np.full(len(states), chance)))
    row, target, chance = (np.concatenate(part) for part in zip(*entries, strict=True))
    pairs = 5 * len(states)
    return painless.CMDP(
        scipy.sparse.csr_array((chance, (row, target)), (pairs, len(states))),
        cost=np.tile([1.0, 3.0, 3.0, 8.0, 8.0], (len(states), 1)),
        constraint_cost=np.repeat((first + 2.0 * second)[:, None], 5, axis=1),
        budget=5.0,
        initial=np.eye(1, len(states))[0],
        actions=np.stack([states >= 0, *[queue > 0 for queue in (first, second)] * 2], 1),
        average=True,
    )


@pytest.mark.parametrize("direct", [100, 200])
def test_policy_iteration_that_goes_astray_is_led_back(monkeypatch, direct):
    """Policies that stay full, or empty, for ages have values that rounding spoils; which of the two coarsest levels met some was chance."""
    monkeypatch.setattr("painless.engines.sweeps.multilevel.DIRECT", direct)
    solution = painless.solve(two_queues(84), tolerance=1e-6)
    assert solution.status.kind == "solved"
    np.testing.assert_allclose(solution.reward_value, 5.051779, rtol=1e-6)
