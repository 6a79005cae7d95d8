"""Problem files: what goes in comes out, and what is no problem file is refused without running any of it."""

import json
import os
import pickle
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

import painless
from painless import CMDP, InputError, load
from painless.problem.formats.file_entries import FILE_KEYS
from painless.storage import archives, files, mapped, memory
from tests.extras import POSIX

DOC = Path(__file__).parents[1] / "docs" / "problem-files.md"
SUFFIXES = [".npz", ".json"]
ONE = {"transition": [[[1.0], [1.0]]], "reward": [[0.0, 1.0]], "initial": [1.0], "discount": 0.5}
SPARSE = {
    "transition_data": [1.0, 0.25, 0.75],
    "transition_indices": [1, 0, 1],
    "transition_indptr": [0, 1, 3],
    "reward": [[1.0], [2.0]],
    "initial": [1.0, 0.0],
    "discount": 0.5,
}


def rich(dense=True):
    """Return a problem with everything that a file can hold, of numbers without a short decimal form."""
    rng = np.random.default_rng(3)
    transition = rng.dirichlet(np.ones(4), (4, 3))
    actions = np.ones((4, 3), dtype=bool)
    actions[1, 2] = actions[3, 0] = False
    transition[~actions] = 0.0
    return CMDP(
        transition if dense else sparse.csr_array(transition.reshape(12, 4)),
        cost=rng.normal(size=(4, 3)),
        initial=rng.dirichlet(np.ones(4)),
        discount=1 - 1 / 7,
        constraint_reward=rng.normal(size=(2, 4, 3)),
        threshold=rng.normal(size=2),
        constraint_cost=rng.normal(size=(4, 3)),
        budget=1 / 3,
        actions=actions,
        names={
            "states": ["a", "ß", "c d", "'"],
            "actions": ["1", "2", "3"],
            "constraints": ["fast", "safe", "cheap"],
        },
    )


def plain(dense=True):
    transition = np.full((3, 2, 3), 0.25)
    transition[..., 2] = 0.5
    return CMDP(
        transition if dense else sparse.csr_array(transition.reshape(6, 3)),
        np.arange(6.0).reshape(3, 2),
        initial=[1.0, 0.0, 0.0],
        discount=0.9,
    )


def assert_same(one, two):
    assert one.is_sparse == two.is_sparse
    if one.is_sparse:
        for part in ("data", "indices", "indptr"):
            assert_array_equal(getattr(one.transition, part), getattr(two.transition, part))
    else:
        assert_array_equal(one.transition, two.transition)
    for name in ("reward", "constraint_reward", "threshold", "initial", "actions", "limit"):
        assert_array_equal(getattr(one, name), getattr(two, name))
    for name in ("discount", "sense", "minimise", "names"):
        assert getattr(one, name) == getattr(two, name)


def written(path, entries):
    """Write entries as the suffix of `path` says, without any help of the library."""
    if path.suffix == ".json":
        path.write_text(json.dumps(entries))
    else:
        np.savez(path, **entries)
    return path


def refused(path, *texts):
    """Check that the file is refused with a message that names it and holds all the texts."""
    with pytest.raises(InputError) as caught:
        load(path)
    for text in (str(path), *texts):
        assert text in str(caught.value)


# Round trips


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("make", [rich, plain])
def test_a_problem_comes_back_to_the_bit(tmp_path, make, dense, suffix):
    problem = make(dense)
    problem.save(tmp_path / f"problem{suffix}")
    assert_same(problem, load(tmp_path / f"problem{suffix}"))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_paths_may_be_texts_and_folders_are_made(tmp_path, suffix):
    path = f"{tmp_path}/new/folder/problem{suffix}"
    plain().save(path)
    assert_same(plain(), load(path))


def test_files_hold_the_users_terms(tmp_path):
    problem = rich()
    problem.save(tmp_path / "problem.json")
    entries = json.loads((tmp_path / "problem.json").read_text())
    assert "reward" not in entries
    assert_array_equal(entries["cost"], -problem.reward)
    assert_array_equal(entries["threshold"], problem.threshold[:2])
    assert_array_equal(entries["constraint_reward"], problem.constraint_reward[:2])
    assert_array_equal(entries["constraint_cost"], -problem.constraint_reward[2:])
    assert entries["budget"] == [1 / 3]
    assert entries["constraint_names"] == ["fast", "safe", "cheap"]


