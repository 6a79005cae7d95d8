"""What each way to solve costs, by size: the first table of docs/choose.md. Run it with `python -m benchmarks.choose`.

CPU seconds of one core, the least of several solves: no loading, no compilation. The last column is the ratio of `solve(problem)`, which chooses
by itself, to the fastest of all ways.
"""

import time

from rich.console import Console
from rich.table import Table

import painless
from painless import CBP, PRM, ColumnGeneration, LinearProgram

CASES = {
    "gridworld, 25 states": painless.gridworld,
    "gridworld, three constraints": lambda: painless.gridworld(constraints=3),
    "Garnet, 100 states": lambda: painless.garnet(100, seed=1),
    "Garnet, 60 states, 60 constraints": lambda: painless.garnet(60, constraints=60, seed=1),
    "Garnet, 300 states": lambda: painless.garnet(300, seed=1),
    "Garnet, 300 states, three constraints": lambda: painless.garnet(300, constraints=3, seed=1),
    "Garnet, 1,000 states": lambda: painless.garnet(1000, seed=1, dense=True),
    "Garnet, 1,000 states, sparse": lambda: painless.garnet(1000, seed=1, dense=False),
    "Garnet, 3,000 states, sparse": lambda: painless.garnet(3000, seed=1, dense=False),
    "queueing, 2,000 states, two constraints": lambda: painless.make("queueing", buffer=1_999),
    "queueing, 10,000 states, two constraints": lambda: painless.make("queueing", buffer=9_999),
    "slippery grid, 1,360 states": lambda: painless.make("slippery-grid", height=40, width=40, budget=0.2),
    "slippery grid, 8,500 states": lambda: painless.make("slippery-grid", height=100, width=100, budget=0.2),
}
WAYS = {
    "solve(problem)": (None, 10**6),
    "PRM": (PRM(), 10_001),
    "CBP": (CBP(), 3_000),
    "linear program": (LinearProgram(), 1_000),
    "column generation": (ColumnGeneration(), 10**6),
}
LIMIT = 600.0
TIMES = 5  # solves that take less than a second are repeated


def measure(problem, algorithm, tolerance):
    """Return the least CPU seconds of a solve, or infinity if it proves less than the tolerance."""
    least = float("inf")
    for _ in range(TIMES):
        start = time.process_time()
        solution = painless.solve(problem, algorithm, tolerance=tolerance, time_limit=LIMIT)
        took = time.process_time() - start
        if solution.status.kind == "solved":
            least = min(least, took)
        if took > 1:
            break
    return least


def main(tolerance=1e-3):
    console = Console(width=140)
    for algorithm in (PRM(), ColumnGeneration()):  # compiles
        for problem in (painless.garnet(20), painless.garnet(600, dense=False), painless.garnet(600)):
            painless.solve(problem, algorithm)
        painless.solve(painless.make("slippery-grid", height=30, width=30), algorithm)
    title = f"CPU seconds to a proved relative gap of {tolerance:g}"
    table = Table("problem", *WAYS, "solve / best", title=title)
    for name, make in CASES.items():
        problem = make()
        cost = [
            measure(problem, way, tolerance) if problem.shape[0] <= most else None
            for way, most in WAYS.values()
        ]
        ratio = cost[0] / min(one for one in cost if one is not None)
        table.add_row(name, *("–" if one is None else f"{one:.3f}" for one in cost), f"{ratio:.2f}")
    console.print(table)


if __name__ == "__main__":
    main()
