"""Backends: real worker processes, killed in the middle; results identical to the byte to a sequential run."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import psutil
import pytest

import painless
from painless import InputError
from painless.backends import Dask, Error, Jobs, Local, Slurm, Tls, load_jobs
from painless.backends.dask import allow_connections
from painless.study import Store, Sweep, Unit, load_sweep, run_sweep, unit_groups
from painless.study import sweep as sweep_module
from painless.study.unit_groups import UnitGroup, UnitGroups, run_group
from tests.backend_work import die_at_three, fail_at_three, line_successors, line_utilities, threads_here
from tests.extras import POSIX
from tests.slurm_cluster import free_port, jobs, missing, slurm_cluster

SWEEP = """
iterations = 60
seeds = [0, 1, 2, 3, 4, 5, 6, 7]
start = "dirichlet"

[[problem]]
name = "gridworld"

[[algorithm]]
name = "cbp"
alpha = [1, 8]

[[algorithm]]
name = "crpo"
rate = 0.75

[evaluator]
name = "td"
samples = 800
"""
QUICK = 0.05  # seconds between two looks


class CountingStore(Store):
    """A store that knows how often each file was written."""

    def __init__(self, folder):
        super().__init__(folder)
        self.writes = Counter()

    def write(self, settings, results):
        super().write(settings, results)
        self.writes[self.path(settings)] += 1


def contents(folder):
    units = Path(folder) / "units"
    return {path.name: path.read_bytes() for path in sorted(units.glob("[!.]*"))}


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "sweep.toml"
    path.write_text(SWEEP)
    return path


@pytest.fixture(scope="module")
def whole(plan, tmp_path_factory):
    """The files of a sequential run."""
    folder = tmp_path_factory.mktemp("whole")
    assert run_sweep(load_sweep(plan), Store(folder)) == []
    return contents(folder)


def workers_of(backend):
    """Return the ids of a backend's worker processes."""
    if isinstance(backend, Dask):
        return [nanny.pid for nanny in backend.cluster.workers.values() if nanny.pid]
    lines = {one.pid: " ".join(one.cmdline()) for one in psutil.Process().children()}
    return [pid for pid, line in lines.items() if "loky" in line and "tracker" not in line]


@pytest.fixture(scope="module", params=["local", "dask"])
def backend(request):
    """Two worker processes of each kind, started once."""
    with Local(2) if request.param == "local" else Dask(workers=2) as started:
        yield started


def test_every_piece_comes_back(backend):
    found = dict(backend.map(fail_at_three, range(30)))
    assert found.pop(3).message == "KeyError: 'three'"
    assert found == {n: n * n for n in range(30) if n != 3}
    assert backend.workers == 2


@POSIX
def test_a_piece_that_kills_its_worker_is_named_and_the_rest_completes(backend):
    found = dict(backend.map(die_at_three, range(8)))
    assert "lost 3 times" in found.pop(3).message
    assert found == {n: n * n for n in range(8) if n != 3}


def test_workers_hold_one_thread(backend):
    before = os.environ.get("NUMBA_NUM_THREADS")
    assert {count for _, count in backend.map(threads_here, range(4))} == {1}
    assert os.environ.get("NUMBA_NUM_THREADS") == before  # this process keeps its own threads


WORKERS_LEAVE = """
from painless.backends import Local
from tests.backend_work import leave_after

print(sorted(Local(2).map(leave_after, range(6))) == [(n, n * n) for n in range(6)])
"""