def test_files_hold_nothing_that_is_not_there(tmp_path):
    plain().save(tmp_path / "problem.npz")
    with np.load(tmp_path / "problem.npz", allow_pickle=False) as archive:
        assert set(archive.files) == {"transition", "reward", "initial", "discount"}


@given(st.lists(st.floats(-1e100, 1e100), min_size=2, max_size=2), st.sampled_from(SUFFIXES))
def test_every_number_comes_back_to_the_bit(tmp_path_factory, numbers, suffix):
    path = tmp_path_factory.getbasetemp() / f"numbers-{os.getpid()}{suffix}"
    problem = CMDP([[[1.0], [1.0]]], cost=[numbers], initial=[1.0], discount=0.5)
    problem.save(path)
    assert_same(problem, load(path))


@pytest.mark.parametrize("suffix", [".npz", ".json", ".drn"])
def test_infinite_limits_come_back(tmp_path, suffix):
    utility = [[[1.0, 2.0]], [[3.0, 4.0]]]
    problem = CMDP(
        [[[1.0], [1.0]]],
        [[0.0, 1.0]],
        initial=[1.0],
        discount=0.5,
        constraint_reward=utility,
        threshold=[-np.inf, 0.1],
        constraint_cost=utility,
        budget=[0.2, np.inf],
    )
    problem.save(tmp_path / f"problem{suffix}")
    assert_same(problem, load(tmp_path / f"problem{suffix}"))
    text = (tmp_path / f"problem{suffix}").read_bytes()
    if suffix == ".json":  # which has no infinite numbers

        def refuse(constant):
            raise AssertionError(f"{constant} is no JSON")

        assert json.loads(text, parse_constant=refuse)["threshold"] == ["-inf", 0.1]
    if suffix == ".drn":
        assert b'multi(R{"reward"}max=? [C], R{"c1"}>=0.1 [C], R{"c2"}<=0.2 [C])' in text


def test_a_single_infinite_limit_may_be_text(tmp_path):
    content = ONE | {"constraint_cost": ONE["reward"], "budget": "inf"}
    assert load(written(tmp_path / "problem.json", content)).limit == [np.inf]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_sparse_parts_are_read(tmp_path, suffix):
    problem = load(written(tmp_path / f"problem{suffix}", SPARSE))
    assert_array_equal(problem.transition.toarray(), [[0.0, 1.0], [0.25, 0.75]])


@pytest.mark.parametrize("names", [["a"], [7], np.array([b"a"]), np.array([7])])
def test_names_may_be_texts_bytes_or_numbers(tmp_path, names):
    problem = load(written(tmp_path / "problem.npz", ONE | {"state_names": names}))
    assert problem.names["states"][0] in ("a", 7)


def test_null_counts_as_absent(tmp_path):
    absent = {"transition": None, "cost": None, "actions": None, "state_names": None, "budget": None}
    assert load(written(tmp_path / "problem.json", SPARSE | absent)).is_sparse


def test_a_byte_order_mark_is_skipped(tmp_path):
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(ONE), encoding="utf-8-sig")
    assert load(path).shape == (1, 2, 0)


# The documentation


def fenced(language):
    text = DOC.read_text(encoding="utf-8")
    return re.findall(rf"(?<!<!-- not run -->\n)```{language}\n(.*?)```", text, re.DOTALL)


def test_the_documented_json_loads(tmp_path):
    (tmp_path / "machine.json").write_text(*fenced("json"))
    problem = load(tmp_path / "machine.json")
    assert problem.shape == (2, 2, 1)
    assert problem.sense == ("<=",)
    assert problem.name("actions", 1) == "repair"


