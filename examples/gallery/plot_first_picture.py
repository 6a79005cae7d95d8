"""
A first picture
===============

The paper's gridworld: every move from A leads to A' for a reward of 1, from B to B' for 0.5. The constraint
counts visits to B, so the best policy must go there now and then.
"""

import painless
from painless.bellman import occupancy
from painless.problems.gridworld import A_NEXT, B_NEXT, MOVES, SIDE, A, B
from painless.report import grid_map

world = painless.gridworld()
solution = painless.solve(world, tolerance=1e-6)
print(solution)

# %%
# Colour is how often a cell is visited, discounted; the length of an arrow is the probability of a move.

policy = solution.policy.probabilities
labels = {A: "A", B: "B", A_NEXT: "A'", B_NEXT: "B'"}
figure = grid_map(occupancy(world, policy), policy, list(MOVES.values()), SIDE, labels)
figure  # noqa: B018  shown in a notebook

# %%
# The answer is a mixture of a few policies, so it randomises wherever they differ. With one constraint it is enough to randomise
# in one state; the linear program finds such a policy, of the same value.

vertex = painless.solve(world, painless.LinearProgram())
print(
    f"value {vertex.reward_value:.6f}; randomises in",
    [world.name("states", s) for s in vertex.policy.randomised],
)
