"""Slowly mixing chains on several levels: kernels, levels, and what they save."""

import itertools

import numpy as np
import pytest
import scipy

import painless
from painless.engines.factorised import Factorised
from painless.engines.sweeps import _multilevel_kernels as kernels
from painless.engines.sweeps import multilevel, policy_steps, pricing
from painless.engines.sweeps.chain import as_matrix, chain_of, transitions
from painless.engines.sweeps.chain_occupancy import chain_occupancy
from painless.engines.sweeps.chain_values import ChainValues
from painless.engines.sweeps.multilevel import ALIKE, KeptLevels, Multilevel, ordered_level, width_of
from painless.engines.sweeps.policy_steps import uniform_values
from painless.engines.sweeps.pricing import Pricer
from painless.engines.sweeps.sparse_rows import sparse_rows
from painless.engines.swept import Swept
from painless.planning import ColumnGeneration
from painless.planning.planner import Ending
from painless.problem.units import normalise

DISCOUNT = 0.999


@pytest.fixture(scope="module")
def maze():
    return normalise(
        painless.problems.slippery_grid(height=28, width=28, discount=DISCOUNT, budget=1.0, dense=False)
    )[0]


@pytest.fixture(scope="module")
def chain(maze):
    """The chain of some policy: one move for each state, at random."""
    rows = sparse_rows(maze)
    move = np.random.default_rng(0).integers(0, 4, maze.shape[0]).astype(np.uint32)
    return chain_of(rows, DISCOUNT, rows.first[:-1] + move)


def dense(chain):
    """I − γP as a matrix."""
    origin, target, weight = transitions(chain)
    system = np.diag(1 - chain.stay)
    np.subtract.at(system, (origin, target), weight)
    return system


def test_levels_solve_a_chain_and_its_transpose(chain):
    system, levels = dense(chain), Multilevel.of(chain)
    assert len(levels.levels) > 1
    right = np.random.default_rng(1).random(len(system))
    for matrix, solver in ((system, levels), (system.T, levels.transposed())):
        x = np.zeros(len(right))
        reached = solver.improve(right, x, width_of, 1e-11)
        assert reached <= 1e-11
        assert width_of(right - matrix @ x) <= 1e-10
        np.testing.assert_allclose(x, np.linalg.solve(matrix, right), rtol=1e-6, atol=1e-6)


def test_an_improvement_never_makes_it_worse(chain):
    """Not even from the solution."""
    system, levels = dense(chain), Multilevel.of(chain)
    right = np.random.default_rng(2).random(len(system))
    x = np.linalg.solve(system, right)
    before = width_of(right - system @ x)
    assert levels.improve(right, x, width_of, 0.0) <= 2 * before + 1e-12


def test_an_improvement_goes_as_far_as_asked_and_hardly_further(chain):
    """A loose goal takes fewer cycles than a strict one."""
    levels, right = Multilevel.of(chain), np.random.default_rng(5).random(len(chain.stay))
    cycles = []
    for goal in (1e-2, 1e-5, 1e-8):
        count, x = [], np.zeros(len(right))
        levels.tick = count.append
        assert levels.improve(right, x, width_of, goal) <= goal
        cycles.append(len(count))
    assert cycles[0] < cycles[1] < cycles[2]


@pytest.mark.parametrize("twice", [False, True])
def test_what_lies_along_a_basis_is_taken_out(twice):
    rng = np.random.default_rng(6)
    basis = np.linalg.qr(rng.random((50, 4)))[0].T.copy()
    vector = rng.random(50)
    left = vector.copy()
    column = multilevel._taken_out(basis, left, twice)
    np.testing.assert_allclose(basis @ left, 0.0, atol=1e-14)
    np.testing.assert_allclose(left + column @ basis, vector, rtol=1e-13)


def two_products(room=30, discount=0.99):
    """An inventory of two products whose pairs lead to 25 states each: the uniform policy leads to many more."""
    first, second = np.divmod(np.arange(room * room), room)
    orders = np.array([(a, b) for a in (0, 2, 5) for b in (0, 2, 5)])
    level = np.minimum(np.stack([first, second], -1)[:, None] + orders, room - 1)
    demand = np.indices((5, 5)).reshape(2, -1).T
    left = np.maximum(level[:, :, None] - demand, 0)
    pairs = np.repeat(np.arange(left.shape[0] * 9), 25)
    shape = (left.shape[0] * 9, left.shape[0])
    places = pairs, (left[..., 0] * room + left[..., 1]).ravel()
    kernel = scipy.sparse.csr_array((np.full(len(pairs), 0.04), places), shape)
    reward = (level[:, :, None] - left).sum((2, 3)) / 25 - 0.05 * level.sum(-1) - 1.0 * (orders > 0).any(1)
    return painless.CMDP(kernel, reward, initial=np.eye(room * room)[0], discount=discount)


