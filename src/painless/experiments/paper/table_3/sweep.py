"""The units of the experiment whose best settings the table holds."""

from __future__ import annotations

from painless.experiments.paper.cartpole_entropy.sweep import sweep

__all__ = ["sweep"]
