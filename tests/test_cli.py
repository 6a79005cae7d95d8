"""The command line, as a person or a script meets it: output, exit codes, and no tracebacks."""

import json
import re
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from typer.testing import CliRunner

import painless
from painless import cli

CBP = ("--algorithm", "cbp")
KEYS = {
    *("problem", "algorithm", "status", "feasible", "reward_value", "constraint_value", "threshold", "sense"),
    *("multiplier", "upper_bound", "gap", "iterations", "seconds", "optimal_value", "average"),
}


def test_json_is_one_object_and_nothing_else(run):
    code, out, err = run("solve", "gridworld", "--iterations", "50", "--json")
    content = json.loads(out)
    assert code == 0
    assert err == ""
    assert set(content) >= KEYS
    assert content["problem"] == "gridworld"
    assert content["algorithm"] == "prm"
    assert content["iterations"] == 50
    assert content["optimal_value"] == pytest.approx(1.6527218430, abs=1e-8)
    assert content["sense"] == [">="]
    assert content["threshold"] == [1.5]
    average = content["average"]
    assert set(average) == {"reward_value", "optimality_gap", "constraint_violation"}
    assert average["optimality_gap"] == pytest.approx(content["optimal_value"] - average["reward_value"])


@pytest.mark.parametrize(
    "algorithm", ["prm", "cbp", "cbp-theory", "gda", "gda-theory", "gda-printed", "crpo"]
)
def test_every_algorithm_by_name(run, algorithm):
    code, out, _ = run("solve", "gridworld-3", "--algorithm", algorithm, "--iterations", "20", "--json")
    content = json.loads(out)
    assert code == 0
    assert content["algorithm"] == algorithm
    assert content["feasible"]
    assert len(content["multiplier"]) == 3


def test_planner_has_no_average(run):
    code, out, _ = run("solve", "gridworld", "--algorithm", "lp", "--json")
    content = json.loads(out)
    assert code == 0
    assert content["average"] is None
    assert content["reward_value"] == pytest.approx(1.6527218430, abs=1e-8)


def test_table_shows_what_matters(run):
    code, out, _ = run("solve", "gridworld", "--tolerance", "1e-6")
    assert code == 0
    for piece in (
        "gridworld by column-generation",
        "the fastest planner for 25 states",
        "1.65272",
        "≥ 1.5",
        "0.17323",
        "proved gap",
    ):
        assert piece in out
    assert "Average of all" not in out  # only for experiments


@pytest.mark.parametrize("algorithm", ["prm", "cbp"])
def test_the_average_is_for_experiments(run, algorithm):
    """After a given number of iterations the average is shown, and nobody can take it for the answer."""
    arguments = ("solve", "gridworld", "--algorithm", algorithm, "--iterations", "50")
    code, out, _ = run(*arguments)
    content = json.loads(run(*arguments, "--json")[1])["average"]
    assert code == 0
    shown = f"not the returned policy: value {content['reward_value']:.6g}, {content['optimality_gap']:.6g} worse than"
    assert shown in out
    assert f"violation {content['constraint_violation'][0]:.6g} (met if negative)." in out


def test_the_average_without_constraints_or_optimum(run):
    large = ("solve", "garnet", "-p", "states=600", "-p", "dense=false", "--iterations", "2")
    _, out, _ = run(*large)
    assert re.search(r"not the returned policy: value [\d.]+; violation [-\d.]+ \(met", out)
    _, out, _ = run("solve", "garnet", "-p", "constraints=0", "--iterations", "2")
    assert re.search(
        r"not the returned policy: value [\d.]+, [\d.]+ worse than the optimum\.$", out, re.MULTILINE
    )


