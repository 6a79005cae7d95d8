"""Simulators, rollouts of policies in them, draws from tables, and confidence intervals."""