def test_the_documented_scripts_write_files_that_load(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for script in fenced("python"):
        exec(script, names)
    (tmp_path / "machine.json").write_text(*fenced("json"))
    machine = load("machine.npz")
    assert_array_equal(machine.utility, load("machine.json").utility)
    assert_array_equal(load("sparse.npz").transition.toarray(), machine.transition.reshape(4, 2))
    assert load("model.npz").shape == (25, 4, 1)


def test_every_entry_is_documented():
    text = DOC.read_text(encoding="utf-8")
    assert [key for key in FILE_KEYS if f"`{key}`" not in text] == []


# Entries that are refused


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_unknown_entry_is_refused_with_the_nearest_one(tmp_path, suffix):
    path = written(tmp_path / f"problem{suffix}", ONE | {"constraint_rewards": [[0.0, 1.0]]})
    refused(path, "unknown entry 'constraint_rewards'; did you mean 'constraint_reward'?")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("key", ["transition", "initial", "discount"])
def test_a_missing_entry_is_named(tmp_path, suffix, key):
    entries = {name: value for name, value in ONE.items() if name != key}
    path = written(tmp_path / f"problem{suffix}", entries)
    refused(path, f"'{key}' is missing; a problem file needs transition (or transition_data")


@pytest.mark.parametrize("key", [key for key in SPARSE if key.startswith("transition")])
def test_a_missing_part_of_the_sparse_transition_is_named(tmp_path, key):
    entries = {name: value for name, value in SPARSE.items() if name != key}
    path = written(tmp_path / "problem.json", entries)
    refused(path, f"'{key}' is missing; a sparse transition needs all of transition_data, ")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reward": None}, "give either reward (to maximise) or cost (to minimise); neither is given"),
        ({"cost": [[0.0, 1.0]]}, "give either reward (to maximise) or cost (to minimise); both are given"),
        ({"budget": [1.0]}, "budget is given without constraint_cost; give both"),
        ({"transition": [[[1.0], [0.94]]]}, "transition[0, 1] sums to 0.940000, not 1"),
        ({"reward": [[0.0, float("nan")]]}, "reward[0, 1] is nan; every entry must be finite"),
        ({"discount": "0.5"}, "discount must be a number, not '0.5'"),
        (
            {"transition_data": [1.0], "transition_indices": [0], "transition_indptr": [0, 1]},
            "give transition or transition_data/_indices/_indptr, not both",
        ),
        ({"action_names": ["a"]}, "names['actions'] has 1 entries, not 2"),
        ({"action_names": "ab"}, "'action_names' is not a list of names"),
        ({"action_names": [["a"], ["b", "c"]]}, "'action_names' is not a list of names"),
        ({"action_names": [{}, None]}, "'action_names' is not a list of names"),
    ],
)
def test_entries_are_checked_as_arguments_are(tmp_path, changes, message):
    refused(written(tmp_path / "problem.json", ONE | changes), message)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"transition_indices": [1, 0, 2]}, "not a valid CSR matrix: indices must be < 2"),
        ({"transition_indices": [1, 0, -1]}, "not a valid CSR matrix: indices must be >= 0"),
        ({"transition_indptr": [0, 3, 1]}, "not a valid CSR matrix"),
        ({"transition_indptr": [0, 1, 9]}, "not a valid CSR matrix"),
        ({"transition_indptr": [0, 3, 0]}, "not a valid CSR matrix"),
        ({"transition_indptr": [1, 2, 3]}, "not a valid CSR matrix"),
        ({"transition_indptr": []}, "not a valid CSR matrix"),
        ({"transition_indptr": [0, 1, 2, 3]}, "sparse transition has shape (3, 2), not (S·A, S)"),
        ({"transition_data": [1.0, 0.25]}, "not a valid CSR matrix"),
        ({"transition_data": [[1.0, 0.25, 0.75]]}, "not a valid CSR matrix"),
        ({"transition_data": ["1.0", "0.25", "0.75"]}, "transition_data is not a numeric array"),
        ({"transition_indices": [1, 0.5, 1]}, "transition_indices is not a list of whole numbers"),
        ({"transition_indptr": 2}, "transition_indptr is not a list of whole numbers"),
        ({"initial": []}, "initial has shape (0,), not (S,)"),
    ],
)
def test_sparse_parts_that_are_no_matrix_are_refused(tmp_path, suffix, changes, message):
    refused(written(tmp_path / f"problem{suffix}", SPARSE | changes), message)


def test_a_decreasing_pointer_within_bounds_is_refused(tmp_path):
    entries = SPARSE | {"transition_indptr": [0, 2, 1, 3, 3], "reward": [[1.0, 1.0], [2.0, 2.0]]}
    refused(written(tmp_path / "problem.npz", entries), "not a valid CSR matrix")


# Files that are refused


