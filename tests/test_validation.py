"""Every refusal of CMDP's arguments: it is an InputError that names the place and says what to do next."""

import re
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from painless import CMDP, InputError

S, A = 4, 2
LAYOUTS = {"dense": np.asarray, "sparse": lambda dense: sparse.csr_array(dense.reshape(S * A, S))}


def kernel(**changes):
    """Return P uniform over two successors; changes set entries, as in kernel(at=(0, 1, 2), to=0.5)."""
    transition = np.zeros((S, A, S))
    transition[..., :2] = 0.5
    if changes:
        transition[changes["at"]] = changes["to"]
    return transition


def filled(shape, at=None, to=0.0):
    array = np.zeros(shape)
    if at is not None:
        array[at] = to
    return array


def make(transition=None, **options):
    arguments = {"reward": filled((S, A)), "initial": [1.0, 0.0, 0.0, 0.0], "discount": 0.9} | options
    return CMDP(kernel() if transition is None else transition, **arguments)


def refused(message, transition=None, **options):
    """Check that the problem is refused with a message that holds this text, word for word."""
    with pytest.raises(InputError, match=re.escape(message)):
        make(transition, **options)


def test_the_base_case_is_accepted():
    make()


# Not numbers

RAGGED = [[1.0, 2.0], [3.0]]
NOT_NUMERIC = {
    "ragged": RAGGED,
    "texts": [["a", "b"]],
    "complex": np.ones((S, A), dtype=complex),
    "objects": [[None, {}]],
    "dates": np.zeros((S, A), dtype="M8[s]"),
    "huge": [[10**400]],
}
ARGUMENTS = ("transition", "reward", "cost", "initial", "constraint_reward", "constraint_cost", "actions")


@pytest.mark.parametrize("values", NOT_NUMERIC.values(), ids=NOT_NUMERIC)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_what_is_not_numeric_is_refused(name, values):
    arguments = {"reward": None} if name == "cost" else {}
    arguments |= {"threshold": 0.0} if name == "constraint_reward" else {}
    arguments |= {"budget": 0.0} if name == "constraint_cost" else {}
    refused(f"{name} is not a numeric array", **arguments, **{name: values})


@pytest.mark.parametrize("name", ["threshold", "budget"])
def test_limits_that_are_not_numeric_are_refused(name):
    constraint = {"threshold": "constraint_reward", "budget": "constraint_cost"}[name]
    refused(f"{name} is not a numeric array", **{name: "high", constraint: filled((S, A))})


def test_the_reason_and_the_remedy_are_given():
    refused("reward is not a numeric array (its entries are complex128); give nested", reward=[[1j]])
    refused("inhomogeneous", reward=RAGGED)


# Discount


@pytest.mark.parametrize("discount", [1.5, -0.1, np.inf, np.nan, 10**400, Fraction(3, 2)])
def test_a_discount_outside_the_range_is_refused(discount):
    refused(f"discount is {discount}, outside [0, 1); for the total reward", discount=discount)


@pytest.mark.parametrize("discount", ["0.9", 0.5j, [0.9], np.array([0.9])])
def test_a_discount_that_is_no_number_is_refused(discount):
    refused(f"discount must be a number, not {discount!r}", discount=discount)


@pytest.mark.parametrize("discount", [1 - 9e-9, 1 - 2**-53])
def test_a_discount_too_close_to_one_to_prove_anything_is_refused(discount):
    refused(
        f"discount is {discount!r}, so close to 1 that rounding outweighs what can be proved",
        discount=discount,
    )
    make(discount=1 - 1e-8)


def test_another_discount_is_checked_too():
    with pytest.raises(InputError, match=r"discount is 1.5, outside \[0, 1\)"):
        make().with_discount(1.5)


# Initial distribution


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        ([[1.0, 0.0, 0.0, 0.0]], "initial has shape (1, 4), not (S,); give one probability for each"),
        (1.0, "initial has shape (), not (S,)"),
        ([], "initial has shape (0,), not (S,)"),
        ([0.5, np.nan, 0.5, 0], "initial[1] is nan; every entry must be finite"),
        ([0.5, 0.5, np.inf, 0], "initial[2] is inf; every entry must be finite"),
        ([1.2, 0.0, 0.0, -0.2], "initial[3] is -0.2, below 0"),
        ([0.5, 0.2, 0.0, 0.2], "initial sums to 0.900000, not 1; divide it by its sum"),
        ([0.5, 0.5 + 3e-8, 0, 0], "initial sums to 1.0000000300, not 1"),
        (np.array([0.5, 0.501, 0, 0], dtype="f4"), "initial sums to 1.001000, not 1"),
    ],
)
def test_an_initial_distribution_is_checked(initial, message):
    refused(message, initial=initial)


# Transitions


