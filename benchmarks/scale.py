"""`python -m benchmarks.scale`: column generation beside HiGHS on large sparse models, in one run.

Every measurement is a process of its own: CPU and wall seconds of the solve alone (no loading, no compilation),
and the peak memory of the whole process, model included.
"""

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np
import scipy
from rich.console import Console
from rich.table import Table

import painless
from painless.arrays import one_thread
from painless.planners.column_generation import ColumnGeneration
from painless.planners.linear_program import LinearProgram
from painless.planners.pricing import Pricer
from painless.units import normalise

DISCOUNT, TOLERANCE, SLIP = 0.99, 1e-6, 0.2
LARGEST_PROGRAM = 20_000  # states up to which HiGHS is tried


def garnet_parts(states, rng, actions=4, branching=5):
    """Return kernel (S·A, S) with `branching` random successors for each pair, and uniform utilities' shape."""
    pairs = states * actions
    successor = rng.integers(0, states, (pairs, branching), dtype=np.int32)
    probability = rng.standard_exponential((pairs, branching))
    probability /= probability.sum(1, keepdims=True)
    pointer = np.arange(0, pairs * branching + 1, branching, dtype=np.int32)
    kernel = scipy.sparse.csr_array((probability.ravel(), successor.ravel(), pointer), shape=(pairs, states))
    kernel.sum_duplicates()
    return kernel, lambda: rng.random((states, actions))


def grid_parts(states, rng):
    """Return a square grid with five moves, of which four slip to either side, and rewards in few cells."""
    side = round(states**0.5)
    row, column = np.divmod(np.arange(side * side, dtype=np.int32), np.int32(side))
    moves = np.array([(0, -1), (0, 1), (-1, 0), (1, 0), (0, 0)], dtype=np.int32)
    to = [
        np.clip(row + dy, 0, side - 1) * np.int32(side) + np.clip(column + dx, 0, side - 1)
        for dy, dx in moves
    ]
    sides = ((2, 3), (2, 3), (0, 1), (0, 1), (4, 4))
    successor = np.stack([np.stack([to[a], to[b], to[c]], 1) for a, (b, c) in enumerate(sides)], 1)
    probability = np.broadcast_to([1 - SLIP, SLIP / 2, SLIP / 2], successor.shape).ravel()
    pairs = 5 * side * side
    pointer = np.arange(0, 3 * pairs + 1, 3, dtype=np.int32)
    kernel = scipy.sparse.csr_array((probability, successor.ravel(), pointer), shape=(pairs, side * side))
    kernel.sum_duplicates()

    def cells():
        reward = np.where(rng.random(side * side) < 0.01, rng.random(side * side), 0.0)
        return np.repeat(reward[:, None], 5, 1)

    return kernel, cells


def instance(kind, states, constraints, seed):
    """Return a problem whose thresholds lie halfway between the reward's best policy and the constraints' own."""
    rng = np.random.default_rng(seed)
    kernel, draw = {"garnet": garnet_parts, "grid": grid_parts}[kind](states, rng)
    count = kernel.shape[1]
    problem = painless.CMDP(
        kernel,
        draw(),
        initial=np.full(count, 1 / count),
        discount=DISCOUNT,
        constraint_reward=np.array([draw() for _ in range(constraints)]),
        threshold=np.zeros(constraints),
    )
    pricer = Pricer(problem)
    best = np.array([pricer.price(w, 1e-4 / (1 - DISCOUNT), 1e-4).value[1:] for w in np.eye(1 + constraints)])
    return problem.with_limits(0.5 * best[0] + 0.5 * best[1:].mean(0))


def ours(problem, tolerance, _):
    planned = ColumnGeneration().plan(problem, tolerance)
    relative = planned.gap / abs(planned.upper_bound)
    counts = (planned.solves, planned.bellman_sweeps, planned.sweeps)
    return {"solves": counts[0], "sweeps": f"{counts[1]} + {counts[2]}", "gap": relative} | {
        "value": float(planned.answer.value[0]),
        "feasible": planned.feasible,
    }


def highs(problem, method, limit):
    """Solve the program of `LinearProgram` by another method of HiGHS, as precisely as it goes by default."""
    from unittest.mock import patch

    from scipy import optimize

    def solver(objective, **program):
        return optimize.linprog(objective, **program, method=method, options={"time_limit": limit})

    with patch("painless.planners.highs.minimise", solver):
        optimum = LinearProgram().plan(problem)
    return {"value": float((optimum.occupancy * problem.reward).sum())}


SOLVERS = {
    "ours": ours,
    "simplex": lambda problem, _, limit: highs(problem, "highs-ds", limit),
    "ipm": lambda problem, _, limit: highs(problem, "highs-ipm", limit),
}


def measure(kind, states, constraints, seed, solver, tolerance, limit):
    """Run in this process; print one line of JSON."""
    ColumnGeneration().plan(normalise(painless.garnet(20, 2, 3, 2))[0])  # compiles
    problem, _ = normalise(instance(kind, states, constraints, seed))
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        with one_thread():  # as `solve` does
            result = SOLVERS[solver](problem, tolerance, limit)
    except RuntimeError as error:
        result = {"failed": "gave up at the limit" if "imit" in str(error) else str(error)[:40]}
    result |= {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    result["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(result))


def rows(sizes, seed, tolerance, limit):
    """Yield a row of the table for each measurement."""
    for kind in ("garnet", "grid"):
        for states in sizes:
            for constraints in (1, 3):
                for solver in SOLVERS if states <= LARGEST_PROGRAM else ("ours",):
                    case = [
                        kind,
                        str(states),
                        str(constraints),
                        str(seed),
                        solver,
                        str(tolerance),
                        str(limit),
                    ]
                    command = [sys.executable, "-m", "benchmarks.scale", "--one", *case]
                    done = subprocess.run(command, capture_output=True, text=True, check=True)
                    yield case, json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=float, nargs="+", default=[1e3, 1e4, 1e5])
    parser.add_argument("--million", action="store_true", help="also a million states")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tolerance", type=float, default=TOLERANCE)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for HiGHS")
    parser.add_argument("--one", nargs=7, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        kind, states, constraints, seed, solver, tolerance, limit = given.one
        measure(kind, int(states), int(constraints), int(seed), solver, float(tolerance), float(limit))
        return
    heading = ("problem", "S", "K", "solver", "CPU s", "wall s", "MB", "solves", "sweeps", "gap", "value")
    table = Table(*heading, title=f"γ = {DISCOUNT}, relative gap {given.tolerance:g}")
    sizes = [int(size) for size in given.sizes] + ([10**6] if given.million else [])
    for case, result in rows(sizes, given.seed, given.tolerance, given.limit):
        kind, states, constraints, _, solver, *_ = case
        gap = f"{result['gap']:.1e}" if "gap" in result else "–"
        value = result.get("failed") or f"{result['value']:.8g}"
        table.add_row(
            *(kind, states, constraints, solver, f"{result['cpu']:.3f}", f"{result['wall']:.3f}"),
            *(
                f"{result['memory']:.0f}",
                str(result.get("solves", "–")),
                result.get("sweeps", "–"),
                gap,
                value,
            ),
        )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
