"""CMDP: what it stores, in whose terms, and whose memory."""

import copy
import pickle
from dataclasses import FrozenInstanceError, fields
from math import fsum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from painless import (
    CMDP,
    ColumnGeneration,
    InputError,
    LinearProgram,
    TabularPolicy,
    evaluate,
    from_rows,
    garnet,
    solve,
)
from painless.engines.sweeps.sparse_rows import sparse_rows
from painless.evaluators import ExactEvaluator, SweptEvaluator
from painless.learners import RegretMatching
from painless.policies.learning_table import LearningTable
from painless.policies.table import uniform_policy
from painless.problem.transitions import normalised, sparse_divisors
from painless.problem.units import normalise
from painless.simulation.sampling import table_sampler
from painless.simulation.simulator import TableSimulator

S, A = 3, 2
MASK = np.array([[True, True], [True, False], [False, True]])
STORED = (*(field.name for field in fields(CMDP)), "reward", "constraint_reward")


def kernel():
    """Return P with P(t|s, a) = weight(t)/6 shifted by s + a; every row sums to 1."""
    weights = np.array([1.0, 2.0, 3.0]) / 6
    return np.array([[np.roll(weights, s + a) for a in range(A)] for s in range(S)])


def flat(dense):
    return sparse.csr_array(dense.reshape(S * A, S))


def utilities(*leading):
    return np.arange(np.prod((*leading, S, A)), dtype=float).reshape(*leading, S, A)


def make(transition=None, reward=None, **options):
    arguments = {"initial": [0.5, 0.25, 0.25], "discount": 0.9} | options
    if reward is None and "cost" not in options:
        reward = utilities()
    return CMDP(kernel() if transition is None else transition, reward, **arguments)


# What is stored


def test_an_unconstrained_problem_has_empty_constraints():
    problem = make()
    assert problem.shape == (S, A, 0)
    assert problem.constraint_reward.shape == (0, S, A)
    assert problem.threshold.shape == problem.limit.shape == (0,)
    assert problem.sense == ()
    assert_array_equal(problem.utility, utilities(1))


@pytest.mark.parametrize("empty", [[], np.empty((0, S, A))])
def test_empty_constraints_are_no_constraints(empty):
    assert make(constraint_cost=empty, budget=[]).shape == (S, A, 0)


def test_nested_lists_and_integers_become_doubles():
    problem = make(kernel().tolist(), utilities().astype(int).tolist(), initial=[1, 0, 0], discount=0)
    for name in ("transition", "reward", "initial"):
        assert getattr(problem, name).dtype == np.float64
    assert_array_equal(problem.reward, utilities())
    assert problem.discount == 0.0


@pytest.mark.parametrize("discount", [0.5, np.float32(0.5), np.array(0.5)])
def test_the_discount_may_be_any_kind_of_number(discount):
    assert type(make(discount=discount).discount) is float
    assert make(discount=discount).discount == 0.5


def test_one_constraint_may_drop_its_axis():
    problem = make(constraint_reward=utilities(), threshold=2.0)
    assert problem.constraint_reward.shape == (1, S, A)
    assert_array_equal(problem.constraint_reward[0], utilities())
    assert_array_equal(problem.threshold, [2.0])


@pytest.mark.parametrize("layout", [np.asarray, flat])
def test_utilities_of_the_successor_are_averaged(layout):
    # u(s, a, t) = t, so its average is the mean of t: Σ_t t·P(t|s, a).
    by_successor = np.broadcast_to(np.arange(S, dtype=float), (S, A, S))
    mean = [[8 / 6, 5 / 6], [5 / 6, 5 / 6], [5 / 6, 8 / 6]]
    problem = make(layout(kernel()), by_successor, constraint_reward=by_successor, threshold=1.0)
    assert_allclose(problem.reward, mean)
    assert_allclose(problem.constraint_reward, [mean])