def test_states_and_actions_in_the_wrong_order_are_recognised():
    refused(
        "transition has shape (2, 4, 4), which looks like (A, S, S); transpose it to (S, A, S): "
        "transition.transpose(1, 0, 2)",
        kernel().transpose(1, 0, 2),
    )


@pytest.mark.parametrize("shape", [(4, 2, 3), (3, 2, 4), (4, 0, 4), (8, 4), (4,), (), (4, 2, 4, 1)])
@pytest.mark.parametrize("kind", [np.asarray, np.ndarray.tolist])
def test_transitions_of_another_shape_are_refused(shape, kind):
    shown = "(4, 0)" if kind is np.ndarray.tolist and shape == (4, 0, 4) else str(shape)
    refused(f"transition has shape {shown}, not (S, A, S) with S = 4 as in initial", kind(np.ones(shape)))


@pytest.mark.parametrize("shape", [(8, 3), (7, 4), (0, 4), (4,)])
def test_sparse_transitions_of_another_shape_are_refused(shape):
    refused(
        f"sparse transition has shape {shape}, not (S·A, S) with S = 4 as in initial; row s·A + a",
        sparse.coo_array(np.ones(shape)),
    )


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize(
    ("to", "message"),
    [
        (np.nan, "transition[3, 1, 0] is nan; every entry must be finite"),
        (np.inf, "transition[3, 1, 0] is inf; every entry must be finite"),
        (-0.5, "transition[3, 1, 0] is -0.5, below 0; give probabilities"),
        (0.44, "transition[3, 1] sums to 0.940000, not 1; normalise the row or add an absorbing state"),
        (0.5 + 2e-8, "transition[3, 1] sums to 1.0000000200, not 1"),
    ],
)
def test_rows_that_are_no_distributions_are_refused(layout, to, message):
    refused(message, layout(kernel(at=(3, 1, 0), to=to)))


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_available_pairs_are_checked_where_others_are_masked(layout):
    mask = np.ones((S, A), dtype=bool)
    mask[0, 0] = False
    transition = kernel(at=(0, 0, 0), to=np.nan)
    make(layout(transition), actions=mask)
    transition[2, 1, 1] = np.nan
    refused("transition[2, 1, 1] is nan", layout(transition), actions=mask)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_single_precision_excuses_rounding_only(layout):
    make(layout(kernel(at=(3, 1, 0), to=0.500004).astype(np.float32)))
    refused("transition[3, 1] sums to 1.00010", layout(kernel(at=(3, 1, 0), to=0.5001).astype(np.float32)))


def test_complex_sparse_transitions_are_refused():
    refused(
        "the entries of the sparse transition are complex128; give real numbers",
        LAYOUTS["sparse"](kernel() + 0j),
    )


@pytest.mark.parametrize("index", [S, -1])
def test_sparse_indices_out_of_range_are_refused(index):
    matrix = LAYOUTS["sparse"](kernel())
    matrix.indices[3] = index
    refused("the sparse transition is not a valid CSR matrix", matrix)


# Objective


def test_reward_and_cost_exclude_each_other():
    refused(
        "give either reward (to maximise) or cost (to minimise); both are given",
        cost=filled((S, A)),
    )
    refused("give either reward (to maximise) or cost (to minimise); neither is given", reward=None)


@pytest.mark.parametrize("name", ["reward", "cost"])
@pytest.mark.parametrize("shape", [(4,), (2, 4), (4, 2, 3), (1, 4, 2), ()])
def test_an_objective_of_another_shape_is_refused(name, shape):
    arguments = {"reward": None} | {name: np.zeros(shape)}
    refused(f"{name} has shape {shape}, not (S, A) = (4, 2) or (S, A, S)", **arguments)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_an_objective_must_be_finite(layout):
    transition = layout(kernel())
    refused("reward[1, 1] is nan; every", transition, reward=filled((S, A), (1, 1), np.nan))
    refused("cost[0, 1] is -inf", transition, reward=None, cost=filled((S, A), (0, 1), -np.inf))
    refused("reward[2, 0, 3] is inf", transition, reward=filled((S, A, S), (2, 0, 3), np.inf))


@pytest.mark.parametrize("size", [1.0000001e100, -1.7e308])
def test_utilities_whose_values_overflow_are_refused(size):
    refused(f"reward[1, 1] is {size!r}, beyond ±1e+100", reward=filled((S, A), (1, 1), size))
    refused("constraint_cost[2, 0, 3] is", constraint_cost=filled((S, A, S), (2, 0, 3), size), budget=1.0)
    mask = np.ones((S, A), dtype=bool)
    mask[1, 1] = False
    assert not make(reward=filled((S, A), (1, 1), size), actions=mask).reward.any()


# Constraints


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ("constraint_reward", "threshold"),
        ("threshold", "constraint_reward"),
        ("constraint_cost", "budget"),
        ("budget", "constraint_cost"),
    ],
)
def test_a_constraint_needs_its_limit_and_the_reverse(given, missing):
    values = 1.0 if given in ("threshold", "budget") else filled((S, A))
    refused(f"{given} is given without {missing}; give both", **{given: values})


