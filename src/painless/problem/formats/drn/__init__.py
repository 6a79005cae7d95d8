"""Storm's explicit format, `.drn`: models of a model checker read as problems, and problems written for one.

The format knows states, actions, probabilities and named reward models, but neither a discount nor constraints
(Hensel, Junges, Katoen, Quatmann & Volk, *The Probabilistic Model Checker Storm*, 2022). They must be given when a
model is read, and are written in two ways:

- in the model: every action ends with probability 1 − γ in a state without rewards, and a first state draws from ρ,
  so that a total reward of the file is a discounted one of the problem;
- in comments that only `read` interprets: discount, roles, limits and names, and the rounding error of γp/γ. With them
  exactly the same problem is restored.
"""

from painless.problem.formats.drn.reading import read
from painless.problem.formats.drn.writing import write

__all__ = ["read", "write"]
