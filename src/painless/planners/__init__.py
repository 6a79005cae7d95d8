"""Engines: what solves one unconstrained problem after another, and evaluates policies, with proved errors."""

from painless.planners.policy_iteration import Plan, policy_iteration

__all__ = ["Plan", "policy_iteration"]
