"""Large problem files: stored so that they can be mapped, mapped as they are read, and checked all the same."""

import mmap
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

import painless
from painless import InputError, load
from painless.engines.sweeps.sparse_rows import sparse_rows
from painless.storage import files, mapped
from tests.test_files import assert_same


@pytest.fixture
def small(monkeypatch):
    """Count arrays of a few bytes as large."""
    monkeypatch.setattr(mapped, "LARGE", 100)
    monkeypatch.setattr(mapped, "MAPPED", 100)


def owner(array):
    """Return what holds the memory of an array in the end."""
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array


def is_mapped(array):
    return isinstance(owner(array), mmap.mmap)


def parts(problem):
    return [getattr(problem.transition, part) for part in ("data", "indices", "indptr")]


def test_a_large_sparse_problem_is_used_where_it_lies(tmp_path, small):
    problem = painless.garnet(60, 3, 4, 2, seed=1, dense=False)
    problem.save(tmp_path / "problem.npz")
    again = load(tmp_path / "problem.npz")
    assert_same(problem, again)
    arrays = [*parts(again), again.reward, again.constraint_reward]
    assert all(is_mapped(array) for array in arrays)
    assert all(array.flags.aligned and not array.flags.writeable for array in arrays)
    assert not any(is_mapped(array) for array in parts(problem))


def test_planners_share_the_mapped_arrays(tmp_path, small):
    problem = painless.garnet(60, 3, 4, seed=1, dense=False)
    problem.save(tmp_path / "problem.npz")
    again = load(tmp_path / "problem.npz")
    rows = sparse_rows(again)
    for one, two in zip((rows.probability, rows.successor, rows.pointer), parts(again), strict=True):
        assert np.shares_memory(one, two)
    solution = painless.solve(again, painless.ColumnGeneration(), tolerance=1e-6)
    assert (
        solution.reward_value
        == painless.solve(problem, painless.ColumnGeneration(), tolerance=1e-6).reward_value
    )


def test_a_dense_problem_is_mapped_too(tmp_path, small):
    problem = painless.garnet(10, 3, 4, seed=1)
    problem.save(tmp_path / "problem.npz")
    assert is_mapped(load(tmp_path / "problem.npz").transition)


def test_small_arrays_are_compressed_and_in_memory(tmp_path):
    painless.gridworld().save(tmp_path / "problem.npz")
    with zipfile.ZipFile(tmp_path / "problem.npz") as archive:
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_DEFLATED}
    assert not is_mapped(load(tmp_path / "problem.npz").transition)


def test_a_file_that_is_replaced_leaves_what_was_read(tmp_path, small):
    path = tmp_path / "problem.npz"
    first, second = (painless.garnet(60, 3, 4, seed=seed, dense=False) for seed in (1, 2))
    first.save(path)
    again = load(path)
    second.save(path)
    assert_same(first, again)
    assert_same(second, load(path))


def test_a_file_of_usual_size_is_read_and_not_mapped(tmp_path, monkeypatch):
    """Nobody can change a problem, or end the process, by writing over its file."""
    monkeypatch.setattr(mapped, "LARGE", 100)
    path = tmp_path / "problem.npz"
    problem = painless.garnet(60, 3, 4, seed=1, dense=False)
    problem.save(path)
    again = load(path)
    path.write_bytes(b"")
    assert_same(problem, again)
    assert not any(is_mapped(array) for array in parts(again))


def test_a_mapped_file_that_is_written_over_is_noticed(tmp_path, small):
    path = tmp_path / "problem.npz"
    painless.garnet(60, 3, 4, seed=1, dense=False).save(path)
    again = load(path)
    data = path.read_bytes()

    def write_over(*_):
        with path.open("r+b") as stream:
            stream.write(data)
        os.utime(path, ns=(0, 0))

    for verb in (
        mapped.unchanged(write_over),
        painless.solve,
        painless.frontier,
    ):  # while it runs, and before
        with pytest.raises(
            InputError, match=r"problem\.npz was changed by another program while it was in use"
        ):
            verb(again)


def test_visits_are_not_counted_on_a_file_that_was_written_over(tmp_path, small):
    path = tmp_path / "problem.npz"
    painless.garnet(600, 3, 4, seed=1, dense=False).save(path)
    policy = painless.solve(load(path)).policy
    os.utime(path, ns=(0, 0))
    with pytest.raises(InputError, match=r"problem\.npz was changed by another program while it was in use"):
        policy.visits  # noqa: B018


def test_a_mapped_file_that_is_replaced_is_used_on(tmp_path, small):
    path = tmp_path / "problem.npz"
    problem = painless.garnet(60, 3, 4, seed=1, dense=False)
    problem.save(path)
    again = load(path)
    painless.gridworld().save(path)
    assert painless.solve(again).reward_value == painless.solve(problem).reward_value


