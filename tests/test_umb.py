"""UMB files: problems come back to the bit, models of others are read, and what is no model is refused with a sentence."""

import io
import json
import tarfile

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

import painless
from painless import InputError, load
from tests.extras import library
from tests.problems import garnets
from tests.test_drn import round_trip, without_strays
from tests.test_files import assert_same, plain, rich

# There and back


@given(garnets())
def test_every_problem_comes_back_to_the_bit(tmp_path_factory, problem):
    path = tmp_path_factory.getbasetemp() / "trip.umb"
    assert_same(without_strays(problem), round_trip(problem, path))


@pytest.mark.parametrize(
    "name", ["gridworld-3", "maintenance", "queueing", "slippery-grid", "wireless", "inventory"]
)
def test_registered_problems_come_back_to_the_bit(tmp_path, name):
    problem = painless.make(name)
    assert_same(without_strays(problem), round_trip(problem, tmp_path / "model.umb"))


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("make", [rich, plain])
def test_costs_masks_and_names_come_back(tmp_path, make, dense):
    problem = make(dense)
    assert_same(without_strays(problem), round_trip(problem, tmp_path / "model.umb"))


def test_no_limit_comes_back_and_the_index_is_plain_json(tmp_path):
    problem = painless.gridworld(constraints=3).with_limits([1.5, -np.inf, 2.0])
    assert_same(problem, round_trip(problem, tmp_path / "model.umb"))
    with tarfile.open(tmp_path / "model.umb") as tar:
        text = tar.extractfile("index.json").read().decode()
    assert "Infinity" not in text


def test_given_roles_replace_those_of_the_file(tmp_path):
    painless.gridworld().save(tmp_path / "model.umb")
    other = load(tmp_path / "model.umb", cost="c0", discount=0.5)
    assert (other.minimise, other.shape[2], other.discount) == (True, 0, 0.5)
    assert load(tmp_path / "model.umb", limit=[1.2]).limit == [1.2]


def test_a_folder_of_commands(run, tmp_path):
    painless.gridworld().save(tmp_path / "model.umb")
    code, out, _ = run("solve", tmp_path / "model.umb", "--json")
    assert code == 0
    assert json.loads(out)["reward_value"] == pytest.approx(1.65272, abs=2e-3)
    code, out, _ = run("check", tmp_path / "model.umb", "-p", "cost=c0", "-p", "discount=0.5")
    assert code == 0
    assert "0 constraints" in out


# Models of others

ONE = {"type": "double", "size": 64}
SYSTEM = {
    **{"time": "discrete", "#players": 1, "#states": 3, "#initial-states": 2, "#choices": 4},
    **{"#choice-actions": 2, "#branches": 5, "#branch-actions": 0, "#observations": 0},
    "branch-probability-type": ONE,
}
REWARDS = {
    "steps": {"applies-to": ["states", "choices"], "type": {"type": "uint", "size": 8}},
    "energy": {"applies-to": ["branches"], "type": ONE},
}


def packed(kind, *numbers):
    return np.array(numbers, dtype=kind).tobytes()


def parts():
    """Three states in a row; the first may also wait."""
    return {
        "state-is-initial.bin": b"\x03",
        "state-to-choices.bin": packed("<u8", 0, 2, 3, 4),
        "choice-to-branches.bin": packed("<u8", 0, 2, 3, 4, 5),
        "branch-to-target.bin": packed("<u8", 1, 2, 0, 2, 2),
        "branch-to-probability.bin": packed("<f8", 0.25, 0.75, 1, 1, 1),
        "actions/choices/values.bin": packed("<u4", 0, 1, 0, 0),
        "actions/choices/strings.bin": b"gowait",
        "actions/choices/string-mapping.bin": packed("<u8", 0, 2, 6),
        "annotations/rewards/steps/states/values.bin": packed("u1", 1, 1, 0),
        "annotations/rewards/steps/choices/values.bin": packed("u1", 0, 2, 0, 0),
        "annotations/rewards/energy/branches/values.bin": packed("<f8", 4, 8, 0.5, 1, 0),
    }


def written(path, system=(), rewards=None, mode="w", version=0, annotations=None, **changes):
    index = {
        **{"format-version": version, "format-revision": 1, "transition-system": SYSTEM | dict(system)},
        "annotations": annotations or {"rewards": REWARDS if rewards is None else rewards},
    }
    content = {"index.json": json.dumps(index).encode(), **parts()}
    content |= {name.replace("__", "/").replace("_bin", ".bin"): data for name, data in changes.items()}
    with tarfile.open(path, mode) as tar:
        for name, data in content.items():
            if data is not None:
                about = tarfile.TarInfo(name)
                about.size = len(data)
                tar.addfile(about, io.BytesIO(data))
    return path


