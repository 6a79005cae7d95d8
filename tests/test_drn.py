"""Storm's explicit format: problems come back to the bit, models of others are read, and the rest is refused kindly."""

import json
import re
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import painless
from painless import CMDP, InputError, LinearProgram, load
from painless.problem.formats.drn import lines, text
from painless.problem.formats.drn.header import NOTE
from painless.problem.formats.drn.rounding import lost, restored
from tests.problems import garnets
from tests.test_files import DOC, assert_same, plain, rich

TWO = """\
    // Exported by storm
    // Original model type: MDP
    @type: MDP
    @value_type: double
    @parameters

    @reward_models
    steps energy
    @nr_states
    3
    @nr_choices
    4
    @model
    state 0 [1, 0] init
    \taction go [0, 2]
    \t\t1 : 0.25
    \t\t2 : 0.75
    \taction wait [0, 0.5]
    \t\t0 : 1
    state 1 [1, 0] done "a b"
    // x=1 & y=0
    \taction go [0, 1]
    \t\t2 : 1
    state 2 [0, 0]
    \taction stay [0, 0]
    \t\t2 : 1
    """
CHAIN = """\
    @type: DTMC
    @parameters

    @reward_models
    r
    @nr_states
    2
    @model
    state 0 [2] init
    1 : 1/4
    0:3/4
    state 1 "init"
      \taction 0
      \t\t1 : 1e0
    """


def written(tmp_path, content, *changes):
    """Write a file, after replacing some of its text."""
    content = dedent(content)
    for old, new in changes:
        assert old in content
        content = content.replace(old, new)
    path = tmp_path / "model.drn"
    path.write_text(content)
    return path


def without_strays(problem):
    """Return the problem with 0 at pairs that states do not have, where files of this kind hold nothing."""
    kernel = problem.transition
    return problem._replace(
        transition=kernel if problem.is_sparse else np.where(problem.actions[:, :, None], kernel, 0.0),
        reward=np.where(problem.actions, problem.reward, 0.0),
        constraint_reward=np.where(problem.actions, problem.constraint_reward, 0.0),
    )


def round_trip(problem, path):
    problem.save(path)
    return load(path)


def test_values_of_variables_are_names(tmp_path):
    """As Storm writes them below each state."""
    content = """
        @type: MDP
        @reward_models
        steps
        @nr_states
        2
        @model
        state 0 [1] init
        //[x=0\t& y=true]
        \taction go [0]
        \t\t1 : 1
        state 1 [0]
          //[x=1 & y=false]
        \taction go [0]
        \t\t1 : 1
        """
    problem = load(written(tmp_path, content), discount=0.5)
    assert problem.names["states"] == ("x=0,y=true", "x=1,y=false")
    other = load(written(tmp_path, content, ("//[x=0\t& y=true]", "// another comment [x]")), discount=0.5)
    assert "states" not in other.names


# There and back


@given(garnets())
def test_every_problem_comes_back_to_the_bit(tmp_path_factory, problem):
    path = tmp_path_factory.getbasetemp() / "trip.drn"
    assert_same(without_strays(problem), round_trip(problem, path))


@pytest.mark.parametrize(
    "name", ["gridworld-3", "maintenance", "queueing", "slippery-grid", "streaming", "wireless", "inventory"]
)
def test_registered_problems_come_back_to_the_bit(tmp_path, name):
    problem = painless.make(name)
    assert_same(without_strays(problem), round_trip(problem, tmp_path / "model.drn"))


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("make", [rich, plain])
def test_costs_masks_and_names_come_back(tmp_path, make, dense):
    problem = make(dense)
    assert_same(without_strays(problem), round_trip(problem, tmp_path / "model.drn"))


@given(st.lists(st.floats(0, 1), min_size=1), st.floats(0, 1, exclude_max=True))
def test_probabilities_come_back_from_their_discounted_selves(numbers, discount):
    probability = np.array(numbers)
    again = restored(probability * discount, discount, lost(probability, discount))
    assert_array_equal(again.view(np.int64), (probability + 0.0).view(np.int64))


