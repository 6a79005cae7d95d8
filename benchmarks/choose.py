"""What each way to solve costs, by size: the first table of docs/choose.md. Run it with `python -m benchmarks.choose`.

CPU seconds of one core, the solve alone: no loading, no compilation.
"""

import time

from rich.console import Console
from rich.table import Table

import painless
from painless import CBP, PRM, ColumnGeneration, LinearProgram

CASES = {
    "gridworld, 25 states": painless.gridworld,
    "Garnet, 100 states": lambda: painless.garnet(100, seed=1),
    "Garnet, 1,000 states": lambda: painless.garnet(1000, seed=1, dense=False),
    "queueing, 10,000 states": lambda: painless.make("queueing", buffer=9_999),
    "slippery grid, 8,500 states": lambda: painless.make("slippery-grid", height=100, width=100, budget=0.2),
    "slippery grid, 85,000 states": lambda: painless.make(
        "slippery-grid", height=316, width=316, discount=0.999, budget=0.2
    ),
}
WAYS = {
    "PRM, the default": (PRM(), 10_001),
    "CBP": (CBP(), 10_001),
    "linear program": (LinearProgram(), 1_000),
    "column generation": (ColumnGeneration(), 10**6),
}
LIMIT = 600.0


def measure(problem, algorithm, tolerance):
    start = time.process_time()
    solution = painless.solve(problem, algorithm, tolerance=tolerance, time_limit=LIMIT)
    took = time.process_time() - start
    return f"{took:.2f} s" + ("" if solution.status.kind == "solved" else " (not proved)")


def main(tolerance=1e-3):
    console = Console(width=120)
    for algorithm in (PRM(), ColumnGeneration()):  # compiles
        painless.solve(painless.garnet(20), algorithm)
        painless.solve(painless.garnet(600, dense=False), algorithm)
        painless.solve(painless.make("slippery-grid", height=30, width=30), algorithm)
    table = Table("problem", *WAYS, title=f"CPU seconds to a proved relative gap of {tolerance:g}")
    for name, make in CASES.items():
        problem = make()
        table.add_row(
            name,
            *(
                measure(problem, algorithm, tolerance) if problem.shape[0] <= most else "–"
                for algorithm, most in WAYS.values()
            ),
        )
    console.print(table)


if __name__ == "__main__":
    main()