def test_settings_parameters_discount_and_threshold(run):
    code, out, _ = run(
        *(
            "solve",
            "garnet",
            "-p",
            "states=12",
            "-p",
            "constraints=2",
            "-p",
            "dense=false",
            "--discount",
            "0.5",
        ),
        *("--threshold", "0.5", "--threshold", "0.25", "--algorithm", "cbp", "--set", "alpha=2", "--json"),
    )
    content = json.loads(out)
    assert code == 0
    assert content["threshold"] == [0.5, 0.25]
    _, plain, _ = run("solve", "gridworld", "--iterations", "30", "--json")
    _, other, _ = run("solve", "gridworld", "--iterations", "30", "--set", "growth=2", "--json")
    assert json.loads(plain)["average"] != json.loads(other)["average"]
    code, out, _ = run("solve", "gridworld", "--discount", "0.8", "--json", "--algorithm", "lp")
    assert json.loads(out)["threshold"] == [0.7]
    code, out, _ = run("solve", "gridworld", "--discount", "0.6", "--threshold", "0.2", "--json")
    assert code == 0


def test_limits_of_every_sense_in_order(run):
    """The queue has a threshold and a budget; --threshold sets both, in the order of the constraints."""
    code, out, _ = run("solve", "queueing", "--threshold", "0.4", "--threshold", "6", "--json")
    content = json.loads(out)
    assert code == 0
    assert content["threshold"] == [0.4, 6.0]
    assert content["sense"] == [">=", "<="]
    assert content["objective"] == "minimise"
    code, _, err = run("solve", "queueing", "--threshold", "0.4")
    assert code == 2
    assert "1 limit(s) given for 2" in err


def test_train_and_evaluate(run, tmp_path):
    folder = tmp_path / "run"
    few = (
        "--iterations",
        "8",
        "--rollouts",
        "10",
        "--episodes",
        "30",
        "--multiplier-bound",
        "50",
        "--multiplier-bound",
        "50",
    )
    code, out, err = run("train", "cartpole", *few, "--json", "--save", folder)
    content = json.loads(out)
    assert code == 0
    assert err == ""
    assert set(content) >= KEYS | {"confidence", "reward_interval", "constraint_interval", "met", "steps"}
    assert content["upper_bound"] is None
    code, out, _ = run("evaluate", folder, "--episodes", "20")
    assert code == 0
    assert "position" in out
    code, out, _ = run("train", "cartpole", *few)
    assert code == 0
    assert "cartpole by cbp" in out
    assert "not the returned policy" in out
    code, out, _ = run(
        "train",
        "cartpole",
        *few,
        "--algorithm",
        "crpo",
        "--evaluator",
        "plain-lstdq",
        "--entropy",
        "0.01",
        "--json",
    )
    assert code == 0


def test_train_a_table(run, tmp_path):
    for evaluator in ("td", "monte-carlo", "lstdq"):
        code, out, _ = run(
            "train",
            "gridworld",
            "--evaluator",
            evaluator,
            "--samples",
            "20",
            "--iterations",
            "5",
            "--json",
            "--save",
            tmp_path,
        )
        content = json.loads(out)
        assert code == 0
        assert content["feasible"]
        assert content["average"]["optimality_gap"] > 0
    code, out, _ = run("evaluate", tmp_path, "--episodes", "20", "--json")
    assert code == 0
    assert json.loads(out)["episodes"] == 20


def test_training_on_a_table_says_that_it_is_sampled(run):
    few = ("--samples", "20", "--iterations", "3")
    for algorithm in ("cbp", "prm"):
        code, out, _ = run("train", "gridworld", "--algorithm", algorithm, *few)
        assert code == 0
        first, *_ = out.splitlines()
        assert "was sampled; painless solve gridworld uses the table" in first
    code, out, _ = run("solve", "gridworld")
    assert "sampled" not in out