@pytest.mark.parametrize("layout", [np.asarray, flat])
def test_several_utilities_of_the_successor_are_averaged(layout):
    by_successor = np.arange(2.0 * S * A * S).reshape(2, S, A, S)
    problem = make(layout(kernel()), constraint_cost=by_successor, budget=[1.0, 2.0])
    assert_allclose(problem.constraint_reward, -np.einsum("sat,ksat->ksa", kernel(), by_successor))


def test_as_many_limits_as_states_are_as_many_constraints():
    transition = np.full((2, 2, 2), 0.5)
    cube = np.arange(8.0).reshape(2, 2, 2)  # (K, S, A) with two limits, (S, A, S) with one
    arguments = {"initial": [1.0, 0.0], "discount": 0.5, "constraint_reward": cube}
    several = CMDP(transition, cube[0], threshold=[0.0, 0.0], **arguments)
    single = CMDP(transition, cube[0], threshold=[0.0], **arguments)
    assert_array_equal(several.constraint_reward, cube)
    assert_array_equal(single.constraint_reward, [cube.mean(-1)])


def test_a_single_state_may_have_a_utility_of_the_successor():
    one = np.array([[[3.0], [4.0]]])  # (S, A, S) with S = 1
    problem = CMDP(np.ones((1, 2, 1)), one, initial=[1.0], discount=0.5, constraint_reward=one, threshold=1)
    assert_array_equal(problem.reward, [[3.0, 4.0]])
    assert_array_equal(problem.constraint_reward, [[[3.0, 4.0]]])


# The user's terms and the internal sense


def test_costs_are_negative_rewards_inside():
    problem = make(cost=utilities())
    assert problem.minimise
    assert_array_equal(problem.reward, -utilities())
    assert_array_equal(problem.sign, [-1.0])


def test_constraint_rewards_come_before_constraint_costs():
    gained, paid = utilities(2), utilities(1) + 100
    problem = make(constraint_cost=paid, budget=[7.0], constraint_reward=gained, threshold=[1.0, 2.0])
    assert problem.sense == (">=", ">=", "<=")
    assert_array_equal(problem.constraint_reward, np.concatenate([gained, -paid]))
    assert_array_equal(problem.threshold, [1.0, 2.0, -7.0])
    assert_array_equal(problem.limit, [1.0, 2.0, 7.0])
    assert_array_equal(problem.sign, [1.0, 1.0, 1.0, -1.0])
    assert_array_equal(problem.utility, np.concatenate([[problem.reward], problem.constraint_reward]))


# Actions that a state does not have


def test_all_actions_are_available_by_default():
    assert make().actions.all()


@pytest.mark.parametrize("mask", [MASK, MASK.astype(int), MASK.astype(float).tolist()])
def test_a_mask_may_be_truth_values_or_numbers(mask):
    problem = make(actions=mask)
    assert problem.actions.dtype == bool
    assert_array_equal(problem.actions, MASK)


@pytest.mark.parametrize("junk", [np.nan, np.inf, -np.inf, -7.0, 1e300])
@pytest.mark.parametrize("layout", [np.asarray, flat])
def test_what_stands_at_masked_pairs_does_not_matter(layout, junk):
    transition, reward, constraint_reward = kernel(), utilities(), utilities(2)
    for array in (transition, reward, constraint_reward[0], constraint_reward[1]):
        array[~MASK] = junk
    problem = make(
        layout(transition), reward, actions=MASK, constraint_reward=constraint_reward, threshold=[0, 0]
    )
    dense = problem.transition.toarray() if problem.is_sparse else problem.transition
    assert_array_equal(dense.reshape(S, A, S)[MASK], kernel()[MASK])
    assert_array_equal(problem.utility[:, MASK], np.stack([utilities(), *utilities(2)])[:, MASK])
    assert np.abs(dense).max() < 10
    assert np.abs(problem.utility).max() < 20


@pytest.mark.parametrize("layout", [np.asarray, flat])
def test_masked_pairs_of_a_utility_of_the_successor_may_be_nan(layout):
    by_successor = np.ones((S, A, S))
    by_successor[~MASK] = np.nan
    assert_allclose(make(layout(kernel()), by_successor, actions=MASK).reward[MASK], 1.0)