def test_workers_that_end_by_themselves_are_replaced_where_warnings_are_errors():
    """As after minutes without work. In a process of its own, since what is tested against is a run that never ends."""
    command = [sys.executable, "-W", "error", "-c", WORKERS_LEAVE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")


@POSIX
def test_a_killed_worker_changes_nothing(backend, plan, whole, tmp_path):
    """SIGKILL in the middle of a sweep."""
    store, killed = CountingStore(tmp_path), []

    def kill_one(done, total):
        if done >= 2 and not killed:
            killed.append(workers_of(backend)[0])
            os.kill(killed[0], signal.SIGKILL)

    assert run_sweep(load_sweep(plan), store, backend=backend, progress=kill_one) == []
    assert killed
    assert contents(tmp_path) == whole
    assert set(store.writes.values()) == {1}


def line(states=15_000):
    """Return a walk on a line as functions: three pieces, so that two workers need rows of each other."""
    return painless.from_function(
        *(states, 2, line_successors, line_utilities),
        initial={100: 0.5, 9_990: 0.5},
        discount=0.86,
        budget=2.0,
    )


@pytest.fixture
def cluster():
    """Two workers of Dask, for those who do not share them."""
    with Dask(workers=2) as started:
        yield started


def test_values_that_workers_keep_have_the_same_bits(cluster):
    model = line()
    here, there = (painless.solve(one, tolerance=1e-6) for one in (model, model.on(cluster)))
    assert there.status.kind == "solved"
    assert (here.reward_value, here.upper_bound) == (there.reward_value, there.upper_bound)
    assert np.array_equal(here.policy.actions, there.policy.actions)
    assert np.array_equal(here.price_range, there.price_range)
    anew, other = painless.value(here, model), painless.value(there, model.on(cluster))
    assert (anew.reward_value, anew.feasible) == (other.reward_value, True)


@POSIX
def test_a_lost_worker_that_kept_values_ends_the_solve(cluster):
    def kill_one(progress):
        os.kill(workers_of(cluster)[0], signal.SIGKILL)

    with pytest.raises(RuntimeError, match="a worker that kept part of the values was lost"):
        painless.solve(line().on(cluster), tolerance=1e-9, progress=kill_one)


def test_a_cluster_started_here_is_started_once_and_listens_on_loopback(plan, tmp_path):
    with Dask(workers=1) as backend:
        cluster = backend.cluster
        assert run_sweep(Sweep(load_sweep(plan).units[:2]), Store(tmp_path), backend=backend) == []
        assert backend.cluster is cluster
        everyone = [psutil.Process(pid) for pid in (os.getpid(), *workers_of(backend))]
        listening = [c for one in everyone for c in one.net_connections("inet") if c.status == "LISTEN"]
        assert len(listening) > 2
        assert {c.laddr.ip for c in listening} == {"127.0.0.1"}
    assert backend.cluster is None


# ------------------------------------------------------------- a scheduler of its own, killed in the middle


@contextlib.contextmanager
def running(*arguments):
    """Run a Python module in a session of its own; kill all of it at the end."""
    command = [sys.executable, "-m", *map(str, arguments)]
    settings = {**os.environ, "DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT": "2s"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=settings, start_new_session=True, **quiet)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def dask_cluster(port, folder, workers=2, threads=1):
    """A scheduler and workers as a user would start them, in a folder of their own."""
    place = ("--host", "127.0.0.1")
    scheduler = ("distributed.cli.dask_scheduler", *place, "--port", port, "--no-dashboard")
    worker = ("distributed.cli.dask_worker", f"tcp://127.0.0.1:{port}", *place, "--nthreads", threads)
    more = ("--nworkers", workers, "--no-dashboard", "--local-directory", folder)
    with running(*scheduler, "--dashboard-address", "127.0.0.1:0") as head, running(*worker, *more):
        yield head


def wait_for(condition, seconds=120.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(QUICK)


def painless_sweep(*arguments):
    return ("painless", "sweep", *arguments)


@POSIX
def test_scheduler_restarted_and_client_resumed(plan, whole, tmp_path):
    """The client dies and is started again; then the scheduler dies under it, and comes back."""
    port, store = free_port(), tmp_path / "store"
    command = painless_sweep(plan, "--out", store, "--backend", "dask", "--scheduler", f"127.0.0.1:{port}")
    with dask_cluster(port, tmp_path) as head:
        with running(*command):
            wait_for(lambda: len(contents(store)) >= 2)
        first = contents(store)
        assert first.items() < whole.items()  # the client was killed on the way
        stamps = {path: path.stat().st_mtime_ns for path in (store / "units").glob("[!.]*")}
        with running(*command) as client:
            wait_for(lambda: len(contents(store)) >= len(first) + 2)
            head.kill()
            head.wait()
            assert client.poll() is None
            with dask_cluster(port, tmp_path):
                assert client.wait(120) == 0
    assert contents(store) == whole
    assert stamps == {path: path.stat().st_mtime_ns for path in stamps}  # what was stored was not done again


@POSIX
def test_a_scheduler_that_stays_away_ends_the_run(tmp_path):
    port = free_port()
    address = f"127.0.0.1:{port}"
    with dask_cluster(port, tmp_path, workers=1) as head, Dask(address, patience=0.5) as backend:
        results = backend.map(abs, iter(range(100)))
        next(results)
        head.kill()
        with pytest.raises(RuntimeError, match=r"did not come back within 0\.5 s"):
            list(results)


def test_workers_with_several_threads_are_refused(tmp_path):
    port = free_port()
    with dask_cluster(port, tmp_path, workers=1, threads=2):
        backend = Dask(f"127.0.0.1:{port}")
        from distributed import Client

        with Client(f"127.0.0.1:{port}", set_as_default=False) as client:
            client.wait_for_workers(1, timeout=300)
        with pytest.raises(InputError, match="start them with --nthreads 1"), backend:
            pass


def test_a_scheduler_may_have_as_many_connections_as_the_system_allows():
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[0] - 1, before[1]))
    allow_connections()
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[1], before[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_no_scheduler_there(monkeypatch):
    monkeypatch.setattr("painless.backends.dask.CONNECT", 0.5)
    with pytest.raises(InputError, match="cannot reach a Dask scheduler at"):
        Dask(f"127.0.0.1:{free_port()}").__enter__()
    with pytest.raises(InputError, match="cannot reach a Dask scheduler at nonsense"):
        Dask("nonsense://").__enter__()


def test_a_client_that_cannot_connect_is_closed_at_once(monkeypatch):
    """The garbage collector would close it, and hang where it does so while Distributed holds its lock."""
    from distributed import Client

    monkeypatch.setattr("painless.backends.dask.CONNECT", 0.5)
    closed = []
    close = Client.close
    monkeypatch.setattr(Client, "close", lambda self, *rest: (close(self, *rest), closed.append(self.status)))
    with pytest.raises(InputError, match="cannot reach"):
        Dask(f"127.0.0.1:{free_port()}").__enter__()
    assert "closed" in closed


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate that is its own authority."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=test"]
    subprocess.run(
        ["openssl", "req", "-x509", *kind, "-keyout", key, "-out", cert, "-days", "2"],
        check=True,
        capture_output=True,
    )
    return Tls(cert, cert, key)


