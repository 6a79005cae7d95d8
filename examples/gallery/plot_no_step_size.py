"""
Why no step size
================

GDA has two step sizes, and the best pair differs from problem to problem. CBP has α, whose default serves both problems here; large
values slow its start, which shows if the constraint is expensive. PRM, which ``solve`` runs for a given number of iterations, has nothing to set. Each mark is a run of 500 iterations. Close to zero on both axes is good; above the line the
constraint is violated on average.
"""

import matplotlib.pyplot as plt
import numpy as np

import painless
from painless.loop.batch import solve_batch

ALPHAS = (1, 5, 8, 50, 500)
RATES = [(a, b) for a in (0.01, 0.1, 1.0, 10.0) for b in (0.01, 0.1, 1.0)]
problems = {
    "gridworld": painless.gridworld(),
    "Garnet, an expensive constraint": painless.garnet(30, seed=13, tightness=0.9),
}
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for axis, (name, problem) in zip(axes, problems.items(), strict=True):
    optimum = painless.solve(problem, painless.LinearProgram()).reward_value
    settings = [
        *map(painless.CBP, map(float, ALPHAS)),
        *(painless.GDA(a, b) for a, b in RATES),
        painless.PRM(),
    ]
    traces = solve_batch(problem, settings, iterations=500)
    gap = np.array([optimum - trace.reward_value.mean() for trace in traces]) / optimum
    violation = np.array([problem.limit[0] - trace.constraint_value.mean() for trace in traces])
    violation /= problem.limit[0]
    n = len(ALPHAS)
    axis.scatter(gap[n:-1], violation[n:-1], color="#D55E00", marker="x", label=f"GDA, {len(RATES)} pairs")
    axis.scatter(gap[:n], violation[:n], color="#0072B2", label=f"CBP, {n} values of α")
    axis.scatter(gap[-1], violation[-1], color="#009E73", marker="D", label="PRM, nothing to set")
    axis.axhline(0, color="black", linewidth=0.8)
    axis.set(title=name, xlabel="optimality gap of the average (relative)")
    axis.locator_params(axis="x", nbins=5)
axes[0].set(ylabel="violation of the average (relative)")
axes[0].legend(frameon=False)
plt.show()