@pytest.mark.parametrize("discount", [0.5, 0.0])
def test_nothing_is_lost_where_nothing_is_rounded(discount):
    assert (lost(np.array([0.1, 0.7]), discount) is None) == (discount == 0.5)


def test_blocks_do_not_show(tmp_path, monkeypatch):
    problem = painless.garnet(30, 3, 4, 2, seed=3, dense=False)
    whole = round_trip(problem, tmp_path / "whole.drn")
    monkeypatch.setattr(text, "BLOCK", 101)
    monkeypatch.setattr("painless.problem.formats.drn.writing.BLOCK", 7)
    assert_same(whole, round_trip(problem, tmp_path / "parts.drn"))
    assert (tmp_path / "whole.drn").read_bytes() == (tmp_path / "parts.drn").read_bytes()


def test_entries_of_probability_zero_are_left_out(tmp_path):
    kernel = sparse.csr_array(
        (np.array([1.0, 0.0, 1.0]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 2)
    )
    problem = CMDP(kernel, [[1.0], [0.0]], initial=[1.0, 0.0], discount=0.9)
    again = round_trip(problem, tmp_path / "model.drn")
    assert_array_equal(again.transition.toarray(), kernel.toarray())
    assert again.transition.nnz == 2


# What Storm sees: total rewards, without a discount


def total(path, **roles):
    """Solve a written model as one of somebody else, with a discount so close to 1 that there is none."""
    other = path.with_name("other.drn")
    other.write_text("".join(line for line in path.read_text().splitlines(True) if not line.startswith("//")))
    return painless.solve(load(other, discount=1 - 1e-6, **roles), LinearProgram()).reward_value


def test_total_rewards_of_the_file_are_the_discounted_ones(tmp_path):
    world, queue = painless.gridworld(), painless.make("maintenance", discount=0.9, budget=0.3)
    world.save(tmp_path / "world.drn")
    assert total(tmp_path / "world.drn", limit=1.5) == pytest.approx(1.6527218430, abs=1e-4)
    queue.save(tmp_path / "queue.drn")
    roles = {"cost": "cost", "constraint_cost": "share_of_days_in_repair", "limit": 0.3}
    expected = painless.solve(queue, LinearProgram()).reward_value
    assert total(tmp_path / "queue.drn", **roles) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (painless.garnet(5, 2, 2, 0), 'R{"reward"}max=? [C]'),
        (painless.gridworld(), 'multi(R{"reward"}max=? [C], R{"c0"}>=1.5 [C])'),
        (
            painless.make("queueing"),
            'multi(R{"cost"}min=? [C], R{"throughput"}>=0.45 [C], R{"waiting"}<=5.0 [C])',
        ),
    ],
)
def test_the_question_stands_in_the_file(tmp_path, problem, expected):
    problem.save(tmp_path / "model.drn")
    assert f"// property: {expected}" in (tmp_path / "model.drn").read_text().splitlines()


def test_names_that_the_format_cannot_hold_become_labels_or_numbers(tmp_path):
    names = {"actions": ["go [fast]", "go, slowly"], "constraints": ["reward", "a b"]}
    problem = CMDP(
        [[[1.0], [1.0]]],
        [[1.0, 0.0]],
        initial=[1.0],
        discount=0.5,
        constraint_reward=np.ones((2, 1, 2)),
        threshold=[0.0, 0.0],
        names=names,
    )
    again = round_trip(problem, tmp_path / "model.drn")
    content = (tmp_path / "model.drn").read_text()
    assert "\taction go_fast [" in content
    assert "@reward_models\nreward c0 c1\n" in content
    assert_same(problem, again)


# Models of others