def test_tls(certificate, monkeypatch):
    """With certificates work is done; without, nobody gets in."""
    monkeypatch.setattr("painless.backends.dask.CONNECT", 1.0)
    with Dask(workers=1, tls=certificate) as backend:
        address = backend.cluster.scheduler_address
        assert address.startswith("tls://127.0.0.1:")
        assert list(backend.map(abs, [-1])) == [(-1, 1)]
        with Dask(address, tls=certificate) as other:
            assert list(other.map(abs, [-2])) == [(-2, 2)]
        with pytest.raises(InputError, match="cannot reach"):
            Dask(address).__enter__()
        with pytest.raises(InputError, match="cannot reach"):
            Dask(address.replace("tls", "tcp")).__enter__()
    with pytest.raises(InputError, match="does not exist; give PEM files"):
        Tls("none.pem", "none.pem", "none.pem")


# --------------------------------------------------------------------------------------------- SLURM


@pytest.fixture(scope="module")
def slurm():
    """SLURM of this test run's own; its programs are found through the environment."""
    gone = missing()
    if gone and os.environ.get("CI") == "true":
        pytest.fail(f"slurm-wlm is not installed: {', '.join(gone)}")
    if gone:
        pytest.skip("slurm-wlm is not installed; apt-get install slurm-wlm")
    with slurm_cluster() as environment, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", environment["SLURM_CONF"])
        yield environment


SLURM = """
[slurm]
partition = "short"
cores = 1
memory = "1GB"
time = "00:10:00"
skip = ["--mem"]
"""


@pytest.mark.slurm
def test_slurm_client_resumed_and_job_cancelled(slurm, plan, whole, tmp_path):
    """A client with two jobs is killed; the next has one job, which is cancelled, and another takes its place."""
    file, store = tmp_path / "slurm.toml", tmp_path / "store"
    file.write_text(SLURM)
    command = painless_sweep(plan, "--out", store, "--backend", "slurm", "--slurm-file", file)
    with running(*command, "--workers", 2):
        wait_for(lambda: len(contents(store)) >= 2)
        before = set(jobs(slurm))
        assert len(before) == 2
    first = contents(store)
    assert first.items() < whole.items()
    stamps = {path: path.stat().st_mtime_ns for path in (store / "units").glob("[!.]*")}
    with running(*command, "--workers", 1) as client:
        wait_for(lambda: len(contents(store)) > len(first))
        (own,) = set(jobs(slurm)) - before
        subprocess.run(["scancel", own], env=slurm, check=True)
        assert client.wait(120) == 0
    assert contents(store) == whole
    assert stamps == {path: path.stat().st_mtime_ns for path in stamps}


