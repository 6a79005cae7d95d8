"""`make soak`: a sweep is killed again and again, and in the end its files are those of an undisturbed run.

Run it with `python -m tests.soak --kills 20`. Undisturbed runs with 1, 2 and 4 workers are compared too.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

PLAN = """
iterations = 150
seeds = [0, 1, 2]
start = "dirichlet"

[[problem]]
name = "gridworld"
discount = [0.9, 0.8]

[[algorithm]]
name = "cbp"
alpha = [1, 8, 500]

[[algorithm]]
name = "crpo"
rate = [0.1, 0.75]

[evaluator]
name = "td"
samples = [500, 2000]
"""


def command(plan, out, workers):
    return [
        sys.executable,
        "-m",
        "painless",
        "sweep",
        str(plan),
        "--out",
        str(out),
        "--workers",
        str(workers),
    ]


def contents(folder):
    """Return the finished files of a store."""
    paths = sorted((Path(folder) / "units").iterdir()) if (Path(folder) / "units").exists() else []
    return {path.name: path.read_bytes() for path in paths if not path.name.startswith(".")}


def kill_once(arguments, wait):
    """Start a sweep and kill it with all its workers after some seconds; return whether it was still running."""
    process = subprocess.Popen(
        arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        process.wait(wait)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


def soak(folder, kills, seed=0):
    """Kill a sweep so many times while it runs; return its files, those of undisturbed runs, and how often it was killed."""
    plan = folder / "sweep.toml"
    plan.write_text(PLAN)
    whole = {}
    for workers in (1, 4, 2):
        begin = time.perf_counter()
        subprocess.run(command(plan, folder / f"whole{workers}", workers), check=True, capture_output=True)
        whole[workers] = contents(folder / f"whole{workers}")
    seconds = (
        time.perf_counter() - begin
    )  # of an undisturbed run with two workers, the start of the processes included
    rng, killed = np.random.default_rng(seed), 0
    out = folder / "killed"
    while killed < kills:
        before = contents(out)
        running = kill_once(command(plan, out, 2), seconds * rng.uniform(0.3, 0.9))
        after = contents(out)
        assert before.items() <= after.items(), "a stored result was lost or changed"
        killed += running
        print(f"killed {killed} times, {len(after)} of {len(whole[1])} units are there", flush=True)
        if not running:  # it came to its end: begin anew
            assert after == whole[1], "a resumed run differs from an undisturbed one"
            out = folder / f"killed{killed}"
    subprocess.run(command(plan, out, 2), check=True, capture_output=True)
    return contents(out), whole, killed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        resumed, whole, killed = soak(Path(folder), parser.parse_args().kills)
        assert whole[1] == whole[2] == whole[4], "the number of workers changes the files"
        assert resumed == whole[1], "a resumed run differs from an undisturbed one"
        seconds = time.perf_counter() - begin
        print(
            f"{len(resumed)} files, killed {killed} times, identical with 1, 2 and 4 workers; {seconds:.0f} s"
        )


if __name__ == "__main__":
    main()
