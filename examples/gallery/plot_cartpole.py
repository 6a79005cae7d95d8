"""
CartPole with two constraints
=============================

No model, only a simulator: keep the pole up, keep the cart out of two zones, and keep the pole close to upright. The
answer has confidence intervals in place of a proof.
"""

import matplotlib.pyplot as plt
import numpy as np

import painless

training = painless.train(painless.CartPole(), iterations=25, episodes=400)
print(training)

# %%
# What the algorithm saw on its way, iteration by iteration.

trace = training.trace
figure, axis = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
axis.plot(trace.reward_value, color="black", label="return")
for i, colour in enumerate(("#0072B2", "#D55E00")):
    axis.plot(trace.constraint_value[:, i], color=colour, label=training.constraint_names[i])
    axis.axhline(training.estimate.threshold[i], color=colour, linestyle="--", linewidth=0.8)
axis.set(xlabel="iteration", ylabel="discounted value", title="Dashed: what the constraints ask for")
axis.legend(frameon=False)
plt.show()

# %%
# The policy is a function of the state: draw an iterate of the mixture for an episode, then ask it at every step.

rng = np.random.default_rng(0)
states = painless.CartPole().reset(3, rng)
print(training.policy.policies[0].at(states)[0].round(2))
