"""Engines: they solve unconstrained problems and evaluate policies, with proved errors.

`engine` has the interface, and chooses among small models, which are `factorised`, and large ones, which are `swept`. To add
one, write a file and add a line to `engine.ENGINES`.
"""

from painless.engines.factorised import Plan, policy_iteration

__all__ = ["Plan", "policy_iteration"]
