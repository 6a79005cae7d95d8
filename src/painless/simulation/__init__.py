"""Without a model: simulators, rollouts of policies in them, draws from tables, and confidence intervals.

`simulator` has the interface: `reset` and a vectorised `step`.
"""
