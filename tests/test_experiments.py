"""Sweeps: the same bytes whatever the workers and however often they are killed; errors that name the place."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import painless
from painless import InputError
from painless.policies.table import dirichlet_policy
from painless.report.page_sweep import read_units
from painless.storage import files
from painless.study import Store, Sweep, load_sweep, run_sweep
from painless.study import store as store_module
from painless.study.summary import summarise
from painless.study.sweep import grid
from painless.study.unit_groups import UnitGroups
from tests.extras import POSIX
from tests.killing import changes, kill_once

SMALL = """
iterations = 20
seeds = [0, 1]
start = "dirichlet"

[[problem]]
name = "gridworld"
discount = [0.9, 0.8]

[[algorithm]]
name = "cbp"
alpha = [1, 8]

[[algorithm]]
name = "crpo"
rate = 0.75

[evaluator]
name = ["exact", "td"]
"""


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(SMALL.replace('name = ["exact", "td"]', 'name = "td"\nsamples = 20'))
    return path


def exact_plan():
    return Sweep.of(
        [{"name": "gridworld", "discount": [0.9, 0.8]}],
        [{"name": "cbp", "alpha": [1.0, 8.0]}, {"name": "gda"}],
        iterations=25,
        seeds=range(3),
        start="dirichlet",
    )


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted((folder / "units").iterdir())}


def test_grid_multiplies_out():
    assert grid({"name": "gda", "policy_rate": [1, 2], "multiplier_rate": [3, 4]}) == [
        {"name": "gda", "policy_rate": a, "multiplier_rate": b} for a in (1, 2) for b in (3, 4)
    ]
    assert len(exact_plan().units) == 2 * 3 * 3


def test_batches_and_single_units_store_the_same_bytes(tmp_path):
    """A unit that ran in a batch is, to the byte, the unit that ran alone."""
    plan = exact_plan()
    assert len(list(UnitGroups(plan.units))) == 2
    run_sweep(plan, Store(tmp_path / "together"))
    for unit in plan.units:
        run_sweep(Sweep((unit,)), Store(tmp_path / "alone"))
    assert contents(tmp_path / "together") == contents(tmp_path / "alone")


def test_workers_do_not_matter(tmp_path, plan):
    sweep = load_sweep(plan)
    for workers in (1, 2):
        run_sweep(sweep, Store(tmp_path / f"{workers}"), workers=workers)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    assert len(contents(tmp_path / "1")) == len(sweep.units) == 12


def test_what_is_stored_is_not_done_again(tmp_path):
    plan, store, seen = exact_plan(), Store(tmp_path), []
    run_sweep(Sweep(plan.units[:5]), store)
    run_sweep(plan, store, progress=lambda done, total: seen.append((done, total)))
    assert seen[0] == (5, 18)
    assert seen[-1] == (18, 18)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "units").iterdir()}
    run_sweep(plan, store)
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "units").iterdir()}


def test_results_are_the_runs(tmp_path):
    plan, store = exact_plan(), Store(tmp_path)
    run_sweep(plan, store)
    unit = plan.units[4]
    world = painless.gridworld(unit.problem["discount"])
    start = dirichlet_policy(world.actions, np.random.default_rng(unit.seed))
    alone = painless.solve(world, painless.CBP(unit.algorithm["alpha"]), iterations=25, initial_policy=start)
    np.testing.assert_array_equal(store.read(unit.settings)["reward_value"], alone.trace.reward_value)


def planned(path):
    return Sweep.of([{"name": str(path)}], [{"name": "cbp"}], iterations=3)


@pytest.mark.parametrize("suffix", [".npz", ".json"])
def test_a_problem_file_counts_by_what_it_holds(tmp_path, suffix):
    path, store = tmp_path / f"problem{suffix}", Store(tmp_path / "store")
    found = []
    for discount in (0.9, 0.8, 0.9):
        painless.gridworld(discount).save(path)
        plan = planned(path)
        assert store.holds(plan.units[0].settings) == (len(found) == 2)
        run_sweep(plan, store)
        (row,) = summarise(plan, store)
        assert row.problem == str(path)
        found.append(row.reward_value)
    assert found[0] == found[2] != found[1]
    assert len(contents(tmp_path / "store")) == 2
    assert len(read_units(tmp_path / "store")) == 1  # the page is about the file as it is


def test_a_problem_file_that_is_renamed_is_the_same_problem(tmp_path):
    store = Store(tmp_path / "store")
    painless.gridworld().save(tmp_path / "one.npz")
    run_sweep(planned(tmp_path / "one.npz"), store)
    (tmp_path / "one.npz").rename(tmp_path / "two.npz")
    assert store.holds(planned(tmp_path / "two.npz").units[0].settings)


def test_a_problem_file_that_changes_under_a_sweep_fails_its_units(tmp_path):
    path = tmp_path / "problem.npz"
    painless.gridworld(0.9).save(path)
    plan = planned(path)
    painless.gridworld(0.8).save(path)
    assert "was changed since this sweep was planned; run the sweep again" in only_error(plan, tmp_path)


def test_a_problem_file_that_is_missing_is_said_at_once(tmp_path):
    with pytest.raises(InputError, match=r"none\.npz does not exist"):
        planned(tmp_path / "none.npz")


def test_results_of_other_settings_are_refused(tmp_path):
    plan, store = exact_plan(), Store(tmp_path)
    run_sweep(Sweep(plan.units[:2]), store)
    first, second = (store.path(unit.settings) for unit in plan.units[:2])
    second.write_bytes(first.read_bytes())
    with pytest.raises(
        InputError, match="holds the results of other settings; remove it, and run the sweep again"
    ):
        store.read(plan.units[1].settings)


def test_a_store_in_the_place_of_a_file_is_refused(tmp_path):
    (tmp_path / "taken").write_text("x")
    with pytest.raises(InputError, match=r"cannot write .*taken"):
        run_sweep(exact_plan(), Store(tmp_path / "taken"))


def test_other_sources_are_other_results(tmp_path, monkeypatch):
    plan, store = Sweep(exact_plan().units[:1]), Store(tmp_path)
    run_sweep(plan, store)
    monkeypatch.setattr(store_module, "source_digest", lambda: "another version")
    assert not store.holds(plan.units[0].settings)


def test_summary(tmp_path):
    plan, store = exact_plan(), Store(tmp_path)
    run_sweep(plan, store)
    rows = summarise(plan, store)
    assert len(rows) == 6
    first = rows[0]
    assert (first.problem, first.algorithm, first.seeds) == ("gridworld discount=0.9", "cbp alpha=1.0", 3)
    assert first.reward_value == pytest.approx(1.6527218430 - first.optimality_gap, abs=1e-8)
    assert first.gap_error > 0
    assert first.violation.shape == (1,)


def test_predictive_regret_matching_sweeps_too(tmp_path):
    """Settings and starts in one batch, each with the bits of the run alone."""
    plan = Sweep.of(
        [{"name": "gridworld"}],
        [{"name": "prm", "growth": [0.0, 1.0]}, {"name": "prm"}, {"name": "cbp"}],
        iterations=25,
        seeds=range(2),
        start="dirichlet",
    )
    run_sweep(plan, Store(tmp_path))
    assert [row.algorithm for row in summarise(plan, Store(tmp_path))] == [
        *("prm growth=0.0", "prm growth=1.0"),
        *("prm", "cbp"),
    ]
    world = painless.gridworld()
    for unit in plan.units[:6]:
        assert unit.algorithm["name"] == "prm"
        start = dirichlet_policy(world.actions, np.random.default_rng(unit.seed))
        algorithm = painless.PRM(unit.algorithm.get("growth", 1.0))
        alone = painless.solve(world, algorithm, iterations=25, initial_policy=start)
        np.testing.assert_array_equal(
            Store(tmp_path).read(unit.settings)["reward_value"], alone.trace.reward_value
        )


def test_simulators_sweep_too(tmp_path):
    plan = Sweep.of([{"name": "cartpole"}], [{"name": "cbp"}], iterations=2, seeds=[1])
    run_sweep(plan, Store(tmp_path))
    (row,) = summarise(plan, Store(tmp_path))
    assert np.isnan(row.optimality_gap)
    assert row.evaluator == "anchored-lstdq"
    assert row.violation.shape == (2,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("iterations = ", "is not valid TOML"),
        ("iterations = 5", "'problem' is missing"),
        ("seedz = [1]", "did you mean 'seeds'"),
        (SMALL.replace("gridworld", "gridwrld"), "did you mean 'gridworld'"),
        (SMALL.replace('"crpo"', '"cpro"'), "did you mean 'crpo'"),
        (SMALL.replace('"td"', '"tdd"'), "unknown evaluator 'tdd'"),
        (SMALL.replace('"dirichlet"', '"random"'), "unknown start 'random'"),
        (
            SMALL.replace("iterations = 20", 'iterations = "20"'),
            "iterations is '20'; it must be a whole number",
        ),
        (SMALL.replace("[0, 1]", "[0, -1]"), "seed is -1"),
        (SMALL.replace('"td"', '"plain-lstdq"'), "gridworld is a table; its evaluator can be exact, td"),
        (
            SMALL.replace('"gridworld"\ndiscount = [0.9, 0.8]', '"cartpole"'),
            "cartpole is a simulator; its evaluator can be anchored-lstdq, plain-lstdq, not td",
        ),
        ('iterations = 5\nproblem = "gridworld"\nalgorithm = "cbp"', "is not a sweep"),
    ],
)
def test_bad_files_are_refused(tmp_path, text, message):
    path = tmp_path / "sweep.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        load_sweep(path)


def test_missing_file_and_bad_settings(tmp_path):
    with pytest.raises(InputError, match="does not exist or is not a file"):
        load_sweep(tmp_path / "none.toml")
    bad = Sweep.of([{"name": "gridworld"}], [{"name": "cbp", "beta": 3}], iterations=3)
    assert "unknown setting of cbp 'beta'; Known: alpha, entropy" in only_error(bad, tmp_path)
    worse = Sweep.of([{"name": "gridworld"}], [{"name": "cbp", "alpha": "big"}], iterations=3)
    assert "alpha is not a numeric array" in only_error(worse, tmp_path)
    hopeless = Sweep.of([{"name": "gridworld", "threshold": 9.0}], [{"name": "cbp"}], iterations=3)
    assert "no policy meets all constraints" in only_error(hopeless, tmp_path)


def only_error(sweep, folder):
    (failure,) = run_sweep(sweep, Store(folder))
    assert failure.settings == sweep.units[0].settings
    return failure.error


@POSIX
def test_killed_and_resumed_gives_the_same_bytes(tmp_path):
    """SIGKILL with one, two and three more results stored, workers and all; then to the end."""
    path = tmp_path / "sweep.toml"
    path.write_text(
        SMALL.replace('name = ["exact", "td"]', 'name = "td"\nsamples = 2000').replace("20", "120", 1)
    )
    run_sweep(load_sweep(path), Store(tmp_path / "whole"), workers=2)
    command = [
        sys.executable,
        "-m",
        "painless",
        "sweep",
        str(path),
        "--out",
        str(tmp_path / "killed"),
        "--workers",
        "2",
    ]
    for count in (1, 2, 3):
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        kill_once(process, changes(tmp_path / "killed" / "units", count))
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "optimality gap" in result.stdout
    finished = {
        name: data for name, data in contents(tmp_path / "killed").items() if not name.startswith(".")
    }
    assert finished == contents(tmp_path / "whole")


def test_two_runs_at_once_do_nothing_twice(tmp_path, plan):
    command = [sys.executable, "-m", "painless", "sweep", str(plan), "--out", str(tmp_path / "shared")]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    first, second = (process.communicate(timeout=120)[0] for process in both)
    assert [process.returncode for process in both] == [0, 0]
    assert first == second
    done = [json.loads(line)[0] for line in (tmp_path / "shared" / "costs.jsonl").read_text().splitlines()]
    assert len(done) == len(set(done)) == len(load_sweep(plan).units)


def test_what_a_killed_write_left_is_cleared(tmp_path):
    plan, store = Sweep(exact_plan().units[:1]), Store(tmp_path)
    run_sweep(plan, store)
    half, other = (tmp_path / "units" / f".{'0' * 24}.npz.{end}" for end in ("a1b2c3d4.painless", "swp"))
    half.write_bytes(b"half")
    other.write_bytes(b"not ours")
    costs = tmp_path / "costs.jsonl"
    costs.write_text(costs.read_text() + '["cut')
    run_sweep(plan, store)
    assert not half.exists()
    assert other.exists()
    assert len(store.costs()) == 1


def test_a_full_disk_ends_with_one_line_and_loses_nothing(tmp_path, monkeypatch):
    plan, store = exact_plan(), Store(tmp_path)
    write, written = files.write_npz, []

    def full_after_four(path, arrays):
        if len(written) == 4:
            raise InputError(f"cannot write {path}: No space left on device; choose another place")
        written.append(path)
        return write(path, arrays)

    monkeypatch.setattr(files, "write_npz", full_after_four)
    with pytest.raises(InputError, match="No space left"):
        run_sweep(plan, store)
    assert len(contents(tmp_path)) == 4
    monkeypatch.setattr(files, "write_npz", write)
    assert run_sweep(plan, store) == []
    run_sweep(plan, Store(tmp_path / "whole"))
    assert contents(tmp_path) == contents(tmp_path / "whole")


def test_the_example_sweep_runs(tmp_path):
    example = str(Path(__file__).parent.parent / "examples" / "sweep.toml")
    result = subprocess.run(
        [sys.executable, "-m", "painless", "sweep", example, "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "cbp alpha=8" in result.stdout
