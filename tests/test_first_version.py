"""What the first version offered and stored: names are in docs/moved.md, problem files are read, results are refused in a sentence."""

import importlib
import importlib.util
import re
import shutil
from pathlib import Path

import pytest

import painless
from painless.frontiers import Frontier
from painless.report.saved_pages import page_of
from painless.solving.solution import Solution

DATA = Path(__file__).parent / "data" / "first-version"
PAGE = (Path(__file__).parent.parent / "docs" / "moved.md").read_text(encoding="utf-8")


def table(title):
    """Return the rows of the table below a heading: the old names, and what stands beside them."""
    body = re.split(r"^## ", PAGE.split(f"## {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    cells = [line.strip("|").split("|") for line in body.splitlines() if line.startswith("| `")]
    return {old: new for olds, new in cells for old in re.findall(r"`([\w.*]+)`", olds)}


def lines(name):
    return (DATA / name).read_text().split()


def found(name):
    """Whether a module, or a name in one, exists."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            thing = getattr(thing, part, None)
        return thing is not None
    return False


def new_places(old, moved):
    """Return where a module is now: by its own row, or by that of the longest name with a star."""
    if old in moved:
        return re.findall(r"`(painless[\w.]+)`", moved[old])
    short = re.sub(r"\.(analysis|sweep)$", "", old) if old.count(".") == 4 else old
    stars = [one for one in moved if one.endswith(".*") and f"{short}.".startswith(one[:-1])]
    if not stars:
        return [old]
    star = max(stars, key=len)
    new = re.search(r"`(painless[\w.]+)\.\*`", moved[star])
    return [(new[1] + short.removeprefix(star[:-2]))]


def test_every_public_name_is_there_or_in_the_table():
    moved = table("Names of `import painless`")
    for name in lines("names.txt"):
        assert (name in painless.__all__) != (f"painless.{name}" in moved), name


def test_every_module_is_there_or_in_the_table():
    moved = table("Modules")
    for old in lines("modules.txt"):
        places = new_places(old, moved)
        assert places or "gone" in moved[old], old
        for place in places:
            assert importlib.util.find_spec(place), f"{old} is not in {place}"


@pytest.mark.parametrize("title", ["Names of `import painless`", "Names that changed", "Modules"])
def test_every_new_name_exists(title):
    for old, new in table(title).items():
        names = re.findall(r"`(painless[\w.]*?)(?:\.\*)?`", new)
        assert names or "gone" in new, old
        for name in names:
            assert found(name), f"{old} is not in {name}"


@pytest.fixture
def stored(tmp_path):
    """The folders that the first version saved, and its problem files."""
    return Path(shutil.copytree(DATA, tmp_path / "stored"))


def test_problem_files_are_read(stored):
    problem = painless.load(stored / "problem.npz")
    assert painless.load(stored / "problem.json").threshold == problem.threshold
    assert painless.load(stored / "solution" / "problem.npz").shape == problem.shape
    assert painless.solve(problem).feasible


REFUSED = "that this version of painless saved: it has no checksum;"


@pytest.mark.parametrize(
    ("command", "what"),
    [
        (("report", "solution"), "is not a solution"),
        (("plot", "solution"), "is not a solution"),
        (("evaluate", "solution"), "is not a solution"),
        (("report", "frontier"), "is not a frontier"),
        (("plot", "frontier"), "is not a frontier"),
        (("report", "training"), "is not a training"),
        (("plot", "training"), "is not a training"),
        (("evaluate", "training"), "is not a training"),
        (("report", "sweep"), "is not a unit"),
        (("plot", "sweep"), "is not a unit"),
    ],
)
def test_results_are_refused_in_a_sentence(run, stored, command, what):
    verb, folder = command
    code, out, err = run(verb, stored / folder)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert what in err
    assert REFUSED in err


def test_a_training_is_not_resumed(run, stored):
    bound = ("--multiplier-bound", "5", "--multiplier-bound", "5")
    size = ("--iterations", "2", "--rollouts", "4", "--episodes", "10")
    code, _, err = run("train", "cartpole", *size, *bound, "--save", stored / "training", "--resume")
    assert code == 2
    assert f"is not a checkpoint {REFUSED} start the run again" in err


def test_python_refuses_them_too(stored):
    readers = {
        "solution": [Solution.load, page_of],
        "frontier": [Frontier.load, page_of],
        "training": [page_of],
        "training/policy.npz": [painless.load_policy],
    }
    for place, functions in readers.items():
        for read in functions:
            with pytest.raises(painless.InputError, match=REFUSED):
                read(stored / place)


def test_a_sweep_goes_on_in_the_same_folder(run, stored):
    code, out, _ = run("sweep", stored / "sweep.toml", "--out", stored / "sweep")
    assert code == 0
    assert "cbp" in out
    assert len([*(stored / "sweep" / "units").iterdir()]) == 2
