"""One registry for each kind of object: one line makes a new one usable on the command line and in sweeps."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import painless
from painless.common.errors import InputError
from painless.common.registry import build
from painless.evaluators import EVALUATORS, ExactEvaluator
from painless.loop.algorithms import ALGORITHMS, CBP, Algorithm, find_algorithm
from painless.planning import PLANNERS
from painless.problem.formats.registry import FORMATS, Format
from painless.study import Store, Sweep, load_sweep, run_sweep
from painless.study.unit import make_problem
from tests.test_drn import TWO, written


@dataclass(frozen=True)
class Halved:
    """CBP with half of what alpha it is given: a class that only the registry knows."""

    alpha: float = 16.0
    name = "halved"

    def build(self, situation):
        return CBP(self.alpha / 2).build(situation)


@dataclass(frozen=True, eq=False)
class Shifted:
    """Exact values plus a constant, which no algorithm minds: an evaluator that only the registry knows."""

    problem: painless.CMDP
    samples: int
    shift: float = 0.0

    def evaluate(self, policy, rngs):
        assert self.samples > 0
        found = ExactEvaluator(self.problem).evaluate(policy, rngs)
        return type(found)(found.q, found.value + self.shift)


def read_numbers(path, given):
    """Read a chain of bandits from a line of rewards; `slope` is a parameter of the format."""
    rewards = np.array([float(word) for word in Path(path).read_text().split()])
    return {
        "transition": np.ones((1, len(rewards), 1)),
        "reward": given.get("slope", 1.0) * rewards[None],
        "initial": [1.0],
        "discount": 0.5,
    }


@pytest.fixture
def extended(monkeypatch, tmp_path):
    """Register one more of each; return a file with the new ending."""
    monkeypatch.setitem(ALGORITHMS, "halved", Halved)
    monkeypatch.setitem(EVALUATORS, "shifted", Shifted)
    monkeypatch.setitem(FORMATS, ".numbers", Format(read_numbers, parameters={"slope": float}))
    path = tmp_path / "bandit.numbers"
    path.write_text("1 3 2")
    return path


def test_every_name_is_that_of_its_object():
    for name, make in {**ALGORITHMS, **PLANNERS}.items():
        assert make().name == name


def test_a_new_algorithm_works_on_the_command_line(run, extended):
    options = ("--iterations", "20", "--json")
    code, out, _ = run("solve", "gridworld", "--algorithm", "halved", "--set", "alpha=2", *options)
    assert code == 0
    content = json.loads(out)
    assert content["algorithm"] == "halved"
    _, out, _ = run("solve", "gridworld", "--algorithm", "cbp", "--set", "alpha=1", *options)
    assert content["average"] == json.loads(out)["average"]
    _, _, err = run("solve", "gridworld", "--algorithm", "halvd")
    assert "did you mean 'halved'?" in err


def test_a_new_algorithm_and_evaluator_work_in_a_sweep(extended, tmp_path):
    algorithms = [{"name": "halved", "alpha": [2.0, 16.0]}, {"name": "cbp", "alpha": [1.0, 8.0]}]
    plan = Sweep.of([{"name": "gridworld"}], algorithms, iterations=8)
    store = Store(tmp_path / "exact")
    assert run_sweep(plan, store) == []
    found = [store.read(unit.settings)["reward_value"] for unit in plan.units]
    assert not np.array_equal(found[0], found[1])
    for new, known in zip(found[:2], found[2:], strict=True):
        np.testing.assert_array_equal(new, known)
    other = Sweep.of(
        *([{"name": "gridworld"}], algorithms[1:]), iterations=8, evaluator={"name": "shifted", "samples": 1}
    )
    store = Store(tmp_path / "shifted")
    assert run_sweep(other, store) == []
    again = [store.read(unit.settings)["reward_value"] for unit in other.units]
    np.testing.assert_array_equal(again, found[2:])


def test_a_new_evaluator_works_on_the_command_line(run, extended):
    code, out, _ = run("train", "gridworld", "--evaluator", "shifted", "--iterations", "5", "--json")
    assert code == 0
    assert json.loads(out)["iterations"] == 5


def test_a_new_ending_works_wherever_problems_are_read(run, extended, tmp_path):
    assert painless.load(extended).reward.tolist() == [[1.0, 3.0, 2.0]]
    for command in (("solve", "--json"), ("check",), ("train", "--iterations", "3", "--json")):
        code, out, err = run(command[0], extended, *command[1:])
        assert (code, err) == (0, "")
    code, out, _ = run("solve", extended, "-p", "slope=2", "--discount", "0.9", "--json")
    assert json.loads(out)["reward_value"] == pytest.approx(60.0)
    path = tmp_path / "sweep.toml"
    path.write_text(
        f'iterations = 3\n[[problem]]\nname = "{extended}"\nslope = [1, 2]\ndiscount = 0.75\n'
        '[[algorithm]]\nname = "prm"\n'
    )
    plan = load_sweep(path)
    assert [make_problem(unit.problem).reward.max() for unit in plan.units] == [3.0, 6.0]
    assert {make_problem(unit.problem).discount for unit in plan.units} == {0.75}
    code, out, _ = run("sweep", path, "--out", tmp_path / "out")
    assert code == 0
    assert "bandit.numbers slope=2" in out


def test_a_format_without_a_writer_is_not_offered_for_saving(extended):
    with pytest.raises(InputError, match=r"must end in \.npz, \.json, \.drn, \.umb or \.tra; \.npz"):
        painless.gridworld().save(extended)


@pytest.mark.parametrize("ending", [ending for ending, form in FORMATS.items() if form.write is not None])
def test_every_ending_works_in_every_command(run, tmp_path, ending):
    path = tmp_path / f"world{ending}"
    painless.gridworld().save(path)
    (tmp_path / "sweep.toml").write_text(
        f'iterations = 5\n[[problem]]\nname = "{path}"\n[[algorithm]]\nname = "cbp"\n'
    )
    for command in (
        ("check", path),
        ("solve", path, "--iterations", "5", "--save", tmp_path / "solution"),
        ("evaluate", tmp_path / "solution", "--episodes", "20"),
        ("report", tmp_path / "solution"),
        ("frontier", path, "--save", tmp_path / "frontier"),
        ("train", path, "--iterations", "2", "--samples", "10"),
        ("sweep", tmp_path / "sweep.toml", "--out", tmp_path / "out"),
        ("report", tmp_path / "out"),
    ):
        code, _, err = run(*command)
        assert code == 0, (command, err)
    code, out, _ = run("sweep", tmp_path / "sweep.toml", "--out", tmp_path / "out")
    assert f"{path}, exact evaluation" in out


def test_a_sweep_says_what_a_model_of_storm_leaves_open(run, tmp_path):
    path = tmp_path / "sweep.toml"
    model = f'iterations = 20\n[[problem]]\nname = "{written(tmp_path, TWO)}"\n'
    algorithm = '[[algorithm]]\nname = "prm"\n'
    said = 'discount = [0.5, 0.9]\nreward = "steps"\nconstraint_cost = "energy"\nlimit = [[3.0]]\n'
    path.write_text(model + said + algorithm)
    code, out, err = run("sweep", path, "--out", tmp_path / "out")
    assert (code, err) == (0, "")
    assert "limit=[3.0], exact evaluation" in out
    path.write_text(model + algorithm)
    code, _, err = run("sweep", path, "--out", tmp_path / "out")
    assert code == 5
    assert "a .drn file has no discount" in err


def test_files_in_a_sweep_heed_their_parameters_or_refuse_them(tmp_path):
    path = tmp_path / "world.npz"
    painless.gridworld().save(path)
    table = make_problem(
        Sweep.of([_file(path, discount=0.8, limit=0.7)], [CBP_UNIT], iterations=1).units[0].problem
    )
    assert (table.discount, table.limit.tolist()) == (0.8, [0.7])
    with pytest.raises(InputError, match=r"cost is for \.drn, \.umb, \.tra or \.csv files; remove it"):
        make_problem(_file(path, cost="energy"))
    with pytest.raises(InputError, match=r"unknown parameter of .*world\.npz 'limits'; did you mean 'limit'"):
        make_problem(_file(path, limits=0.7))
    painless.gridworld().save(tmp_path / "world.drn")
    with pytest.raises(InputError, match=r"'budget'; .*Known: ") as refused:
        make_problem(_file(tmp_path / "world.drn", budget=0.7))
    known = str(refused.value).partition("Known: ")[2].split(", ")
    assert len(known) == len(set(known))


CBP_UNIT = {"name": "cbp"}


def _file(path, **parameters):
    return {"name": str(path), **parameters}


def test_a_sweep_refuses_another_ending_and_a_planner(tmp_path):
    path = tmp_path / "world.txt"
    path.write_text("1, 2")
    with pytest.raises(InputError, match=r"must end in \.npz, \.json, \.drn, \.umb, \.tra or \.csv"):
        Sweep.of([_file(path)], [CBP_UNIT], iterations=1)
    with pytest.raises(InputError, match=r"lp is a planner, .* has no iterations; use painless solve"):
        Sweep.of([{"name": "gridworld"}], [{"name": "lp"}], iterations=1)


def test_help_and_errors_show_the_registered_names(run):
    _, out, _ = run("solve", "--help")
    for name in (*ALGORITHMS, *PLANNERS, *FORMATS):
        assert name in out
    _, out, _ = run("train", "--help")
    for name in (*ALGORITHMS, *EVALUATORS):
        assert name in out
    _, _, err = run("solve", "gridworld", "--algorithm", "simplex")
    assert err.strip().endswith("Known: " + ", ".join(sorted({*ALGORITHMS, *PLANNERS})))
    _, _, err = run("train", "gridworld", "--algorithm", "simplex")
    assert err.strip().endswith("Known: " + ", ".join(sorted(ALGORITHMS)))
    _, _, err = run("train", "gridworld", "--evaluator", "oracle")
    assert err.strip().endswith("Known: " + ", ".join(sorted(EVALUATORS)))


def test_no_algorithm_leaves_the_choice_to_solve(run, monkeypatch):
    chosen = []

    def stop(problem, algorithm=None, **options):
        chosen.append(algorithm)
        raise RuntimeError("seen")

    monkeypatch.setattr(sys.modules["painless.solving.solve"], "solve", stop)
    run("solve", "gridworld")
    run("solve", "gridworld", "--set", "growth=2")
    run("solve", "gridworld", "--algorithm", "lp")
    assert chosen == [None, painless.PRM(2), painless.LinearProgram()]


def test_settings_are_those_of_the_class():
    with pytest.raises(InputError, match="unknown setting of cbp 'aplha'; did you mean 'alpha'"):
        build("cbp", find_algorithm("cbp"), {"aplha": 3})
    with pytest.raises(InputError, match="td needs the setting 'samples'; give it"):
        build("td", lambda samples: samples, {})
    with pytest.raises(InputError, match="lp has no settings; remove alpha"):
        build("lp", PLANNERS["lp"], {"alpha": 3})
    with pytest.raises(InputError, match=r"garnet cannot be made with states=-5: .*; change a parameter"):
        build("garnet", lambda states: np.zeros(states), {"states": -5}, "parameter")
    with pytest.raises(InputError, match="unknown parameter of gridworld 'size'"):
        painless.make("gridworld", size=3)
    with pytest.raises(InputError, match="cartpole is a simulator, which has no table"):
        painless.make("cartpole")


def test_an_algorithm_of_the_registry_is_one_of_the_protocol(extended):
    algorithm: Algorithm = find_algorithm("halved")(alpha=4.0)
    assert painless.solve(painless.gridworld(), algorithm, iterations=3).algorithm == "halved"
    with pytest.raises(InputError, match="alpha is an array; give one number"):
        painless.solve(painless.gridworld(), Halved(np.array([1.0, 2.0])), iterations=3)