def test_a_model_of_storm_is_read(tmp_path):
    path = written(tmp_path, TWO)
    problem = load(path, discount=0.9, cost="steps", constraint_cost=["energy"], limit=[2.0])
    assert problem.shape == (3, 3, 1)
    assert problem.is_sparse
    assert problem.minimise
    assert problem.sense == ("<=",)
    assert problem.names == {"actions": ("go", "wait", "stay"), "constraints": ("energy",)}
    assert_array_equal(problem.actions, [[True, True, False], [True, False, False], [False, False, True]])
    assert_array_equal(problem.initial, [1.0, 0.0, 0.0])
    assert_array_equal(-problem.reward, [[1, 1, 0], [1, 0, 0], [0, 0, 0]])
    assert_array_equal(-problem.constraint_reward[0], [[2, 0.5, 0], [1, 0, 0], [0, 0, 0]])
    kernel = problem.transition.toarray().reshape(3, 3, 3)
    assert_array_equal(kernel[0, 0], [0, 0.25, 0.75])
    assert_array_equal(kernel[1, 0], [0, 0, 1])
    assert_array_equal(kernel[1, 1], [0, 0, 0])


def test_a_chain_is_read_with_fractions_and_without_action_lines(tmp_path):
    problem = load(written(tmp_path, CHAIN), discount=0.5)
    assert problem.shape == (2, 1, 0)
    assert_array_equal(problem.transition.toarray(), [[0.75, 0.25], [0, 1]])
    assert_array_equal(problem.initial, [0.5, 0.5])
    assert_array_equal(problem.reward, [[2.0], [0.0]])


def test_fractions_that_no_double_is_are_refused(tmp_path):
    with pytest.raises(InputError, match="line 10: '1 : 1/3' has the fraction 1/3, which no double is"):
        load(written(tmp_path, CHAIN, ("1/4", "1/3"), ("3/4", "2/3")), discount=0.5)
    with pytest.raises(InputError, match="line 9: 'state 0 \\[1/7\\] init' has the fraction 1/7"):
        load(written(tmp_path, CHAIN, ("[2]", "[1/7]")), discount=0.5)


def test_a_horizon_in_place_of_a_discount(tmp_path):
    """Four steps, each of which stays with probability 3/4 and pays 2: 2·(1 + 3/4 + 9/16 + 27/64), and as much from the other half, nothing."""
    path = written(tmp_path, CHAIN)
    problem = load(path, horizon=4)
    assert painless.solve(problem).reward_value == pytest.approx((1 - 0.75**4) / 0.25)
    assert load(path, horizon=4, discount=0.5).discount == 0.5


def test_a_label_is_where_it_ends(tmp_path):
    """Until "a b" is reached, which ends the process before anything is paid there."""
    path = written(tmp_path, TWO)
    for end in ("done", "a b", ["a b", "done"]):
        problem = load(path, end=end, cost="steps")
        assert_array_equal(problem.end, [False, True, False])
        assert problem.criterion is painless.problem.Criterion.TOTAL
    with pytest.raises(InputError, match=r"unknown label 'over'.* Known: a b, done, init"):
        load(path, end="over", cost="steps")
    with pytest.raises(InputError, match="end is for a process without a horizon"):
        load(path, end="done", horizon=4, cost="steps")


def test_a_problem_with_an_end_comes_back(tmp_path):
    problem = load(written(tmp_path, TWO), end="done", cost="steps")
    for name in ("a.drn", "a.umb", "a.tra"):
        problem.save(tmp_path / name)
        same = load(tmp_path / name)
        assert_array_equal(same.end, problem.end)
        assert_array_equal(same.transition.toarray(), problem.transition.toarray())


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ({"limit": [1.0]}, ((">=",), False, 0)),
        ({"reward": "energy"}, ((), False, 1)),
        ({"cost": "energy"}, ((), True, 1)),
        ({"reward": "energy", "limit": 1.0}, ((">=",), False, 1)),
        ({"constraint_reward": "energy", "constraint_cost": ["energy", "steps"], "limit": [0, 5, 9]}, None),
    ],
)
def test_reward_models_play_the_roles_that_are_given(tmp_path, roles, expected):
    problem = load(written(tmp_path, TWO), discount=0.9, **roles)
    sense, minimise, objective = expected or ((">=", "<=", "<="), False, 0)
    assert problem.sense == sense
    assert problem.minimise == minimise
    own = [[[1, 1, 0], [1, 0, 0], [0, 0, 0]], [[2, 0.5, 0], [1, 0, 0], [0, 0, 0]]][objective]
    assert_array_equal(problem.reward * problem.sign[0], own)


