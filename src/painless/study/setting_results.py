"""Stored results, setting by setting: the paper's averages OG and CV over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.loop.averages import running_average, running_measure
from painless.study.store import Store
from painless.study.sweep import Sweep
from painless.study.targets import Target, target

Stored = tuple[Mapping[str, Any], Mapping[str, Any]]  # the settings of a unit, and its results
PARTS = (  # of the settings: all that seeds share
    "problem",
    "evaluator",
    "algorithm",
    "iterations",
    "start",
    "multiplier_bound",
)
ALIKE = 2.0  # every α up to this is the same algorithm (COCOB's Σ|g| is at least L)


@dataclass(frozen=True, eq=False)
class SettingResults:
    """One setting of one algorithm on one problem, over its seeds: averages of the iterates up to each iteration."""

    problem: Mapping[str, Any]
    evaluator: Mapping[str, Any]
    algorithm: Mapping[str, Any]
    target: Target
    reward: Array  # (n, T) average V_r up to t
    constraint: Array  # (n, T, K)
    multiplier: Array  # (n, T, K)
    start: str = "uniform"
    multiplier_bound: float | str | None = None
    seeds: tuple[int, ...] = ()
    slack: Array | None = None  # (n, 1 or 2, K) ζ̂, then the true slack if known, where U is estimated
    errors: Array | None = None  # (n, 2) ε_b and the largest |Q̂ − Q|, of units that are Algorithm 1
    iterate: Array | None = None  # (n, T, J) the values of the iterates themselves
    played: Array | None = None  # (n, T, K) the multipliers themselves

    @property
    def name(self) -> str:
        """The algorithm's name."""
        return str(self.algorithm["name"])

    @property
    def gap(self) -> Array:
        """OG up to each iteration, (n, T)."""
        return self.target.gap(self.reward)

    @property
    def violation(self) -> Array:
        """CV up to each iteration, signed, (n, T, K)."""
        return self.target.violation(self.constraint)

    def measured(self, measure: str) -> tuple[Array, Array]:
        """Return the gap up to each iteration, (n, T), and the signed violations, (n, T, K), of a measure of the iterates."""
        assert self.iterate is not None
        values = np.array([running_measure(one, measure) for one in self.iterate])
        return self.target.gap(values[..., 0]), self.target.violation(values[..., 1:])

    @property
    def strong_violation(self) -> Array:
        """Σ_t [b − V_c]₊/T of each seed, (n, K)."""
        assert self.iterate is not None
        return np.asarray(np.maximum(self.target.violation(self.iterate[..., 1:]), 0.0).mean(1))

    @property
    def iterations(self) -> int:
        """T."""
        return self.reward.shape[1]

    @cached_property
    def last_gap(self) -> float:
        """OG after all iterations, averaged over the seeds."""
        return float(self.gap[:, -1].mean())

    @cached_property
    def last_return(self) -> float:
        """The average return after all iterations, averaged over the seeds."""
        return float(self.reward[:, -1].mean())

    @property
    def merit(self) -> float:
        """The last OG, or the last return with its sign turned where the optimum is not known: the less the better."""
        return self.last_gap if self.target.known else -float(self.target.sign[0]) * self.last_return

    @property
    def last_merits(self) -> Array:
        """The merit of each seed, (n,)."""
        return self.gap[:, -1] if self.target.known else -float(self.target.sign[0]) * self.reward[:, -1]

    @cached_property
    def last_violation(self) -> Array:
        """CV after all iterations, averaged over the seeds, (K,)."""
        return self.violation[:, -1].mean(0)

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes a setting another algorithm."""
        return key(self.algorithm)


def key(algorithm: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what is equal for settings that are the same algorithm: α up to 2 is one.

    >>> key({"name": "cbp", "alpha": 1.0}) == key({"name": "cbp", "alpha": 0.25})
    True
    """
    values = dict(algorithm)
    if "alpha" in values:
        values["alpha"] = max(float(values["alpha"]), ALIKE)
    return tuple(sorted(values.items()))


def read(sweep: Sweep, store: Store) -> list[SettingResults]:
    """Read the stored results of a sweep, a `SettingResults` for each group of seeds, in the order of the sweep."""
    return gather((unit.settings, store.read(unit.settings)) for unit in sweep.units)


def gather(stored: Iterable[Stored]) -> list[SettingResults]:
    """Return a `SettingResults` for each group of units that differ only in their seeds, in the order of the units."""
    groups: dict[str, list[Stored]] = {}
    for settings, found in stored:
        groups.setdefault(repr([settings.get(part) for part in PARTS]), []).append((settings, found))
    return [_setting(units) for units in groups.values()]


def _setting(units: list[Stored]) -> SettingResults:
    first, _ = units[0]
    averages = [
        np.array([running_average(found[name]) for _, found in units])
        for name in ("reward_value", "constraint_value", "multiplier")
    ]
    slack, errors = (
        np.array([found[name] for _, found in units]) if name in units[0][1] else None
        for name in ("slack", "errors")
    )
    return SettingResults(
        first["problem"],
        first["evaluator"],
        first["algorithm"],
        target(first["problem"]),
        averages[0],
        averages[1],
        averages[2],
        start=str(first.get("start", "uniform")),
        multiplier_bound=first.get("multiplier_bound"),
        seeds=tuple(int(settings.get("seed", k)) for k, (settings, _) in enumerate(units)),
        slack=slack,
        errors=errors,
        iterate=np.array(
            [np.column_stack([found["reward_value"], found["constraint_value"]]) for _, found in units]
        ),
        played=np.array([found["multiplier"] for _, found in units]),
    )


def select(settings: Iterable[SettingResults], **wanted: Any) -> list[SettingResults]:
    """Return the settings whose algorithm's name, discount, samples, tiles, … are as wanted."""
    return [one for one in settings if all(_value(one, key) == value for key, value in wanted.items())]


def distinct(settings: Iterable[SettingResults]) -> list[SettingResults]:
    """Return each algorithm once: settings that differ only in α ≤ 2 are one."""
    return list({one.key: one for one in settings}.values())


def _value(setting: SettingResults, key: str) -> Any:
    if key in ("name", "start", "multiplier_bound"):
        return getattr(setting, key)
    for part in (setting.algorithm, setting.evaluator, setting.problem):
        if key in part:
            return part[key]
    return setting.evaluator["name"] if key == "estimator" else None
