"""The best settings by the number of features; all settings are needed to know which they are."""

from __future__ import annotations

from painless.experiments.paper.lfa_sensitivity.sweep import sweep

__all__ = ["sweep"]
