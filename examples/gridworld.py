"""The paper's gridworld by PRM, CBP, GDA and CRPO, beside the exact optimum: a table and two figures.

Run it with `make run`, or `python examples/gridworld.py --out FOLDER`.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import painless
from painless.bellman import occupancy
from painless.loop.batch import solve_batch
from painless.policies.table import dirichlet_policy
from painless.problems.gridworld import A_NEXT, B_NEXT, MOVES, SIDE, A, B
from painless.report import grid_map, learning_curves, save_figure

ITERATIONS, SEEDS = 1500, range(5)
ALGORITHMS = {
    "PRM": painless.PRM(),
    "CBP (α = 8)": painless.CBP(8.0),
    "GDA (1, 0.1)": painless.GDA(1.0, 0.1),
    "CRPO (0.75)": painless.CRPO(0.75),
}


def main(out: Path) -> None:
    world = painless.gridworld()
    start = time.perf_counter()
    exact = painless.solve(world, painless.LinearProgram())
    starts = [dirichlet_policy(world.actions, np.random.default_rng(seed)) for seed in SEEDS]
    traces = solve_batch(
        world,
        [algorithm for algorithm in ALGORITHMS.values() for _ in starts],
        iterations=ITERATIONS,
        initial_policies=starts * len(ALGORITHMS),
    )
    runs = {name: traces[i * len(starts) : (i + 1) * len(starts)] for i, name in enumerate(ALGORITHMS)}
    default = painless.solve(world, tolerance=1e-6)

    table = Table(
        *("", "reward", "V_c (≥ 1.5)", "optimality gap", "violation"),
        title=f"The paper's gridworld: averages of {ITERATIONS} iterations and {len(starts)} starts",
    )
    for column in table.columns[1:]:
        column.justify = "right"
    table.add_row("optimum (LP)", f"{exact.reward_value:.6f}", f"{exact.constraint_value[0]:.4f}", "0", "")
    for name, group in runs.items():
        reward = np.mean([trace.reward_value.mean() for trace in group])
        value = np.mean([trace.constraint_value.mean() for trace in group])
        gap = exact.reward_value - reward
        table.add_row(name, f"{reward:.6f}", f"{value:.4f}", f"{gap:.4f}", f"{1.5 - value:+.4f}")
    console = Console()
    console.print(table)
    console.print("\n[bold]painless.solve(gridworld, tolerance=1e-6)[/bold], with no settings at all:\n")
    print(default, "\n")

    figures = {
        "curves.png": learning_curves(runs, exact.reward_value, world.limit),
        "policy.png": grid_map(
            occupancy(world, default.policy.probabilities),
            default.policy.probabilities,
            list(MOVES.values()),
            SIDE,
            {A: "A", B: "B", A_NEXT: "A'", B_NEXT: "B'"},
        ),
    }
    for name, figure in figures.items():
        print(f"wrote {save_figure(figure, out / name)}")
    print(f"done in {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/gridworld"), help="folder for the figures")
    main(parser.parse_args().out)
