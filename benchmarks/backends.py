"""What a backend costs beside the work: per piece, per stored unit, and how much two workers gain over one.

Run it with `python -m benchmarks.backends`. SLURM is measured where slurm-wlm is installed; its daemons run for the
time of the measurement, on loopback.
"""

import contextlib
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from painless.backends import Dask, Jobs, Local, Slurm
from painless.study import Store, Sweep, run_sweep

PIECES = 300  # for the cost of a piece
BUSY = 0.1  # seconds of a piece that computes
TRACE = {"reward_value": np.linspace(0, 1, 1500), "constraint_value": np.linspace(0, 1, 1500)[:, None]}
WORK = {"name": "td", "samples": 2000}  # a unit of about 0.25 s
MAKERS = {
    "local": lambda workers: Local(workers),
    "dask": lambda workers: Dask(workers=workers),
    "slurm": lambda workers: Slurm(Jobs(skip=("--mem",)), workers=workers),
}


def answer(number):
    """A piece without work, with a result of the usual size: a trace of 1,500 iterations."""
    return number, {name: values + number for name, values in TRACE.items()}


def compute(number):
    """A piece that keeps its core busy for a known time."""
    end = time.thread_time() + BUSY
    while time.thread_time() < end:
        pass
    return number


def elapsed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def costs(backend):
    """Return processor seconds of this process per piece, and seconds that a worker is idle between two pieces."""
    list(backend.map(answer, range(20)))  # all workers are there
    start = time.process_time()
    list(backend.map(answer, range(PIECES)))
    spent = (time.process_time() - start) / PIECES
    count = 20 * backend.workers
    waited = elapsed(lambda: list(backend.map(compute, range(count)))) / 20 - BUSY
    return spent, waited


def sweep_seconds(backend):
    """Return the time of a sweep of units that only compute, without that of starting the workers."""
    plan = Sweep.of(
        [{"name": "gridworld"}], [{"name": "cbp"}], iterations=60, seeds=range(24), evaluator=WORK
    )
    warm = Sweep.of([{"name": "gridworld"}], [{"name": "cbp"}], iterations=2, seeds=range(8), evaluator=WORK)
    with tempfile.TemporaryDirectory() as folder:
        run_sweep(warm, Store(Path(folder) / "warm"), backend=backend)
        return elapsed(lambda: run_sweep(plan, Store(Path(folder) / "timed"), backend=backend))


def store_seconds():
    """Return the time to store one unit."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        settings = [{"unit": n} for n in range(200)]
        start = time.process_time()
        write = [elapsed(lambda one=one: store.write(one, TRACE)) for one in settings]
        spent = (time.process_time() - start) / len(settings)
        look = elapsed(lambda: [store.holds(one) for one in settings]) / len(settings)
    return float(np.median(write)), spent, look


@contextlib.contextmanager
def slurm():
    """A SLURM of our own, where it is installed; gives back whether it is."""
    from tests.slurm_cluster import missing, slurm_cluster

    if missing():
        yield False
        return
    with slurm_cluster() as environment:
        os.environ["SLURM_CONF"] = environment["SLURM_CONF"]
        try:
            yield True
        finally:
            del os.environ["SLURM_CONF"]


def main(console):
    header = (
        "backend",
        "start, s",
        "CPU of this process per piece, ms",
        "a worker waits, ms",
        "2 workers over 1",
    )
    table = Table(
        *header, title="Backends: 2 workers, pieces with a trace of 1,500 iterations as their result"
    )
    load, cores = os.getloadavg()[0], os.cpu_count()
    if load > 0.5:
        console.print(
            f"The load is {load:.1f} on {cores} cores: only the processor times below mean anything"
        )
    with slurm() as there:
        alone = {}
        for name, make in MAKERS.items():
            if name == "slurm" and not there:
                console.print("SLURM is left out: slurm-wlm is not installed")
                continue
            with make(1) as backend:
                alone[name] = sweep_seconds(backend)
            begin = time.perf_counter()
            with make(2) as backend:
                list(backend.map(abs, [1]))
                start = time.perf_counter() - begin
                serial, waited = costs(backend)
                gain = alone[name] / sweep_seconds(backend)
            table.add_row(name, f"{start:.1f}", f"{serial * 1e3:.1f}", f"{waited * 1e3:.1f}", f"{gain:.2f}")
    console.print(table)
    write, spent, look = store_seconds()
    console.print(
        f"Storing a unit takes {write * 1e3:.1f} ms, {spent * 1e3:.1f} of them of the processor; "
        f"looking for one takes {look * 1e6:.0f} µs"
    )


if __name__ == "__main__":
    main(Console(width=100))
