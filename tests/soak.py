"""`make soak`: what takes too long for `make test`, with fresh seeds, each printed.

- A sweep is killed again and again, and in the end its files are those of an undisturbed run, with 1, 2 and 4 workers.
- `tests.fuzz`: thousands of problems, and every claim of every answer against an independent judge.
- `tests.damage`: thousands of damaged files.
- `tests.mutants`: thousands of changed certificates, a thousand of every array.
- `tests.totals`: hundreds of random totals until an end against a linear program, factorised and swept.
- `tests.averages`: the same for long-run averages.
- The property tests with fresh examples.

Run it with `python -m tests.soak --kills 20 --problems 2000 --files 3000 --mutants 1000`; 0 leaves a part out.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
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
    # Of an undisturbed run with two workers, the start of the processes included
    seconds = time.perf_counter() - begin
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


def survive(kills):
    """Check that kills leave no trace in a sweep's files."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        resumed, whole, killed = soak(Path(folder), kills)
        assert whole[1] == whole[2] == whole[4], "the number of workers changes the files"
        assert resumed == whole[1], "a resumed run differs from an undisturbed one"
        seconds = time.perf_counter() - begin
        print(
            f"{len(resumed)} files, killed {killed} times, identical with 1, 2 and 4 workers; {seconds:.0f} s",
            flush=True,
        )


def started(*arguments, **environment):
    """Run a Python module to its end; return whether it succeeded."""
    command = [sys.executable, "-m", *map(str, arguments)]
    print(" ".join(command), flush=True)
    return subprocess.run(command, env=os.environ | environment).returncode == 0


def damaged(count, seed):
    """Damage stored files, where there is a module for that; return whether all were refused or read well."""
    from tests import damage

    print(f"{count} damaged files from seed {seed}", flush=True)
    return not damage.run(count, seed)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--problems", type=int, default=2000)
    parser.add_argument("--totals", type=int, default=500, help="random totals until an end")
    parser.add_argument("--averages", type=int, default=500, help="random long-run averages")
    parser.add_argument("--files", type=int, default=3000)
    parser.add_argument("--mutants", type=int, default=1000, help="of every array of a certificate")
    parser.add_argument("--properties", type=int, default=1, help="runs of the property tests")
    parser.add_argument("--seed", type=int, help="drawn by default")
    given = parser.parse_args()
    seed = int(np.random.SeedSequence().entropy % 10**9) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    if given.kills:
        survive(given.kills)
    passed = not given.problems or started("tests.fuzz", "--count", given.problems, "--seed", seed)
    if given.files and find_spec("tests.damage") is not None:
        passed &= damaged(given.files, seed)
    passed &= not given.totals or started("tests.totals", "--count", given.totals, "--seed", seed)
    passed &= not given.totals or started(
        "tests.totals", "--swept", "--count", given.totals, "--seed", seed + given.totals
    )
    passed &= not given.averages or started("tests.averages", "--count", given.averages, "--seed", seed)
    passed &= not given.averages or started(
        "tests.averages", "--swept", "--count", given.averages, "--seed", seed + given.averages
    )
    passed &= not given.mutants or started("tests.mutants", "--count", given.mutants, "--seed", seed)
    for run in range(given.properties):
        options = ("-m", "hypothesis", f"--hypothesis-seed={seed + run}", "tests")
        passed &= started("pytest", "-p", "no:cacheprovider", *options, HYPOTHESIS_PROFILE="fresh")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
