"""Every public verb answers arguments that make no sense with a sentence: an InputError, never a traceback from inside."""

import numpy as np
import pytest

import painless
from painless import CBP, CRPO, GDA, PRM, CartPole, ColumnGeneration, InputError, LinearProgram, TabularPolicy
from painless.frontiers.surface import frontier_surface
from painless.loop.batch import solve_batch
from painless.policies.table import MIXED, initial_policy, uniform_policy
from painless.simulation.rollouts import roll_out
from painless.simulation.simulator import TableSimulator

WORLD = painless.gridworld()
POLICY = TabularPolicy(uniform_policy(WORLD.actions))
CURVE = painless.frontier(WORLD)
NONSENSE = {
    "text": "x",
    "nan": np.nan,
    "negative": -1,
    "dict": {},
    "object": object(),
    "array": np.zeros((2, 2)),
    "class": painless.CBP,
    "bytes": b"x",
    "complex": 1j,
}
ONE = {"transition": [[[1.0], [1.0]]], "reward": [[0.0, 1.0]], "initial": [1.0], "discount": 0.5}
ROWS = {"rows": [(0, 0, 0, 1.0, 1.0, 1.0)], "initial": [1.0], "discount": 0.5, "threshold": 0.5}
TRAIN = {"environment": CartPole(), "iterations": 1, "episodes": 2, "multiplier_bound": [1.0, 1.0]}
CALLS = {  # a function, arguments that make sense, and those that are replaced by nonsense
    painless.solve: (
        {"problem": WORLD},
        ("problem", "algorithm", "iterations", "tolerance", "time_limit", "initial_policy", "output", "seed"),
    ),
    painless.evaluate: (
        {"policy": POLICY, "problem": WORLD, "episodes": 2},
        ("policy", "problem", "episodes", "confidence", "seed"),
    ),
    painless.frontier: ({"problem": WORLD}, ("problem", "constraint", "tolerance")),
    frontier_surface: ({"problem": WORLD}, ("problem", "constraints", "points")),
    solve_batch: (
        {"problem": WORLD, "algorithms": [CBP()], "iterations": 1},
        ("problem", "algorithms", "iterations", "initial_policies", "seed"),
    ),
    painless.train: (
        TRAIN,
        (
            "environment",
            "algorithm",
            "features",
            "iterations",
            "feasibility_iterations",
            "episodes",
            "confidence",
            "seed",
            "save_every",
        ),
    ),
    painless.garnet: (
        {"states": 5, "actions": 2, "branching": 2},
        ("states", "actions", "branching", "constraints", "seed", "discount", "tightness"),
    ),
    painless.gridworld: ({}, ("discount", "constraints")),
    painless.from_rows: (ROWS, ("rows", "initial", "discount")),
    painless.CMDP: (ONE, tuple(ONE)),
    painless.make: ({"name": "garnet"}, ("name",)),
    CURVE.policy: ({"vertex": 0}, ("vertex",)),
    CURVE.occupancy: ({"vertex": 0}, ("vertex",)),
    POLICY.at: ({"states": 0}, ("states",)),
    POLICY.act: ({"state": 0}, ("state", "rng")),
}
CASES = [(call, given, name) for call, (given, names) in CALLS.items() for name in names]


@pytest.mark.parametrize("nonsense", NONSENSE)
@pytest.mark.parametrize(("call", "given", "name"), CASES, ids=[f"{c.__name__}-{n}" for c, _, n in CASES])
def test_nonsense_gets_a_sentence(call, given, name, nonsense):
    with pytest.raises(InputError, match=" "):
        call(**given | {name: NONSENSE[nonsense]})


PATHS = [
    painless.load,
    painless.load_policy,
    painless.Solution.load,
    painless.Frontier.load,
    WORLD.save,
    CURVE.save,
]