# Whose memory


def given_arrays():
    return {
        "transition": kernel(),
        "reward": utilities(),
        "constraint_reward": utilities(2),
        "initial": np.full(S, 1 / S),
        "threshold": np.zeros(2),
        "actions": MASK.copy(),
    }


def wiped(array):
    for part in (array.data, array.indices, array.indptr) if sparse.issparse(array) else (array,):
        part[...] = 0


@pytest.mark.parametrize("layout", [np.asarray, flat])
def test_a_problem_owns_its_numbers(layout):
    given, names = given_arrays() | {"transition": layout(kernel())}, {"states": ["a", "b", "c"]}
    problem, before = make(**given, names=names), make(**copy.deepcopy(given), names=names)
    for array in given.values():
        wiped(array)
    names["states"][0] = "z"
    assert problem.names == {"states": ("a", "b", "c")}
    for name in given:
        one, two = getattr(problem, name), getattr(before, name)
        assert_array_equal(*(x.toarray() if sparse.issparse(x) else x for x in (one, two)))


def test_what_is_small_is_copied_always():
    given = given_arrays()
    problem = make(**given, copy=False)
    for name in ("initial", "threshold", "actions"):
        wiped(given[name])
    assert_array_equal(problem.initial, np.full(S, 1 / S))
    assert_array_equal(problem.actions, MASK)


def test_problems_of_one_array_that_is_filled_again_differ():
    reward, problems = np.zeros((S, A)), []
    for level in (10.0, 20.0, 30.0):
        reward[...] = level
        problems.append(make(reward=reward))
    assert [problem.reward[0, 0] for problem in problems] == [10.0, 20.0, 30.0]


def test_large_arrays_are_shared_on_request():
    given = given_arrays()
    problem = make(**given, copy=False)
    for name in ("transition", "reward", "constraint_reward"):
        assert np.shares_memory(getattr(problem, name), given[name])
        assert given[name].flags.writeable


def test_a_constraint_without_its_axis_is_shared_on_request():
    constraint_reward = utilities()
    problem = make(constraint_reward=constraint_reward, threshold=0.0, copy=False)
    assert np.shares_memory(problem.constraint_reward, constraint_reward)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("share", [True, False])
def test_a_csr_matrix_is_shared_on_request(kind, share):
    matrix = kind(flat(kernel()))
    stored = make(matrix, copy=not share).transition
    for part in ("data", "indices", "indptr"):
        assert np.shares_memory(getattr(stored, part), getattr(matrix, part)) == share


@pytest.mark.parametrize("layout", [np.asarray, flat])
@pytest.mark.parametrize("duplicate", [lambda problem: problem, copy.deepcopy])
def test_owned_memory_cannot_be_written_through_the_attributes(layout, duplicate):
    given = given_arrays() | {"transition": layout(kernel())}
    problem = duplicate(make(**given))
    matrix = problem.transition
    parts = (matrix.data, matrix.indices, matrix.indptr) if problem.is_sparse else (matrix,)
    for array in (*parts, problem.reward, problem.constraint_reward, problem.initial, problem.actions):
        while isinstance(array, np.ndarray):
            assert not array.flags.writeable
            array = array.base


@pytest.mark.parametrize("kind", [sparse.coo_array, sparse.csc_array, sparse.dok_array, sparse.bsr_array])
def test_every_sparse_format_is_read(kind):
    assert_allclose(make(kind(flat(kernel()))).transition.toarray(), kernel().reshape(S * A, S))


def test_duplicates_are_summed_without_touching_the_users_matrix():
    matrix = sparse.csr_array(([0.5, 0.25, 0.25], [0, 1, 0], [0, 3]), shape=(1, 2))
    matrix = sparse.vstack([matrix, matrix], format="csr")
    problem = CMDP(matrix, [[0.0], [0.0]], initial=[1, 0], discount=0.5)
    assert_array_equal(problem.transition.toarray(), [[0.75, 0.25], [0.75, 0.25]])
    assert problem.transition.nnz == 4
    assert matrix.nnz == 6