NAMELESS = ("action wait", "action __NOLABEL__")


@pytest.mark.parametrize(
    "changes",
    [[("action wait", "action go")], [NAMELESS, ("action go [0, 2]", "action __NOLABEL__ [0, 2]")]],
)
def test_actions_without_names_of_their_own_are_numbered(tmp_path, changes):
    problem = load(written(tmp_path, TWO, *changes), discount=0.9, reward="steps")
    assert problem.names["actions"] == ("0", "1")
    assert_array_equal(problem.actions, [[True, True], [True, False], [True, False]])


def test_one_action_without_a_name_spoils_no_others(tmp_path):
    """Storm writes loops of states without a command in this way."""
    problem = load(written(tmp_path, TWO, NAMELESS), discount=0.9, reward="steps")
    assert problem.names["actions"] == ("go", "stay", "unlabelled")
    assert_array_equal(problem.actions, [[True, False, True], [True, False, False], [False, True, False]])


def test_a_single_reward_model_may_have_no_name(tmp_path):
    """Storm writes a blank then."""
    problem = load(written(tmp_path, CHAIN, ("\nr\n", "\n \n")), discount=0.5, reward="reward")
    assert_array_equal(problem.reward, [[2.0], [0.0]])


def test_models_without_any_names_are_numbered(tmp_path):
    changes = [NAMELESS, ("action go", "action __NOLABEL__"), ("action stay", "action __NOLABEL__")]
    problem = load(written(tmp_path, TWO, *changes), discount=0.9, reward="steps")
    assert problem.names["actions"] == ("0", "1")


@pytest.mark.parametrize(
    ("initial", "expected"),
    [("done", [0, 1, 0]), (["init", "a b"], [0.5, 0.5, 0]), ([2], [0, 0, 1]), (1, [0, 1, 0])],
)
def test_first_states_may_be_given(tmp_path, initial, expected):
    """A model checker has an answer for each of several first states; a problem has one for all of them, or for those that are given."""
    path = written(tmp_path, TWO)
    assert_array_equal(load(path, discount=0.9, reward="steps", initial=initial).initial, expected)
    load(path, discount=0.9, reward="steps").save(tmp_path / "own.drn")
    if initial in ([2], 1):
        assert_array_equal(load(tmp_path / "own.drn", initial=initial).initial, expected)


def test_first_states_that_are_none(tmp_path, run):
    path = written(tmp_path, TWO)
    with pytest.raises(InputError, match="unknown label 'home'"):
        load(path, discount=0.9, reward="steps", initial="home")
    with pytest.raises(InputError, match="no state 7"):
        load(path, discount=0.9, reward="steps", initial=[7])
    code, out, _ = run("check", path, "-p", "discount=0.9", "-p", "reward=steps", "-p", "initial=1,2")
    assert (code, "valid" in out) == (0, True)


def test_too_many_names_are_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("painless.problem.formats.choices.SPARE", 2)
    assert load(written(tmp_path, TWO), discount=0.9, reward="steps").shape == (3, 2, 0)


def test_choices_may_come_in_any_order(tmp_path):
    swapped = (
        ("action stay [0, 0]\n\t\t2 : 1\n", "action wait [0, 0]\n\t\t2 : 1\n\taction go [7, 0]\n\t\t1 : 1\n"),
    )
    problem = load(written(tmp_path, TWO, *swapped, ("\n4\n", "\n5\n")), discount=0.9, reward="steps")
    assert problem.names["actions"] == ("go", "wait")
    assert problem.reward[2, 0] == 7
    assert_array_equal(problem.transition.toarray()[4:], [[0, 1, 0], [0, 0, 1]])


