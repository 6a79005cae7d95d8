"""Names of states, actions and constraints: text, numbers, tuples and dates, wherever a number would do."""

import re
from datetime import date, datetime

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import painless
from painless import InputError, TabularPolicy
from painless.problem.names import Names, locate, text_of

KINDS = {
    "text": ["fresh, 3 left", "old", "gone"],
    "whole numbers": [30, 10, 20],
    "numbers": [0.5, 1.5, 2.0],
    "tuples": [(1, "a"), (0, "b"), (0, "a")],
    "dates": [date(2026, 3, 1), date(2026, 3, 3), date(2026, 3, 2)],
    "times": [datetime(2026, 3, 1, 8), datetime(2026, 3, 1), datetime(2026, 3, 1, 12)],
}
TABLE = [[0.25, 0.75], [1.0, 0.0], [0.0, 1.0]]

each_kind = pytest.mark.parametrize("names", KINDS.values(), ids=KINDS)


def problem(states, actions=("work", "rest"), constraints=("waste", "noise")):
    """Three states in a circle; "work" stays, "rest" moves on."""
    transition = np.stack([np.eye(3), np.roll(np.eye(3), 1, axis=1)], 1)
    return painless.CMDP(
        transition,
        [[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]],
        initial=[1.0, 0.0, 0.0],
        discount=0.9,
        constraint_cost=[[[1.0, 0.0]] * 3, [[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]]],
        budget=[9.0, 3.0],
        names={"states": states, "actions": actions, "constraints": constraints},
    )


@each_kind
def test_a_policy_is_read_by_names(names):
    policy = TabularPolicy(TABLE, {"states": names, "actions": ["sell", "keep"]})
    for state, row in zip(names, TABLE, strict=True):
        assert_array_equal(policy.at(state), row)
        assert_array_equal(policy.at(text_of(state)), row)
    assert_array_equal(policy.at(names[::-1]), TABLE[::-1])
    assert policy[names[0]] == {"sell": 0.25, "keep": 0.75}
    assert policy.act(names[1]) == "sell"
    assert policy.act(names[2], np.random.default_rng(0)) == "keep"


@each_kind
def test_actions_have_names_of_every_kind(names):
    policy = TabularPolicy([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], {"actions": names})
    assert policy.act(0) == names[2]
    assert policy[1] == {names[0]: 1.0}


@each_kind
@pytest.mark.parametrize("ending", ["npz", "json", "drn"])
def test_names_are_found_again_in_a_file(names, ending, tmp_path):
    path = tmp_path / f"model.{ending}"
    problem(names, constraints=names[:2]).save(path)
    again = painless.load(path)
    for place, name in enumerate(names):
        assert again.index("states", name) == place
    assert again.index("constraints", names[1]) == 1
    assert painless.solve(again).policy.at(names[1]).shape == (2,)


@each_kind
def test_solutions_frontiers_and_pages_take_every_name(names, tmp_path):
    named = problem(names, names[:2], names[:2])
    solution = painless.solve(named)
    assert solution.policy.act(names[2]) in names[:2]
    solution.save(tmp_path / "saved", named)
    assert_array_equal(
        painless.Solution.load(tmp_path / "saved").policy.at(names[2]), solution.policy.at(names[2])
    )
    assert painless.frontier(named, constraint=names[1]).constraint == 1
    assert painless.frontier(named, constraint=names[1]).as_dict()["state_names"] is not None


def test_numbers_are_places_unless_names_are_numbers():
    text = TabularPolicy(TABLE, {"states": KINDS["text"]})
    assert_array_equal(text.at([0, "gone"]), [TABLE[0], TABLE[2]])
    assert_array_equal(text.at(np.array([2, 0])), [TABLE[2], TABLE[0]])
    numbers = TabularPolicy(TABLE, {"states": KINDS["whole numbers"]})
    assert_array_equal(numbers.at(np.array([10, 30])), [TABLE[1], TABLE[0]])
    with pytest.raises(InputError, match=r"there is no state '0'; .*Known: 30, 10, 20"):
        numbers.at(0)


def test_a_date_is_midnight_and_the_text_of_both():
    names = Names(KINDS["dates"])
    for given in (date(2026, 3, 3), datetime(2026, 3, 3), np.datetime64("2026-03-03"), "2026-03-03"):
        assert locate(names, given, 3) == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "fresh, 2 left",
            "there is no state 'fresh, 2 left'; did you mean 'fresh, 3 left'? Known: fresh, 3 left",
        ),
        (3, "there is no state 3; give a number from 0 to 2"),
        (True, "there is no state 'True'"),
        (None, "there is no state 'None'"),
        (["old", "new"], "there is no state 'new'"),
        ([["old"]], "there is no state"),
        (1.5, "there is no state '1.5'"),
    ],
)
def test_an_unknown_state_is_refused(given, message):
    policy = TabularPolicy(TABLE, {"states": KINDS["text"]})
    for look in (policy.at, policy.act, policy.__getitem__):
        with pytest.raises(InputError, match=re.escape(message)):
            look(given)


def test_one_state_is_asked_for_at_a_time():
    policy = TabularPolicy(TABLE, {"states": KINDS["text"]})
    with pytest.raises(InputError, match=r"give one state, or take at\(states\) for several"):
        policy[["old", "gone"]]
    with pytest.raises(TypeError):
        iter(policy)


