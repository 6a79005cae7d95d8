"""Stored results: their format, version and checksum, and what a folder knows of its files."""

import json
import shutil

import numpy as np
import pytest

import painless
from painless import InputError, Solution
from painless.report.saved_pages import page_of
from painless.storage import results


@pytest.fixture(params=[".npz", ".json"])
def path(request, tmp_path):
    path = tmp_path / f"result{request.param}"
    results.write(path, "policy", {"weights": [0.25, 0.75], "name": "ä"})
    return path


def changed(path, **changes):
    """Write a result with some entries changed, and its checksum left as it is."""
    content = dict(np.load(path)) if path.suffix == ".npz" else json.loads(path.read_text())
    content = {key: value for key, value in (content | changes).items() if value is not None}
    if path.suffix == ".npz":
        np.savez(path, **content)
    else:
        path.write_text(json.dumps(content))


def test_content_comes_back(path):
    content = results.read(path, "policy")
    assert set(content) == {"weights", "name"}
    assert list(content["weights"]) == [0.25, 0.75]
    assert str(content["name"]) == "ä"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"checksum": None}, "is not a policy that this version of painless saved: it has no checksum"),
        ({"format": None}, "is not a policy that this version of painless saved"),
        ({"format": "painless-solution"}, "is not a policy: its format is 'painless-solution'"),
        ({"version": 99}, "has version 99 of the format; this painless reads 1: update painless"),
        ({"name": "b"}, "was changed or damaged after it was saved; save it again"),
        ({"name": None}, "was changed or damaged"),
        ({"more": 1}, "was changed or damaged"),
        ({"checksum": "0" * 64}, "was changed or damaged"),
    ],
)
def test_what_does_not_fit_is_refused(path, changes, message):
    changed(path, **changes)
    with pytest.raises(InputError, match=message):
        results.read(path, "policy")


def test_a_later_version_is_told_from_damage(path, monkeypatch):
    monkeypatch.setitem(results.VERSIONS, "policy", 2)
    with pytest.raises(InputError, match="has version 1 of the format; this painless reads 2"):
        results.read(path, "policy")


def test_the_same_content_written_otherwise_is_the_same(tmp_path):
    results.write(tmp_path / "a.npz", "policy", {"weights": np.eye(2)})
    changed(tmp_path / "a.npz")  # not compressed any more
    np.testing.assert_array_equal(results.read(tmp_path / "a.npz", "policy")["weights"], np.eye(2))


@pytest.mark.parametrize("name", ["arrays.npz", "policy.csv", "problem.npz"])
def test_a_folder_notices_the_files_of_another(tmp_path, name):
    for seed in (1, 2):
        problem = painless.garnet(5, 2, 2, 1, seed=seed)
        painless.solve(problem).save(tmp_path / str(seed), problem)
    shutil.copyfile(tmp_path / "1" / name, tmp_path / "2" / name)
    with pytest.raises(InputError, match=f"{name} is not the file that was saved with solution.json"):
        Solution.load(tmp_path / "2")
    (tmp_path / "2" / name).unlink()
    with pytest.raises(InputError, match=f"{name} does not exist"):
        Solution.load(tmp_path / "2")


@pytest.mark.parametrize("name", ["frontier.json", "problem.npz", "arrays.npz"])
def test_a_frontier_notices_the_files_of_another(tmp_path, name):
    for seed in (1, 2):
        painless.frontier(painless.garnet(5, 2, 2, 1, seed=seed)).save(tmp_path / str(seed))
    shutil.copyfile(tmp_path / "1" / name, tmp_path / "2" / name)
    for read in (painless.Frontier.load, page_of):
        with pytest.raises(InputError, match=r"is not the file that was saved with arrays\.npz"):
            read(tmp_path / "2")


def test_a_list_of_files_cannot_lead_elsewhere(tmp_path):
    content = {"files": {"../secret": "0"}}
    (tmp_path / "training.json").write_text(json.dumps(results.sealed("training", content)))
    with pytest.raises(InputError, match=r"lists a file of another folder, \.\./secret"):
        results.read(tmp_path / "training.json", "training")


@pytest.mark.parametrize("depth", [100, 900, 990, 5000, 100_000])
def test_json_of_any_depth_is_refused_in_a_sentence(tmp_path, depth):
    path = tmp_path / "training.json"
    nested = "[" * depth + "]" * depth
    path.write_text(f'{{"format": "painless-training", "version": 1, "checksum": "0", "x": {nested}}}')
    with pytest.raises(InputError):
        results.read(path, "training")