def test_probabilities_with_few_digits_are_normalised_and_others_left_alone(tmp_path):
    short = (("0.25", "0.333333"), ("0.75", "0.666666"))
    kernel = load(written(tmp_path, TWO, *short), discount=0.9, reward="steps").transition.toarray()
    assert_allclose(kernel[0], [0, 1 / 3, 2 / 3], atol=1e-6)
    assert kernel[0].sum() == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("slow", [True, False])
def test_numbers_are_read_in_every_way(tmp_path, monkeypatch, slow):
    if slow:
        monkeypatch.setattr(lines, "_numbers", lambda text: None)
    problem = painless.garnet(7, 3, 3, 2, seed=3)
    assert_same(problem, round_trip(problem, tmp_path / "model.drn"))


def test_what_a_file_says_about_itself_can_be_overruled(tmp_path):
    problem = painless.make("queueing")
    problem.save(tmp_path / "model.drn")
    other = load(tmp_path / "model.drn", discount=0.5, limit=[0.1, 3.0])
    assert (other.discount, other.limit.tolist()) == (0.5, [0.1, 3.0])
    assert_array_equal(other.transition[problem.actions], problem.transition[problem.actions])
    only = load(tmp_path / "model.drn", reward="throughput")
    assert (only.shape[2], only.minimise, only.discount) == (0, False, problem.discount)


def test_the_documented_model_is_read_as_documented(tmp_path, monkeypatch):
    page = DOC.read_text(encoding="utf-8")
    (model,) = re.findall(r"```text\n(@type.*?)```", page, re.DOTALL)
    (script,) = re.findall(r"<!-- not run -->\n```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.drn").write_text(model)
    names = {"painless": painless}
    exec(script, names)
    assert names["problem"].name("constraints", 0) == "energy"
    assert names["problem"].limit == [3.0]
    assert painless.solve(names["problem"], LinearProgram()).feasible


# What is refused


