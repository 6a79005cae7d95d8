"""
What a constraint costs
=======================

The shadow price is the slope of the best value against the limit. Deep Sea Treasure shows it well: its
best value is a concave hull of a few points, so that the slope is a staircase.
"""

import matplotlib.pyplot as plt
import numpy as np

import painless

sea = painless.make("deep-sea-treasure")
thresholds = np.linspace(-17, -2, 46)
solutions = [painless.solve(sea.with_limits([b]), painless.LinearProgram()) for b in thresholds]

figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(6.5, 5), layout="constrained")
above.plot(thresholds, [one.reward_value for one in solutions], color="#0072B2")
above.set(ylabel="best value", title="Deep Sea Treasure: a longer dive finds more")
below.plot(thresholds, [one.multiplier[0] for one in solutions], color="#D55E00", drawstyle="steps-mid")
below.set(xlabel="threshold on the time under water (≥)", ylabel="shadow price")
plt.show()

# %%
# At a threshold of −10 the price says what one more step is worth:

index = int(np.argmin(np.abs(thresholds + 10)))
print(f"value {solutions[index].reward_value:.3f}, shadow price {solutions[index].multiplier[0]:.3f}")