def test_train_by_prm_and_keep_it(run, tmp_path):
    few = ("--iterations", "4", "--rollouts", "5", "--episodes", "20", "--multiplier-bound", "50")
    page = tmp_path / "page.html"
    code, out, err = run(
        *("train", "cartpole", "--algorithm", "prm", *few),
        *("--save", tmp_path / "run", "--report", page, "--json"),
    )
    assert code == 0, err
    assert json.loads(out)["algorithm"] == "prm"
    assert "<html" in page.read_text(encoding="utf-8")
    for command in ("report", "plot"):
        assert run(command, tmp_path / "run")[0] == 0
    code, out, _ = run("evaluate", tmp_path / "run", "--episodes", "20", "--json")
    assert code == 0
    assert json.loads(out)["episodes"] == 20


def test_train_an_environment(run, tmp_path):
    few = (
        "--iterations",
        "3",
        "--rollouts",
        "5",
        "--episodes",
        "20",
        "--time-limit",
        "20",
        "--save",
        tmp_path,
    )
    code, out, _ = run("train", "gym:FrozenLake-v1", "--discount", "0.9", *few, "--json")
    assert code == 0
    assert json.loads(out)["problem"] == "gym:FrozenLake-v1"
    code, out, _ = run("evaluate", tmp_path, "--episodes", "20", "--json")
    assert code == 0
    code, out, _ = run(
        "train", "gym:CartPole-v1", *few[:-2], "--features", "fourier", "--algorithm", "gda", "--json"
    )
    assert code == 0


HALL = """
import gymnasium
import numpy as np


class Hall(gymnasium.Env):
    observation_space = gymnasium.spaces.MultiDiscrete([9, 2])
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, length=4, colour="red"):
        self.length, self.colour = length, colour

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return np.array([0, 0]), {}

    def step(self, action):
        self.place = max(0, self.place + (1 if action else -1))
        ended = self.place == self.length
        return np.array([self.place, 0]), float(ended), ended, False, {"cost": float(action), self.colour: 1.0}


def hall():
    return Hall()


def forth(before, action, after, reward, terminated, info):
    return float(action)


def there(before, action, after, reward, terminated, info):
    return 2.0 * terminated


gymnasium.register("Test/Hall-v0", entry_point=Hall, max_episode_steps=40)
"""


@pytest.fixture
def hall(tmp_path, monkeypatch):
    """A folder with a module `hall_of_tests` that registers an environment."""
    (tmp_path / "hall_of_tests.py").write_text(HALL)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    gymnasium.registry.pop("Test/Hall-v0", None)
    sys.modules.pop("hall_of_tests", None)
    sys.path[:] = [path for path in sys.path if path != str(tmp_path)]


def test_train_a_class_that_nobody_registered(run, hall):
    """`gym:module:Class` and `gym:module:function`, made again from the saved run."""
    given = ("--limit", "cost<=3.5", "--discount", "0.9", "--steps", "1500", "--time-limit", "40")
    code, out, _ = run("train", "gym:hall_of_tests:Hall", *given, "-p", "length=3", "--save", "saved")
    assert (code, "gym:hall_of_tests:Hall" in out) == (0, True)
    assert run("evaluate", "saved", "--episodes", "20")[0] == 0
    assert run("train", "gym:hall_of_tests:hall", *given)[0] == 0
    code, _, err = run("train", "gym:hall_of_tests:Wall", *given)
    assert (code, "write module:id or module:Class" in err) == (2, True)


