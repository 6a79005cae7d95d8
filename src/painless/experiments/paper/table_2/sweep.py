"""The units of the experiment whose best settings the table holds."""

from __future__ import annotations

from painless.experiments.paper.lfa_sensitivity.sweep import sweep

__all__ = ["sweep"]