def refused(path, *pieces, **arguments):
    with pytest.raises(InputError) as caught:
        load(path, **({"discount": 0.9, "reward": "steps"} | arguments))
    for piece in (str(path), *pieces):
        assert piece in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("@type: MDP", "@type: CTMC", "line 3: the model is of type CTMC, in continuous time; make it"),
        (
            "@type: MDP",
            "@type: Markov Automaton",
            "line 3: the model is of type Markov Automaton, in continuous",
        ),
        ("@type: MDP", "@type: POMDP", "line 3: the model is of type POMDP, partially observed"),
        ("@type: MDP", "@type: SMG", "a game; fix the other players"),
        ("@type: MDP", "@type: XYZ", "of an unknown type; MDP and DTMC can be read"),
        ("@type: MDP\n", "", "line 12: no type is given before @model"),
        (
            "value_type: double",
            "value_type: double-interval",
            "line 4: the values are double-interval; export",
        ),
        (
            "@parameters\n",
            "@parameters\np q",
            "line 6: the model has parameters (p q); instantiate it in Storm",
        ),
        (
            "@reward_models",
            "@placeholders\n$0 : p+1\n@reward_models",
            "line 8: the model has parameters ($0 : p",
        ),
        ("@reward_models", "@rewards", "line 7: '@rewards' is no part of the header"),
        ("@nr_states\n3", "@nr_states\nx", "line 10: 'x' after @nr_states is not a whole number"),
        ("@nr_states\n3\n", "", "no number of states is given before @model"),
        ("@nr_states\n3", "@nr_states\n4", "@nr_states is 4, but 3 states follow; is it whole?"),
        ("@nr_choices\n4", "@nr_choices\n5", "@nr_choices is 5, but 4 follow; is it whole?"),
        ("steps energy", "steps steps", "two reward models have the same name: steps, steps"),
        (
            "steps energy",
            "",
            "line 14: 'state 0 [1, 0] init' does not have one reward for each of the 0 reward",
        ),
        ("[0, 0.5]", "[0]", "line 18: 'action wait [0]' does not have one reward for each of the 2"),
        ("[0, 0.5]", "[0, p]", "line 18: a reward in 'action wait [0, p]' is not a finite number"),
        ("[0, 0.5]", "[0, 1e999]", "line 18: a reward in"),
        ("state 1 ", "state 7 ", "line 20: 'state 7 [1, 0] done \"a b\"' does not go on with the number"),
        ("state 1 ", "start 1 ", "line 20: 'start 1 [1, 0] done \"a b\"' does not go on"),
        ("action wait", "actor wait", "line 18: 'actor wait [0, 0.5]' is no action"),
        ("1 : 0.25", "1 - 0.25", "line 16: '1 - 0.25' is not of the form successor : probability"),
        ("1 : 0.25", "1 : 0.25 2", "line 16: '1 : 0.25 2' is not of the form"),
        ("1 : 0.25", "1 : ", "line 16: '1 :' is not of the form"),
        ("1 : 0.25", "1 2 :", "line 16: '1 2 :' is not of the form"),
        ("1 : 0.25", "1 : : 0.25", "is not of the form successor : probability"),
        ("1 : 0.25", "1 : [0.2, 0.3]", "line 16: '1 : [0.2, 0.3]' has an interval; fix its probability"),
        ("1 : 0.25", "1 : p", "line 16: the probability in '1 : p' is not a number ≥ 0"),
        ("1 : 0.25", "1 : 1/0", "line 16: the probability in '1 : 1/0' is not a number ≥ 0"),
        ("1 : 0.25", "1 : -0.25", "line 16: the probability in '1 : -0.25' is not a number ≥ 0"),
        ("1 : 0.25", "9 : 0.25", "line 16: the successor in '9 : 0.25' is no state; they are 0 to 2"),
        ("1 : 0.25", "1.5 : 0.25", "line 16: the successor in '1.5 : 0.25' is no state"),
        (
            "1 : 0.25",
            "x : 0.25",
            "line 16: 'x : 0.25' is neither a state, an action, a transition nor a comment",
        ),
        ("// x=1", "/ x=1", "line 21: '/ x=1 & y=0' is neither"),
        (
            "1 : 0.25",
            "1 : 0.2",
            "line 14: the probabilities of action 'go' in state 0 sum to 0.950000, not 1",
        ),
        ("\t\t1 : 0.25\n\t\t2 : 0.75\n", "", "line 14: an action of state 0 has no successors"),
        (
            "\taction go [0, 1]\n\t\t2 : 1\n",
            "",
            "line 18: state 1 has no action; give it one that stays there",
        ),
        ("@model\n", "@model\n\t\t0 : 1\n", "line 14: it comes before the first state"),
        ("init", "", "no state has the label init; add it to the line of the first state"),
        ("@model", "model", "line 13: 'model' is no part of the header"),
    ],
)
def test_a_model_that_cannot_be_read_is_refused_with_its_line(tmp_path, old, new, message):
    changes = [(old, new)]
    if old.endswith("2 : 1\n"):
        changes.append(("@nr_choices\n4\n", ""))
    refused(written(tmp_path, TWO, *changes), message)


def test_a_header_alone_is_refused(tmp_path):
    path = tmp_path / "model.drn"
    path.write_text("@type: MDP\n")
    refused(path, "there is no line @model")


def test_a_short_file_cannot_ask_for_much(tmp_path):
    """A table of two states less than there are, with a billion actions; and more states than bytes."""
    path = tmp_path / "model.drn"
    note = '// painless: {"discount": 0.9, "actions": 1000000000, "reward": "r"}\n'
    rest = "state 0\n\t0 : 1\nstate 1 init\n\t1 : 1\n"
    path.write_text(f"{note}@type: MDP\n@reward_models\nr\n@nr_states\n2\n@model\n{rest}")
    with pytest.raises(InputError, match="0 states and 1000000000 actions"):
        load(path)
    for count in ("100000000", "9" * 18, "9" * 5000):
        path.write_text(f"@type: MDP\n@reward_models\nr\n@nr_states\n{count}\n@model\n{rest}")
        with pytest.raises(InputError, match=r"is it whole|not a whole number"):
            load(path, discount=0.9)