def test_labels_are_where_it_ends(tmp_path):
    index = {"rewards": REWARDS, "aps": {"p0": {"alias": "goal", "applies-to": ["states"]}}}
    path = written(
        tmp_path / "model.umb", annotations=index, annotations__aps__p0__states__values_bin=b"\x06"
    )
    problem = load(path, end="goal", cost="steps")
    assert_array_equal(problem.end, [False, True, True])
    with pytest.raises(InputError, match="unknown label 'home'"):
        load(path, end="home", cost="steps")
    assert painless.solve(load(path, horizon=2, cost="steps")).reward_value == pytest.approx(1.125)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
def test_a_model_of_somebody_else(tmp_path, mode):
    path = written(tmp_path / "model.umb", mode=mode)
    problem = load(path, discount=0.9, cost="steps", constraint_cost="energy", limit=[3.0])
    assert_array_equal(problem.actions, [[True, True], [True, False], [True, False]])
    assert_array_equal(-problem.reward, [[1, 3], [1, 0], [0, 0]])
    assert_array_equal(-problem.constraint_reward, [[[7, 0.5], [1, 0], [0, 0]]])
    assert_array_equal(problem.initial, [0.5, 0.5, 0])
    assert_array_equal(problem.transition.toarray()[0], [0, 0.25, 0.75])
    assert problem.names["actions"] == ("go", "wait")


def test_what_may_be_left_out(tmp_path):
    """A chain: one choice a state, and one branch a choice, of probability 1."""
    system = {
        "#players": 0,
        "#choices": 3,
        "#branches": 3,
        "#choice-actions": 0,
        "branch-probability-type": None,
    }
    gone = dict.fromkeys(["state-to-choices.bin", "choice-to-branches.bin", "branch-to-probability.bin"])
    gone |= {name: None for name in parts() if name.startswith(("actions", "annotations"))}
    change = {"branch-to-target.bin": packed("<u8", 1, 2, 2)}
    rewards = {"steps": {"applies-to": ["states"], "type": {"type": "double"}}}
    change["annotations/rewards/steps/states/values.bin"] = packed("<f8", 1, 1, 0)
    problem = load(written(tmp_path / "chain.umb", system, rewards, **gone | change), discount=0.5)
    assert_allclose(painless.solve(problem).reward_value, 0.5 * 1.5 + 0.5 * 1.0)


VARIABLES = [
    {"name": "x", "type": {"type": "uint", "size": 3}, "offset": 10},
    {"name": "y", "type": {"type": "int", "size": 4}},
    {"name": "on", "type": {"type": "bool", "size": 1}},
    {"padding": 8},
    {"name": "z", "type": {"type": "double"}},
]


def valued(path, variables, classes=1):
    """Write a model with values of variables in its states: x from the lowest three bits on, y, on, a byte of nothing, z."""
    values = {"classes": classes * [{"variables": variables}], "unique": True}
    index = {
        **{
            "format-version": 1,
            "format-revision": 0,
            "transition-system": SYSTEM,
            "valuations": {"states": values},
        },
        "annotations": {"rewards": REWARDS},
    }
    rows = [packed("u1", x | (y % 16) << 3 | on << 7, 255) + packed("<f8", z) for x, y, on, z in VALUES]
    names = {"index.json": json.dumps(index).encode(), "valuations/states/valuations.bin": b"".join(rows)}
    return load(written(path, **names), discount=0.9, cost="steps")


VALUES = [(1, 7, 1, 0.5), (7, -8, 0, -2.0), (0, -1, 1, 1e300)]


def test_values_of_variables_are_names(tmp_path):
    problem = valued(tmp_path / "model.umb", VARIABLES)
    assert problem.names["states"] == (
        "x=11,y=7,on=true,z=0.5",
        "x=17,y=-8,on=false,z=-2.0",
        "x=10,y=-1,on=true,z=1e+300",
    )


