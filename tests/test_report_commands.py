"""`painless report`, `painless plot` and `--report`: every kind of saved thing, and every way it can be wrong."""

import json
from dataclasses import replace

import numpy as np
import pytest

import painless
from painless import InputError
from painless.engines import factorised as factorised_module
from painless.frontiers import curve as curve_module
from painless.frontiers.json_data import grid_layout
from painless.report.curves import curve, shown_steps
from painless.report.html import data_block, plain, render, write_page
from painless.report.page_solution import frontiers_of
from painless.report.page_sweep import chosen, read_units
from painless.report.saved_figures import figures_of, layout_map, panel_figure
from painless.report.saved_pages import page_of, saved_kind
from painless.solving import optimum as optimum_module
from painless.solving.optimum import exact_optimum, known_optimum
from painless.study import targets as targets_module
from painless.study.setting_results import SettingResults
from painless.study.targets import Target

SWEEP = """
iterations = 30
seeds = [0, 1]
start = "dirichlet"
[[problem]]
name = "gridworld"
[[algorithm]]
name = "cbp"
alpha = [1, 8]
[[algorithm]]
name = "crpo"
[[algorithm]]
name = "prm"
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """One folder of each kind."""
    root = tmp_path_factory.mktemp("saved")
    world = painless.gridworld()
    painless.solve(world, iterations=30).save(root / "solution")
    world.save(root / "solution" / "problem.npz")
    painless.frontier(world).save(root / "frontier")
    painless.train(painless.CartPole(), iterations=4, episodes=20, multiplier_bound=[5.0, 5.0]).save(
        root / "training"
    )
    (root / "training" / "problem.json").write_text('{"simulator": "cartpole"}')
    (root / "sweep.toml").write_text(SWEEP)
    plan = painless.study.load_sweep(root / "sweep.toml")
    painless.study.run_sweep(plan, painless.study.Store(root / "sweep"))
    return root


KINDS = {
    "solution": ("Move the limit", {"curves", "map", "frontier"}),
    "frontier": ("Move the limit", {"frontier", "map"}),
    "training": ("20 fresh episodes", {"curves"}),
    "sweep": ("After the last iteration", {"gridworld-exact-evaluation"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_page_of_every_kind(run, saved, tmp_path, kind):
    text, _ = KINDS[kind]
    code, out, _ = run("report", saved / kind, "--out", tmp_path / "page.html", "--title", "A <title>")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert code == 0
    assert str(tmp_path / "page.html") in out
    assert "A &lt;title&gt;</h1>" in page
    assert text in page
    assert saved_kind(saved / kind) == kind
    assert "default-src 'none'; script-src 'sha256-" in page
    assert page_of(saved / kind, "x") == page_of(saved / kind, "x")  # nothing of time in it


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_of_every_kind(run, saved, tmp_path, kind):
    _, names = KINDS[kind]
    formats = ("png", "pdf", "svg")
    given = [part for one in formats for part in ("--format", one)]
    for folder in (tmp_path / "one", tmp_path / "two"):
        assert run("plot", saved / kind, "--out", folder, *given)[0] == 0
    assert {path.name for path in (tmp_path / "one").iterdir()} == {
        f"{n}.{f}" for n in names for f in formats
    }
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_report_goes_into_the_folder(run, saved):
    assert run("report", saved / "training")[0] == 0
    page = (saved / "training" / "report.html").read_text(encoding="utf-8")
    assert "<h1>cartpole</h1>" in page  # the simulator's name
    assert "position" in page  # the constraint's


@pytest.mark.parametrize(
    "command",
    [
        ("solve", "gridworld", "--iterations", "20"),
        ("frontier", "gridworld"),
        ("train", "cartpole", "--iterations", "3", "--episodes", "20", *("--multiplier-bound", "5") * 2),
        ("train", "gridworld", "--iterations", "5", "--samples", "10"),
    ],
)
def test_report_option(run, tmp_path, command):
    code, _, _ = run(*command, "--report", tmp_path / "page.html")
    assert code == 0
    assert f"<h1>{command[1]}</h1>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    code, _, err = run(*command, "--report", tmp_path / "page.txt")
    assert code == 2
    assert "must end in .html" in err


@pytest.mark.parametrize("verb", ["solve", "frontier"])
def test_a_page_does_not_show_the_folders_of_a_file(run, tmp_path, verb):
    painless.gridworld().save(tmp_path / "model.npz")
    assert run(verb, tmp_path / "model.npz", "--report", tmp_path / "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1>model.npz</h1>" in page
    assert str(tmp_path) not in page


def test_frontier_from_its_json_alone(run, saved, tmp_path):
    text = (saved / "frontier" / "frontier.json").read_text()
    (tmp_path / "one.json").write_text(text)
    assert run("report", tmp_path / "one.json")[0] == 0
    assert "<h1>one</h1>" in (tmp_path / "one.html").read_text(encoding="utf-8")
    code, _, err = run("plot", tmp_path / "one.json")
    assert code == 2
    assert "give the folder" in err


def test_map_at_another_limit(run, saved, tmp_path):
    for limit in ("0.5", "2.5"):
        assert run("plot", saved / "frontier", "--out", tmp_path / limit, "--limit", limit)[0] == 0
    maps = [(tmp_path / limit / "map.png").read_bytes() for limit in ("0.5", "2.5")]
    assert maps[0] != maps[1]
    code, _, err = run("plot", saved / "solution", "--limit", "1")
    assert code == 2
    assert "--limit is for a frontier" in err


def test_nothing_to_draw(run, tmp_path):
    problem = painless.CMDP([[[1.0], [1.0]]], [[0.0, 1.0]], initial=[1.0], discount=0.5)
    painless.solve(problem, painless.LinearProgram()).save(tmp_path)
    code, out, _ = run("plot", tmp_path)
    assert code == 0
    assert "nothing to draw" in out
    assert "State" in page_of(tmp_path)  # there is still a page, even without the problem


def test_page_of_the_infeasible_and_the_unconstrained(tmp_path):
    world = painless.gridworld().with_limits([3.0])
    painless.solve(world).save(tmp_path / "no")
    world.save(tmp_path / "no" / "problem.npz")
    page = page_of(tmp_path / "no")
    assert "Answer of" in page
    assert "Move the limit" in page  # to see how far it can go
    free = painless.CMDP(
        world.transition,
        world.reward,
        initial=world.initial,
        discount=0.9,
        names={"states": world.names["states"]},
    )
    painless.solve(free).save(tmp_path / "free")
    free.save(tmp_path / "free" / "problem.npz")
    assert 'id="map"' in page_of(tmp_path / "free")


@pytest.mark.parametrize("command", ["report", "plot"])
def test_folders_that_hold_nothing(run, tmp_path, command):
    code, _, err = run(command, tmp_path / "nowhere")
    assert code == 2
    assert "does not exist" in err
    code, _, err = run(command, tmp_path)
    assert code == 2
    assert "holds no solution, frontier, training run or sweep" in err


def test_damaged_folders(tmp_path):
    (tmp_path / "training.json").write_text("{}")
    np.savez(tmp_path / "trace.npz", reward_value=np.zeros(1))
    with pytest.raises(InputError, match="is not a training that this version of painless saved"):
        page_of(tmp_path)
    (tmp_path / "other.json").write_text('{"format": "something"}')
    with pytest.raises(InputError, match="is not a frontier that"):
        page_of(tmp_path / "other.json")
    (tmp_path / "sweep" / "units").mkdir(parents=True)
    with pytest.raises(InputError, match="no finished unit"):
        page_of(tmp_path / "sweep")
    np.savez(tmp_path / "sweep" / "units" / "a.npz", reward_value=np.zeros(1))
    with pytest.raises(InputError, match="is not a unit that this version of painless saved"):
        page_of(tmp_path / "sweep")
    with pytest.raises(InputError, match=r"must end in \.html"):
        write_page("", tmp_path / "page.pdf")


def test_units_are_read_once_each(saved):
    settings = [json.dumps(one, sort_keys=True) for one, _ in read_units(saved / "sweep")]
    assert len(settings) == len(set(settings)) == 8


def test_the_best_settings_are_drawn():
    def drawn(optimum, sign, values):
        target = Target(optimum, np.empty(0), np.empty(0), np.array([sign]), ())
        names, none = ["cbp"] * (len(values) - 1) + ["gda"], np.zeros((1, 2, 0))
        many = [
            SettingResults({}, {}, {"name": name}, target, np.full((1, 2), value), none, none)
            for name, value in zip(names, values, strict=True)
        ]
        return [float(one.reward[0, 0]) for one in chosen(many)]

    values = (0.5, 0.9, 0.8, 0.7, 0.6, 0.95, -8.0)
    assert drawn(1.0, 1.0, values) == [0.9, 0.8, 0.7, 0.6, 0.95, -8.0]
    assert drawn(np.nan, 1.0, values) == [0.9, 0.8, 0.7, 0.6, 0.95, -8.0]  # without an optimum, by the return
    assert drawn(np.nan, -1.0, values) == [0.5, 0.9, 0.8, 0.7, 0.6, -8.0]  # or by the cost


def test_bands():
    runs = np.array([[1.0, 2.0], [3.0, 4.0]])
    band = curve(runs, "x")
    half = 12.7062047 * np.sqrt(2) / np.sqrt(2)  # Student's t with one degree of freedom
    np.testing.assert_allclose(band["y"], [2.0, 3.0])
    np.testing.assert_allclose(band["low"], [2 - half, 3 - half], rtol=1e-6)
    assert "low" not in curve(runs[0], "x")
    assert curve(np.array([np.nan, 1.0]), "x")["y"] == [None, 1.0]
    steps = shown_steps(100_000)
    assert len(steps) <= 360
    assert (steps[0], steps[-1]) == (0, 99_999)


def test_pictures_take_text_as_it_stands():
    panel = {"title": "$x", "y": "y", "steps": [1, 2], "skip": 0.0, "rules": [{"name": "a_$", "y": 1.0}]}
    figure = panel_figure([{**panel, "series": [{"name": "$\\frac", "y": [1.0, 2.0]}]}])
    figure.draw_without_rendering()
    world = painless.gridworld()
    layout = grid_layout(world)
    assert len(layout_map(layout, np.ones(25), np.full((25, 4), 0.25)).axes) == 2


def test_a_script_that_render_did_not_put_there_is_refused(tmp_path, monkeypatch):
    from painless.report import html

    (tmp_path / "bad.html").write_text("<script>1</script>")
    (tmp_path / "good.html").write_text("{% call script() %}1{% endcall %}")
    monkeypatch.setattr(html, "TEMPLATES", tmp_path)
    with pytest.raises(RuntimeError, match="would be blocked"):
        render("bad.html")
    assert render("good.html") == "<script>1</script>"


def test_plain_data():
    value = {"a": np.array([1.0, np.nan]), 2: (np.float64(3), np.inf, True), "n": None}
    assert plain(value) == {"a": [1.0, None], "2": [3.0, None, True], "n": None}
    assert "&" not in data_block("x", "a & b <c>").removeprefix("<")


def test_pictures_of_an_infeasible_limit_are_drawn_at_the_tightest(tmp_path):
    painless.frontier(painless.gridworld().with_limits([3.0])).save(tmp_path)
    assert set(figures_of(tmp_path)) == {"frontier", "map"}


@pytest.mark.parametrize("command", ["solve", "frontier"])
def test_a_page_of_a_problem_with_no_limit(run, tmp_path, command):
    limits = ("--threshold", "1.5", "--threshold", "-inf", "--threshold", "2")
    page = tmp_path / "page.html"
    code, _, err = run(command, "gridworld", "-p", "constraints=3", *limits, "--report", page)
    assert (code, err) == (0, "")
    assert "constraint 2" in page.read_text(encoding="utf-8")


def counted(monkeypatch, module, name):
    """Count the calls of a function that a module uses."""
    calls, given = [], getattr(module, name)
    monkeypatch.setattr(module, name, lambda *a, **k: (calls.append(a), given(*a, **k))[1])
    return calls


def test_a_page_of_a_frontier_solves_nothing_again(monkeypatch, tmp_path):
    curve = painless.frontier(painless.gridworld(constraints=3), 1)
    policies = {row for mixture in curve.mixtures for row, _ in mixture}
    engines = counted(monkeypatch, curve_module, "engine_of")
    systems = counted(monkeypatch, factorised_module, "resolvent")
    curve.save(tmp_path)
    assert (len(engines), len(systems)) == (1, len(policies))
    page_of(tmp_path)
    assert (len(engines), len(systems)) == (1, len(policies))


def test_curves_of_a_run_take_the_optimum_from_the_frontiers(monkeypatch):
    problem = painless.gridworld(constraints=3)
    solution = replace(painless.solve(problem, painless.CBP(), iterations=20), gap=1.0)  # nothing is proved
    frontiers = frontiers_of(problem, solution)[0]
    exact = exact_optimum(problem)
    solves = counted(monkeypatch, optimum_module, "solve")
    found = known_optimum(solution, problem, frontiers)
    assert found.value == pytest.approx(exact.value, abs=1e-9)
    np.testing.assert_allclose(found.multiplier, exact.multiplier, atol=1e-9)
    assert not solves
    assert known_optimum(solution, problem, frontiers[1:]).value == exact.value  # a price is not shown
    assert len(solves) == 1
    vertex = problem.with_limits([frontiers[0].threshold[1], *problem.limit[1:]])
    known_optimum(solution, vertex, frontiers)  # a vertex has two prices
    assert len(solves) == 2


def test_the_page_of_a_sweep_solves_each_problem_once(monkeypatch, saved):
    targets_module._target.cache_clear()
    solves = counted(monkeypatch, optimum_module, "solve")
    page_of(saved / "sweep")
    assert len(solves) == 1