def test_other_orders_and_types_are_converted():
    problem = make(np.asfortranarray(kernel()), utilities().astype(np.int8))
    assert problem.transition.flags.c_contiguous
    assert_array_equal(problem.transition, kernel())
    assert_array_equal(problem.reward, utilities())


def test_stored_arrays_are_read_only_and_the_users_stay_writeable():
    transition, reward, constraint_reward, mask = kernel(), utilities(), utilities(2), MASK.copy()
    problem = make(
        transition, reward, constraint_reward=constraint_reward, threshold=[0.0, 0.0], actions=mask
    )
    stored = [getattr(problem, name) for name in STORED]
    arrays = [value for value in stored if isinstance(value, np.ndarray)]
    assert len(arrays) == 7
    assert not any(array.flags.writeable for array in [*arrays, problem.utility, problem.sign])
    assert all(array.flags.writeable for array in (transition, reward, constraint_reward, mask))


def test_sparse_parts_are_read_only_and_the_users_stay_writeable():
    matrix = flat(kernel())
    stored = make(matrix).transition
    assert not any(part.flags.writeable for part in (stored.data, stored.indices, stored.indptr))
    assert all(part.flags.writeable for part in (matrix.data, matrix.indices, matrix.indptr))
    with pytest.raises(ValueError, match="read-only"):
        stored.data[0] = 0.0


def test_attributes_cannot_be_set():
    problem = make()
    for name in STORED:
        with pytest.raises(FrozenInstanceError):
            setattr(problem, name, None)
    with pytest.raises(FrozenInstanceError):
        problem.other = 1


# Single precision


@pytest.mark.parametrize(("layout", "dtype"), [(np.asarray, "<f4"), (np.asarray, ">f4"), (flat, "=f4")])
def test_rows_in_single_precision_are_normalised(layout, dtype):
    raw = kernel().astype(dtype)
    assert (raw.astype(float).sum(-1) != 1).any()
    problem = make(layout(raw))
    assert_allclose(problem.transition.sum(-1), 1.0, rtol=0, atol=1e-15)
    dense = problem.transition.toarray() if problem.is_sparse else problem.transition
    assert_allclose(dense.reshape(S, A, S), kernel(), rtol=1e-6)


def test_an_initial_distribution_in_single_precision_is_normalised():
    initial = np.array([0.3, 0.6, 0.1], dtype=np.float32)
    assert abs(initial.astype(float).sum() - 1) > 1e-8
    assert_allclose(make(initial=initial).initial.sum(), 1.0, rtol=0, atol=1e-15)


@pytest.mark.parametrize("layout", [np.asarray, flat])
def test_masked_rows_in_single_precision_may_be_empty(layout):
    raw = kernel().astype(np.float32)
    raw[~MASK] = 0.0
    problem = make(layout(raw), actions=MASK)
    assert_allclose(problem.transition.sum(-1).reshape(S, A), MASK, rtol=0, atol=1e-15)


# Variants


def constrained():
    return make(
        constraint_reward=utilities(),
        threshold=1.0,
        constraint_cost=utilities(),
        budget=2.0,
        names={"constraints": ["gain", "loss"]},
    )


def test_other_limits_are_given_in_the_users_terms():
    problem = constrained()
    other = problem.with_limits([3.0, 4.0])
    assert_array_equal(other.limit, [3.0, 4.0])
    assert_array_equal(other.threshold, [3.0, -4.0])
    assert other.sense == problem.sense
    assert other.names == problem.names
    assert np.shares_memory(other.transition, problem.transition)
    assert_array_equal(problem.limit, [1.0, 2.0])


def test_one_limit_may_be_a_number_and_none_an_empty_list():
    assert_array_equal(make(constraint_cost=utilities(), budget=1.0).with_limits(5).limit, [5.0])
    assert make().with_limits([]).shape == (S, A, 0)