def test_a_line_may_begin_with_many_blanks(tmp_path):
    path = tmp_path / "model.drn"
    lines = ["state 0 init", "\t0 : 1"]
    path.write_text(
        "@type: MDP\n@reward_models\nr\n@nr_states\n1\n@model\n" + "\n".join(" " * 10**6 + x for x in lines)
    )
    assert load(path, discount=0.9).shape == (1, 1, 0)


@pytest.mark.parametrize(
    "note", ['{"constraint_reward": 5}', '{"limit": [[1], [1, 2]]}', '{"reward": {"a": 1}}']
)
def test_a_note_that_makes_no_sense_is_refused(tmp_path, note):
    path = tmp_path / "model.drn"
    painless.gridworld().save(path)
    text = path.read_text()
    start = text.index(NOTE) + len(NOTE)
    end = text.index("\n", start)
    path.write_text(text[:start] + json.dumps(json.loads(text[start:end]) | json.loads(note)) + text[end:])
    with pytest.raises(InputError):
        load(path)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "model.drn"
    refused(path, "does not exist or is not a file; check the path")
    path.write_bytes(b"\xff\xfe\n")
    refused(path, "line 1: it is not UTF-8 text")
    path.unlink()
    path.mkdir()
    refused(path, "does not exist or is not a file; check the path")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"discount": None}, "a .drn file has no discount; give one: load(path, discount=0.99)"),
        ({"discount": 1.5}, "discount is 1.5, outside [0, 1)"),
        ({"reward": None}, "the model has 2 reward models (steps, energy); say which to maximise"),
        ({"reward": "step"}, "unknown reward model 'step'; did you mean 'steps'?"),
        ({"reward": ["steps", "energy"]}, "reward is ['steps', 'energy']; give the name of one reward model"),
        ({"cost": "energy"}, "give either reward (to maximise) or cost (to minimise); both are given"),
        ({"constraint_cost": "energy"}, "0 limit(s) given for 1 constraint(s) (energy); give one for each"),
        ({"limit": [1.0, 2.0]}, "2 limit(s) given for 1 constraint(s) (energy)"),
    ],
)
def test_what_is_said_about_a_model_must_fit_it(tmp_path, arguments, message):
    refused(written(tmp_path, TWO), message, **arguments)


def test_a_model_without_rewards_is_refused(tmp_path):
    bare = ((" [2]", ""), ("@reward_models\nr\n", "@reward_models\n\n"))
    refused(written(tmp_path, CHAIN, *bare), "the model has no reward models", reward=None)


@pytest.mark.parametrize("role", ["reward", "cost", "constraint_reward", "constraint_cost"])
def test_roles_are_for_this_format(tmp_path, role):
    plain().save(tmp_path / "problem.npz")
    with pytest.raises(InputError, match=rf"{role} is for \.drn, \.umb, \.tra or \.csv files; remove it"):
        load(tmp_path / "problem.npz", **{role: "steps"})


@pytest.mark.parametrize("suffix", [".npz", ".json", ".drn"])
def test_every_file_takes_another_discount_and_other_limits(tmp_path, suffix):
    painless.gridworld().save(tmp_path / f"problem{suffix}")
    other = load(tmp_path / f"problem{suffix}", discount=0.8, limit=0.7)
    assert_same(other, painless.gridworld().with_discount(0.8).with_limits([0.7]))


def own(tmp_path):
    painless.garnet(6, 2, 3, seed=1, dense=False).save(tmp_path / "model.drn")
    return (tmp_path / "model.drn").read_text()


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(
            "\t\t6 : 0.09999999999999998\n", "\t\t0 : 0.05\n\t\t6 : 0.04999999999999998\n", 1
        ),
        lambda text: text.replace('"discount": 0.9', '"discount": 0.7'),
        lambda text: text.replace('"actions": 2', '"actions": 1'),
        lambda text: text.replace('"actions": 2', '"actions": 1000000000000000'),
        lambda text: text.replace('"actions": 2, ', ""),
        lambda text: text.replace("action 1 ", "action 2 "),
        lambda text: text.replace("action 1 ", "action 0 "),
        lambda text: text.replace("-rounding: 1 ", "-rounding: 3 "),
        lambda text: text.replace("-rounding: 1 ", "-rounding: 1 AAAA"),
        lambda text: text.replace("-rounding: 1 ", "-rounding: 8 "),
    ],
)
def test_our_own_model_with_changes_is_refused_with_the_way_out(tmp_path, change):
    before = own(tmp_path)
    after = change(before)
    assert after != before
    (tmp_path / "model.drn").write_text(after)
    with pytest.raises(InputError) as caught:
        load(tmp_path / "model.drn")
    assert "is not the one that painless wrote" in str(caught.value)
    assert "delete the comments that begin with '// painless'" in str(caught.value)