@pytest.mark.parametrize("call", PATHS)
@pytest.mark.parametrize("path", [None, 3, b"bytes.npz", np.zeros(2)])
def test_a_path_is_text(call, path):
    with pytest.raises(InputError, match="is not a path; give the name of a file or folder"):
        call(path)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("lp", r"algorithm is 'lp'; give an object, such as painless.LinearProgram\(\)"),
        ("CBP", r"algorithm is 'CBP'; give an object, such as painless.CBP\(\)"),
        (CBP, r"algorithm is the class CBP; give an object: painless.CBP\(\)"),
        (LinearProgram, r"the class LinearProgram; give an object: painless.LinearProgram\(\)"),
        (5, r"algorithm is 5; give an object, such as painless.PRM\(\)"),
        (
            CBP(np.array([1.0, 2.0])),
            "alpha is an array; give one number, or several algorithms to solve_batch",
        ),
        (GDA(1.0, "x"), "multiplier_rate is not a numeric array"),
        (CRPO(1.0, None), "tolerance is not a numeric array"),
        (CRPO(seed="x"), "seed is 'x'; it must be a whole number"),
        (PRM([]), "growth is an array"),
    ],
)
def test_an_algorithm_is_an_object(given, message):
    with pytest.raises(InputError, match=message):
        painless.solve(WORLD, given, iterations=2)


@pytest.mark.parametrize(
    "arguments", [{"smoothing": "x"}, {"smoothing": 1.0}, {"rounds": 1.5}, {"rounds": 0}]
)
def test_the_settings_of_column_generation_are_checked(arguments):
    with pytest.raises(InputError, match=f"{next(iter(arguments))} "):
        ColumnGeneration(**arguments)


def test_the_name_of_a_problem_is_no_problem():
    message = (
        r"problem is 'gridworld'; give the problem itself: painless.make\('gridworld'\), or painless.load"
    )
    for verb in (painless.solve, painless.frontier):
        with pytest.raises(InputError, match=message):
            verb("gridworld")
    with pytest.raises(InputError, match="a table is solved, not trained"):
        painless.train(WORLD)


# Policies


MASKED = painless.CMDP(
    np.full((3, 2, 3), 1 / 3),
    np.ones((3, 2)),
    initial=[1.0, 0.0, 0.0],
    discount=0.5,
    actions=[[True, True], [True, False], [True, True]],
)
FITS = [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]


def changed(at, to):
    table = np.array(FITS)
    table[at] = to
    return table


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ([0, 0, 1], r"policy has shape \(3,\), not \(S, A\) = \(3, 2\); .*np.eye\(A\)\[actions\]"),
        (np.full((7, 2), 0.5), r"policy has shape \(7, 2\), not \(S, A\) = \(3, 2\)"),
        (np.full((3, 3), 1 / 3), r"policy has shape \(3, 3\)"),
        (changed((0, 1), 1.5), r"policy\[0\] sums to 2.000000, not 1; divide the row by its sum"),
        (changed(1, [0.5, 0.5]), r"policy\[1, 1\] is 0.5, but state 1 does not have action 1"),
        (changed((2, 0), np.nan), r"policy\[2, 0\] is nan"),
        (changed(2, [-0.5, 1.5]), r"policy\[2, 0\] is -0.5, below 0"),
        ("uniform", "policy is a str, which cannot act; give a TabularPolicy, or a table"),
        (None, "policy is a NoneType"),
    ],
)
@pytest.mark.parametrize("problem", [MASKED, TableSimulator(MASKED)], ids=["table", "simulator"])
def test_a_policy_is_checked_before_it_is_evaluated(policy, message, problem):
    with pytest.raises(InputError, match=message):
        painless.evaluate(policy, problem, episodes=2)


def test_a_solution_has_a_policy():
    with pytest.raises(
        InputError, match=r"policy is a Solution, which cannot act; give its policy, such as solution.policy"
    ):
        painless.evaluate(painless.solve(MASKED), MASKED, episodes=2)


