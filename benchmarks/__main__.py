"""`make bench`: what an iteration and a sweep cost, each beside something run in the same process."""

import time

import numpy as np
from rich.console import Console
from rich.table import Table

import painless
from painless import CBP, CRPO, GDA
from painless.arrays import one_thread
from painless.policy import dirichlet_policy, uniform_policy
from painless.prepare import prepare

REPEATS = 5
SETTINGS = [
    *(CBP(float(alpha)) for alpha in (1, 2, 5, 8, 15, 50, 100, 300, 500)),
    *(
        GDA(policy, multiplier)
        for policy in (0.001, 0.01, 0.1, 1.0)
        for multiplier in (0.0001, 0.001, 0.01, 0.1, 1.0)
    ),
    *(CRPO(rate, tolerance) for rate in (0.001, 0.01, 0.05, 0.1, 0.5, 0.75) for tolerance in (0.0, 0.25)),
]  # the 41 settings of the paper's first figure


def seconds(work, count):
    """Return the least time of one call, over several repeats of `count` calls."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(count):
            work()
        times.append((time.perf_counter() - start) / count)
    return min(times)


def iteration_cost(console):
    table = Table(
        "S",
        "CBP iteration",
        "bare solve",
        "ratio",
        title="One iteration of CBP (A = 4, K = 1) beside np.linalg.solve alone",
    )
    for states, count in ((25, 1000), (250, 50), (1000, 4)):
        problem = painless.gridworld() if states == 25 else painless.garnet(states, 4, 5, 1, seed=0)
        with one_thread():
            prepared = prepare(problem)
            steps = prepared.steps(CBP(), uniform_policy(problem.actions)[None], REPEATS * count, 0)
            for _ in range(3):
                next(steps)
            ours = seconds(lambda steps=steps: next(steps), count)
            matrix = np.eye(states) - problem.discount * problem.transition[:, 0]
            right = problem.utility[:, :, 0].T.copy()
            bare = seconds(lambda matrix=matrix, right=right: np.linalg.solve(matrix, right), count)
        table.add_row(f"{states}", f"{ours * 1e6:,.0f} µs", f"{bare * 1e6:,.0f} µs", f"{ours / bare:.1f}")
    console.print(table)


def batch_gain(console):
    world = painless.gridworld()
    starts = [dirichlet_policy(world.actions, np.random.default_rng(seed)) for seed in range(5)]
    algorithms = [algorithm for algorithm in SETTINGS for _ in starts]
    policies = starts * len(SETTINGS)
    iterations = 1500

    start = time.perf_counter()
    painless.solve_batch(world, algorithms, iterations=iterations, initial_policies=policies)
    batch = time.perf_counter() - start
    start = time.perf_counter()
    for algorithm, policy in zip(algorithms, policies, strict=True):
        painless.solve_batch(world, [algorithm], iterations=iterations, initial_policies=[policy])
    singly = time.perf_counter() - start
    console.print(
        f"The paper's first figure, {len(SETTINGS)} settings × {len(starts)} seeds × {iterations} iterations: "
        f"{batch:.1f} s as one batch, {singly:.1f} s singly, {singly / batch:.1f} times faster"
    )


def main():
    console = Console(width=100)
    iteration_cost(console)
    batch_gain(console)


if __name__ == "__main__":
    main()
