"""
Watching the proof close
========================

`solve` keeps two numbers: the value of a feasible policy it holds, and a bound that no policy can exceed. The answer is proved when
they meet. A `progress` function sees both.
"""

import matplotlib.pyplot as plt

import painless

problem = painless.garnet(80, constraints=3, seed=5, tightness=0.8)
seen = []
solution = painless.solve(problem, tolerance=1e-9, progress=seen.append)
print(solution)

# %%

iterations = [one.iteration for one in seen] + [solution.iterations]
values = [one.reward_value for one in seen] + [solution.reward_value]
bounds = [one.upper_bound for one in seen] + [solution.upper_bound]
figure, axis = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
axis.plot(iterations, bounds, "o-", color="#D55E00", label="no policy is better than this")
axis.plot(iterations, values, "o-", color="#0072B2", label="the feasible policy found so far")
axis.set(xlabel="iteration of CBP", ylabel="value", title="A Garnet with 80 states and 3 constraints")
axis.legend(frameon=False)
plt.show()