@pytest.mark.parametrize("unaided", [0, 1, policy_steps.UNAIDED])
def test_values_of_the_uniform_policy_are_found_only_where_they_are_needed(monkeypatch, unaided):
    """An inventory does without them, unless its own steps do not suffice; the bound is the same."""
    problem, asked = normalise(two_products())[0], []

    def counted(*given):
        asked.append(1)
        return uniform_values(*given)

    monkeypatch.setattr(pricing, "uniform_values", counted)
    monkeypatch.setattr(pricing, "UNAIDED", unaided)
    pricer = Pricer(problem)
    priced = pricer.price(np.ones(1), 1e-6, 1e-7)
    assert pricer.takes_steps
    assert len(asked) == (unaided < policy_steps.UNAIDED)
    exact = Factorised(problem).best(np.ones(1), 0.0, 0.0)
    assert priced.upper_bound >= exact.weighted_value - 1e-9
    assert priced.upper_bound - exact.weighted_value <= 1e-6
    assert priced.value[0] == pytest.approx(exact.weighted_value, abs=2e-6)


def test_groups_sum_the_rows_of_their_members(chain):
    """Each level is the Galerkin product of the one above, rows weighted by mass, and stays an M-matrix."""
    multilevel = Multilevel.of(chain)
    levels = multilevel.levels
    above = multilevel.mass[:, None] * dense(chain)
    for level, below in itertools.pairwise(levels):
        member = np.eye(len(below.diagonal))[level.group]
        system = np.diag(below.diagonal)
        for row, (start, stop) in enumerate(zip(below.start, below.stop, strict=True)):
            np.subtract.at(system[row], below.target[start:stop], below.weight[start:stop])
        np.testing.assert_allclose(system, member.T @ above @ member, atol=1e-12)
        assert (below.weight > 0).all()
        assert (system.sum(1) > 0).all()
        above = system


