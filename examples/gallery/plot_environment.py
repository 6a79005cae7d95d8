"""
Your own Gymnasium environment
==============================

A delivery robot on a line of 12 cells. Running is fast but costs energy; walking is slow. It is paid on arrival, and the budget
limits the discounted energy. The environment only has to report a number in ``info``.
"""

import gymnasium
import matplotlib.pyplot as plt
import numpy as np

import painless


class Delivery(gymnasium.Env):
    observation_space = gymnasium.spaces.Discrete(12)
    action_space = gymnasium.spaces.Discrete(2)  # walk, run

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 0
        return self.cell, {}

    def step(self, action):
        far = action == 1 and self.np_random.random() < 0.9
        self.cell = min(self.cell + 1 + far, 11)
        arrived = self.cell == 11
        return self.cell, 10.0 * arrived, arrived, False, {"energy": float(action)}


budgets = (1.0, 2.5, 4.0)
trained = []
for budget in budgets:
    simulator = painless.from_gymnasium(
        Delivery, constraints=f"energy<={budget}", discount=0.95, time_limit=20, reward_range=(0, 10)
    )
    trained.append(painless.train(simulator, iterations=20, episodes=1000))
print(trained[1])

# %%
# The more energy may be used, the sooner it arrives.

mean, low, high = (
    np.array([getattr(one.estimate, end)[0] for one in trained]) for end in ("mean", "low", "high")
)
figure, axis = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
axis.errorbar(budgets, mean, [mean - low, high - mean], fmt="o-", color="#0072B2", capsize=4)
axis.set(
    xlabel="budget of energy", ylabel="value of the delivery", title="95 % intervals from 1000 episodes each"
)
plt.show()