def test_train_an_environment_of_your_own(run, hall):
    limits = ("--constraint", "cost<=3.5", "--constraint", "blue<=9", "--discount", "0.9")
    budget = ("--steps", "3000", "-p", "length=3", "-p", "colour=blue", "--save", "saved", "--log", "log.csv")
    code, out, err = run("train", "gym:hall_of_tests:Test/Hall-v0", *limits, *budget, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["algorithm"] == "counted"
    assert found["verdict"] == ["met", "met"]
    assert found["reward_value"] == pytest.approx(0.81)
    assert (hall / "log.csv").read_text().startswith("steps,")
    code, out, _ = run("evaluate", "saved", "--episodes", "20", "--json")
    assert code == 0
    assert json.loads(out)["constraint_value"] == pytest.approx([2.71, 2.71])
    for command in ("report", "plot"):
        code, out, err = run(command, "saved")
        assert code == 0, err
    assert (hall / "saved" / "report.html").exists()
    code, out, _ = run("train", "gym:Test/Hall-v0", "--import", "hall_of_tests", "--seconds", "0.3")
    assert code == 0
    assert "by counted" in out


def test_what_python_saved_is_evaluated(run, hall):
    assert run("train", "gym:Test/Hall-v0", "--import", "hall_of_tests", "--steps", "1000")[0] == 0
    module = sys.modules["hall_of_tests"]
    painless.train(module.hall, constraints="cost<=9", steps=1000, time_limit=40).save("factory")
    code, _, err = run("evaluate", "factory", "--episodes", "20", "--json")
    assert code == 0, err
    painless.train(lambda: module.hall(), steps=1000, time_limit=40).save("lambda")
    code, _, err = run("evaluate", "lambda")
    assert code == 2
    assert "cannot be made again from a file" in err
    assert run("report", "lambda")[0] == 0


def test_functions_of_a_module_are_found_again(run, hall):
    """Limits and rewards that are functions of a module come back in another process; others are refused in one line."""
    assert run("train", "gym:Test/Hall-v0", "--import", "hall_of_tests", "--steps", "1000")[0] == 0
    module = sys.modules["hall_of_tests"]
    given = {"discount": 0.9, "steps": 1000, "time_limit": 40, "reward": module.there}
    painless.train(module.hall, constraints=[(module.forth, "<=9")], **given).save("functions")
    sys.modules.pop("hall_of_tests")
    gymnasium.registry.pop("Test/Hall-v0")
    code, out, err = run("evaluate", "functions", "--episodes", "20", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["constraint_value"][0] < 9
    assert found["reward_value"] > 1  # twice the environment's own
    painless.train(module.hall, constraints=[(lambda *step: 1.0, "<=9")], **given).save("lambda")
    code, _, err = run("evaluate", "lambda")
    assert code == 2
    assert "functions that no module has" in err
    assert len(err.strip()) <= 200


def test_dirichlet_start_depends_on_the_seed(run):
    values = []
    for seed in (1, 1, 2):
        _, out, _ = run(
            "solve", "gridworld", "--iterations", "3", "--initial", "dirichlet", "--seed", seed, "--json"
        )
        values.append(json.loads(out)["average"]["reward_value"])
    assert values[0] == values[1] != values[2]


def test_files_and_saving(run, tmp_path):
    path, folder = tmp_path / "world.npz", tmp_path / "saved"
    painless.gridworld().save(path)
    code, out, _ = run("check", path)
    assert code == 0
    assert "valid" in out
    assert ">= 1.5" in out
    code, out, _ = run("solve", path, "--json", "--threshold", "0.9", "--discount", "0.8", "--save", folder)
    assert code == 0
    assert painless.Solution.load(folder).threshold == [0.9]
    assert painless.load(folder / "problem.npz").discount == 0.8


def test_infeasible_is_exit_code_3(run):
    code, out, _ = run("solve", "gridworld", "--threshold", "3", "--json")
    content = json.loads(out)
    assert code == 3
    assert content["feasible"] is False
    assert content["upper_bound"] is None
    assert content["optimal_value"] is None
    assert "Infeasible" in content["status"]
    code, out, _ = run("solve", "gridworld", "--threshold", "3")
    assert code == 3
    assert "Set its limit to 2.55727318 or looser" in out


def test_time_limit_is_exit_code_4(run, steady_clock):
    code, out, _ = run(
        *("solve", "garnet", "-p", "states=80", "-p", "constraints=3", "--tolerance", "1e-300"),
        *("--time-limit", "0.05", "--json"),
    )
    assert code == 4
    assert json.loads(out)["feasible"]


def test_large_problems_have_no_optimal_value(run):
    code, out, _ = run(
        "solve", "garnet", "-p", "states=600", "-p", "dense=false", "--iterations", "2", "--json"
    )
    content = json.loads(out)
    assert code == 0
    assert content["optimal_value"] is None
    assert content["average"]["optimality_gap"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("solve", "gridwrld"), "did you mean 'gridworld'?"),
        (("solve", "no-such.npz"), "does not exist"),
        (("solve", "gridworld", *CBP, "--set", "alhpa=1"), "did you mean 'alpha'?"),
        (("solve", "gridworld", *CBP, "--set", "alpha"), "not of the form name=value"),
        (("solve", "gridworld", *CBP, "--set", "alpha=big"), "alpha is 'big', not a number"),
        (("solve", "gridworld", *CBP, "--set", "alpha=-1"), "must be a positive number"),
        (("solve", "gridworld", "--set", "alpha=1"), "unknown setting of prm 'alpha'; Known: growth"),
        (("solve", "gridworld", "--set", "growth=-1"), "growth is -1; it must be a number of at least 0"),
        (
            ("solve", "gridworld", "--algorithm", "lp", "--set", "alpha=1"),
            "lp has no settings; remove --set alpha=1",
        ),
        (("solve", "gridworld", "--algorithm", "gda-theory"), "need a known horizon"),
        (("solve", "gridworld", "--iterations", "0"), "at least 1"),
        (("solve", "gridworld", "--tolerance", "0"), "positive number"),
        (("solve", "gridworld", "--discount", "1"), "outside [0, 1)"),
        (("solve", "gridworld", "--discount", "0.6"), "gives no threshold for discount 0.6"),
        (("solve", "gridworld", "-p", "constraints=2"), "1 or 3 constraints"),
        (("solve", "gridworld", "-p", "stats=2"), "unknown parameter of gridworld 'stats'"),
        (("solve", "gridworld", "--threshold", "1", "--threshold", "2"), "2 entries"),
        (("solve", "garnet", "--threshold", "1", "--threshold", "2"), "2 limit(s) given for 1"),
        (("solve", "garnet", "-p", "branching=99"), "cannot have 99 successors"),
        (("check", "no-such.json"), "does not exist"),
        (("solve", "garnet", "-p", "states=10.5"), "states is 10.5; it must be a whole number"),
        (("solve", "garnet", "-p", "seed=-1"), "seed is -1"),
        (("solve", "queueing", "-p", "buffer=true"), "buffer is 'true'; give a number"),
        (("solve", "gridworld", *CBP, "--set", "alpha=true"), "alpha is 'true'; give a number"),
        (("train", "cartpole", "--discount", "1.5"), "discount is 1.5, outside [0, 1)"),
        (("train", "cartpole", "-p", "time_limit=0.5"), "time_limit is 0.5"),
        (("solve", "cartpole"), "try: painless train cartpole"),
        (("train", "cartpol"), "did you mean 'cartpole'?"),
        (("train", "cartpole", "--algorithm", "lp"), "needs a table"),
        (("train", "cartpole", "--resume"), "--resume needs --save"),
        (
            ("train", "cartpole", "--algorithm", "prm", "--entropy", "0.1"),
            "prm has no entropy; remove --entropy",
        ),
        (
            ("train", "cartpole", "--evaluator", "td"),
            "cartpole is a simulator; its evaluator can be anchored-lstdq, plain-lstdq, not td",
        ),
        (
            ("train", "gridworld", "--evaluator", "plain-lstdq"),
            "gridworld is a table; its evaluator can be exact, td",
        ),
        (("train", "cartpole", "--constraint", "cost<=3"), "are for gym:ID"),
        (("train", "cartpole", "--multiplier-bound", "-1"), "positive number"),
        (("train", "gym:CartPole-v1", "--constraint", "cost<=25"), "info has no key 'cost'"),
        (("train", "gym:CartPole-v1", "--constraint", "cost"), "is not a constraint"),
        (("train", "CartPole-v1"), "write gym:CartPole-v1"),
        (("train", "my_module:MyEnv"), "write gym:my_module:MyEnv"),
        (("train", "gym:no_such_module:Env-v0"), "cannot import no_such_module"),
        (("train", "gym:FrozenLake-v1", "--import", "no_such_module"), "cannot import no_such_module"),
        (("train", "gym:FrozenLake-v1", "-p", "map_name"), "not of the form name=value"),
        (("train", "gym:FrozenLake-v1", "-p", "map_nam=8x8"), "could not be made"),
        (("train", "gym:FrozenLake-v1", "--log", "log.txt"), "must end in .csv"),
        (("train", "gridworld", "--steps", "100"), "are for simulators"),
        (("train", "gym:CartPole-v1", "--threshold", "3"), "use --constraint with gym:ID"),
        (("train", "gym:CartPole-v1", "--features", "deep"), "unknown kind of features"),
        (("evaluate", "no-such-folder"), "contains no saved solution"),
        (("solve", "gridworld", "--algorithm", "cpb"), "unknown algorithm 'cpb'; did you mean 'cbp'?"),
        (("solve",), "Missing argument"),
        (("sovle", "gridworld"), "sovle"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(run, arguments, message):
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert message in err


def test_parameters_do_not_go_with_files(run, tmp_path):
    painless.gridworld().save(tmp_path / "world.json")
    code, _, err = run("solve", tmp_path / "world.json", "-p", "states=3")
    assert code == 2
    assert "--parameter is for registered problems" in err


def test_nothing_is_saved_on_bad_input(run, tmp_path):
    run("solve", "gridworld", "--set", "growth=-1", "--save", tmp_path / "folder")
    assert list(tmp_path.iterdir()) == []


def test_problems_lists_them(run):
    code, out, _ = run("problems")
    assert code == 0
    for name in ("gridworld", "gridworld-3", "garnet"):
        assert name in out


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 4, "interrupted"),
        (MemoryError(), 2, "not enough memory"),
        (RuntimeError("HiGHS gave up"), 1, "HiGHS gave up"),
    ],
)
def test_what_goes_wrong_inside_is_one_line_too(run, monkeypatch, error, code, message):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(sys.modules["painless.solving.solve"], "solve", fail)
    ended, _, err = run("solve", "gridworld")
    assert ended == code
    assert message in err


