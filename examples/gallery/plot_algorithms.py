"""
PRM and CBP beside GDA and CRPO
===============================

The averages that the paper plots: how far the average iterate is from the optimum (OG), and by how much it misses the
constraint (CV, negative if met). Five random starts each; bands are 95 % intervals of their mean. CBP is the paper's algorithm; PRM is what
``solve`` runs for a given number of iterations; GDA and CRPO have the step sizes that the paper found best here.
"""

import numpy as np

import painless
from painless.loop.batch import solve_batch
from painless.policies.table import dirichlet_policy
from painless.report import learning_curves

world = painless.gridworld()
algorithms = {
    "PRM": painless.PRM(),
    "CBP (α = 8)": painless.CBP(8.0),
    "GDA (1, 0.1)": painless.GDA(1.0, 0.1),
    "CRPO (0.75)": painless.CRPO(0.75),
}
starts = [dirichlet_policy(world.actions, np.random.default_rng(seed)) for seed in range(5)]
traces = solve_batch(
    world,
    [algorithm for algorithm in algorithms.values() for _ in starts],
    iterations=1000,
    initial_policies=starts * len(algorithms),
)
runs = {name: traces[5 * i : 5 * i + 5] for i, name in enumerate(algorithms)}
optimum = painless.solve(world, painless.LinearProgram()).reward_value
figure = learning_curves(runs, optimum, world.limit)
figure  # noqa: B018  shown in a notebook

# %%
# The curves are about the iterates. The policy that `solve` returns is their best feasible mixture, and comes with a proof.

print(painless.solve(world, iterations=1000))

# %%
# If only the answer counts, `solve` chooses a planner by itself, and says why.

print(painless.solve(world))