def test_the_limits_of_a_variant_are_not_the_callers():
    limits = np.array([3.0, 4.0])
    other = constrained().with_limits(limits)
    limits[:] = 0.0
    assert_array_equal(other.limit, [3.0, 4.0])
    assert not other.threshold.flags.writeable


def test_another_discount():
    problem = constrained()
    other = problem.with_discount(0.5)
    assert (other.discount, problem.discount) == (0.5, 0.9)
    assert_array_equal(other.utility, problem.utility)


def test_other_constraints_are_taken_in_the_internal_sense():
    other = constrained().with_constraints(utilities(), utilities(3), np.ones(3))
    assert other.shape == (S, A, 3)
    assert other.sense == (">=",) * 3
    assert not other.minimise
    assert other.names == {}
    assert not other.reward.flags.writeable


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda problem: pickle.loads(pickle.dumps(problem))])
def test_problems_can_be_sent_to_other_processes(duplicate):
    problem = constrained()
    assert duplicate(problem).names == problem.names
    assert_array_equal(duplicate(problem).transition, problem.transition)


# Names and repr


def test_names_are_used_where_there_are_any():
    problem = make(names={"states": ["a", "b", "c"], "actions": np.array(["stay", "go"])})
    assert problem.names == {"states": ("a", "b", "c"), "actions": ("stay", "go")}
    assert problem.name("states", 2) == "c"
    assert problem.name("actions", 1) == "go"


def test_numbers_stand_in_for_missing_names():
    problem = make(constraint_cost=utilities(), budget=1.0)
    assert problem.name("states", 2) == "2"
    assert problem.name("actions", 1) == "1"
    assert problem.name("constraints", 0) == "constraint 1"


def test_repr_states_the_size():
    assert repr(make()) == "CMDP(3 states, 2 actions, 0 constraints, discount 0.9, dense)"
    single = CMDP(sparse.csr_array([[1.0]]), [[0]], initial=[1], discount=0, constraint_cost=[[0]], budget=1)
    assert repr(single) == "CMDP(1 state, 1 action, 1 constraint, discount 0, sparse)"


@given(st.integers(1, 6), st.integers(1, 3), st.integers(0, 3), st.integers(0, 99))
def test_dense_and_sparse_are_the_same_problem(states, actions, constraints, seed):
    dense, thin = (garnet(states, actions, 1, constraints, seed=seed, dense=dense) for dense in (True, False))
    assert thin.shape == dense.shape
    assert_array_equal(thin.transition.toarray().reshape(dense.transition.shape), dense.transition)
    assert_array_equal(thin.utility, dense.utility)


# Rows whose sums are not quite 1


def rows_of(count, size, rng):
    """Return random rows with entries over many orders of magnitude, some of them 0 or subnormal."""
    rows = rng.random((count, size)) ** rng.choice([1.0, 20.0, 300.0], (count, 1))
    rows[rng.random((count, size)) < rng.choice([0.0, 0.5], (count, 1))] = 0.0
    rows[:, 0] += rng.choice([1e-3, 1.0], count)
    rows[:, -1] += rng.choice([0.0, 5e-324, 1e-310], count)
    rows /= rows.sum(1, keepdims=True)
    return rows * (1 + rng.choice([0.0, 2.0**-52, 3.0**-30, 1e-12, 9e-9, -9e-9], (count, 1)))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9, 100, 1000, 10_000])