@pytest.mark.slurm
def test_slurm_says_no(slurm):
    with pytest.raises(InputError, match=r"SLURM refuses the job: .*invalid partition"):
        Slurm(Jobs(partition="none", skip=("--mem",))).__enter__()
    with pytest.raises(InputError, match=r"cannot start a scheduler for SLURM: .*'ether9'"):
        Slurm(Jobs(interface="ether9")).__enter__()


def test_slurm_needs_sbatch(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="sbatch is not installed here"):
        Slurm().__enter__()


# ------------------------------------------------------------------------------- units, failures and options


def few_units(count=4, **more):
    return Sweep(
        tuple(
            Unit(
                {"name": "gridworld"},
                {"name": "cbp"},
                3,
                seed,
                evaluator={"name": "td", "samples": 5},
                **more,
            )
            for seed in range(count)
        )
    )


def test_a_unit_that_fails_three_times_is_reported(monkeypatch, tmp_path):
    calls, real = Counter(), unit_groups.run_units

    def run_units(units):
        calls[units[0].seed] += 1
        if units[0].seed == 2:
            raise OSError("no space left")
        if units[0].seed == 1 and calls[1] < 3:
            raise OSError("now and then")
        return real(units)

    monkeypatch.setattr(unit_groups, "run_units", run_units)
    plan, store = few_units(), CountingStore(tmp_path)
    (failure,) = run_sweep(plan, store)
    assert failure.settings == plan.units[2].settings
    assert failure.error == "OSError: no space left"
    assert calls == {0: 1, 1: 3, 2: 3, 3: 1}
    assert len(store.writes) == 3


def test_a_bad_unit_spares_its_batch_and_is_not_tried_again(monkeypatch, tmp_path):
    algorithms = [{"name": "cbp", "alpha": 8}, {"name": "cbp", "alpha": "big"}, {"name": "gda"}]
    plan = Sweep.of([{"name": "gridworld"}], algorithms, iterations=3)
    (failure,) = run_sweep(plan, Store(tmp_path))
    assert failure.settings["algorithm"]["alpha"] == "big"
    assert len(contents(tmp_path)) == 2


def test_a_lost_piece_is_split(tmp_path):
    """Who knows which of its units it was: each is tried alone."""

    class Losing(Local):
        seen = ()

        def map(self, function, work):
            for piece in work:
                self.seen.append(len(piece.units))
                yield piece, Error("lost", final=True) if len(piece.units) > 1 else function(piece)

    Losing.seen = []
    plan = Sweep.of([{"name": "gridworld"}], [{"name": "cbp", "alpha": [1, 8]}], iterations=3)
    assert run_sweep(plan, Store(tmp_path), backend=Losing()) == []
    assert Losing.seen == [2, 1, 1]


def test_other_sources_on_a_worker_are_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(sweep_module, "source_digest", lambda: "another version")
    failures = run_sweep(few_units(2), Store(tmp_path))
    assert len(failures) == 2
    assert "has other sources of painless than this machine" in failures[0].error
    assert not (tmp_path / "units").exists()


def test_the_same_unit_twice_is_done_once(tmp_path):
    store, seen = CountingStore(tmp_path), []
    plan = Sweep(few_units(2).units * 2)
    assert run_sweep(plan, store, progress=lambda done, total: seen.append((done, total))) == []
    assert (seen[-1], len(store.writes)) == ((2, 2), 2)


def test_pieces_grow_until_they_last_a_second():
    work = UnitGroups(few_units(1000).units, workers=2)
    first = next(work)
    assert len(first.units) == 1
    work.learn(first, 0.01)
    assert len(next(work).units) == 100
    assert len(next(work).units) == 100
    work.learn(first, 0.0001)
    assert len(next(work).units) == 799 // 4  # enough is left for the other worker
    assert all(len(piece.units) == 1 for piece in UnitGroups(few_units(9).units, alone=True))
    many = UnitGroups(few_units(1000).units, workers=200)
    many.learn(first, 3.0)
    assert len(next(many).units) == 2  # six seconds: one process serves 200 workers


def test_batches_are_split_among_workers_but_not_too_finely():
    plan = Sweep.of([{"name": "gridworld"}], [{"name": "cbp"}], iterations=3, seeds=range(100))
    sizes = {n: sorted(len(piece.units) for piece in UnitGroups(plan.units, n)) for n in (1, 2, 50)}
    assert sizes == {1: [36, 64], 2: [50, 50], 50: [4] + [8] * 12}