def test_a_mapped_file_that_is_cut_off_ends_with_a_word_of_it(tmp_path):
    path = tmp_path / "problem.npz"
    code = """
import os, sys, painless
from painless.storage import mapped
mapped.LARGE = mapped.MAPPED = 100
painless.garnet(4000, 3, 4, seed=1, dense=False).save(sys.argv[1])
problem = painless.load(sys.argv[1])
os.truncate(sys.argv[1], 100)
print(problem.transition.data.sum())
"""
    ended = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith(
        "Error: a problem file was shortened by another program while it was in use"
    )


@given(
    st.binary(max_size=9),
    st.sampled_from(["<f8", ">f8", "<i4", "u1", "<U3"]),
    st.integers(1, 3),
    st.booleans(),
)
def test_every_array_comes_back_and_numpy_reads_it(tmp_path_factory, seed, dtype, ndim, turned):
    rng = np.random.default_rng(list(seed))
    array = rng.integers(0, 100, (3,) * ndim).astype(dtype)
    array = array.T if turned else array
    path = tmp_path_factory.getbasetemp() / "arrays.npz"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mapped, "LARGE", 1)
        patch.setattr(mapped, "MAPPED", 1)
        patch.setattr(mapped, "PIECE", 5)
        mapped.write_npz(path, {"first": np.arange(len(seed)), "array": array})
        again = mapped.read(path)["array"]
    assert is_mapped(again)
    with np.load(path, allow_pickle=False) as archive:
        for read in (again, archive["array"]):
            assert_array_equal(read, array)
            assert read.dtype == array.dtype


def test_what_numpy_wrote_is_read_whether_or_not_it_can_be_mapped(tmp_path, small):
    problem = painless.garnet(60, 3, 4, seed=1, dense=False)
    content = {key: value for key, value in problem._content().items() if value is not None}
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "problem.npz", **content)
        assert_same(problem, load(tmp_path / "problem.npz"))


def test_an_array_in_fortran_order_that_lies_well_is_mapped(tmp_path, small):
    path = tmp_path / "arrays.npz"
    array = np.asfortranarray(np.arange(600.0).reshape(20, 30))
    for padding in range(mapped.ALIGNMENT):
        with zipfile.ZipFile(path, "w") as archive:
            entry = zipfile.ZipInfo("array.npy")
            entry.extra = b"\x35\xd9" + padding.to_bytes(2, "little") + bytes(padding)
            with archive.open(entry, "w") as member:
                np.lib.format.write_array(member, array)
        again = mapped.read(path)["array"]
        assert_array_equal(again, array)
        if is_mapped(again):
            break
    assert is_mapped(again)
    assert again.flags.f_contiguous


def test_a_later_version_of_the_header_is_read(tmp_path, small):
    path = tmp_path / "arrays.npz"
    with zipfile.ZipFile(path, "w") as archive, archive.open("array.npy", "w") as member:
        np.lib.format.write_array(member, np.arange(600.0), version=(2, 0))
    assert_array_equal(mapped.read(path)["array"], np.arange(600.0))


@pytest.mark.parametrize("place", [200, -900])
def test_a_damaged_archive_is_refused(tmp_path, small, place):
    path = tmp_path / "problem.npz"
    painless.garnet(60, 3, 4, seed=1, dense=False).save(path)
    whole = bytearray(path.read_bytes())
    whole[place] ^= 1
    path.write_bytes(whole)
    with pytest.raises(InputError, match="cannot be read; the archive may be damaged"):
        load(path)


def test_a_damaged_probability_is_not_taken_for_a_good_one(tmp_path, small):
    path = tmp_path / "problem.npz"
    problem = painless.garnet(60, 3, 4, seed=1, dense=False)
    problem.save(path)
    whole = path.read_bytes()
    where = whole.index(problem.transition.data.tobytes()[:16])
    path.write_bytes(whole[:where] + bytes([whole[where] ^ 1]) + whole[where + 1 :])  # the last bit of it
    with pytest.raises(InputError, match="Bad CRC-32"):
        load(path)


def test_other_files_stay_in_memory(tmp_path, small):
    files.write_npz(tmp_path / "arrays.npz", {"array": np.arange(100.0)})
    array = files.read(tmp_path / "arrays.npz")["array"]
    array += 1.0
    assert array[0] == 1.0


def test_indices_take_four_bytes_also_where_masked_entries_are_dropped():
    kernel = sparse.csr_array(np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [7.0, 7.0]]))
    wide = sparse.csr_array((kernel.data, kernel.indices.astype(np.int64), kernel.indptr.astype(np.int64)))
    mask = [[True, True], [True, False]]
    problem = painless.CMDP(wide, np.ones((2, 2)), initial=[1.0, 0.0], discount=0.5, actions=mask)
    assert_array_equal(problem.transition.toarray(), [[1, 0], [0.5, 0.5], [0, 1], [0, 0]])
    assert problem.transition.indices.dtype == problem.transition.indptr.dtype == np.int32
