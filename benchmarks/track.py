"""`python -m benchmarks.track`: a small fixed set of cases, as ratios to a reference run on the same machine, for each commit.

    ratio = CPU seconds of a case / CPU seconds of the reference, the least of some repeats each, run by turns

The reference is work of NumPy, SciPy and Python alone, so that a ratio does not depend on how fast the machine is. A run is stored as JSON in
benchmarks/history; `--check` compares one with the last that is stored and fails if a case takes 20 % longer; `--draw` writes docs/images/benchmarks.png.
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import scipy

ROOT = Path(__file__).parent.parent
HISTORY, PICTURE = ROOT / "benchmarks" / "history", ROOT / "docs" / "images" / "benchmarks.png"
SLOWER = 1.2  # a ratio that has grown by this factor is shown
REPEATS = 5


def cases():
    """Return the work of each case by name: of the public names alone, so that older versions can be measured, too."""
    import painless

    world, grid = painless.gridworld(), painless.make("slippery-grid")
    wide, sparse = (
        painless.garnet(300, constraints=3, seed=1),
        painless.garnet(2000, 4, 5, 1, seed=1, dense=True),
    )
    queue = painless.make("queueing", buffer=500)
    works = {
        "solve, 25 states": lambda: painless.solve(world, tolerance=1e-6),
        "solve, 300 states, 3 limits": lambda: painless.solve(wide, tolerance=1e-6),
        "solve, 2,000 states": lambda: painless.solve(sparse, tolerance=1e-6),
        "solve, queue of 500": lambda: painless.solve(queue, tolerance=1e-6),
        "linear program, 25 states": lambda: painless.solve(world, painless.LinearProgram()),
        "100 iterations of CBP": lambda: painless.solve(world, painless.CBP(), iterations=100),
        "frontier, 126 states": lambda: painless.frontier(grid),
    }
    if hasattr(world, "with_horizon"):  # the first commits have none
        season = painless.make("inventory").with_horizon(50)
        works["solve, 50 steps"] = lambda: painless.solve(season, tolerance=1e-6)
    return works


def reference():
    """Work that no version of the library changes: linear systems, sparse products, and Python itself."""
    rng = np.random.default_rng(0)
    matrix, right = rng.random((150, 150)) + 150 * np.eye(150), rng.random(150)
    sparse = scipy.sparse.random_array((2000, 2000), density=0.003, rng=rng, format="csr")
    vector = rng.random(2000)

    def work():
        for _ in range(10):
            np.linalg.solve(matrix, right)
        for _ in range(200):
            sparse @ vector
        total = 0.0
        for number in range(50_000):
            total += number * 0.5
        return total

    return work


def seconds(work, clock=time.process_time):
    """Return the CPU seconds of one call."""
    start = clock()
    work()
    return clock() - start


def measure(works, yardstick, repeats=REPEATS, clock=time.process_time):
    """Return the ratio of each case to the yardstick; both are run by turns, after one run of each to warm up."""
    ratios = {}
    for name, work in works.items():
        work(), yardstick()
        pairs = [(seconds(work, clock), seconds(yardstick, clock)) for _ in range(repeats)]
        ours, theirs = (min(column) for column in zip(*pairs, strict=True))
        ratios[name] = ours / theirs
    return ratios


def commit_of(root=ROOT):
    """Return the commit that is checked out, and its date."""
    command = ["git", "-C", str(root), "log", "-1", "--format=%h %cI"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def record(ratios, commit, date):
    """Return a run as plain data."""
    import painless

    versions = {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__}
    measured = datetime.now(UTC).isoformat(timespec="seconds")
    about = {"version": painless.__version__, "commit": commit, "date": date, "measured": measured}
    return {**about, **versions, "ratios": {name: round(ratio, 4) for name, ratio in ratios.items()}}


def history(folder=HISTORY):
    """Return the stored runs, the oldest commit first."""
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
    return sorted(runs, key=lambda run: datetime.fromisoformat(run["date"]))


def store(run, folder=HISTORY):
    """Write a run to a file with the name of its commit."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{run['commit']}.json"
    path.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    return path


def slower(before, after):
    """Return by what factor each case has slowed down, for those that have by 20 % or more.

    >>> slower({"ratios": {"a": 1.0, "b": 2.0}}, {"ratios": {"a": 1.25, "b": 2.1, "c": 9.0}})
    {'a': 1.25}
    """
    factors = {
        name: ratio / before["ratios"][name]
        for name, ratio in after["ratios"].items()
        if name in before["ratios"]
    }
    return {name: factor for name, factor in factors.items() if factor >= SLOWER}


def draw(runs):
    """Draw how each case has changed from commit to commit; a ring marks a slowdown of 20 %."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.2), layout="constrained")
    axis = figure.subplots()
    names = [*dict.fromkeys(name for run in runs for name in run["ratios"])]
    marked = False
    for name in names:
        places = [k for k, run in enumerate(runs) if name in run["ratios"]]
        values = np.array([runs[k]["ratios"][name] for k in places])
        axis.plot(places, values / values[0], ".-", label=name)
        for k in range(1, len(places)):
            if values[k] / values[k - 1] >= SLOWER:
                label = None if marked else "20 % slower than before"
                ring = {"markersize": 14, "fillstyle": "none", "color": "#D55E00", "label": label}
                axis.plot(places[k], values[k] / values[0], "o", **ring)
                marked = True
    axis.axhline(1.0, color="0.7", linewidth=0.8)
    axis.set_xticks(range(len(runs)), [f"{run['date'][:10]}\n{run['commit']}" for run in runs], fontsize=8)
    axis.set(ylabel="time, as a share of the first commit", ylim=(0, None))
    axis.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure


def table(before, after):
    """Return lines on a run beside the one before."""
    yield f"{'':30} {'before':>9} {'now':>9} {'factor':>7}"
    slow = slower(before, after)
    for name, ratio in after["ratios"].items():
        old = before["ratios"].get(name, float("nan"))
        note = "  SLOWER" if name in slow else ""
        yield f"{name:30} {old:9.3f} {ratio:9.3f} {ratio / old:7.2f}{note}"


def main(arguments=None):
    """Measure, compare, and store or draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--store", action="store_true", help="store the run under its commit")
    parser.add_argument("--check", action="store_true", help="fail if a case takes 20 % longer than stored")
    parser.add_argument("--draw", action="store_true", help=f"only draw what is stored: {PICTURE.name}")
    parser.add_argument("--source", type=Path, default=ROOT, help="the clone whose src is on PYTHONPATH")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    options = parser.parse_args(arguments)
    runs = history()
    if options.draw:
        draw(runs).savefig(PICTURE, dpi=110)
        return 0
    commit, date = commit_of(options.source)
    run = record(measure(cases(), reference(), options.repeats), commit, date)
    before = next((one for one in reversed(runs) if one["commit"] != commit), run)
    print("\n".join(table(before, run)))
    if options.store:
        print("wrote", store(run))
    return 1 if options.check and slower(before, run) else 0


if __name__ == "__main__":
    sys.exit(main())