def test_kernels_equal_numpy(chain):
    level, system = ordered_level(*chain[:4], 1.0 - chain.stay), dense(chain)
    rng = np.random.default_rng(3)
    right, x = rng.random((2, len(system)))
    left = np.empty_like(x)
    kernels.residual(*level.rows, right, x, left)
    np.testing.assert_allclose(left, right - system @ x, atol=1e-13)
    group = (np.arange(len(x)) // 3).astype(np.uint32)
    sums = np.empty(group[-1] + 1)
    mass = rng.random(len(x))
    for given, counted in ((mass, mass), (np.empty(0), np.ones(len(x)))):
        kernels.restrict(*level.rows, right, x, group, given, sums)
        np.testing.assert_allclose(sums, np.bincount(group, counted * (right - system @ x)), atol=1e-13)
        moved = x.copy()
        kernels.prolong(moved, group, given, sums)
        np.testing.assert_allclose(moved, x + counted * sums[group], atol=1e-13)
    weight = level.weight.copy()
    kernels.scale(level.start, level.stop, weight, mass)
    rows = np.repeat(np.arange(len(x)), level.stop - level.start)
    used = transitions(chain)[2]
    np.testing.assert_allclose(transitions(chain._replace(weight=weight))[2], used * mass[rows], atol=0)
    for forward in (True, False):
        swept, reference = x.copy(), x.copy()
        kernels.sweep(*level[:6], right, swept, forward)
        for i in level.order if forward else level.order[::-1]:
            reference[i] += (right[i] - system[i] @ reference) / system[i, i]
        np.testing.assert_allclose(swept, reference, atol=1e-12)


def matrix_of(level):
    """D − W of a level as a matrix."""
    system = np.diag(level.diagonal)
    for row, (start, stop) in enumerate(zip(level.start, level.stop, strict=True)):
        np.subtract.at(system[row], level.target[start:stop], level.weight[start:stop])
    return system


def improved(levels, mass, right, x):
    """One cycle on all levels, as the module's equations say."""
    level, *below = levels
    system = matrix_of(level)
    if not below:
        return np.linalg.solve(system, right)
    for i in level.order:
        x[i] += (right[i] - system[i] @ x) / system[i, i]
    member = np.eye(len(below[0].diagonal))[level.group]
    sums, correction = member.T @ (mass * (right - system @ x)), np.zeros(member.shape[1])
    for _ in range(2 if len(below) > 1 else 1):
        correction = improved(below, np.ones(len(sums)), sums, correction)
    x = x + member @ correction
    for i in level.order[::-1]:
        x[i] += (right[i] - system[i] @ x) / system[i, i]
    return x


@pytest.mark.parametrize("direct", [3, 60, 300])
def test_a_cycle_equals_numpy(chain, monkeypatch, direct):
    monkeypatch.setattr("painless.engines.sweeps.multilevel.DIRECT", direct)
    levels = Multilevel.of(chain)
    right = np.random.default_rng(4).random(len(chain.stay))
    expected = improved(levels.levels, levels.mass, right, np.zeros(len(right)))
    np.testing.assert_allclose(levels.cycle(right), expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(levels.cycle(right), expected, rtol=1e-9, atol=1e-11)


def test_a_last_level_of_many_states_is_swept(chain, monkeypatch):
    monkeypatch.setattr("painless.engines.sweeps.multilevel.MOST_DIRECT", 10)
    levels, x = Multilevel.of(chain), np.zeros(len(chain.stay))
    right = np.random.default_rng(5).random(len(x))
    assert levels.improve(right, x, width_of, 1e-8) <= 1e-8


def test_policies_that_differ_little_share_their_groups(maze):
    rows, rng = sparse_rows(maze), np.random.default_rng(6)
    first = rows.first[:-1] + rng.integers(0, 4, maze.shape[0]).astype(np.uint32)
    kept = KeptLevels(lambda _: None)
    before, right = kept.of(chain_of(rows, DISCOUNT, first), first), rng.random(maze.shape[0])
    for share, shared in ((0.5 * ALIKE, True), (4 * ALIKE, False)):
        other = first.copy()
        changed = rng.permutation(len(other))[: int(share * len(other))]
        other[changed] = rows.first[changed] + (other[changed] - rows.first[changed] + 1) % 4
        chain, x = chain_of(rows, DISCOUNT, other), np.zeros(len(right))
        levels = kept.of(chain, other)
        assert (levels is before) == shared
        levels.improve(right, x, width_of, 1e-10)
        assert width_of(right - dense(chain) @ x) <= 1e-9


def test_a_triangle_is_solved_also_if_its_rows_depend_on_each_other():
    rng = np.random.default_rng(0)
    triangle, right = np.triu(rng.random((7, 7))) + np.eye(7), rng.random(7)
    np.testing.assert_allclose(triangle @ multilevel._solved(triangle, right), right, atol=1e-12)
    triangle[-1, -1] = 0.0
    found = multilevel._solved(triangle, right)
    assert np.isfinite(found).all()
    np.testing.assert_allclose((triangle @ found)[:-1], right[:-1], atol=1e-9)


def test_every_state_is_in_a_small_group(chain):
    states = len(chain.stay)
    group, size = np.empty(states, np.uint32), np.empty(states, np.uint32)
    count = kernels.pair_up(*chain[:4], 0.25, group, size)
    members = np.bincount(group, minlength=count)
    assert len(members) == count < 0.7 * states
    assert members.min() >= 1
    assert members.max() <= 3


def test_the_uniform_policy_has_its_values(maze):
    utility = maze.reward
    value = uniform_values(sparse_rows(maze), DISCOUNT, utility.ravel(), lambda _: None)
    system = np.eye(len(value)) - DISCOUNT * maze.transition.toarray().reshape(*maze.actions.shape, -1).mean(
        1
    )
    np.testing.assert_allclose(value, np.linalg.solve(system, utility.mean(1)), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("few", [0, 1 << 30])
def test_rows_of_the_uniform_policy_are_averages(monkeypatch, few):
    """By compiled kernels and by a product of matrices; states have different numbers of pairs, and self-loops."""
    monkeypatch.setattr(policy_steps, "FEW", few)
    rng = np.random.default_rng(4)
    transition = rng.dirichlet(np.ones(7), (7, 3)) * (rng.random((7, 3, 7)) < 0.5) + 0.1 * np.eye(7)[:, None]
    transition /= transition.sum(-1, keepdims=True)
    actions = np.ones((7, 3), dtype=bool)
    actions[2, 1:] = actions[5, 0] = False
    rows = sparse_rows(
        painless.CMDP(transition, rng.random((7, 3)), initial=np.eye(7)[0], discount=0.9, actions=actions)
    )
    chain, gain = policy_steps.uniform_chain(rows, 0.9)
    expected = 0.9 * np.array([transition[s, actions[s]].mean(0) for s in range(7)])
    np.testing.assert_allclose(as_matrix(chain).toarray(), expected, rtol=1e-14)
    np.testing.assert_allclose(chain.stay, np.diag(expected), rtol=1e-14)
    assert gain.shape == (1, 7)
    assert all(len(set(row)) == len(row) for row in np.split(chain.target, chain.stop[:-1]))


def test_policy_iteration_goes_on_after_a_jump_and_ends_where_it_alternates():
    progress = policy_steps.Progress()
    assert not any(progress.has_ended(width) for width in (0.4, 31.0, 7.4, 3.1, 1.1, 1.0, 0.9, 0.01))
    for width in itertools.islice(itertools.cycle((1.0, 0.1)), policy_steps.TRIES - 8):
        assert not progress.has_ended(width)
    assert progress.has_ended(1.0)
    progress = policy_steps.Progress()
    assert [progress.has_ended(1.0) for _ in range(7)] == [*[False] * 6, True]


def test_slow_chains_take_few_sweeps(chain):
    """Sweeps alone take thousands."""
    sweeps = []
    values = ChainValues(np.zeros_like(chain.gain), DISCOUNT, sweeps.append)
    error = values.solve(chain, 1e-6)
    exact = np.linalg.solve(dense(chain), chain.gain)
    assert (np.abs(values.value - exact) <= error + 1e-12).all()
    assert sum(sweeps) < 500


def test_visits_of_a_slow_chain(maze, chain):
    visits = chain_occupancy(chain, DISCOUNT, maze.initial, 1e-9, lambda _: None)
    exact = np.linalg.solve(dense(chain).T, maze.initial)
    assert np.abs(visits - exact).sum() <= 1e-9 / (1 - DISCOUNT)


def test_visits_on_levels_from_the_start(maze, chain):
    sweeps = []
    visits = chain_occupancy(chain, DISCOUNT, maze.initial, 1e-9, sweeps.append, on_levels=True)
    np.testing.assert_allclose(visits, np.linalg.solve(dense(chain).T, maze.initial), atol=1e-6)
    assert sum(sweeps) <= 100


def test_the_last_utility_starts_from_what_the_others_leave_of_the_sum(chain):
    """If the weighted value is known, one utility costs next to nothing."""
    weight = np.array([0.7, 0.3])
    whole = np.linalg.solve(dense(chain), chain.gain)
    counts = []
    for weighted in (None, (weight, whole @ weight)):
        sweeps = []
        values = ChainValues(np.zeros_like(chain.gain), DISCOUNT, sweeps.append)
        values.along_flow, values.by_elimination, values.rate = True, False, {False: 1.0, True: 0.99}
        error = values.solve(chain, 1e-9, weighted)
        assert (np.abs(values.value - whole) <= error + 1e-10).all()
        counts.append(sum(sweeps))
    assert counts[1] < 0.8 * counts[0]


@pytest.mark.parametrize("tolerance", [1e-3, 1e-8])
def test_a_slow_model_is_as_exact_as_asked(maze, tolerance):
    free = normalise(painless.CMDP(maze.transition, maze.reward, initial=maze.initial, discount=DISCOUNT))[0]
    found = ColumnGeneration().plan(free, tolerance)
    best = Factorised(free).best(np.ones(1), 0.0, 0.0)
    assert found.ending is Ending.PROVED
    assert found.answer.value[0] <= best.upper_bound
    assert found.answer.upper_bound >= best.weighted_value
    assert found.answer.gap <= tolerance * abs(found.answer.upper_bound)
    assert found.answer.gap >= found.answer.upper_bound - best.upper_bound


def test_policy_iteration_from_the_uniform_policy_takes_few_bellman_sweeps(maze):
    pricer = Pricer(maze)
    weight = np.array([1.0, 0.0])
    priced = pricer.price(weight, 1e-6, 1e-6)
    best = Factorised(maze).best(weight, 0.0, 0.0)
    assert priced.upper_bound >= best.weighted_value
    assert priced.value[0] >= best.weighted_value - 2e-6
    assert pricer.bellman_sweeps < 60


def test_the_same_bits_twice(maze):
    once, again = (ColumnGeneration().plan(maze, 1e-6) for _ in range(2))
    assert once.answer.upper_bound == again.answer.upper_bound
    np.testing.assert_array_equal(once.answer.policy, again.answer.policy)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
def test_a_value_that_is_small_beside_the_unit_is_proved(maze, tolerance):
    """At first the bound is far from it, and so is what a share of the open gap asks for."""
    free = normalise(painless.CMDP(maze.transition, maze.reward, initial=maze.initial, discount=0.99999))[0]
    found = ColumnGeneration().plan(free, tolerance, engine=Swept(free))
    assert found.ending is Ending.PROVED
    assert found.answer.gap <= tolerance * abs(found.answer.upper_bound)
