"""What surrounds a command: names that are hostile, streams that fail, signals, threads, caches, and bounded pages."""

import importlib.util
import json
import os
import signal
import stat
import subprocess
import sys
import time
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info

import painless
from painless.cli.app import COMPILING, ending_in_order, quiet_libraries
from painless.common import compiling
from painless.common.arrays import one_thread
from painless.common.render import shortened, text_table, visible
from painless.report import page_solution
from painless.report.figures import literal
from painless.report.page_solution import MOST, shown_constraints, solution_page
from painless.report.saved_figures import figures_of
from tests.extras import POSIX

LONG = "n" * 300
NAMES = (
    "energy [kwh]",
    "[/red] \x1b[31mred\x1b[0m",
    "$x a_b$ $\\frac{",
    "<script>alert(1)</script>",
    "\ud800 half, 日本 \u202e",
    "two\nlines\r",
    LONG,
)
NUMBERS = ("x", "nan", "inf", "-inf", "-1", "1e400", "", "null", "[1]", "true")
pytestmark = POSIX  # shells, pipes and signals
LINUX = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks for workers in /proc")
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")


def distinct(names, count):
    """Return that many names; after the first round they have a number."""
    return [names[i % len(names)] + (f" {i // len(names)}" if i >= len(names) else "") for i in range(count)]


