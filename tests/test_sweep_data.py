"""Results as data: the long form, CSV, LaTeX, measures of the iterates and their intervals, downloads in the page."""

import base64
import csv
import io
import re

import numpy as np
import pytest

import painless
from painless import InputError
from painless.loop.averages import MEASURES, measured, running_measure
from painless.loop.framework import Trace
from painless.report.page_sweep import sweep_page
from painless.study import Store, Sweep, run_sweep
from painless.study.setting_results import read
from painless.study.summary import summarise

PLAN = """
iterations = 8
seeds = [0, 1, 2]
start = "dirichlet"
[[problem]]
name = "gridworld"
[[problem]]
name = "garnet"
states = 6
constraints = 2
[[algorithm]]
name = "gda"
policy_rate = [0.1, 1.0]
[[algorithm]]
name = "pid"
"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    sweep = Sweep.of(
        [{"name": "gridworld"}, {"name": "garnet", "states": 6, "constraints": 2}],
        [{"name": "gda", "policy_rate": [0.1, 1.0]}, {"name": "pid"}],
        iterations=8,
        seeds=(0, 1, 2),
        start="dirichlet",
    )
    store = Store(tmp_path_factory.mktemp("sweep"))
    assert run_sweep(sweep, store) == []
    return sweep, store


def test_measures_by_hand():
    values = np.array([[8.0], [4.0], [2.0], [1.0], [0.0]])
    assert [float(measured(values, name)[0]) for name in MEASURES] == [3.0, 1.0, 0.0]
    for name in MEASURES:
        running = running_measure(values, name)
        np.testing.assert_allclose(running, [measured(values[:n], name) for n in range(1, 6)])
    with pytest.raises(InputError, match="unknown measure 'first'"):
        measured(values, "first")


def test_strong_violation_forgives_nothing():
    trace = Trace(np.zeros(4), np.array([[0.0], [2.0], [0.0], [2.0]]), np.zeros((4, 1)))
    assert trace.strong_violation([1.0]) == 0.5
    assert trace.strong_violation([1.0], ["<="]) == 0.5
    assert 1.0 - trace.measured()[1] == 0.0  # while the paper's violation cancels


def test_a_solution_has_all_measures():
    found = painless.solve(painless.gridworld(), painless.GDA(), iterations=30)
    plain = found.as_dict()
    trace = found.trace
    assert plain["last"]["reward_value"] == trace.reward_value[-1]
    assert plain["tail"]["reward_value"] == trace.reward_value[15:].mean()
    assert plain["average"]["constraint_violation"] == [1.5 - trace.constraint_value.mean()]
    assert plain["strong_violation"] == [np.maximum(1.5 - trace.constraint_value[:, 0], 0).mean()]
    planned = painless.solve(painless.gridworld())
    assert planned.measured("last") is None
    assert planned.as_dict()["strong_violation"] is None


def test_the_long_form_holds_every_iterate(stored):
    sweep, store = stored
    columns = sweep.to_frame(store, dict)
    names = ["problem", "evaluator", "algorithm", "setting", "seed", "t", "reward"]
    assert [*columns] == [*names, "constraint_0", "constraint_1", "multiplier_0", "multiplier_1"]
    assert len(columns["t"]) == 2 * 3 * 3 * 8
    assert columns["constraint_1"][0] is None  # the gridworld has one constraint
    unit = sweep.units[0]
    assert columns["reward"][:8] == store.read(unit.settings)["reward_value"].tolist()
    assert columns["setting"][0] == '{"policy_rate": 0.1}'
    pandas = pytest.importorskip("pandas")
    frame = sweep.to_frame(store, pandas.DataFrame)
    means = frame[frame.problem == "gridworld"].groupby(["algorithm", "setting"]).reward.mean()
    assert means["pid", "{}"] == pytest.approx(read(sweep, store)[2].last_return)
    assert len(store.to_frame(dict)["t"]) == len(columns["t"])


def test_intervals_by_student(stored):
    sweep, store = stored
    row, setting = summarise(sweep, store)[0], read(sweep, store)[0]
    for name in MEASURES:
        gap, violation = (values[:, -1] for values in setting.measured(name))
        assert row.measures[name].gap_band == pytest.approx(4.302653 * gap.std(ddof=1) / np.sqrt(3))
        np.testing.assert_allclose(
            row.measures[name].violation_band, 4.302653 * violation.std(0, ddof=1) / np.sqrt(3)
        )
    assert row.measures["average"].gap == pytest.approx(row.optimality_gap)
    assert (row.strong_violation >= np.maximum(row.violation, 0) - 1e-12).all()


def test_the_command_line_writes_csv_and_latex(tmp_path, run, stored):
    (tmp_path / "plan.toml").write_text(PLAN)
    table, text = tmp_path / "long.csv", tmp_path / "table.tex"
    options = ("--out", str(stored[1].folder), "--csv", str(table), "--latex", str(text))
    code, out, _ = run("sweep", str(tmp_path / "plan.toml"), *options)
    assert code == 0
    assert "strong violation" in out
    assert " ± " in out
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    assert len(rows) == 2 * 3 * 3 * 8
    assert rows[0]["constraint_1"] == ""
    assert text.read_text().count("\\begin{tabular}") == 2
    code, _, error = run("sweep", str(tmp_path / "plan.toml"), "--csv", str(tmp_path / "long.txt"))
    assert (code, "must end in .csv" in error) == (2, True)


def test_the_page_has_the_measures_and_downloads(stored):
    page = sweep_page(stored[1].folder, "A sweep")
    assert "strong violation" in page
    found = re.findall(r'href="data:([\w/-]+);base64,([^"]+)" download="(table\.\w+)"', page)
    assert [(kind, name) for kind, _, name in found[:2]] == [
        ("text/csv", "table.csv"),
        ("application/x-tex", "table.tex"),
    ]
    rows = list(csv.reader(io.StringIO(base64.b64decode(found[0][1]).decode())))
    assert len({len(row) for row in rows}) == 1
