"""Engines: they solve unconstrained problems and evaluate policies, with proved errors."""

from painless.engines.policy_iteration import Plan, policy_iteration

__all__ = ["Plan", "policy_iteration"]