def named_problem(names=NAMES, threshold=3.0, states=4):
    """A small problem whose constraints, states and actions have the given names."""
    rng = np.random.default_rng(0)
    count = len(names)
    return painless.CMDP(
        rng.dirichlet(np.ones(states), (states, 3)),
        rng.random((states, 3)),
        initial=np.full(states, 1 / states),
        discount=0.9,
        constraint_reward=rng.random((count, states, 3)),
        threshold=np.full(count, threshold),
        names={
            "constraints": names,
            "states": distinct(names, states),
            "actions": distinct(names, 3),
        },
    )


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A problem file with hostile names, and its solution and frontier in folders."""
    folder = tmp_path_factory.mktemp("hostile")
    problem = named_problem()
    problem.save(folder / "model.npz")
    painless.solve(problem, iterations=5).save(folder / "solution")
    problem.save(folder / "solution" / "problem.npz")
    painless.frontier(problem, 2).save(folder / "frontier")
    return folder


def shell(*arguments, **more):
    """Run the command line in a process of its own."""
    command = [sys.executable, "-m", "painless", *map(str, arguments)]
    return subprocess.run(command, capture_output="stdout" not in more, timeout=120, check=False, **more)


# Names are text.


def test_control_characters_are_shown():
    assert visible("a\x1b[31m\x07\x9b\x7f") == r"a\x1b[31m\x07\x9b\x7f"
    assert visible("\ud800\u202e\u2028\r\n\t") == r"\ud800\u202e\u2028\r\n\t"
    assert visible("naïve – 日本 ≥ \N{NO-BREAK SPACE}") == "naïve – 日本 ≥ \N{NO-BREAK SPACE}"
    assert "\x1b" not in text_table(("a",), [("\x1b[31m",)])
    assert len(shortened(LONG, 60)) == 60


def test_names_are_printed_as_they_stand(run, hostile):
    commands = [
        ("check", hostile / "model.npz"),
        ("solve", hostile / "model.npz", "--iterations", "5"),
        ("evaluate", hostile / "solution", "--episodes", "5"),
        ("frontier", hostile / "model.npz", "--constraint", "0"),
    ]
    for command in commands:
        code, out, err = run(*command)
        assert code == 0
        assert "energy [kwh]" in out
        assert not set("\x1b\r\ud800\u202e") & set(out + err)
    for command in commands[:3]:
        assert r"[/red] \x1b[31mred\x1b[0m" in run(*command)[1]
    code, out, _ = run("frontier", hostile / "model.npz", "--constraint", LONG)
    assert code == 0
    assert "n…" in out


def test_names_in_errors_are_one_line(run, hostile):
    for arguments in (
        ("frontier", hostile / "model.npz", "--constraint", "\x1b[31m\n"),
        ("solve", "\x1b[2J\n"),
    ):
        code, _, err = run(*arguments)
        assert code == 2
        assert "\x1b" not in err
        assert err.count("\n") == 1
    with pytest.raises(painless.InputError, match="and 90 more"):
        painless.frontier(named_problem([f"c{i}" for i in range(100)]), "nobody")


def test_names_in_tables_of_states(hostile):
    text = (hostile / "solution" / "policy.csv").read_text(encoding="utf-8")
    assert text.splitlines()[0].endswith(r"energy [kwh],[/red] \x1b[31mred\x1b[0m,$x a_b$ $\frac{,visits")


def test_names_in_pages(run, hostile, tmp_path):
    code, _, _ = run("report", hostile / "solution", "--out", tmp_path / "page.html", "--title", "\x1b\ud800")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert code == 0
    assert r"<h1>\x1b\ud800</h1>" in page
    assert r"two\nlines\r" in page
    assert "&lt;script&gt;alert" in page
    assert "\x1b" not in page


@pytest.mark.parametrize("name", ["$x", "a_b$", "$$", r"$\frac{", "\\$", "日本", "\x1b", LONG, "a\nb"])
def test_figures_show_names_as_they_stand(run, tmp_path, name):
    assert "$" not in literal(name).replace(r"\$", "")
    painless.frontier(named_problem([name])).save(tmp_path)
    assert run("plot", tmp_path, "--out", tmp_path / "figures", "--format", "svg")[0] == 0


def test_pictures_of_alike_names_are_files_of_their_own(tmp_path):
    problem = named_problem(["cost [$]", "cost [€]", LONG])
    painless.solve(problem).save(tmp_path)
    problem.save(tmp_path / "problem.npz")
    assert {"frontier-cost", "frontier-cost-2", f"frontier-{LONG[:100]}"} <= set(figures_of(tmp_path))


# JSON.


def test_json_has_the_kind_and_no_unproved_optimum(run):
    content = json.loads(run("solve", "gridworld", "--json", "--threshold", "2.54", "--algorithm", "crpo")[1])
    assert content["kind"] in ("solved", "stopped")
    # Once the value of an unproved policy
    assert content["optimal_value"] == pytest.approx(1.3375082211, abs=1e-8)
    assert json.loads(run("solve", "gridworld", "--json", "--threshold", "9")[1])["kind"] == "infeasible"
    assert json.loads(run("solve", "gridworld", "--json", "--iterations", "3")[1])["kind"] == "completed"


def test_json_of_a_training_without_iterations_is_valid(run):
    short = (
        "--iterations",
        "1",
        "--rollouts",
        "2",
        "--episodes",
        "2",
        "--threshold",
        "99",
        "--threshold",
        "99",
    )
    code, out, _ = run("train", "cartpole", *short, "--json")
    content = json.loads(out, parse_constant=pytest.fail)  # NaN and Infinity are no JSON
    assert code == 4
    assert content["kind"] == "stopped"
    assert content["multiplier"] == [None, None]


def test_json_of_an_infeasible_frontier(run):
    limits = ("--threshold", "99", "--threshold", "99", "--threshold", "99")
    code, out, err = run("frontier", "gridworld-3", *limits, "--json")
    assert code == 3
    assert json.loads(out)["kind"] == "infeasible"
    assert json.loads(out)["status"] in err


# Streams.


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437"])
def test_streams_of_other_encodings(encoding, hostile):
    given = {**os.environ, "PYTHONIOENCODING": encoding}
    done = shell("solve", hostile / "model.npz", "--iterations", "5", env=given)
    assert done.returncode == 0
    assert done.stderr == b""
    lines = [line for line in done.stdout.decode(encoding).splitlines() if "energy [kwh]" in line]
    assert lines
    assert (">= 3" in lines[0]) == (encoding != "cp437")


@FULL
def test_a_full_disk_is_one_line():
    with Path("/dev/full").open("wb") as full:
        for arguments in (("check", "gridworld"), ("problems",), ("solve", "gridworld", "--json")):
            done = shell(*arguments, stdout=full, stderr=subprocess.PIPE)
            assert done.returncode == 1
            assert done.stderr == b"Error: cannot write the output: No space left on device\n"
        assert shell("solve", "nothing", stdout=subprocess.PIPE, stderr=full).returncode == 2


def test_a_closed_stream_is_no_error():
    code = (
        "import os, sys; os.close(1); os.close(2); "
        "os.execv(sys.executable, [sys.executable, '-m', 'painless', *sys.argv[1:]])"
    )
    for arguments, expected in ((("solve", "gridworld"), 0), (("solve", "nothing"), 2)):
        done = subprocess.run([sys.executable, "-c", code, *arguments], timeout=120, check=False)
        assert done.returncode == expected


def test_a_pipe_that_nobody_reads_ends_quietly():
    reading, writing = os.pipe()
    os.close(reading)
    for arguments in (("check", "gridworld"), ("problems",)):
        done = shell(*arguments, stdout=writing, stderr=subprocess.PIPE)
        assert done.returncode == 141
        assert done.stderr == b""
    os.close(writing)


# The command line, mistreated.


def hostile_lines(folder):
    """Return command lines that must end with one line: every command with places and numbers that make no sense."""
    taken, absent = folder / "taken", folder / "absent"
    train = ("train", "cartpole", "--iterations", "1", "--rollouts", "1", "--episodes", "2")
    for place in (
        absent,
        taken,
        taken / "x",
        folder,
        LONG,
        f"{LONG}.npz",
        "",
        "[/red]",
        "gym:nobody",
        "gym:",
    ):
        for command in ("solve", "frontier", "check", "evaluate", "report", "plot", "sweep", "train"):
            yield (command, place)
    for place in (taken, taken / "x", folder / LONG):
        yield from ((*train, "--save", place), ("solve", "gridworld", "--save", place))
        yield from (("frontier", "gridworld", "--save", place), ("reproduce", "--quick", "--out", place))
        yield from (
            ("plot", folder / "frontier", "--out", place),
            ("sweep", folder / "sweep.toml", "--out", place),
        )
        yield ("solve", "gridworld", "--report", f"{place}/page.html")
        yield ("score", "--quick", "--figure", f"{place}/score.svg")
    yield from (
        ("score", "--figure", "score.xyz"),
        ("frontier", "gridworld", "--out", folder / "folder.json"),
    )
    for value in NUMBERS:
        yield from (
            ("solve", "gridworld", "--set", f"growth={value}", "--iterations", "x"),
            ("score", "--seed", value or "x", "--workers", "0"),
        )
        yield ("solve", "gridworld", "--algorithm", "cbp", "--set", f"alpha={value}", "--seed", "-1")
        yield from (
            ("solve", "garnet", "-p", f"states={value}.5"),
            ("check", "garnet", "-p", f"actions={value}x"),
        )
        if value != "true":
            yield from (
                ("evaluate", folder / "frontier", "--episodes", value),
                (*train, "--exploration", f"{value}2"),
            )
    yield from (
        ("solve", "garnet", "-p", "states=99999999999999999999"),
        ("solve", "gridworld", "--set", "growth"),
    )
    yield from (
        ("solve", "gridworld", "--algorithm", name, "--set", f"{key}=1e308")
        for name, key in (("gda", "policy_rate"), ("crpo", "rate"))
    )
    yield from (
        (*train, "--features", ""),
        ("reproduce", "nothing"),
        ("nothing",),
        ("solve", "gridworld", "\x1b[2J"),
    )


@pytest.fixture(scope="module")
def mistreated(tmp_path_factory):
    """A folder with a file where a folder is expected, and the other way round."""
    folder = tmp_path_factory.mktemp("mistreated")
    (folder / "taken").write_text("not a folder")
    (folder / "folder.json").mkdir()
    (folder / "sweep.toml").write_text(
        'iterations = 2\n[[problem]]\nname = "gridworld"\n[[algorithm]]\nname = "cbp"\n'
    )
    painless.frontier(painless.gridworld()).save(folder / "frontier")
    return folder


def test_every_mistake_is_one_line(run, mistreated):
    for arguments in hostile_lines(mistreated):
        code, out, err = run(*arguments)
        assert (code, err.count("\n")) == (2, 1), (arguments, code, out, err)
        assert err.startswith("Error: ")
        assert "\x1b" not in err
        assert out == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_read_only(run, tmp_path):
    tmp_path.chmod(0o500)
    code, _, err = run("solve", "gridworld", "--save", tmp_path / "new")
    assert code == 2
    assert "cannot write into" in err


# Threads.


def blas():
    """Return how many threads each BLAS has."""
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]


def test_blas_is_left_as_it_was_by_calls_that_overlap():
    """The first to come is the first to go, as among threads: the last to go must restore what the first found."""
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        first, second = one_thread(), one_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert set(blas()) == {1}
        second.__exit__(None, None, None)
        assert set(blas()) == {2}
        with pytest.raises(ZeroDivisionError), one_thread():
            raise ZeroDivisionError
        assert set(blas()) == {2}


def test_libraries_are_looked_up_again_only_with_a_compiled_module(monkeypatch):
    """That takes as long as to solve a model of a thousand states."""
    looked = []

    class Counting(ThreadpoolController):
        def __init__(self):
            looked.append(self)
            super().__init__()

    monkeypatch.setattr("threadpoolctl.ThreadpoolController", Counting)
    plain, compiled = ModuleType("plain_of_tests"), ModuleType("compiled_of_tests")
    compiled.__spec__ = ModuleSpec(compiled.__name__, ExtensionFileLoader(compiled.__name__, "compiled.so"))
    counts = []
    with one_thread():
        looked.clear()
    for module in (plain, compiled, None):
        if module is not None:
            monkeypatch.setitem(sys.modules, module.__name__, module)
        with one_thread():
            counts.append(len(looked))
    assert counts == [0, 1, 1]


# Compiled code.

KERNEL = "from painless.common.compiling import njit\n\n@njit\ndef add(a, b):\n    return a + b\n"
USER = """
import sys
from painless.common.compiling import LISTENERS
LISTENERS.append(lambda: print("compiling"))
from kernel import add
print(add(1, 2))
"""


def test_kernels_are_kept_where_only_the_user_can_write(tmp_path):
    """Without a folder of its own or a home, a kernel is compiled once, into a private temporary folder."""
    (tmp_path / "kernel.py").write_text(KERNEL)
    for name in ("__pycache__", "home"):
        (tmp_path / name).write_text("a file, and so nothing can be kept in it")
    (tmp_path / "tmp").mkdir()
    home = str(tmp_path / "home")
    given = {**os.environ, "HOME": home, "XDG_CACHE_HOME": home, "TMPDIR": str(tmp_path / "tmp")}
    given["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{Path(painless.__file__).parents[1]}"
    given.pop("NUMBA_CACHE_DIR", None)
    said = [
        subprocess.run(
            [sys.executable, "-c", USER], env=given, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert said == ["compiling\n3\n", "3\n"]
    (folder,) = (tmp_path / "tmp").glob("painless-*")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("trap", ["open to others", "a link", "a file"])
def test_a_temporary_folder_of_somebody_else_is_not_trusted(monkeypatch, tmp_path, trap):
    monkeypatch.setattr(compiling.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(compiling.tempfile, "tempdir", str(tmp_path))
    expected = tmp_path / f"painless-{os.getuid()}"
    if trap == "a link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        expected.symlink_to(tmp_path / "elsewhere")
    elif trap == "a file":
        expected.write_text("")
    else:
        expected.mkdir()
        expected.chmod(0o777)
    found = compiling.temporary_cache.__wrapped__()
    assert found != expected
    assert compiling.is_private(found)


def load_kernel(path):
    """Import a new module with one kernel."""
    path.write_text(KERNEL)
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.add


def test_a_cache_that_fails_is_no_error(monkeypatch, tmp_path):
    from numba.core.caching import FunctionCache

    def refuse(*ignored):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FunctionCache, "load_overload", refuse)
    monkeypatch.setattr(FunctionCache, "save_overload", refuse)
    assert load_kernel(tmp_path / "unlucky.py")(1, 2) == 3


def test_compiling_is_announced_once(monkeypatch, capsys, tmp_path):
    for place, arguments, expected in (("a", [], f"{COMPILING}\n"), ("b", ["--json"], "")):
        monkeypatch.setattr(sys, "argv", ["painless", *arguments])
        with quiet_libraries():
            add = load_kernel(tmp_path / f"{place}.py")
            assert add(1, 2) == 3
            assert add(1.0, 2) == 3.0
        assert capsys.readouterr().err == expected


# Signals.


def workers_of(process):
    """Return the processes that a process has started."""
    return Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()


def started(process, count, mark=None):
    """Wait until a process has so many children, and a file exists."""
    while len(workers_of(process)) < count or not (mark is None or mark.exists()):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)


@LINUX
@pytest.mark.parametrize("command", ["train", "sweep", "score"])
def test_a_signal_ends_the_workers_too(tmp_path, command):
    """The streams end when the last worker that holds them ends: without order, that is minutes later."""
    (tmp_path / "sweep.toml").write_text(
        "iterations = 1000000\nseeds = [0, 1]\n"
        '[[problem]]\nname = "gridworld"\n[[algorithm]]\nname = "cbp"\n[[algorithm]]\nname = "prm"\n'
    )
    long = (
        "--iterations",
        "100000",
        "--rollouts",
        "10",
        "--multiplier-bound",
        "50",
        "--multiplier-bound",
        "50",
    )
    arguments = {
        "train": ("cartpole", *long, "--save", tmp_path / "run", "--save-every", "0"),
        "sweep": (tmp_path / "sweep.toml", "--out", tmp_path / "store"),
        "score": (),
    }[command]
    line = [sys.executable, "-m", "painless", command, *map(str, arguments), "--workers", "2"]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    mark = tmp_path / "run" / "checkpoint.npz" if command == "train" else None
    started(process, 2, mark)
    process.terminate()
    _, err = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM, err
    assert err == f"{'' if COMPILING not in err else COMPILING + chr(10)}Error: ended by SIGTERM\n"
    assert mark is None or painless.storage.files.read(mark)


def test_signals_are_left_as_they_were():
    before = signal.getsignal(signal.SIGTERM)
    with ending_in_order():
        assert signal.getsignal(signal.SIGTERM) not in (before, signal.SIG_DFL)
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize(
    "failure",
    [
        SystemError("returned a result with an exception set"),
        RuntimeError("cannot join thread before it is started"),
    ],
)
def test_a_signal_that_fails_otherwise_ends_in_order(run, monkeypatch, failure):
    """Compiled code turns the exception of a signal into a SystemError, and a pool that is half-made fails to end."""

    def struck(*ignored, **named):
        try:
            signal.raise_signal(signal.SIGTERM)
        except SystemExit as cause:
            raise failure from cause

    monkeypatch.setattr(sys.modules["painless.solving.solve"], "solve", struck)
    code, _, err = run("solve", "gridworld")
    assert (code, err) == (143, "Error: ended by SIGTERM\n")


def test_a_training_that_is_asked_to_end_keeps_its_last_iteration(tmp_path):
    """A signal raises SystemExit wherever it strikes; here that is after the second iteration."""

    def strike(now):
        if now.iteration == 2:
            raise SystemExit(143)

    def train(**more):
        place = tmp_path / "checkpoint.npz"
        few = {"iterations": 4, "episodes": 5, "multiplier_bound": [5.0, 5.0], "save_every": 1e9}
        return painless.train(painless.CartPole(), **few, checkpoint=place, **more)

    with pytest.raises(SystemExit):
        train(progress=strike)
    assert len(painless.storage.files.read(tmp_path / "checkpoint.npz")) > 0
    seen = []
    resumed = train(resume=True, progress=lambda now: seen.append(now.iteration))
    assert seen == [3, 4]
    assert len(resumed.trace) == 4


# Pages of bounded work.


def many(count, states=4):
    """A problem with many constraints, of which the third is the tightest."""
    problem = named_problem([f"c{i}" for i in range(count)], threshold=1.0, states=states)
    best = painless.solve(
        painless.CMDP(problem.transition, problem.constraint_reward[2], initial=problem.initial, discount=0.9)
    )
    limits = np.array(problem.limit)
    limits[2] = 0.99 * best.reward_value
    return problem.with_limits(limits)


def test_a_page_draws_the_constraints_that_matter():
    problem = many(30)
    solution = painless.solve(problem, iterations=5)
    assert 2 in shown_constraints(solution)
    assert len(shown_constraints(solution)) == MOST
    page = solution_page(solution, problem, "many")
    assert f"its slider moves the limits of {MOST} of 30 constraints; painless frontier" in page
    assert f"{MOST} of 30 constraints are drawn" in page
    assert page.count("<h3>multiplier of") == MOST
    assert page.count('<th scope="row">c') >= 30  # the table has all


def test_a_page_of_very_many_constraints_has_no_slider(monkeypatch):
    monkeypatch.setattr(page_solution, "frontier", pytest.fail)
    problem = many(100)
    page = solution_page(painless.solve(problem, iterations=5), problem, "very many")
    assert "it has no slider; painless frontier PROBLEM" in page
    assert "4 states, 3 actions, 100 constraints" in page


def test_a_page_stops_when_its_time_is_over(monkeypatch):
    problem = many(3)
    solution = painless.solve(problem)
    assert "slider moves" not in solution_page(solution, problem, "in time")
    monkeypatch.setattr(page_solution, "SECONDS", -1.0)
    assert "it has no slider" in solution_page(solution, problem, "late")


def test_a_page_without_constraints_says_so():
    problem = painless.CMDP(np.ones((1, 1, 1)), [[1.0]], initial=[1.0], discount=0.5)
    assert "1 state, 1 action, 0 constraints" in solution_page(painless.solve(problem), problem, "none")