@pytest.mark.parametrize("name", ["problem", "problem.txt", "problem.npy", "problem.NPZ", ".json"])
def test_another_ending_is_refused(tmp_path, name):
    path = tmp_path / name
    with pytest.raises(InputError, match=r"must end in \.npz, \.json, \.drn, \.umb or \.tra"):
        plain().save(path)
    assert not path.exists()
    path.write_text("{}")
    refused(path, "must end in .npz, .json, .drn, .umb, .tra or .csv; .npz and .json hold arrays")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_no_file_is_refused(tmp_path, suffix):
    path = tmp_path / f"problem{suffix}"
    refused(path, "does not exist or is not a file; check the path")
    path.mkdir()
    refused(path, "does not exist or is not a file; check the path")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_empty_file_is_refused(tmp_path, suffix):
    path = tmp_path / f"problem{suffix}"
    path.touch()
    refused(path, "is empty; write it again")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_unreadable_file_is_refused(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"problem{suffix}"
    plain().save(path)

    def deny(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files, "_without_waiting", deny)
    refused(path, "cannot read", "Permission denied; check the path")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"reward": [1, 2', "is not valid JSON: Expecting ',' delimiter at line 1, column 17"),
        ("{'reward': 1}", "is not valid JSON: Expecting property name"),
        ("\n", "is not valid JSON: Expecting value at line 2, column 1; it may be truncated"),
        ("[1, 2]", "holds a list; give an object with named entries"),
        ("0.5", "holds a float; give an object with named entries"),
        ("[" * 100_000, "is not JSON that can be read"),
        ('{"discount": ' + "9" * 5000 + "}", "is not JSON that can be read"),
    ],
    ids=["truncated", "quotes", "blank", "list", "number", "deep", "digits"],
)
def test_json_that_is_no_object_is_refused(tmp_path, text, message):
    path = tmp_path / "problem.json"
    path.write_text(text)
    refused(path, message)


def test_an_archive_named_json_is_refused(tmp_path):
    plain().save(tmp_path / "problem.npz")
    path = (tmp_path / "problem.npz").rename(tmp_path / "problem.json")
    refused(path, "is not UTF-8 text; is it a .npz with the wrong ending?")


def test_a_truncated_archive_is_refused_wherever_it_is_cut(tmp_path):
    path = tmp_path / "problem.npz"
    rich().save(path)
    whole = path.read_bytes()
    for length in {1, 3, 5, 6, *range(7, len(whole), 61), len(whole) - 1}:
        path.write_bytes(whole[:length])
        refused(path, "is not an .npz archive; it may be truncated")


def test_a_damaged_archive_is_refused_wherever_it_is_damaged(tmp_path):
    path = tmp_path / "problem.npz"
    rich().save(path)
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        starts = [item.header_offset + 30 + len(item.filename) + 20 for item in archive.infolist()]
    for start in starts:
        path.write_bytes(
            whole[:start] + bytes(255 - byte for byte in whole[start : start + 8]) + whole[start + 8 :]
        )
        refused(path, "cannot be read; the archive may be damaged")


