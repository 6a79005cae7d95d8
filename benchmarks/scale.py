"""`python -m benchmarks.scale`: column generation beside SciPy's policy iteration, HiGHS and Storm on families of large sparse models, in one run.

`--kinds` chooses among the families of `benchmarks.families`; without constraints (`--constraints 0`) policy iteration runs too.

Every measurement is a process of its own: CPU and wall seconds of the solve alone (no loading, no compilation, no building
of another tool's model), and the peak memory of the whole process, model included. `highspy` and `stormpy` are no dependencies:
their columns are left out where they are not installed.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.families import KINDS
from benchmarks.scale_case import DISCOUNT, TOLERANCE

PROGRAMS = ("simplex", "ipm")  # by SciPy
POLICIES = ("bicgstab", "superlu")  # policy iteration with SciPy, without constraints
HIGHSPY = ("pdlp", "hipo")
LARGEST = {  # states up to which each is tried; what takes longer than the limit there, takes longer beyond
    "simplex": 10_000,
    "ipm": 100_000,
    "pdlp": 100_000,
    "hipo": 100_000,
    "storm": 100_000,
    "superlu": 100_000,
}


def installed():
    """Return the solvers that can be run here."""
    found = ["ours", *POLICIES, *PROGRAMS]
    found += HIGHSPY if importlib.util.find_spec("highspy") else ()
    found += ["storm"] if importlib.util.find_spec("stormpy") else []
    return found


def run(case, limit):
    """Measure one case in a process of its own; `limit` seconds beyond building the model."""
    command = [sys.executable, "-m", "benchmarks.scale_case", json.dumps(case | {"limit": limit})]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=2 * limit + 300, check=False)
    except subprocess.TimeoutExpired:
        return {"failed": "gave up"}
    lines = done.stdout.strip().splitlines()
    return json.loads(lines[-1]) if lines and done.returncode == 0 else {"failed": f"exit {done.returncode}"}


def cases(given):
    """Yield what is to be measured."""
    solvers = [s for s in installed() if given.solvers is None or s in given.solvers]
    for kind in given.kinds:
        for states in sorted(int(size) for size in given.sizes):
            for constraints in given.constraints:
                for solver in solvers:
                    if states <= LARGEST.get(solver, states) and not (constraints and solver in POLICIES):
                        yield {
                            "kind": kind,
                            "states": states,
                            "constraints": constraints,
                            "seed": given.seed,
                            "solver": solver,
                            "tolerance": given.tolerance,
                            "discount": given.discount,
                        }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=float, nargs="+", default=[1e3, 1e4, 1e5])
    parser.add_argument("--million", action="store_true", help="also a million states")
    parser.add_argument("--kinds", nargs="+", default=["garnet", "grid"], choices=KINDS)
    parser.add_argument("--constraints", type=int, nargs="+", default=[1, 3])
    parser.add_argument("--solvers", nargs="+", help="only these, such as: ours storm")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tolerance", type=float, default=TOLERANCE)
    parser.add_argument("--discount", type=float, default=DISCOUNT)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each of the others")
    parser.add_argument("--json", help="append every measurement to this file, one line each")
    given = parser.parse_args()
    given.sizes += [1e6] if given.million else []
    heading = ("problem", "S", "K", "solver", "CPU s", "wall s", "MB", "solves", "sweeps", "gap", "value")
    table = Table(
        *heading, title=f"γ = {given.discount}, relative gap {given.tolerance:g}, seed {given.seed}"
    )
    slow = set()  # who failed on a smaller model of the kind is not asked again
    for case in cases(given):
        kind, solver, constraints = case["kind"], case["solver"], case["constraints"]
        if (kind, solver, constraints) in slow:
            continue
        result = run(case, given.limit)
        if "failed" in result:
            slow.add((kind, solver, constraints))
        if given.json:
            with Path(given.json).open("a") as lines:
                lines.write(json.dumps(case | result) + "\n")
        table.add_row(
            *(kind, str(case["states"]), str(constraints), solver),
            *(f"{result[name]:.3f}" if name in result else "–" for name in ("cpu", "wall")),
            f"{result['memory']:.0f}" if "memory" in result else "–",
            *(str(result.get(name, "–")) for name in ("solves", "sweeps")),
            f"{result['gap']:.1e}" if "gap" in result else "–",
            result.get("failed") or f"{result['value']:.8g}",
        )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
