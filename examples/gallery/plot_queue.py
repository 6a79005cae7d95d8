"""
A queue: power against waiting
==============================

How fast to serve, and whom to admit, so that little power is used, enough customers get in, and few wait.
The longer the queue, the faster the best policy serves and the less it admits; a tighter budget for waiting makes it do so at shorter queues.
"""

import matplotlib.pyplot as plt
import numpy as np

import painless
from painless.bellman import occupancy

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for axis, budget in zip(axes, (5.0, 1.5), strict=True):
    queue = painless.make("queueing", budget=budget)
    solution = painless.solve(queue, tolerance=1e-6)
    visits = occupancy(queue, solution.policy.probabilities).sum(-1, keepdims=True)
    policy = np.where(visits > 1e-6, solution.policy.probabilities, np.nan)  # elsewhere it may do anything
    table = policy.reshape(-1, 2, 4)  # refuse or admit, and four rates
    rate = table.sum(1) @ [0.0, 0.3, 0.6, 0.9]
    admit = table[:, 1].sum(1)
    axis.bar(np.arange(21), rate, color="#0072B2", label="rate of service")
    axis.plot(np.arange(21), admit, "o-", color="#D55E00", label="probability to admit")
    axis.set(title=f"waiting ≤ {budget:g}: power {solution.reward_value:.3f}", xlabel="customers waiting")
    print(f"budget {budget:g}: shadow prices {solution.multiplier.round(3)}")
axes[0].legend(frameon=False)
plt.show()