def test_an_array_that_claims_to_be_huge_is_refused(tmp_path):
    path = tmp_path / "problem.npz"
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999999999,), }".ljust(117) + b"\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("reward.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    refused(path, "'reward' in", "cannot be read")


def test_a_lone_array_with_the_wrong_ending_is_refused(tmp_path):
    np.save(tmp_path / "array.npy", np.zeros(3))
    path = (tmp_path / "array.npy").rename(tmp_path / "problem.npz")
    refused(path, "holds a single array, not an .npz archive; write it with np.savez")


def test_text_named_npz_is_refused(tmp_path):
    path = tmp_path / "problem.npz"
    path.write_text(json.dumps(ONE))
    refused(path, "is not an .npz archive; it may be truncated, or another kind of file")


# Files that lie, and files that are none


@POSIX
@pytest.mark.parametrize("suffix", [".npz", ".json", ".drn"])
def test_a_pipe_or_a_device_is_refused_and_not_waited_for(tmp_path, suffix):
    path = tmp_path / f"problem{suffix}"
    os.mkfifo(path)
    refused(path, "does not exist or is not a file; check the path")
    path.unlink()
    path.symlink_to("/dev/zero")
    refused(path, "does not exist or is not a file; check the path")


@POSIX
@pytest.mark.parametrize("read", [files.read_toml, files.digest, files.read_bytes, painless.load_policy])
def test_nothing_waits_for_a_pipe(tmp_path, read):
    path = tmp_path / "pipe.npz"
    os.mkfifo(path)
    with pytest.raises(InputError, match="does not exist or is not a file"):
        read(path)


def test_a_name_that_no_file_can_have_is_refused(tmp_path):
    refused(tmp_path / f"{'x' * 300}.npz", "cannot read", "File name too long")
    refused(Path("a\0b.npz"), "cannot read")


def npy(shape, data=b"", dtype="<f8"):
    header = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode()
    header = header.ljust(127 - 10) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


LIES = {
    "a shape beyond its bytes": {"reward": npy((1, 2 * 10**9), bytes(16))},
    "a negative shape": {"reward": npy((-1, -2), bytes(16))},
    "more bytes than its shape": {"reward": npy((1, 1), bytes(16))},
    "entries without size": {"reward": npy((10**18,), dtype="<U0")},
    "no array at all": {"reward": bytes(10**7)},
    "a header of Python 2": {"reward": npy((2,), bytes(16)).replace(b"(2,)", b"(2L)")},
    "bytes after the header": {"reward": npy((2,), bytes(16)) + b"more"},
}


@pytest.mark.parametrize("lie", LIES)
def test_a_header_that_lies_is_refused(tmp_path, lie):
    path = tmp_path / "problem.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, data in LIES[lie].items():
            archive.writestr(f"{key}.npy", data)
    refused(path, "'reward' in", "cannot be read")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_directory_that_lies_is_refused(tmp_path, method):
    """The directory and the header agree on 2 GB, of which a few bytes are there."""
    path = tmp_path / "problem.npz"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("reward.npy", npy((1, 2**28), bytes(16)))
    data = path.read_bytes()
    directory = data.rindex(b"PK\x01\x02")
    claimed = (127 + 8 * 2**28).to_bytes(4, "little")
    path.write_bytes(data[: directory + 24] + claimed + data[directory + 28 :])
    refused(path, "cannot be read")


def said_by(code, *arguments):
    """Run code in a process of its own; return what it prints."""
    start = "import sys, painless\nfrom painless import InputError\n"
    command = [sys.executable, "-c", start + code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("key", "shape", "message"),
    [
        ("other", (2**20, 16), "unknown entry 'other'"),
        ("cost", (2**24,), "cost has shape (16777216,), which does not fit the 1048576 state(s) of initial"),
        ("cost", (2**20, 16), "asks for 0.14 GB of memory, more than there is"),
    ],
)
def test_bombs_are_refused_before_memory_is_taken(tmp_path, monkeypatch, key, shape, message):
    """Zeros, well compressed: an entry that no problem has, one that does not fit, and one that is only too large."""
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, initial=np.zeros(2**20), **{key: np.zeros(shape)})
    assert path.stat().st_size < 2e5

    def read(*_):
        raise AssertionError("memory is taken")

    monkeypatch.setattr(memory, "limit", lambda: 1e8)
    monkeypatch.setattr(archives.Archive, "__getitem__", read)
    refused(path, message)


def test_a_result_is_read_only_after_its_seal(tmp_path, monkeypatch):
    path, read = tmp_path / "policy.npz", []
    np.savez_compressed(path, format="painless-policy", version=9, checksum="0", weights=np.zeros(2**20))
    get = archives.Archive.__getitem__
    monkeypatch.setattr(
        archives.Archive, "__getitem__", lambda archive, key: read.append(key) or get(archive, key)
    )
    with pytest.raises(InputError, match="has version 9 of the format"):
        painless.load_policy(path)
    assert "weights" not in read


def test_names_that_would_take_much_memory_are_refused(tmp_path):
    path = written(tmp_path / "problem.json", ONE | {"state_names": ["x" * 10**5, *["y"] * 10**4]})
    refused(path, "'state_names' in", "has a text of 100000 characters; shorten it")


# Never pickle