@pytest.mark.parametrize("twice", [["a", "b", "a"], [1, 2, "1"], [1, 2, 1.0], [(1, 2), (2, 1), "(1, 2)"]])
def test_two_states_of_one_name_are_refused(twice):
    message = re.escape("twice, at 0 and 2; give each its own name")
    with pytest.raises(InputError, match=rf"names\['states'\] has .* {message}"):
        problem(twice)
    with pytest.raises(InputError, match=message):
        TabularPolicy(TABLE, {"states": twice})


def test_limits_are_changed_by_name():
    changed = problem(KINDS["text"]).with_limits({"noise": 2})
    assert_array_equal(changed.limit, [9.0, 2.0])
    assert_array_equal(changed.with_limits({0: 1.0, "noise": np.inf}).limit, [1.0, np.inf])
    plain = painless.gridworld(constraints=3)
    assert_array_equal(plain.with_limits({"constraint 2": 0.5}).limit[1:], [0.5, plain.limit[2]])
    with pytest.raises(InputError, match="there is no constraint 'nosie'; did you mean 'noise'"):
        changed.with_limits({"nosie": 2})
    with pytest.raises(InputError, match="limit of 'noise' must be a number, not 'low'"):
        changed.with_limits({"noise": "low"})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"transition": np.full((3, 2, 3), 0.25)}, "transition[0, 0] sums to 0.750000, not 1"),
        ({"reward": [[0, 0], [0, np.nan], [0, 0]]}, "reward[1, 1] is nan"),
        ({"actions": [[1, 1], [0, 0], [1, 1]]}, "state 1 has no actions"),
    ],
)
def test_errors_of_arrays_say_the_names(change, message):
    given = {"transition": np.stack([np.eye(3)] * 2, 1), "reward": np.zeros((3, 2))} | change
    names = {"states": KINDS["text"], "actions": ["sell", "keep"]}
    with pytest.raises(InputError, match=re.escape(message)) as error:
        painless.CMDP(**given, initial=[1.0, 0.0, 0.0], discount=0.9, names=names)
    end = {"transition": "(state 'fresh, 3 left', action 'sell')", "reward": "(state 'old', action 'keep')"}
    assert str(error.value).endswith(end.get(*change, "(state 'old')"))


# ---------------------------------------------------------------------------------------------- saved policies


@each_kind
@pytest.mark.parametrize("visits", [None, [2.0, 0.0, 8.0]])
@pytest.mark.parametrize("ending", ["npz", "csv"])
def test_a_table_is_read_as_it_was_saved(names, visits, ending, tmp_path):
    given = None if visits is None else np.array(visits)
    policy = TabularPolicy(TABLE, {"states": names, "actions": ["visits", "state, too"]}, given)
    policy.save(tmp_path / f"policy.{ending}")
    again = painless.load_policy(tmp_path / f"policy.{ending}")
    assert_array_equal(again.probabilities, policy.probabilities)
    assert_array_equal(again.at(names[::-1]), TABLE[::-1])
    assert again[names[0]] == {"visits": 0.25, "state, too": 0.75}
    assert (again.visits is None) == (visits is None)
    if visits is not None:
        assert_array_equal(again.visits, visits)


def test_a_table_without_names_has_none_again(tmp_path):
    painless.save_policy(TabularPolicy(TABLE), tmp_path / "policy.csv")
    assert painless.load_policy(tmp_path / "policy.csv").names == {}
    painless.save_policy(TabularPolicy(TABLE), tmp_path / "policy.npz")
    assert painless.load_policy(tmp_path / "policy.npz").names == {}


def test_the_policy_of_a_folder(tmp_path):
    solution = painless.solve(problem(KINDS["text"]))
    solution.save(tmp_path / "solution")
    again = painless.load_policy(tmp_path / "solution")
    assert_array_equal(again.probabilities, solution.policy.probabilities)
    assert again.names == solution.policy.names
    assert_array_equal(
        painless.load_policy(tmp_path / "solution" / "policy.csv").probabilities, again.probabilities
    )
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="contains no saved solution or training"):
        painless.load_policy(tmp_path / "empty")
    np.savez(tmp_path / "solution" / "arrays.npz", probabilities=np.ones((3, 1)))
    with pytest.raises(InputError, match="is not the file that was saved"):
        painless.load_policy(tmp_path / "solution")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is not a policy as to_csv writes it"),
        ("state\n", "is not a policy as to_csv writes it"),
        ("state,a\nx,often\n", "is not a policy as to_csv writes it: could not convert"),
        ("name,a\nx,1\n", "its columns are not state"),
        ("state,a,b\nx,1,0\ny,1\n", "is not a policy as to_csv writes it"),
        ("state,a,b\nx,0.5,0.4\n", "sums to 0.900000, not 1"),
        ("state,a\nx,1\nx,1\n", "names['states'] has 'x' twice"),
    ],
)
def test_a_csv_that_is_no_policy_is_refused(content, message, tmp_path):
    (tmp_path / "policy.csv").write_text(content)
    with pytest.raises(InputError, match=re.escape(message)):
        painless.load_policy(tmp_path / "policy.csv")


def test_a_policy_is_saved_by_its_ending(tmp_path):
    with pytest.raises(InputError, match=r"must end in \.npz or \.csv"):
        TabularPolicy(TABLE).save(tmp_path / "policy.txt")
    with pytest.raises(InputError, match="policy is a list; what is saved is a TabularPolicy"):
        painless.save_policy(TABLE, tmp_path / "policy.npz")