def test_a_policy_for_another_problem_is_refused():
    with pytest.raises(InputError, match=r"policy has shape \(3, 2\), not \(S, A\) = \(25, 4\)"):
        painless.evaluate(TabularPolicy(FITS), WORLD, episodes=2)
    with pytest.raises(
        InputError, match=r"policy has shape \(3, 2\), but the simulator 4 actions|states are given as"
    ):
        painless.evaluate(TabularPolicy(FITS), CartPole(), episodes=2)


def test_a_plain_table_is_a_policy():
    plain = painless.evaluate(FITS, MASKED, episodes=20)
    policy = painless.evaluate(TabularPolicy(np.array(FITS)), MASKED, episodes=20)
    np.testing.assert_array_equal(plain.mean, policy.mean)


def test_a_policy_that_takes_an_action_that_is_not_there_is_stopped():
    class Second:
        def at(self, states):
            return np.tile([0.0, 1.0], (len(states), 1))

    with pytest.raises(InputError, match=r"state 1 does not have action 1; it has \[0\]"):
        painless.evaluate(Second(), MASKED, episodes=50)


def test_a_policy_for_another_number_of_actions_is_stopped():
    class Three:
        def at(self, states):
            return np.full((len(states), 3), 1 / 3)

    with pytest.raises(InputError, match=r"probabilities of shape \(5, 3\) for 5 states with 2 actions"):
        roll_out(TableSimulator(MASKED), Three(), 5, np.random.default_rng(0))


def test_a_policy_over_features_for_another_number_of_actions_is_refused():
    policy = painless.train(**TRAIN).policy
    with pytest.raises(InputError, match="the policy has 2 actions and the simulator 4; give the one it"):
        painless.evaluate(policy, WORLD, episodes=2)


def test_a_policy_owns_its_table():
    table = np.array(FITS)
    policy = TabularPolicy(table)
    table[:] = 0.0
    np.testing.assert_array_equal(policy.probabilities, FITS)
    assert not policy.probabilities.flags.writeable


def test_rows_of_a_policy_that_are_slightly_off_are_divided_by_their_sum():
    policy = TabularPolicy(np.array(FITS) * (1 + 9e-9))
    np.testing.assert_array_equal(policy.probabilities, FITS)
    again = TabularPolicy(policy.probabilities)
    np.testing.assert_array_equal(again.probabilities, policy.probabilities)


@pytest.mark.parametrize("state", [-1, 25, 1.0, True, [0], "a"])
def test_act_refuses_what_is_no_state(state):
    with pytest.raises(InputError, match="state"):
        POLICY.act(state, np.random.default_rng(0))


@pytest.mark.parametrize("states", [[-1], [0, 25], [0.5], np.array([True])])
def test_at_refuses_what_are_no_states(states):
    with pytest.raises(InputError, match="state"):
        POLICY.at(states)


def test_at_no_states():
    assert POLICY.at([]).shape == (0, 4)


def test_act_needs_no_generator():
    assert POLICY.act(3) in range(4)
    assert TabularPolicy([[0.0, 1.0]]).act(0) == 1


@pytest.mark.parametrize("names", [{"states": ["a"]}, ["a"], {"rooms": ["a", "b", "c"]}])
def test_the_names_of_a_policy_are_checked(names):
    with pytest.raises(InputError, match="names"):
        TabularPolicy(FITS, names)


# A warm start with zeros


@pytest.mark.parametrize("algorithm", [PRM(), CBP(), GDA(), CRPO(), LinearProgram(), ColumnGeneration()])
def test_what_solve_returned_may_start_the_next(algorithm):
    first = painless.solve(WORLD).policy
    assert (first.probabilities == 0).any()
    solution = painless.solve(WORLD, algorithm, iterations=30, initial_policy=first)
    assert solution.feasible


def test_a_little_of_the_uniform_policy_is_mixed_in_where_actions_are_left_out():
    start = initial_policy(TabularPolicy(FITS), MASKED.actions)
    np.testing.assert_array_equal(start[:2], FITS[:2])  # the masked 0 stays
    np.testing.assert_allclose(start[2], [0.5 * MIXED, 1 - 0.5 * MIXED])
