"""Problems from rows and from toy-text tables, checked against values computed by hand."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import painless
from painless import InputError, from_rows, garnet
from painless.bellman import policy_value
from painless.policies.table import uniform_policy
from painless.problem.sources import from_toy_text


def always(action, problem):
    """Return the policy that takes one action in every state that has it, else the other ones."""
    policy = uniform_policy(problem.actions)
    policy[problem.actions[:, action]] = np.eye(problem.shape[1])[action]
    return policy


def refused(message, make, *arguments, **options):
    with pytest.raises(InputError, match=re.escape(message)):
        make(*arguments, **options)


# Rows (s, a, s', p, reward, constraint): state 0 waits (0) or leaves (1) for state 1, which only waits.

ROWS = [
    (0, 0, 0, 0.50, 1.0, 0.0),
    (0, 0, 1, 0.25, 3.0, 0.0),
    (0, 0, 1, 0.25, 7.0, 4.0),  # the same transition once more, paid otherwise
    (0, 1, 1, 1.00, 5.0, 2.0),
    (1, 0, 1, 1.00, 1.0, 0.0),
]
START = {"initial": [1.0, 0.0], "discount": 0.5}


def test_duplicates_are_summed_and_missing_pairs_masked():
    problem = from_rows(ROWS, threshold=0.0, **START)
    assert problem.is_sparse
    assert_array_equal(problem.actions, [[True, True], [True, False]])
    assert_array_equal(problem.transition.toarray(), [[0.5, 0.5], [0, 1], [0, 1], [0, 0]])
    assert problem.transition.nnz == 4


def test_utilities_are_averaged_over_the_successor():
    problem = from_rows(ROWS, threshold=0.0, **START)
    assert_array_equal(problem.reward, [[0.5 * 1 + 0.25 * 3 + 0.25 * 7, 5.0], [1.0, 0.0]])
    assert_array_equal(problem.constraint_reward, [[[0.25 * 4, 2.0], [0.0, 0.0]]])


def test_the_values_of_rows():
    problem = from_rows(ROWS, threshold=0.0, **START)
    # V(1) = 1/(1−γ) = 2. Waiting: V = 3 + γ(V/2 + 2/2), so V = 3.5/0.75; V_c = 1/0.75. Leaving: 5 + γ·2.
    assert_allclose(policy_value(problem, always(0, problem)), [3.5 / 0.75, 1 / 0.75])
    assert_allclose(policy_value(problem, always(1, problem)), [6.0, 2.0])


def test_a_budget_reads_the_constraint_columns_as_costs():
    problem = from_rows(ROWS, budget=[1.5], names={"states": ["in", "out"]}, **START)
    assert problem.sense == ("<=",)
    assert_array_equal(problem.limit, [1.5])
    assert_array_equal(problem.constraint_reward, [[[-1.0, -2.0], [0.0, 0.0]]])
    assert problem.name("states", 1) == "out"


def test_thresholds_come_before_budgets_and_the_objective_may_be_a_cost():
    rows = [(*row, 3.0) for row in ROWS]
    problem = from_rows(rows, threshold=1.0, budget=[2.0], cost=True, **START)
    assert problem.sense == (">=", "<=")
    assert problem.minimise
    assert_array_equal(problem.limit, [1.0, 2.0])
    assert_array_equal(problem.constraint_reward[:, 0], [[1.0, 2.0], [-3.0, -3.0]])
    assert_array_equal(problem.reward[0], [-3.0, -5.0])


def test_counts_become_shares():
    rows = [(0, 0, 0, 6, 1.0), (0, 0, 1, 2, 5.0), (1, 0, 1, 7, 0.0)]
    problem = from_rows(rows, counts=True, **START)
    assert_array_equal(problem.transition.toarray(), [[0.75, 0.25], [0.0, 1.0]])
    assert_array_equal(problem.reward, [[2.0], [0.0]])
    refused("rows[1] has a count of -2", from_rows, [rows[0], (0, 0, 1, -2, 5.0)], counts=True, **START)
    message = "the counts of state 1, action 0 are all 0 (rows[2]); remove its rows"
    refused(message, from_rows, [*rows[:2], (1, 0, 1, 0, 0.0)], counts=True, **START)


def test_rows_may_come_in_any_order():
    one, two = (from_rows(rows, threshold=0.0, **START) for rows in (ROWS, ROWS[::-1]))
    assert_array_equal(one.transition.toarray(), two.transition.toarray())
    assert_array_equal(one.utility, two.utility)


def test_states_where_the_process_ends_need_no_rows():
    rows = [(0, 0, 0, 0.5, 1.0), (0, 0, 1, 0.5, 1.0), (1, 0, 2, 1.0, 3.0)]
    given = {"initial": [1.0, 0.0, 0.0], "discount": 1.0}
    for end in ([2], [False, False, True]):
        assert painless.solve(from_rows(rows, end=end, **given)).reward_value == pytest.approx(5.0)
    names = {"states": ["here", "there", "home"]}
    assert painless.solve(from_rows(rows, end="home", names=names, **given)).reward_value == pytest.approx(
        5.0
    )
    with pytest.raises(InputError, match="state 2 has no actions"):
        from_rows(rows, initial=[1.0, 0.0, 0.0], horizon=4)


def test_rows_without_constraints():
    problem = from_rows(np.array(ROWS)[:, :5], **START)
    assert problem.shape == (2, 2, 0)


@given(st.integers(1, 5), st.integers(1, 3), st.integers(0, 2), st.integers(0, 99))
def test_the_rows_of_a_problem_make_the_problem(states, actions, constraints, seed):
    problem = garnet(states, actions, 1 + states // 2, constraints, seed=seed)
    at = np.argwhere(problem.transition > 0)
    s, a, _ = at.T
    table = np.column_stack([at, problem.transition[tuple(at.T)], problem.utility[:, s, a].T])
    again = from_rows(
        table,
        initial=problem.initial,
        discount=problem.discount,
        threshold=problem.threshold if constraints else None,
    )
    assert_allclose(again.transition.toarray().reshape(problem.transition.shape), problem.transition)
    assert_allclose(again.utility, problem.utility)
    assert again.actions.all()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((2, 0, 0, 1.0, 0.0), "rows[1] has s = 2; states are 0..1 (the length of initial)"),
        ((-1, 0, 0, 1.0, 0.0), "rows[1] has s = -1"),
        ((0, -1, 0, 1.0, 0.0), "rows[1] has a = -1"),
        (
            (0, 0.5, 0, 1.0, 0.0),
            "rows[1] has a = 0.5; states are 0..1 (the length of initial) and actions whole",
        ),
        ((0, 1e300, 0, 1.0, 0.0), "rows[1] has a = 1e+300"),
        ((0, 0, 2, 1.0, 0.0), "rows[1] has s' = 2"),
        ((0, 0, 1, np.nan, 0.0), "rows[1, 3] is nan; every entry must be finite"),
        ((np.inf, 0, 0, 1.0, 0.0), "rows[1, 0] is inf; every entry must be finite"),
        ((0, 0, 1, 0.0, np.inf), "rows[1, 4] is inf; every entry must be finite"),
        ((0, 0, 1, -0.5, 0.0), "transition[0, 0, 1] is -0.5, below 0"),
        ((0, 0, 1, 0.5, 0.0), "transition[0, 0] sums to 1.500000, not 1"),
    ],
)
def test_a_bad_row_is_named(row, message):
    refused(message, from_rows, [(0, 0, 0, 1.0, 0.0), row, (1, 0, 1, 1.0, 0.0)], **START)


def test_a_state_without_rows_is_named():
    refused("state 1 has no actions; give it one that stays there", from_rows, [(0, 0, 1, 1.0, 0.0)], **START)


@pytest.mark.parametrize("rows", [[], [(0, 0, 0, 1.0)], [0, 0, 0, 1.0, 0.0], 1.0])
def test_rows_need_five_columns(rows):
    shape = np.shape(rows)
    refused(f"rows has shape {shape}, not (N, 5 + K): s, a, s', p, reward", from_rows, rows, **START)


def test_rows_must_be_numbers():
    refused("rows is not a numeric array", from_rows, [("a", 0, 0, 1.0, 0.0)], **START)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (
            {},
            "0 limit(s) are given as threshold and budget, but rows has 1 constraint column(s); give one for",
        ),
        (
            {"threshold": 1, "budget": 1},
            "2 limit(s) are given as threshold and budget, but rows has 1 constraint",
        ),
        ({"threshold": [1, 2]}, "2 limit(s) are given"),
        ({"budget": []}, "0 limit(s) are given"),
        ({"budget": [np.nan]}, "budget[0] is nan"),
    ],
)
def test_the_limits_of_rows_are_checked(limits, message):
    refused(message, from_rows, ROWS, **START, **limits)


@pytest.mark.parametrize("initial", [[], [[1.0], [0.0, 0.0]], [0.5, 0.4]])
def test_the_initial_distribution_of_rows_is_checked(initial):
    refused("initial", from_rows, ROWS, threshold=0.0, initial=initial, discount=0.5)


# A table like FrozenLake's: from the ice (0) into a hole (1) or, with luck, to the goal (2). Both absorb.

LAKE = {
    0: {0: [(1.0, 1, 0.0, True)], 1: [(0.5, 2, 1.0, True), (0.25, 0, 0.0, False), (0.25, 1, 0.0, True)]},
    1: {0: [(1.0, 1, 0, True)], 1: [(1.0, 1, 0, True)]},
    2: {0: [(1.0, 2, 0, True)], 1: [(1.0, 2, 0, True)]},
}

# A table like CliffWalking's: every step costs 1, also those out of the goal (2), which does not absorb.

CLIFF = {
    0: {0: [(1.0, 0, -1, False)], 1: [(1.0, 1, -1, False)]},
    1: {0: [(1.0, 0, -1, False)], 1: [(1.0, 2, -1, True)]},
    2: {0: [(1.0, 1, -1, False)], 1: [(1.0, 2, -1, True)]},
}
FIRST = {"initial": [1.0, 0.0, 0.0], "discount": 0.5}


def test_where_terminal_states_absorb_no_state_is_added():
    problem = from_toy_text(LAKE, **FIRST)
    assert problem.shape == (3, 2, 0)
    # V(0) = 0.5 + γ·0.25·V(0) for action 1, and 0 for action 0.
    assert_allclose(policy_value(problem, always(1, problem)), [0.5 / 0.875])
    assert_allclose(policy_value(problem, always(0, problem)), [0.0])


def test_where_a_terminal_state_does_not_absorb_an_end_is_added():
    problem = from_toy_text(CLIFF, **FIRST)
    assert problem.shape == (4, 2, 0)
    assert problem.initial[3] == 0.0
    # Two steps and the end: −1 − γ; and for ever on the spot: −1/(1−γ).
    assert_allclose(policy_value(problem, always(1, problem)), [-1.5])
    assert_allclose(policy_value(problem, always(0, problem)), [-2.0])
    assert_array_equal(problem.transition.toarray()[-2:], [[0, 0, 0, 1], [0, 0, 0, 1]])
    assert_array_equal(problem.reward[3], [0.0, 0.0])


def test_the_end_pays_no_constraint_and_has_a_name():
    problem = from_toy_text(
        CLIFF,
        constraint_reward=np.ones((3, 2)),
        threshold=1.0,
        constraint_cost=[[[0.0, 0.0], [0.0, 4.0], [9.0, 9.0]]],
        budget=[3.0],
        names={"states": ["start", "edge", "goal"], "actions": ["back", "on"]},
        **FIRST,
    )
    assert problem.shape == (4, 2, 2)
    assert problem.sense == (">=", "<=")
    assert problem.names["states"] == ("start", "edge", "goal", "end")
    assert problem.names["actions"] == ("back", "on")
    assert_array_equal(problem.constraint_reward[:, 3], 0.0)
    # Two steps, each with constraint reward 1; the second costs 4: γ·4.
    assert_allclose(policy_value(problem, always(1, problem)), [-1.5, 1.5, -2.0])


def test_constraints_alone_do_not_add_an_end():
    cost = np.array([[0.0, 2.0], [0.0, 0.0], [0.0, 0.0]])
    names = {"states": ["ice", "hole", "goal"]}
    problem = from_toy_text(LAKE, constraint_cost=cost, budget=1.0, names=names, **FIRST)
    assert problem.shape == (3, 2, 1)
    assert problem.names == {"states": ("ice", "hole", "goal")}
    assert_allclose(policy_value(problem, always(1, problem)), [0.5 / 0.875, -2 / 0.875])


def test_a_constraint_paid_in_a_terminal_state_ends_there():
    cost = np.array([[0.0, 2.0], [0.0, 0.0], [5.0, 5.0]])
    problem = from_toy_text(LAKE, constraint_cost=cost, budget=1.0, **FIRST)
    assert problem.shape == (4, 2, 1)
    assert_allclose(policy_value(problem, always(1, problem)), [0.5 / 0.875, -2 / 0.875])


def test_rewards_may_be_read_as_costs():
    problem = from_toy_text(CLIFF, negate=True, **FIRST)
    assert problem.minimise
    assert_array_equal(-problem.reward[:3], np.ones((3, 2)))
    assert_allclose(policy_value(problem, always(1, problem)), [-1.5])


def test_actions_that_a_state_lacks_are_masked():
    table = {0: {1: [(1.0, 1, 2.0, False)]}, 1: {0: [(1.0, 1, 0.0, False)]}}
    problem = from_toy_text(table, initial=[1.0, 0.0], discount=0.5)
    assert_array_equal(problem.actions, [[False, True], [True, False]])
    assert_allclose(policy_value(problem, uniform_policy(problem.actions)), [2.0])


def test_numbers_of_numpy_are_fine():
    table = {
        np.int64(s): {a: [(np.float32(p), np.int64(t), r, np.bool_(end)) for p, t, r, end in outcomes]}
        for s, choices in LAKE.items()
        for a, outcomes in choices.items()
        if a == 1
    }
    assert from_toy_text(table, **FIRST).shape == (3, 2, 0)


@pytest.mark.parametrize(
    "table",
    [
        [[[(1.0, 0, 0.0, True)]]],
        {0: [[(1.0, 0, 0.0, True)]]},
        {0: {0: [(1.0, 0, 0.0)]}},
        {0: {0: (1.0, 0, 0.0, True)}},
        {0: {0: [("often", 0, 0.0, True)]}},
        {0: {0: [(1.0, 0.5, 0.0, True)]}},
        {"0": {0: [(1.0, 0, 0.0, True)]}},
        {0: {0: [(1.0, 0, None, True)]}},
    ],
    ids=["list", "lists", "triple", "no list", "text", "half", "key", "none"],
)
def test_a_malformed_table_is_refused(table):
    message = "the table is not P[s][a] = [(p, s', reward, terminated), …]"
    refused(message, from_toy_text, table, initial=[1.0], discount=0.5)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "the table has no transitions; give P[s][a]"),
        ({0: {}}, "the table has no transitions"),
        ({0: {0: [(1.0, 1, 0.0, True)]}}, "P[0][0] leads to 1, but the table has 1 states; number states"),
        ({0: {0: [(1.0, -1, 0.0, False)]}}, "P[0][0] leads to -1, but the table has 1 states"),
        ({3: {0: [(1.0, 0, 0.0, False)]}}, "P[3][0] leads to 0, but the table has 1 states; number states"),
        ({0: {-1: [(1.0, 0, 0.0, False)]}}, "P[0][-1] leads to 0"),
        ({0: {0: [(0.5, 0, 0.0, False)]}}, "transition[0, 0] sums to 0.500000, not 1"),
        (
            {0: {0: [(1.0, 0, float("nan"), False)]}},
            "P[0][0] has p = 1 and reward = nan; both must be finite",
        ),
        ({0: {0: [(float("inf"), 0, 0, False)]}}, "P[0][0] has p = inf and reward = 0; both must be finite"),
    ],
)
def test_a_table_that_does_not_close_is_refused(table, message):
    refused(message, from_toy_text, table, initial=[1.0], discount=0.5)


def test_a_terminal_state_without_actions_is_refused():
    table = {0: {0: [(1.0, 1, 1.0, True)]}, 1: {}}
    refused("state 1 has no actions", from_toy_text, table, initial=[1.0, 0.0], discount=0.5)


@pytest.mark.parametrize("table", [LAKE, CLIFF])
def test_the_initial_distribution_of_a_table_is_checked(table):
    message = "initial has 2 entries, the table 3 states; give one for each"
    refused(message, from_toy_text, table, initial=[1.0, 0.0], discount=0.5)
    refused("initial has shape (1, 3)", from_toy_text, table, initial=[[1.0, 0.0, 0.0]], discount=0.5)


@pytest.mark.parametrize("table", [LAKE, CLIFF])
@pytest.mark.parametrize("shape", [(2, 3), (4, 2), (3, 2, 3), (1, 1, 3, 2), (3,)])
def test_constraints_must_fit_the_table(table, shape):
    refused(
        f"constraint_cost has shape {shape}, not (K, S, A) with (S, A) = (3, 2), the table's own states",
        from_toy_text,
        table,
        constraint_cost=np.zeros(shape),
        budget=1.0,
        **FIRST,
    )


@pytest.mark.parametrize("table", [LAKE, CLIFF])
def test_limits_and_names_of_a_table_are_checked(table):
    refused("budget is given without constraint_cost", from_toy_text, table, budget=1.0, **FIRST)
    refused("names['states'] has", from_toy_text, table, names={"states": ["a"]}, **FIRST)
    refused("names is ['a']; give lists", from_toy_text, table, names=["a"], **FIRST)
