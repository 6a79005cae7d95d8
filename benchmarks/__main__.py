"""`make bench`: what an iteration and a sweep cost, each beside something run in the same process."""

import time

import numpy as np
from rich.console import Console
from rich.table import Table

import painless
from benchmarks import backends, evaluators
from painless import CBP, CRPO, GDA
from painless.common.arrays import one_thread
from painless.loop.algorithm_case import AlgorithmCase
from painless.loop.batch import solve_batch
from painless.policies.table import dirichlet_policy, uniform_policy

REPEATS = 5
# The 41 settings of the paper's first figure
SETTINGS = [
    *(CBP(float(alpha)) for alpha in (1, 2, 5, 8, 15, 50, 100, 300, 500)),
    *(
        GDA(policy, multiplier)
        for policy in (0.001, 0.01, 0.1, 1.0)
        for multiplier in (0.0001, 0.001, 0.01, 0.1, 1.0)
    ),
    *(CRPO(rate, tolerance) for rate in (0.001, 0.01, 0.05, 0.1, 0.5, 0.75) for tolerance in (0.0, 0.25)),
]


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
            prepared = AlgorithmCase.of(problem)
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
    solve_batch(world, algorithms, iterations=iterations, initial_policies=policies)
    batch = time.perf_counter() - start
    start = time.perf_counter()
    for algorithm, policy in zip(algorithms, policies, strict=True):
        solve_batch(world, [algorithm], iterations=iterations, initial_policies=[policy])
    singly = time.perf_counter() - start
    console.print(
        f"The paper's first figure, {len(SETTINGS)} settings × {len(starts)} seeds × {iterations} iterations: "
        f"{batch:.1f} s as one batch, {singly:.1f} s singly, {singly / batch:.1f} times faster"
    )


def training_cost(console):
    """What a CartPole run costs, and how iteration 200 compares with iteration 20."""
    painless.train(painless.CartPole(), iterations=3, multiplier_bound=[50, 50], episodes=10)  # compile
    stamps = []
    start = time.process_time()
    painless.train(
        painless.CartPole(),
        multiplier_bound=[50, 50],
        episodes=10,
        seed=1,
        progress=lambda now: stamps.append(time.process_time()),
    )
    spent = np.diff(stamps)
    early, late = spent[15:25].mean(), spent[-10:].mean()
    console.print(
        f"CartPole, T = 200, 50 trajectories: {time.process_time() - start:.1f} s of one core without the feasibility "
        f"phase; iteration 20 takes {early * 1e3:.0f} ms, iteration 200 {late * 1e3:.0f} ms, {late / early:.1f} times as much"
    )


def environment_steps(console):
    """Steps per second of the native vector CartPole beside Gymnasium's own."""
    import gymnasium

    import painless.environments  # noqa: F401  registers ours

    table = Table("episodes", "ours", "Gymnasium's", "ratio", title="Steps per second of vector CartPole")
    for count in (8, 64, 1024):
        ours = gymnasium.make_vec("painless/CartPole-v0", num_envs=count)
        theirs = gymnasium.make_vec("CartPole-v1", num_envs=count, vectorization_mode="vector_entry_point")
        actions = np.random.default_rng(0).integers(2, size=count)
        rates = []
        for env in (ours, theirs):
            env.reset(seed=0)
            env.step(actions)
            rates.append(count / seconds(lambda env=env, actions=actions: env.step(actions), 200))
        table.add_row(f"{count}", *(f"{rate:,.0f}" for rate in rates), f"{rates[0] / rates[1]:.2f}")
    console.print(table)


def main():
    console = Console(width=100)
    iteration_cost(console)
    batch_gain(console)
    evaluators.main(console)
    training_cost(console)
    environment_steps(console)
    backends.main(console)


if __name__ == "__main__":
    main()
