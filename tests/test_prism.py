"""PRISM's explicit files: numbers come back to the bit, models of others are read, what is no model is refused with a sentence."""

import json
import re
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

import painless
from painless import CMDP, InputError, load
from tests.problems import garnets
from tests.test_drn import round_trip, without_strays
from tests.test_files import assert_same, rich

FILES = {
    "model.tra": """
        3 4 5
        0 0 1 0.25 go
        0 0 2 0.75 go
        0 1 0 1 wait
        1 0 2 1 go
        2 0 2 1 go
        """,
    "model1.srew": """
        # Reward structure: "steps"
        # State rewards
        3 2
        0 1
        1 1
        """,
    "model1.trew": """
        # Reward structure: "steps"
        # Transition rewards
        3 4 1
        0 1 0 2
        """,
    "model2.trew": """
        # Reward structure: "energy"
        # Transition rewards
        3 4 4
        0 0 1 4
        0 0 2 8
        0 1 0 0.5
        1 0 2 1
        """,
    "model.lab": """
        0="init" 1="deadlock" 2="goal"
        0: 0
        1: 0
        2: 2
        """,
    "model.sta": """
        (x,y)
        0:(0,true)
        1:(1,true)
        2:(2,false)
        """,
}
ROLES = {"discount": 0.9, "cost": "steps", "constraint_cost": "energy", "limit": [3.0]}


def written(folder, changes=()):
    for name, text in {**FILES, **dict(changes)}.items():
        if text is not None:
            (folder / name).write_text(dedent(text).lstrip("\n"))
    return folder / "model.tra"


# There and back


def same(one, two):
    for name in ("reward", "constraint_reward", "threshold", "initial", "actions"):
        assert_array_equal(getattr(one, name), getattr(two, name))
    kernels = [
        p.transition.toarray() if p.is_sparse else p.transition.reshape(-1, p.shape[0]) for p in (one, two)
    ]
    assert_array_equal(*kernels)


@given(garnets())
def test_every_number_comes_back_to_the_bit(tmp_path_factory, problem):
    states = problem.shape[0]
    uniform = without_strays(problem)._replace(initial=np.ones(states) / states)
    assert_same(uniform, round_trip(uniform, tmp_path_factory.getbasetemp() / "trip.tra"))


@pytest.mark.parametrize("name", ["gridworld", "maintenance", "queueing", "inventory"])
def test_registered_problems_come_back(tmp_path, name):
    problem = without_strays(painless.make(name))
    assert_same(problem, round_trip(problem, tmp_path / "model.tra"))


@pytest.mark.parametrize("dense", [True, False])
def test_costs_masks_and_names_come_back(tmp_path, dense):
    problem = without_strays(rich(dense))._replace(initial=np.full(4, 0.25))
    assert_same(problem, round_trip(problem, tmp_path / "model.tra"))


def test_numbers_come_back_without_the_comment(tmp_path):
    """As after another program has written the files anew; actions are found by their names."""
    problem = without_strays(rich(dense=False))._replace(initial=np.full(4, 0.25))
    problem.save(tmp_path / "model.tra")
    first = tmp_path / "model1.trew"
    kept = [line for line in first.read_text().splitlines() if not line.startswith("# painless")]
    first.write_text("\n".join(kept) + "\n")
    rest = {"cost": "cost", "constraint_reward": ["fast", "safe"], "constraint_cost": "cheap"}
    same(problem, load(tmp_path / "model.tra", discount=problem.discount, limit=problem.limit, **rest))


@pytest.mark.parametrize(
    "change", ['"actions": 2', '"actions": 1000000000000', '"actions": "4"', '"discount": null']
)
def test_a_changed_note_is_refused(tmp_path, change):
    painless.gridworld().save(tmp_path / "model.tra")
    first = tmp_path / "model1.trew"
    key = change.split(":")[0]
    text = re.sub(f"{key}: [^,]*", change, first.read_text())
    assert text != first.read_text()
    first.write_text(text)
    with pytest.raises(InputError):
        load(tmp_path / "model.tra")


def test_a_foreign_model_comes_back_with_its_names(tmp_path):
    first = load(written(tmp_path), **ROLES)
    (tmp_path / "other").mkdir()
    first.save(tmp_path / "other" / "copy.tra")
    second = load(tmp_path / "other" / "copy.tra", **ROLES | {"cost": "cost"})
    same(first, second)
    assert first.names["states"] == second.names["states"] == ("x=0,y=true", "x=1,y=true", "x=2,y=false")
    assert first.names["actions"] == second.names["actions"] == ("go", "wait")


