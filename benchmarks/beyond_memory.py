"""A model that is given as functions, of any size: `python -m benchmarks.beyond_memory --side 4473`.

A square grid with four moves that slip with probability 0.15: rewards in one cell of two hundred, costs in three of ten, and a budget on the
discounted cost, from a thousand first states. With `--workers`, Dask's processes on this machine keep the values. Prints one line of JSON: states, seconds, CPU seconds, the peak of memory and the proved gap.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np

import painless

STARTS = 1000


def grid(side: int, discount: float, budget: float) -> painless.FunctionModel:
    """Return the grid."""
    states = side * side

    def successors(s: int, a: int, target: Any, probability: Any) -> int:
        row, column = s // side, s % side
        target[0], target[1] = max(row - 1, 0) * side + column, min(row + 1, side - 1) * side + column
        target[2], target[3] = row * side + max(column - 1, 0), row * side + min(column + 1, side - 1)
        for k in range(4):
            probability[k] = 0.85 if k == a else 0.05
        return 4

    def utilities(s: int, a: int) -> tuple[float, float]:
        row, column = s // side, s % side
        mixed = ((row * 2654435761 + column * 40503) ^ (row * column * 97)) % 1000
        return 1.0 if mixed < 5 else 0.0, 1.0 if mixed >= 700 else 0.0

    starts = np.linspace(0, states - 1, STARTS).astype(int)
    initial = dict.fromkeys(starts.tolist(), 1 / len({*starts.tolist()}))
    return painless.from_function(
        states, 4, successors, utilities, initial=initial, discount=discount, budget=budget
    )


def report(start: float, progress: painless.planning.planner.Progress) -> None:
    """Print how far a solve is."""
    now = f"{time.perf_counter() - start:.0f} s, {time.process_time():.0f} CPU s"
    print(
        f"  {progress.iteration}: {progress.reward_value:.6g} ≤ {progress.upper_bound:.6g} ({now})",
        flush=True,
    )


def main() -> None:
    """Solve a grid, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=1000)
    parser.add_argument("--discount", type=float, default=0.95)
    parser.add_argument("--budget", type=float, default=2.0)
    parser.add_argument("--tolerance", type=float, default=1e-3)
    parser.add_argument(
        "--workers", type=int, default=0, help="processes that keep the values; 0 for this one"
    )
    given = parser.parse_args()
    start, work = time.perf_counter(), time.process_time()
    model = grid(given.side, given.discount, given.budget)
    made = time.process_time() - work
    with painless.backends.Dask(workers=given.workers) if given.workers else nullcontext() as backend:
        begun = time.perf_counter()
        solution = painless.solve(
            model.on(backend), tolerance=given.tolerance, progress=partial(report, start)
        )
        solving = time.perf_counter() - begun
    row = {
        "states": model.states,
        "discount": given.discount,
        "kind": solution.status.kind.value,
        "value": solution.reward_value,
        "gap": solution.gap,
        "cost": float(solution.constraint_value[0]),
        "price_range": solution.price_range.tolist(),
        "policies": len(solution.policy),
        "best_responses": solution.best_responses,
        "workers": given.workers,
        "seconds_of_the_solve": round(solving, 1),
        "seconds": round(time.perf_counter() - start, 1),
        "cpu_seconds": round(time.process_time() - work, 1),
        "cpu_seconds_of_the_check": round(made, 1),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
    print(json.dumps(row))


if __name__ == "__main__":
    main()
