"""
Watching the proof close
========================

`solve` keeps two numbers: the value of the best feasible policy so far, and a bound that no feasible policy can exceed. The answer is proved when
they meet. A `progress` function sees both; here for mixtures of the iterates of PRM, which reach the optimum, and of the paper's CBP, which
come close to it.
"""

import matplotlib.pyplot as plt

import painless

problem = painless.garnet(150, constraints=5, seed=5, tightness=0.98, discount=0.99)
figure, axis = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for algorithm, line in ((painless.PRM(), "o-"), (painless.CBP(), "s:")):
    seen = []
    solution = painless.solve(problem, algorithm, tolerance=1e-9, progress=seen.append)
    print(solution)
    iterations = [one.iteration for one in seen] + [solution.iterations]
    values = [one.reward_value for one in seen] + [solution.reward_value]
    bounds = [one.upper_bound for one in seen] + [solution.upper_bound]
    name = solution.algorithm.upper()
    axis.plot(iterations, bounds, line, color="#D55E00", label=f"{name}: no policy is better than this")
    axis.plot(iterations, values, line, color="#0072B2", label=f"{name}: the feasible policy found so far")
axis.set(xlabel="iteration", xscale="log", ylabel="value", title="A Garnet with 150 states and 5 constraints")
axis.legend(frameon=False, fontsize=8)
plt.show()
