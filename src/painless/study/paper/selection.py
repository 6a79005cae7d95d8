"""The paper's rule for the best setting, by last values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from painless.study.setting_results import SettingResults, distinct, key, select

Cases = Mapping[str, Mapping[str, SettingResults]]  # by what is varied, then by the algorithm
ALGORITHMS = ("cbp", "gda", "crpo")
GRIDWORLD_WINDOW, CARTPOLE_WINDOW = (-0.25, 0.0), (-6.0, 0.0)


def best(settings: Sequence[SettingResults]) -> SettingResults:
    """Return the best of some settings of one algorithm.

    On the gridworld the least OG with CV in [−0.25, 0], on CartPole the largest return with both CVs in [−6, 0].
    Where none is inside the window, the rule says nothing: then of those that meet the constraints, and if
    there are none of all, the one whose violation is least far from the window.
    """
    low, high = window(settings[0])
    return min(settings, key=lambda one: (_outside(one, low, high), one.merit))


def window(setting: SettingResults) -> tuple[float, float]:
    """Return the range that the rule asks of CV."""
    return GRIDWORLD_WINDOW if setting.target.known else CARTPOLE_WINDOW


def qualifies(setting: SettingResults) -> bool:
    """Whether the last violations are inside the window."""
    return _outside(setting, *window(setting)) == 0


def outside_window(setting: SettingResults) -> str:
    """Return what is outside the window of the rule, as text; nothing if all is inside."""
    if qualifies(setting):
        return ""
    low, high = window(setting)
    values = ", ".join(f"{value:+.3g}" for value in setting.last_violation)
    return f"has CV {values} outside [{low:g}, {high:g}]"


def _outside(setting: SettingResults, low: float, high: float) -> float:
    violation = setting.last_violation
    return float(np.maximum(np.maximum(violation - high, low - violation), 0.0).max())


def by_algorithm(settings: Sequence[SettingResults]) -> dict[str, list[SettingResults]]:
    """Return the distinct settings of CBP, GDA and CRPO."""
    return {name: distinct(select(settings, name=name)) for name in ALGORITHMS}


def one_of_each(settings: Sequence[SettingResults], **wanted: Any) -> dict[str, SettingResults]:
    """Return the first setting of each algorithm that is as wanted."""
    return {name: select(settings, name=name, **wanted)[0] for name in ALGORITHMS}


def paper_settings(
    settings: Sequence[SettingResults], papers: Sequence[Mapping[str, Any]]
) -> dict[str, SettingResults]:
    """Return the settings that the paper has, by algorithm, as far as they were run."""
    wanted = {key(paper): str(paper["name"]) for paper in papers}
    return {wanted[one.key]: one for one in distinct(settings) if one.key in wanted}


def best_of_each(settings: Sequence[SettingResults]) -> dict[str, SettingResults]:
    """Return the best setting of each algorithm."""
    return {name: best(group) for name, group in by_algorithm(settings).items() if group}


SYMBOLS = {
    "alpha": "α",
    "policy_rate": "α_π",
    "multiplier_rate": "α_λ",
    "rate": "α_π",
    "tolerance": "η",
}
TITLES = {
    "cbp": "CBP",
    "gda": "GDA",
    "crpo": "CRPO",
    "gda-theory": "GDA, theoretical rates",
    "cbp-theory": "CBP, theoretical dual",
    "gda-printed": "GDA, printed rates",
}


def describe(algorithm: Mapping[str, Any]) -> str:
    """Return the settings of an algorithm as the paper writes them.

    >>> describe({"name": "gda", "policy_rate": 1.0, "multiplier_rate": 0.1})
    'α_π = 1, α_λ = 0.1'
    >>> describe({"name": "cbp", "alpha": 1.0})
    'α ≤ 2'
    """
    parts = []
    for name, symbol in SYMBOLS.items():
        if name == "alpha" and name in algorithm and algorithm[name] <= 2:
            parts.append("α ≤ 2")
        elif name in algorithm:
            parts.append(f"{symbol} = {algorithm[name]:g}")
    return ", ".join(parts)


def title(setting: SettingResults) -> str:
    """Return name and settings for a legend."""
    settings = describe(setting.algorithm)
    return TITLES[setting.name] + (f" ({settings})" if settings else "")