@pytest.mark.parametrize(
    ("shape", "limits", "message"),
    [
        ((2, 4, 2), [1, 2, 3], "budget has 3 entries but constraint_cost has shape (2, 4, 2), that is 2"),
        ((4, 2), [1, 2], "budget has 2 entries but constraint_cost has shape (4, 2), that is 1"),
        ((4, 2, 4), [1, 2], "budget has 2 entries but constraint_cost has shape (4, 2, 4), that is 1"),
        ((0, 4, 2), [1], "budget has 1 entries but constraint_cost has shape (0, 4, 2), that is 0"),
        ((2, 4, 2), [], "budget has 0 entries but constraint_cost has shape (2, 4, 2), that is 2"),
        ((2, 4, 2), 1.0, "give (K, S, A) = (1, 4, 2) or as many limits as constraints"),
        ((4, 2), [[1]], "budget has shape (1, 1), not (K,); give one number for each constraint"),
        ((2, 4), 1.0, "constraint_cost has shape (2, 4), not (S, A) = (4, 2) or (S, A, S)"),
        ((2, 5, 5), [1, 2], "constraint_cost[0] has shape (5, 5), not (S, A) = (4, 2)"),
        ((), 1.0, "constraint_cost has shape (), not (S, A)"),
    ],
)
def test_constraints_must_fit_their_limits(shape, limits, message):
    refused(message, constraint_cost=np.zeros(shape), budget=limits)


def test_constraints_and_limits_must_be_finite():
    one, two = filled((S, A), (2, 1), np.nan), filled((2, S, A), (1, 2, 0), np.inf)
    refused("constraint_reward[2, 1] is nan", constraint_reward=one, threshold=0.0)
    refused("constraint_reward[1][2, 0] is inf", constraint_reward=two, threshold=[0.0, 0.0])
    refused("threshold[1] is nan; give a number", constraint_reward=filled((2, S, A)), threshold=[0, np.nan])


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ([1.0], r"1 limit\(s\) given for 2 constraint\(s\); give one number for each"),
        ([1.0, np.nan], r"limit\[1\] is nan; give a number, or an infinite one for no limit"),
        ([[1.0, 2.0]], r"limit has shape \(1, 2\), not \(K,\)"),
        (["low", "high"], r"limit is not a numeric array"),
    ],
)
def test_other_limits_are_checked(limits, message):
    problem = make(constraint_reward=filled((2, S, A)), threshold=[0.0, 0.0])
    with pytest.raises(InputError, match=message):
        problem.with_limits(limits)


@pytest.mark.parametrize(
    ("constraint", "limit", "none", "never"),
    [("constraint_reward", "threshold", -np.inf, np.inf), ("constraint_cost", "budget", np.inf, -np.inf)],
)
def test_an_infinite_limit_is_no_limit_or_one_that_no_policy_meets(constraint, limit, none, never):
    utility = filled((2, S, A))
    problem = make(**{constraint: utility, limit: [1.0, none]})
    np.testing.assert_array_equal(problem.limit, [1.0, none])
    np.testing.assert_array_equal(problem.with_limits([none, 2.0]).limit, [none, 2.0])
    message = f"[1] is {never}, which no policy meets; {none} is no limit"
    refused(f"{limit}{message}", **{constraint: utility, limit: [1.0, never]})
    with pytest.raises(InputError, match=re.escape(f"limit{message}")):
        problem.with_limits([1.0, never])


# Actions


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (np.ones((A, S), dtype=bool), "actions has shape (2, 4), not (S, A) = (4, 2)"),
        ([[1, 1], [1, 2], [1, 1], [1, 1]], "actions[1, 1] is 2; give true or false for each action"),
        (filled((S, A), (0, 1), np.nan), "actions[0, 1] is nan; give true or false"),
        ([[1, 0], [0, 1], [0, 0], [1, 1]], "state 2 has no actions; give it one that stays there"),
    ],
)
def test_a_mask_is_checked(actions, message):
    refused(message, actions=actions)


# Names


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b"], "names is ['a', 'b']; give lists of names under states, actions, constraints"),
        ({"sates": ["a"]}, "unknown kind of names 'sates'; did you mean 'states'?"),
        ({0: ["a"]}, "unknown kind of names '0'"),
        ({"states": ["a"]}, "names['states'] has 1 entries, not 4; name every one"),
        ({"constraints": ["a"]}, "names['constraints'] has 1 entries, not 0"),
        ({"states": "abcd"}, "names['states'] is 'abcd'; give a list of 4 names"),
        ({"actions": 2}, "names['actions'] is 2; give a list of 2 names"),
    ],
)
def test_names_are_checked(names, message):
    refused(message, names=names)
