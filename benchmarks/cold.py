"""`python -m benchmarks.cold`: CPU seconds of a command's first run on a machine beside those of its next.

Each command runs in a process of its own with an empty cache of kernels, and then again. The last line runs all of them
in one process: what all kernels take together. With `--kernels`, what each one takes.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

GARNET = "solve garnet -p branching=5 -p discount=0.99"
PLANNED = "--algorithm column-generation"
CARTPOLE = "train cartpole --iterations 5 --rollouts 10 --multiplier-bound 50 --multiplier-bound 50"
COMMANDS = {
    "gridworld": "solve gridworld",
    "gridworld, planned": f"solve gridworld {PLANNED}",
    "gridworld, K = 3, CBP": "solve gridworld-3 --algorithm cbp --iterations 200",
    "Garnet of 300": f"{GARNET} -p states=300 {PLANNED}",
    "Garnet of 300, K = 3": f"{GARNET} -p states=300 -p constraints=3 {PLANNED}",
    "Garnet of 1,000": f"{GARNET} -p states=1000 -p dense=true {PLANNED}",
    "Garnet of 1,000, K = 3": f"{GARNET} -p states=1000 -p dense=true -p constraints=3 {PLANNED}",
    "Garnet of 1,000, sparse": f"{GARNET} -p states=1000 -p dense=false {PLANNED}",
    "Garnet of 1,000, sparse, PRM": f"{GARNET} -p states=1000 -p dense=false --algorithm prm",
    "queue of 500": f"solve queueing -p buffer=500 {PLANNED}",
    "queue of 1,000": f"solve queueing -p buffer=999 {PLANNED}",
    "queue of 1,000, PRM": "solve queueing -p buffer=999 --algorithm prm",
    "slippery grid of 30 × 30": f"solve slippery-grid -p height=30 -p width=30 {PLANNED}",
    "slippery grid of 30 × 30, PRM": "solve slippery-grid -p height=30 -p width=30 --algorithm prm",
    "frontier": "frontier gridworld",
    "frontier, queue of 600": "frontier queueing -p buffer=600",
    "page of a solution": "solve gridworld --report {new}/solved.html",
    "train, gridworld": "train gridworld --iterations 20 --samples 100",
    "train, CartPole": f"{CARTPOLE} --save {{new}}/cartpole",
    "train, CartPole, GDA": f"{CARTPOLE} --algorithm gda",
    "evaluate, gridworld": "evaluate {old}/table --episodes 20",
    "evaluate, CartPole": "evaluate {old}/cartpole --episodes 20",
    "sweep, TD(0)": "sweep {old}/td.toml --out {new}/td",
    "sweep, LSTDQ": "sweep {old}/lstdq.toml --out {new}/lstdq",
    "sweep, Monte Carlo": "sweep {old}/monte-carlo.toml --out {new}/monte-carlo",
    "page of a sweep": "report {old}/sweep --out {new}/sweep.html",
}
PREPARED = (
    "train gridworld --iterations 20 --samples 100 --save {old}/table",
    f"{CARTPOLE} --save {{old}}/cartpole",
    "sweep {old}/td.toml --out {old}/sweep",
)
SWEEP = """
iterations = 20
seeds = [0]

[[problem]]
name = "gridworld"

[[algorithm]]
name = "cbp"

[evaluator]
name = "{name}"
{settings}
"""
EVALUATORS = {"td": "samples = 50", "lstdq": "samples = 50\ntiles = 10", "monte-carlo": "rollouts = 10"}
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


def prepare(old):
    """Write the files that commands read."""
    for name, settings in EVALUATORS.items():
        (old / f"{name}.toml").write_text(SWEEP.format(name=name, settings=settings))
    run(PREPARED, old, old / "cache")


def run(commands, old, cache, *, kernels=False):
    """Run commands in a fresh process; return its CPU seconds, and the seconds of each kernel that it compiled."""
    with tempfile.TemporaryDirectory() as new:
        given = [command.format(old=old, new=new).split() for command in commands]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.cold", "--child", json.dumps([kernels, given])],
            env=os.environ | ONE_THREAD | {"NUMBA_CACHE_DIR": str(cache)},
            capture_output=True,
            text=True,
            check=False,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{commands} ended with {done.returncode}: {done.stderr}")
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, json.loads(done.stdout.splitlines()[-1]) if kernels else {}


def child(kernels, commands):
    """Run commands in this process, and print what the kernels took if asked."""
    from painless.cli import main as command

    clock = watched() if kernels else None
    for given in commands:
        sys.argv = ["painless", *given]
        try:
            command()
        except SystemExit as end:
            if end.code:
                raise
    if clock is not None:
        print("\n" + json.dumps(clock.seconds))


class KernelClock:
    """CPU seconds of compiling each kernel, with the functions of Numba that it calls and without other kernels."""

    def __init__(self):
        self.seconds, self.names, self.since = {}, [], 0.0

    def turn(self):
        """Count the time since the last turn for the kernel that is being compiled."""
        now, ours = time.process_time(), [name for name in self.names if name.startswith("painless.")]
        if ours:
            self.seconds[ours[-1]] = self.seconds.get(ours[-1], 0.0) + now - self.since
        self.since = now

    def start(self, name):
        self.turn()
        self.names.append(name)

    def end(self):
        self.turn()
        self.names.pop()


def watched():
    """Return a clock that every compilation of this process is counted by."""
    from numba.core import event

    clock = KernelClock()

    class Listener(event.Listener):
        def on_start(self, event):
            function = event.data["dispatcher"].py_func
            clock.start(f"{function.__module__}.{function.__qualname__}")

        def on_end(self, event):
            clock.end()

    event.register("numba:compile", Listener())
    return clock


def print_kernels(console, name, seconds):
    table = Table("kernel", "CPU s", title=f"Kernels of {name}")
    for kernel, spent in sorted(seconds.items(), key=lambda one: -one[1]):
        table.add_row(kernel, f"{spent:.2f}")
    table.add_row(f"{len(seconds)} together", f"{sum(seconds.values()):.2f}")
    console.print(table)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="commands whose name contains this")
    parser.add_argument("--kernels", action="store_true", help="show what each kernel takes")
    parser.add_argument("--child", type=json.loads, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(*given.child)
        return
    console = Console(width=110)
    table = Table("command", "cold, CPU s", "warm, CPU s", "difference")
    chosen = {name: [command] for name, command in COMMANDS.items() if given.only in name}
    chosen["all together"] = [command for (command,) in chosen.values()]
    with tempfile.TemporaryDirectory() as place:
        old = Path(place)
        prepare(old)
        for name, commands in chosen.items():
            cache = old / f"cache {name}"
            cold, kernels = run(commands, old, cache, kernels=given.kernels)
            warm, _ = run(commands, old, cache)
            table.add_row(name, f"{cold:.2f}", f"{warm:.2f}", f"{cold - warm:.2f}")
            if kernels:
                print_kernels(console, name, kernels)
    console.print(table)


if __name__ == "__main__":
    main()