def test_saving_replaces_an_earlier_export(tmp_path):
    path = written(tmp_path)
    painless.garnet(4, 2, 2, 0).save(path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.lab", "model.tra", "model.trew"]


def test_a_drawn_start_is_refused(tmp_path):
    problem = CMDP(np.full((2, 1, 2), 0.5), np.ones((2, 1)), initial=[0.25, 0.75], discount=0.5)
    with pytest.raises(InputError, match=r"equally likely.*save it as \.umb or \.drn"):
        problem.save(tmp_path / "model.tra")
    assert not [*tmp_path.iterdir()]


# Models of others


def test_a_model_of_somebody_else(tmp_path):
    problem = load(written(tmp_path), **ROLES)
    assert_array_equal(problem.actions, [[True, True], [True, False], [True, False]])
    assert_array_equal(-problem.reward, [[1, 3], [1, 0], [0, 0]])
    assert_array_equal(-problem.constraint_reward, [[[7, 0.5], [1, 0], [0, 0]]])
    assert_array_equal(problem.initial, [0.5, 0.5, 0])
    assert_array_equal(problem.transition.toarray()[0], [0, 0.25, 0.75])


def test_a_chain_without_labels_or_names(tmp_path):
    (tmp_path / "chain.tra").write_text("3 3\n0 1 1\n1 2 1.0\n2 2 1e0\n")
    (tmp_path / "chain.srew").write_text("3 2\n0 1\n1 1\n")
    (tmp_path / "chain.trew").write_text("3 1\n2 2 0.5\n")
    problem = load(tmp_path / "chain.tra", discount=0.5)
    assert problem.shape == (3, 1, 0)
    assert_allclose(painless.solve(problem).reward_value, 1 + 0.5 + 0.25)


def test_a_label_is_where_it_ends(tmp_path):
    path = written(tmp_path)
    problem = load(path, cost="steps", end="goal")
    assert_array_equal(problem.end, [False, False, True])
    with pytest.raises(InputError, match=r"line 4: there is no label 7 in the first line"):
        load(written(tmp_path, {"model.lab": FILES["model.lab"].replace("2: 2", "2: 7")}), **ROLES)


def test_a_horizon_on_the_command_line(run, tmp_path):
    """The price of the last of three steps, proved and checked."""
    given = (written(tmp_path), "-p", "cost=steps", "-p", "constraint_cost=energy", "-p", "limit=6")
    given = (*given, "--horizon", "3")
    assert run("solve", *given, "--certificate", tmp_path / "proof", "--json")[0] == 0
    code, shown, _ = run("verify", tmp_path / "proof", *given)
    assert code == 0, shown
    code, _, error = run("solve", *given[:-2])
    assert code == 2
    assert "a .tra file has no discount" in error
    assert "-p end=goal" in error


def test_the_command_line(run, tmp_path):
    path = written(tmp_path)
    given = ("-p", "cost=steps", "-p", "constraint_cost=energy", "--threshold", "8", "--discount", "0.9")
    code, out, _ = run("solve", path, *given, "--json", "--certificate", tmp_path / "proof")
    assert (code, json.loads(out)["sense"]) == (0, ["<="])
    assert run("verify", tmp_path / "proof", path, *given)[0] == 0


@pytest.mark.parametrize(
    ("name", "old", "new", "why"),
    [
        ("model.tra", "3 4 5", "3 4", "begin with 3 whole numbers and|transitions follow|no such state"),
        ("model.tra", "3 4 5", "three", "does not begin with 3 whole numbers"),
        ("model.tra", "3 4 5", "3 4 6", "5 transitions follow, not 6"),
        ("model.tra", "3 4 5", "3 5 5", "4 choices follow, not 5"),
        ("model.tra", "3 4 5", "4 4 5", "state 3 has no choice"),
        ("model.tra", "0.25", "[0.2,0.3]", r"line 2: '\[0.2,0.3\]' is an interval; export decimal numbers"),
        ("model.tra", "0.25", "1/4", "line 2: '1/4' is a fraction; export decimal numbers"),
        ("model.tra", "0.25", "p", "line 2: 'p' is no number"),
        ("model.tra", "0.25", "nan", "line 2: 'nan' is not finite"),
        ("model.tra", "0.25", "0.2", "sum to 0.950000"),
        ("model.tra", "0.25", "-0.25", "line 2: a probability is negative"),
        ("model.tra", "1 0 2 1 go", "1 0 7 1 go", "line 5: there is no such state"),
        ("model.tra", "1 0 2 1 go", "1 x 2 1 go", "line 5: it does not begin with"),
        ("model2.trew", "0 1 0 0.5", "0 1 1 0.5", "line 6: model.tra has no such transition"),
        ("model1.srew", "0 1\n", "9 1\n", "line 4: there is no such state"),
        ("model2.trew", '"energy"', '"steps"', "two reward structures are called 'steps'"),
        ("model.lab", "init", "first", 'no label "init"'),
        ("model.lab", "0: 0\n        1: 0", "2: 1", "no state has the label init"),
        ("model.lab", "1: 0", "8: 0", "line 3: there is no such state"),
        ("model.sta", "1:(1,true)", "1:(1)", r"line 3: it is not of the form state:\(x,y\)"),
        ("model.sta", "        1:(1,true)\n", "", "has no line for state 1"),
        ("model.trew", None, "3 4 0\n", "are of two exports"),
    ],
)
def test_what_is_no_model_is_refused(tmp_path, name, old, new, why):
    text = new if old is None else FILES[name].replace(old, new, 1)
    assert text != FILES.get(name)
    path = written(tmp_path, {name: text})
    with pytest.raises(InputError) as caught:
        load(path, **ROLES)
    assert re.search(why, str(caught.value)), caught.value
    assert str(tmp_path) in str(caught.value)


def test_a_model_without_rewards_or_discount(tmp_path):
    gone = dict.fromkeys([name for name in FILES if name.endswith("rew")])
    with pytest.raises(InputError, match="no reward models"):
        load(written(tmp_path, gone), discount=0.9)
    with pytest.raises(InputError, match=r"a \.tra file has no discount"):
        load(written(tmp_path), cost="steps")