def test_a_row_is_divided_at_most_once(size):
    rows = rows_of(max(10, min(2000, 50_000 // size)), size, np.random.default_rng(size))
    once = normalised(rows)
    for row, raw in zip(once, rows, strict=True):
        total, entries = fsum(raw), np.count_nonzero(raw)
        assert abs(fsum(row) - 1) <= entries * 2.0**-52
        assert np.array_equal(row, raw if abs(total - 1) <= entries * 2.0**-52 else raw / total)
    assert normalised(once) is once
    matrix = sparse.csr_array(once)
    sums = matrix @ np.ones(size)
    everywhere = np.ones(len(once), dtype=bool)
    assert sparse_divisors(matrix.data, matrix.indptr, sums, everywhere) is None


@pytest.mark.parametrize("layout", [np.asarray, flat])
@pytest.mark.parametrize("excess", [9e-9, -9e-9, 1e-14])
def test_rows_that_are_slightly_off_are_divided_by_their_sum(layout, excess):
    skewed = kernel() * (1 + excess)
    given = layout(skewed)
    initial = np.array([0.5, 0.25, 0.25]) * (1 + excess)
    problem = make(given, initial=initial)
    dense = (problem.transition.toarray() if problem.is_sparse else problem.transition).reshape(S, A, S)
    expected = [[row / fsum(row) for row in rows] for rows in skewed]
    assert_array_equal(dense, expected)
    assert_array_equal(problem.initial, initial / fsum(initial))
    again = make(problem.transition, initial=problem.initial, copy=False)
    assert np.shares_memory(*(p.transition.data if p.is_sparse else p.transition for p in (problem, again)))
    assert_array_equal(given.toarray() if sparse.issparse(given) else given, skewed.reshape(given.shape))


def test_rewards_of_rows_that_are_slightly_off_are_those_of_their_quotients():
    skew = 1 + 9e-9
    rows = [(0, 0, 0, 0.5 * skew, 1.0), (0, 0, 1, 0.5 * skew, 3.0), (1, 0, 1, skew, 5.0)]
    problem = from_rows(rows, initial=[1.0, 0.0], discount=0.5)
    assert_array_equal(problem.reward, [[2.0], [5.0]])
    assert_array_equal(problem.transition.toarray(), [[0.5, 0.5], [0.0, 1.0]])


def test_a_bound_holds_for_rows_that_are_slightly_off():
    # With rows of 1 + 9e-9 taken as they are, the optimum would be 1/(1 − 0.99·(1 + 9e-9)) of the reward.
    transition = np.full((2, 2, 2), 0.5 * (1 + 9e-9))
    problem = CMDP(transition, np.full((2, 2), 100.0) + np.eye(2), initial=[0.5, 0.5], discount=0.99)
    solution = solve(problem, LinearProgram())
    assert solution.upper_bound == pytest.approx(10_100.0, rel=1e-12)
    assert solution.reward_value == pytest.approx(10_100.0, rel=1e-12)


# Shared memory that changes under a problem


VERBS = {
    "linear program": lambda problem: solve(problem, LinearProgram()),
    "column generation": lambda problem: solve(problem, ColumnGeneration()),
    "prm": lambda problem: solve(problem, iterations=3),
    "evaluation": lambda problem: evaluate(
        TabularPolicy(uniform_policy(problem.actions)), problem, episodes=2
    ),
    "sampler": table_sampler,
    "rows": sparse_rows,
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
@pytest.mark.parametrize("part", ["indices", "indptr"])
@pytest.mark.parametrize("junk", [2**31 - 1, -1])
def test_indices_that_changed_in_shared_memory_are_refused(verb, part, junk):
    made = garnet(30, 3, 4, seed=1, dense=False)
    matrix = made.transition.copy()
    arguments = {"initial": made.initial, "discount": 0.9, "constraint_reward": made.constraint_reward}
    problem = CMDP(matrix, made.reward, threshold=made.threshold, copy=False, **arguments)
    getattr(matrix, part)[7] = junk
    with pytest.raises(InputError, match="the indices of the sparse transition have changed since"):
        verb(problem)
    verb(CMDP(made.transition, made.reward, threshold=made.threshold, copy=False, **arguments))


@pytest.mark.parametrize("layout", [np.asarray, flat])
def test_rows_that_were_emptied_in_shared_memory_are_refused(layout):
    matrix = layout(kernel())
    problem = make(matrix, copy=False)
    (matrix.data if sparse.issparse(matrix) else matrix)[...] = 0.0
    with pytest.raises(
        InputError, match="transitions have changed since the problem was made: a row is empty"
    ):
        table_sampler(problem)


@pytest.mark.parametrize("share", [True, False])
def test_a_mask_that_changes_later_leaves_the_problem_as_it_was(share):
    made = garnet(30, 3, 4, seed=1, dense=False)
    mask = np.ones(made.actions.shape, dtype=bool)
    mask[:, 2] = False
    arguments = {"initial": made.initial, "discount": 0.9, "actions": mask, "copy": not share}
    problem = CMDP(made.transition, made.reward, **arguments)
    before = solve(problem, ColumnGeneration()).reward_value
    mask[...] = False
    assert solve(problem, ColumnGeneration()).reward_value == before


@pytest.mark.parametrize("part", ["indices", "indptr"])
@pytest.mark.parametrize("junk", [2**31 - 1, -1])
def test_what_holds_a_shared_problem_notices_that_it_changed(part, junk):
    made = garnet(600, 2, 3, 0, seed=1, dense=False)
    matrix = made.transition.copy()
    problem = CMDP(matrix, made.reward, initial=made.initial, discount=0.9, copy=False)
    table = LearningTable.start(RegretMatching(), uniform_policy(problem.actions)[None])
    evaluators = [ExactEvaluator(problem), SweptEvaluator(problem)]
    simulator, rng = TableSimulator(problem), np.random.default_rng(0)
    everywhere, first = np.arange(600), np.zeros(600, dtype=int)
    for evaluator in evaluators:
        evaluator.evaluate(table)
    simulator.step(everywhere, first, rng)
    getattr(matrix, part)[1::2] = junk
    for evaluator in evaluators:
        with pytest.raises(InputError, match="have changed since the problem was made"):
            evaluator.evaluate(table)
    with pytest.raises(InputError, match="have changed since the problem was made"):
        simulator.step(everywhere, first, rng)


@pytest.mark.parametrize("masked", [False, True])
def test_utilities_in_other_units_are_those_of_a_dense_model(masked):
    """Those of a sparse model are converted where they are needed: all of them, one, some pairs, or a weighted sum, bit for bit."""
    rng = np.random.default_rng(4)
    actions = rng.random((40, 3)) < 0.7
    actions[:, 0] = True
    transition = rng.dirichlet(np.ones(40), (40, 3))
    utility = rng.normal(3.0, 2.0, (4, 40, 3))
    utility[2] = 5.0  # a constant, which goes
    given = {
        "reward": utility[0],
        "initial": np.eye(40)[0],
        "discount": 0.9,
        "constraint_reward": utility[1:],
        "threshold": np.zeros(3),
        "actions": actions if masked else None,
    }
    dense = normalise(CMDP(transition, **given))[0]
    shared = normalise(CMDP(sparse.csr_array(transition.reshape(-1, 40)), **given))[0]
    weight, pairs = rng.random(3), np.array([5, 2, 77])
    flat = dense.utility.reshape(3, -1)
    available = shared.actions.reshape(-1)
    assert_array_equal(shared.utility_range, dense.utility_range)
    assert_array_equal((weight @ shared.pair_utility)[available], (weight @ flat)[available])
    assert_array_equal(
        shared.pair_utility[:, pairs][:, available[pairs]], flat[:, pairs][:, available[pairs]]
    )
    assert_array_equal(shared.pair_utility[1][available], flat[1][available])
    assert_array_equal(shared.pair_utility[:, 3], flat[:, 3])  # the first action of a state, which each has
    assert "utility" not in shared.__dict__  # nothing of that needs all of them at once
    assert_array_equal(shared.utility, dense.utility)
    assert_array_equal(shared.constraint_reward, dense.constraint_reward)
    rows = sparse_rows(shared, shares_utility=True)
    assert_array_equal(rows.utility[:, :], sparse_rows(dense).utility)
    again = pickle.loads(pickle.dumps(shared))
    assert_array_equal(again.pair_utility[:, :], shared.pair_utility[:, :])
