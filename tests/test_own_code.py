"""Algorithms, evaluators and problems of users: `module:factory` and entry points, in files outside the package."""

import json
import sys
from importlib.metadata import EntryPoint
from typing import NamedTuple

import numpy as np
import pytest

from painless import InputError
from painless.checks import check_dual, check_learner
from painless.common import plugins
from painless.loop.algorithms import find_algorithm
from painless.study import Store, Sweep, load_sweep, run_sweep
from painless.study.sweep import Failure
from painless.study.unit import Unit, make_evaluator, make_problem

CODE = """
import painless
from painless.evaluators import ExactEvaluator
from helper import RATE

def hedge(rate=RATE):
    return painless.GDA(rate, 0.1)

def anything(**settings):
    return painless.GDA(**settings)

def broken():
    return 1 / 0

def nothing(label="x"):
    return label

def world(states=4):
    return painless.garnet(states, 2, 2)

def other_world(states=5):
    return painless.garnet(states, 2, 2)

class Exact:
    def __init__(self, problem, shift=0.0):
        self.inner = ExactEvaluator(problem)
    def evaluate(self, policy, rngs):
        return self.inner.evaluate(policy, rngs)

ready = painless.GDA(0.25, 0.1)
"""

SWEEP = """
iterations = 6
seeds = [0, 1]
[[problem]]
name = "mine:world"
[[problem]]
name = "gridworld"
[[algorithm]]
name = "mine:hedge"
rate = [0.1, 1]
[[algorithm]]
name = "prm"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with code of a user; the tests run in it."""
    (tmp_path / "mine.py").write_text(CODE)
    (tmp_path / "helper.py").write_text("RATE = 0.5\n")
    (tmp_path / "sweep.toml").write_text(SWEEP)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def results(folder, workers):
    sweep, store = load_sweep("sweep.toml"), Store(folder / f"out{workers}")
    assert run_sweep(sweep, store, workers=workers) == []
    return [store.read(unit.settings) for unit in sweep.units]


def test_own_code_gives_the_same_results_with_one_worker_and_with_two(folder):
    for one, two in zip(results(folder, 1), results(folder, 2), strict=True):
        assert np.array_equal(one["reward_value"], two["reward_value"])


def test_a_worker_that_does_not_see_the_folder_gets_the_code(folder, monkeypatch, tmp_path_factory):
    sweep, store = load_sweep("sweep.toml"), Store(folder / "out")
    before = list(sys.path)

    class Elsewhere:
        """A worker in another folder, which has imported an older version."""

        workers, remote = 1, True

        def __enter__(self):
            return self

        def __exit__(self, *ignored):
            pass

        def map(self, function, pieces):
            for piece in pieces:
                with monkeypatch.context() as there:
                    there.chdir(tmp_path_factory.mktemp("worker"))
                    there.setitem(plugins._loaded, "mine", "older")
                    yield piece, function(piece)

    assert run_sweep(sweep, store, backend=Elsewhere()) == []
    assert sys.path == before


def test_a_change_of_the_source_or_of_what_it_imports_runs_again_what_depends_on_it(folder):
    def keys():
        return [str(Store("out").path(unit.settings)) for unit in load_sweep("sweep.toml").units]

    first = keys()
    (folder / "helper.py").write_text("RATE = 0.7\n")
    second = keys()
    same = [a == b for a, b in zip(first, second, strict=True)]
    units = load_sweep("sweep.toml").units
    library = [unit.problem["name"] == "gridworld" and unit.algorithm["name"] == "prm" for unit in units]
    assert same == library
    assert plugins.find("algorithm", "mine:hedge")().policy_rate == 0.7
    (folder / "helper.py").write_text("RATE = 0.8\n")  # as many bytes within the same second
    assert plugins.find("algorithm", "mine:hedge")().policy_rate == 0.8


def test_two_problems_of_one_module_are_not_the_same(folder):
    units = [
        Unit({"name": f"mine:{name}", "states": 4}, {"name": "prm"}, 3, 0)
        for name in ("world", "other_world")
    ]
    assert Store("out").path(units[0].settings) != Store("out").path(units[1].settings)


def test_a_unit_whose_code_changed_since_is_refused(folder):
    unit = Unit({"name": "mine:world"}, {"name": "mine:hedge"}, 3, 0, evaluator={"name": "mine:Exact"})
    sweep = Sweep((unit,))
    (folder / "helper.py").write_text("RATE = 0.9\n")
    (failure,) = run_sweep(sweep, Store("out"))
    assert isinstance(failure, Failure)
    assert "mine:world was changed since this sweep was planned" in failure.error
    with pytest.raises(InputError, match="was changed since"):
        make_problem(unit.problem)
    with pytest.raises(InputError, match=r"mine:Exact on .* is not what it was when this sweep was planned"):
        make_evaluator(unit.evaluator)