def test_version_and_module():
    result = subprocess.run(
        [sys.executable, "-m", "painless", "--version"], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == f"painless {painless.__version__}"


def test_help_by_default():
    assert "solve" in CliRunner().invoke(cli.app, []).output


INTERRUPTED = """
import signal, sys
from painless import cli
from painless.loop.framework import Recorder

add, seen = Recorder.add, []

def interrupted(self, step):
    seen.append(step)
    if len(seen) == 100:
        signal.raise_signal(signal.SIGINT)
    return add(self, step)

Recorder.add = interrupted
sys.argv[0] = "painless"
cli.main()
"""


def test_interrupt_gives_the_best_proved_answer():
    """Ctrl-C in the middle of a long run: the answer so far, with its proof, and exit code 4."""
    options = ["solve", "garnet", "-p", "states=60", "--iterations", "100000000", "--json"]
    process = subprocess.run([sys.executable, "-c", INTERRUPTED, *options], capture_output=True, text=True)
    out, err = process.stdout, process.stderr
    assert process.returncode == 4, err
    content = json.loads(out)
    assert content["feasible"]
    assert content["iterations"] > 0
    assert np.isfinite(content["gap"])


def test_a_frontier_that_has_no_time_says_so(run):
    code, _, err = run("frontier", "slippery-grid", "--time-limit", "1e-9")
    assert code == 4
    assert (
        err.strip()
        == "Error: the time limit was reached before the ends of the frontier were known; allow more time"
    )