class Trap:
    """Unpickling it creates a file."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


def trap(marker):
    return np.array([Trap(marker), None], dtype=object)


def test_the_trap_works(tmp_path):
    pickle.loads(pickle.dumps(Trap(tmp_path / "marker")))
    assert (tmp_path / "marker").exists()


@pytest.mark.parametrize("key", ["reward", "state_names", "other"])
def test_pickled_entries_are_refused_and_not_run(tmp_path, key):
    path, marker = tmp_path / "problem.npz", tmp_path / "marker"
    np.savez(path, **(ONE | {key: trap(marker)}))
    refused(path, f"'{key}' in ", "needs pickle, which can run code and is never loaded; save plain")
    assert not marker.exists()


@pytest.mark.parametrize("save", [np.save, lambda path, values: path.write_bytes(pickle.dumps(values))])
def test_pickled_files_are_refused_and_not_run(tmp_path, save):
    marker = tmp_path / "marker"
    save(tmp_path / "trap.npy", trap(marker))
    refused((tmp_path / "trap.npy").rename(tmp_path / "problem.npz"), "not an .npz archive")
    assert not marker.exists()


# Written whole or not at all


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_write_over_an_old_file_replaces_it(tmp_path, suffix):
    path = tmp_path / f"problem{suffix}"
    plain().save(path)
    rich().save(path)
    assert_same(rich(), load(path))
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_files_have_the_usual_permissions(tmp_path):
    plain().save(tmp_path / "problem.npz")
    (tmp_path / "usual").touch()
    assert (tmp_path / "problem.npz").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize("error", [RuntimeError("stopped"), KeyboardInterrupt()])
@pytest.mark.parametrize("old", [b"", b"the old file"])
def test_a_write_that_fails_midway_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, error, old):
    path = tmp_path / "problem.npz"
    if old:
        path.write_bytes(old)

    def half(stream, *_):
        stream.write(b"half")
        raise error

    monkeypatch.setattr(mapped, "_write", half)
    with pytest.raises(type(error)):
        plain().save(path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == ({path.name: old} if old else {})


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), OSError("No space left on device")]
)
def test_a_full_disk_is_reported_and_leaves_nothing(tmp_path, error):
    def full(stream):
        stream.write(b"half")
        raise error

    with pytest.raises(InputError, match=r"cannot write .*: No space left on device; choose another place"):
        files.write_atomically(tmp_path / "problem.json", full)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_place_that_cannot_be_written_is_refused(tmp_path, suffix):
    (tmp_path / "file").write_text("in the way")
    (tmp_path / f"folder{suffix}").mkdir()
    for path in (tmp_path / "file" / f"problem{suffix}", tmp_path / f"folder{suffix}"):
        with pytest.raises(InputError, match=r"cannot write .*; choose another place"):
            plain().save(path)
    assert {file.name for file in tmp_path.iterdir()} == {"file", f"folder{suffix}"}


@POSIX
@pytest.mark.parametrize("suffix", [".npz", ".json", ".drn"])
def test_a_disk_that_fills_up_midway_is_reported_and_leaves_nothing(tmp_path, suffix):
    """The system itself refuses to write on, as it does where a disk or a quota is full."""
    code = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
problem = painless.garnet(60, 3, 4, seed=1)
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
try:
    problem.save(sys.argv[1])
except InputError as error:
    print(error)
"""
    said = said_by(code, tmp_path / f"problem{suffix}")
    assert said == f"cannot write {tmp_path / f'problem{suffix}'}: File too large; choose another place\n"
    assert list(tmp_path.iterdir()) == []


def test_long_names_are_refused_only_where_the_system_refuses_them(tmp_path):
    long = tmp_path / f"{'x' * 251}.npz"
    plain().save(long)
    assert_same(plain(), load(long))
    assert [path.name for path in tmp_path.iterdir()] == [long.name]
    with pytest.raises(InputError, match=r"cannot write .*: File name too long; choose another place"):
        plain().save(tmp_path / f"{'x' * 300}.npz")
    with pytest.raises(InputError, match="cannot write"):
        plain().save(tmp_path / "a\0b.npz")


@POSIX
def test_a_device_or_a_pipe_is_not_replaced(tmp_path):
    for path in (tmp_path / "pipe.json", tmp_path / "device.json"):
        os.mkfifo(path) if path.stem == "pipe" else path.symlink_to("/dev/null")
        with pytest.raises(InputError, match="it is a folder, a device or a pipe; choose another place"):
            plain().save(path)
        assert not path.is_file()


def test_what_json_cannot_hold_is_a_type_error_and_leaves_nothing(tmp_path):
    with pytest.raises(TypeError, match="complex does not fit into JSON"):
        files.write_json(tmp_path / "content.json", {"value": 1j})
    assert list(tmp_path.iterdir()) == []