def test_an_own_evaluator_in_a_sweep(folder):
    unit = Unit({"name": "gridworld"}, {"name": "prm"}, 3, 0, evaluator={"name": "mine:Exact", "shift": 1.0})
    assert run_sweep(Sweep((unit,)), Store("out")) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere:factory", "cannot import nowhere for nowhere:factory: there is no such module in"),
        ("mine:missing", r"mine \(.*mine.py\) has no missing; check the name mine:missing"),
        ("mine:broken", r"mine:broken failed \(.*mine.py, line 13\): ZeroDivisionError: division by zero"),
        ("mine:nothing", "mine:nothing gives 'x', which is no algorithm: it has no method build"),
        ("wrong:factory", r"cannot import wrong for wrong:factory \(.*wrong.py, line 1\): SyntaxError"),
        (
            "needy:factory",
            r"cannot import needy for needy:factory \(.*needy.py, line 2\): No module named 'absent_one'",
        ),
        (
            "leaving:factory",
            r"cannot import leaving for leaving:factory \(.*leaving.py, line 1\): SystemExit: 3",
        ),
    ],
)
def test_errors_come_before_anything_runs(folder, name, words):
    (folder / "wrong.py").write_text("def factory(:\n")
    (folder / "needy.py").write_text("import json\nimport absent_one\n")
    (folder / "leaving.py").write_text("raise SystemExit(3)\n")
    (folder / "sweep.toml").write_text(SWEEP.replace("mine:hedge", name).replace("rate = [0.1, 1]", ""))
    with pytest.raises(InputError, match=words):
        load_sweep("sweep.toml")


def test_on_the_command_line(folder, run):
    options = ("--iterations", "5", "--json")
    code, out, _ = run(
        "solve", "mine:world", "-p", "states=3", "--algorithm", "mine:hedge", "--set", "rate=2", *options
    )
    assert code == 0
    assert json.loads(out)["algorithm"] == "gda"
    code, _, error = run("solve", "gridworld", "--algorithm", "mine:hedge", "--set", "speed=2")
    assert (code, "unknown setting of mine:hedge 'speed'" in error) == (2, True)
    assert (
        run("solve", "gridworld", "--algorithm", "mine:anything", "--set", "policy_rate=2", *options)[0] == 0
    )
    assert run("solve", "gridworld", "--algorithm", "mine:ready", *options)[0] == 0
    code, _, error = run("solve", "gridworld", "--algorithm", "mine:nothing", "--set", "label=fast")
    assert (code, "gives 'fast'" in error) == (2, True)


def test_entry_points_of_installed_packages(folder, monkeypatch):
    points = {
        "painless.algorithms": [EntryPoint("hedged", "mine:hedge", "painless.algorithms")],
        "painless.problems": [EntryPoint("small", "mine:world", "painless.problems")],
        "painless.evaluators": [EntryPoint("mine", "mine:Exact", "painless.evaluators")],
    }
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points.get(group, []))
    unit = Unit({"name": "small"}, {"name": "hedged", "rate": 2}, 3, 0, evaluator={"name": "mine"})
    assert "digest" in unit.algorithm
    assert run_sweep(Sweep((unit,)), Store("out")) == []
    with pytest.raises(InputError, match=r"did you mean 'hedged'\?"):
        find_algorithm("hedge")


def test_installed_code_counts_with_its_whole_package(tmp_path, monkeypatch):
    package = tmp_path / "site" / "theirs"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import painless\nmake = painless.GDA\n")
    (package / "other.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.chdir(tmp_path)
    first = plugins.digest("algorithm", "theirs:make")
    assert plugins.carriable("algorithm", "theirs:make") == {}
    (package / "other.py").write_text("x = 2\n")
    assert plugins.digest("algorithm", "theirs:make") != first
    with pytest.raises(InputError, match="there is no such module"):
        plugins.digest("algorithm", "nowhere:make")


class Counted(NamedTuple):
    decision: np.ndarray
    last: np.ndarray


class Unseen:
    """A learner whose state holds a NaN until it has seen a gain."""

    def init(self, prior):
        return Counted(prior, np.full_like(prior, np.nan))

    def update(self, gain, state):
        return Counted(state.decision, state.last)


class Spoiling(Unseen):
    def update(self, gain, state):
        state.last[:] = gain
        return Counted(state.decision, state.last)


def test_a_state_may_hold_nan():
    check_learner(Unseen, np.full((2, 3), 1 / 3), simplex=True)
    with pytest.raises(AssertionError, match="update changed its state"):
        check_learner(Spoiling, np.full((2, 3), 1 / 3))


class Playing:
    """A dual that plays what a function makes of the shortfalls."""

    def __init__(self, weights):
        self.weights = weights

    def init(self, multiplier):
        return (np.zeros(len(multiplier)),)

    def play(self, shortfall, state):
        return self.weights(shortfall, state), state


def ones(shortfall):
    return np.ones((len(shortfall), 1 + shortfall.shape[1]))


def spoil(array, result):
    array += 1
    return result


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (lambda g, state: ones(g)[:, 1:], "weights have shape"),
        (lambda g, state: -ones(g), "negative"),
        (lambda g, state: ones(g) * np.inf, "not finite"),
        (lambda g, state: ones(g) * (1 + abs(g.mean())), "differs from the run alone"),
        (lambda g, state: spoil(state[0], ones(g)), "play changed its state"),
        (lambda g, state: spoil(g, ones(g)), "play changed the shortfalls"),
        (lambda g, state: ones(g) * np.random.default_rng().random(), "two results"),
    ],
)
def test_check_dual_finds_broken_promises(weights, words):
    with pytest.raises(AssertionError, match=words):
        check_dual(lambda: Playing(weights))
    check_dual(lambda: Playing(lambda g, state: ones(g)))