def test_without_the_rounding_the_rest_comes_back(tmp_path):
    content = own(tmp_path)
    problem = load(tmp_path / "model.drn")
    kept = [line for line in content.splitlines(True) if "rounding" not in line]
    (tmp_path / "model.drn").write_text("".join(kept))
    again = load(tmp_path / "model.drn")
    assert len(kept) < len(content.splitlines())
    assert_allclose(again.transition.data, problem.transition.data, rtol=1e-15)
    assert_array_equal(again.utility, problem.utility)


@pytest.mark.parametrize(
    ("text", "message"), [("{", "Expecting"), ("[1]", "it is no object"), ("[" * 10**5, "")]
)
def test_a_damaged_note_is_refused(tmp_path, text, message):
    path = written(tmp_path, TWO, ("// Exported by storm", f"// painless: {text}"))
    refused(path, "line 1: the note of painless is damaged", message, "delete the line")


# The command line


def test_the_command_line_reads_models(run, tmp_path):
    path = written(tmp_path, TWO)
    said = ("-p", "cost=steps", "-p", "constraint_cost=energy")
    code, out, _ = run("check", path, *said, "-p", "discount=0.9", "-p", "limit=2")
    assert code == 0
    assert "valid, CMDP(3 states, 3 actions, 1 constraint, discount 0.9, sparse)" in out
    assert "<= 2" in out
    code, out, _ = run("solve", path, *said, "--discount", "0.9", "--threshold", "3", "--json")
    assert code == 0
    assert json.loads(out)["threshold"] == [3.0]


def test_the_command_line_reads_our_own_models_without_a_word(run, tmp_path):
    painless.gridworld().save(tmp_path / "world.drn")
    code, out, _ = run("solve", tmp_path / "world.drn", "--algorithm", "lp", "--json")
    assert code == 0
    assert json.loads(out)["reward_value"] == pytest.approx(1.6527218430, abs=1e-8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "a .drn file has no discount"),
        (("-p", "discount"), "'discount' is not of the form name=value"),
        (("-p", "discount=x"), "discount is 'x', not a number"),
        (("-p", "limit=1,x"), "limit is '1,x', not a list of numbers with commas"),
        (("-p", "costs=x"), "unknown parameter of a .drn file 'costs'; did you mean 'cost'?"),
    ],
)
def test_the_command_line_refuses_in_one_line(run, tmp_path, arguments, message):
    code, _, err = run("check", written(tmp_path, TWO), *arguments)
    assert code == 2
    assert message in err
    assert len(err.splitlines()) == 1


def test_parameters_are_not_for_other_files(run, tmp_path):
    plain().save(tmp_path / "problem.npz")
    code, _, err = run("check", tmp_path / "problem.npz", "-p", "cost=steps")
    assert code == 2
    assert "--parameter is for registered problems and .drn, .umb, .tra or .csv files" in err


def test_states_without_a_label(tmp_path):
    """`!done` are the states that do not have it: P(G done) is what is left of the chance to reach one of them."""
    path = written(tmp_path, TWO)
    assert_array_equal(load(path, end="!done", cost="steps").end, [True, False, True])
    problem = load(path, reward="reach(!init)")
    assert painless.solve(problem).reward_value == pytest.approx(1.0)
    with pytest.raises(InputError, match="unknown label 'over'"):
        load(path, reward="reach(!over)")