def test_problem_files_travel_with_the_work(tmp_path):
    """A worker elsewhere does not see them."""
    path = tmp_path / "world.npz"
    painless.gridworld().save(path)
    for evaluator in ({"name": "exact"}, {"name": "td", "samples": 5}):
        units = tuple(
            Unit({"name": str(path)}, {"name": "cbp"}, 3, seed, evaluator=evaluator) for seed in range(2)
        )
        there = run_group(UnitGroup(units))
        carried = [next(UnitGroups(units, 1, carry=True))]
        elsewhere = path.rename(tmp_path / "moved.npz")
        gone = run_group(carried[0])
        elsewhere.rename(path)
        for one, other in zip(there.results, gone.results, strict=False):
            np.testing.assert_array_equal(one["reward_value"], other["reward_value"])


def cli(capsys, *arguments):
    """Run the command line in this process; return its exit code and what it said."""
    from painless.cli import main

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["painless", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
    return ended.value.code or 0, capsys.readouterr()


def test_failed_units_have_an_exit_code_of_their_own(tmp_path, capsys):
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP.replace("[1, 8]", '[1, "big"]').replace("800", "5").replace("60", "3"))
    code, said = cli(capsys, "sweep", path, "--out", tmp_path / "store")
    assert code == 5
    assert "cbp alpha=1" in said.out
    assert "'alpha': 'big'" in said.err
    assert "alpha is not a numeric array" in said.err
    assert "8 unit(s) failed; the others are stored" in said.err
    code, said = cli(capsys, "sweep", path, "--out", tmp_path / "store")
    assert code == 5  # and they are tried again


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--scheduler", "127.0.0.1:1"], "--scheduler needs --backend dask"),
        (["--backend", "slurm", "--host", "0.0.0.0"], "--host needs --backend dask"),
        (["--partition", "cpu"], "--partition needs --backend slurm"),
        (["--backend", "dask", "--time", "1"], "--time needs --backend slurm"),
        (["--tls-cert", "x"], "--tls-cert needs --backend dask or slurm"),
        (["--backend", "dask", "--tls-cert", "x"], "TLS needs all of"),
        (["--backend", "dask", "--scheduler", "x", "--workers", "2"], "has its own workers"),
        (["--backend", "slurm", "--slurm-file", "none.toml"], "none.toml does not exist or is not a file"),
    ],
)
def test_options_that_do_not_fit_are_refused(plan, tmp_path, capsys, options, message):
    code, said = cli(capsys, "sweep", plan, "--out", tmp_path, *options)
    assert code == 2
    assert message in said.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[slurm", "is not valid TOML"),
        ("[slrum]", "has no \\[slurm\\] table"),
        ("[slurm]\nparttion = 'x'", "did you mean 'partition'"),
        ("[slurm]\ntime = 60", "time is 60; give it as text"),
        ("[slurm]\ncores = 0", "cores is 0"),
        ("[slurm]\nskip = '--mem'", "skip is '--mem'; give a list of texts"),
    ],
)
def test_bad_slurm_files_are_refused(tmp_path, text, message):
    path = tmp_path / "slurm.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        load_jobs(path)


def test_options_override_the_slurm_file(tmp_path):
    path = tmp_path / "slurm.toml"
    path.write_text(SLURM)
    asked = load_jobs(path).but(partition="long", account=None)
    assert asked == Jobs("long", None, 1, "1GB", "00:10:00", skip=("--mem",))
    assert Slurm(asked.but(cores=4), workers=6).workers == 8  # two jobs of four


def test_packages_that_are_not_there_are_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'painless-cmdp\[dask\]'"):
        Dask()
    with pytest.raises(InputError, match=r"pip install 'painless-cmdp\[slurm\]'"):
        Slurm()
    with pytest.raises(InputError, match="workers is 0"):
        Local(0)


def test_progress_without_a_terminal(monkeypatch, capsys):
    from painless.cli import backend_options

    monkeypatch.setattr(backend_options, "LINE_EVERY", 0.0)
    with backend_options.unit_progress() as progress:
        progress(3, 10)
        progress(5, 10)
    assert capsys.readouterr().err == "5 of 10 units, about 0 s left\n"


def test_a_client_whose_thread_does_not_start(monkeypatch):
    """Distributed fails with an empty AssertionError if that takes ten seconds."""

    class Slow:
        def __init__(self, *ignored, **named):
            raise AssertionError

        def close(self):
            raise AttributeError  # it has not begun

    monkeypatch.setattr("distributed.Client", Slow)
    with pytest.raises(InputError, match="its client did not start"):
        Dask("tcp://127.0.0.1:1").__enter__()