def test_values_of_other_kinds_are_no_names(tmp_path):
    text = [{"name": "x", "type": {"type": "string"}}]
    assert "states" not in valued(tmp_path / "model.umb", text).names
    assert "states" not in valued(tmp_path / "model.umb", VARIABLES, classes=2).names
    assert "states" not in valued(tmp_path / "model.umb", [VARIABLES[0] | {"is-optional": True}]).names


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"system": {"time": "stochastic"}}, "in stochastic time"),
        ({"system": {"#players": 2}}, "is a game"),
        ({"system": {"#observations": 3}}, "partially observed"),
        ({"system": {"#states": 0}}, "0 states"),
        ({"system": {"#states": 10**15}}, "bytes"),
        ({"system": {"#initial-states": 0}}, "no state is an initial one"),
        ({"system": {"branch-probability-type": {"type": "rational", "size": 128}}}, "export doubles"),
        ({"system": {"branch-probability-type": {"type": "double-interval", "size": 128}}}, "export doubles"),
        ({"system": {"branch-probability-type": None}}, "no probabilities"),
        ({"version": 7}, "version 7"),
        ({"rewards": {}}, "no reward models"),
        ({"rewards": {"steps": {"applies-to": ["states"], "type": {"type": "string"}}}}, "of type string"),
        ({"rewards": {"../steps": {"applies-to": ["states"], "type": ONE}}}, "is missing"),
        ({"branch-to-target.bin": packed("<u8", 1, 2, 0, 3, 2)}, "a branch leads to 3"),
        ({"branch-to-target.bin": packed("<u8", 1, 2)}, "has 16 bytes for 5 numbers"),
        ({"branch-to-target.bin": None}, "'branch-to-target.bin' is missing"),
        ({"branch-to-probability.bin": packed("<f8", 0.25, 0.7, 1, 1, 1)}, "sum to 0.950000"),
        ({"branch-to-probability.bin": packed("<f8", -1, 2, 1, 1, 1)}, "not a probability"),
        ({"state-to-choices.bin": packed("<u8", 0, 2, 2, 4)}, "state 1 has nothing to go on with"),
        ({"choice-to-branches.bin": packed("<u8", 0, 2, 1, 4, 5)}, "does not ascend"),
        ({"choice-to-branches.bin": packed("<u8", 0, 2, 3, 4, 2**63)}, "does not ascend"),
        ({"state-is-initial.bin": b""}, "0 bytes for 3 bits"),
        ({"actions/choices/values.bin": packed("<u4", 0, 9, 0, 0)}, "a choice has action 9"),
        ({"actions/choices/string-mapping.bin": packed("<u8", 0, 2, 9)}, "strings.bin"),
        ({"index.json": b"{"}, "not a UMB file"),
        ({"index.json": b"[]"}, "not a UMB file"),
        ({"index.json": None}, "'index.json' is missing"),
    ],
)
def test_what_is_no_model_is_refused(tmp_path, changes, why):
    path = written(tmp_path / "model.umb", **changes)
    with pytest.raises(InputError, match=why) as caught:
        load(path, discount=0.9, cost="steps")
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"no archive", b"\x1f\x8b" + 40 * b"x"])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "model.umb").write_bytes(content)
    with pytest.raises(InputError, match="not a UMB file"):
        load(tmp_path / "model.umb")


def test_a_changed_note_is_refused(tmp_path):
    painless.gridworld().save(tmp_path / "model.umb")
    with tarfile.open(tmp_path / "model.umb") as tar:
        content = {member.name: tar.extractfile(member).read() for member in tar}
    index = json.loads(content["index.json"])
    for change in (
        {"actions": 2},
        {"actions": 10**12},
        {"actions": "4"},
        {"discount": None},
        {"limit": ["x"]},
    ):
        other = {
            **index,
            "file-data": {"tool": "painless", "parameters": index["file-data"]["parameters"] | change},
        }
        written(tmp_path / "other.umb", **content | {"index.json": json.dumps(other).encode()})
        with pytest.raises(InputError):
            load(tmp_path / "other.umb")


# The other implementation


def test_the_package_umbi_reads_and_writes_the_same(tmp_path):
    umb = library("umbi.umb")
    problem = without_strays(rich(dense=False))
    problem.save(tmp_path / "model.umb")
    found = umb.read(tmp_path / "model.umb")
    assert_array_equal(found.branch_to_probability, problem.transition.data)
    assert_array_equal(found.branch_to_target, problem.transition.indices)
    assert_array_equal(found.annotations["rewards"]["cost"]["choices"], -problem.reward[problem.actions])
    assert found.state_is_initial == [True] * 4
    assert found.choice_action_to_string == ["1", "2", "3"]
    found.index.file_data = None  # as after another tool
    umb.write(found, tmp_path / "again.umb")
    rest = {"cost": "cost", "constraint_reward": ["fast", "safe"], "constraint_cost": "cheap"}
    again = load(tmp_path / "again.umb", discount=problem.discount, limit=problem.limit, **rest)
    for name in ("reward", "constraint_reward", "threshold", "actions"):
        assert_array_equal(getattr(again, name), getattr(problem, name))
    assert_array_equal(again.transition.toarray(), problem.transition.toarray())
