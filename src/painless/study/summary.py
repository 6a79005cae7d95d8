"""The summary of a sweep: the final measures of every setting over its seeds, and all its numbers in long form."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.common.frames import to_frame as as_frame
from painless.common.render import number
from painless.common.tables import csv_table
from painless.loop.averages import MEASURES, band, standard_error
from painless.study.setting_results import SettingResults, read
from painless.study.store import Store
from painless.study.sweep import Sweep


@dataclass(frozen=True, eq=False)
class Measured:
    """The gap and the violations of one measure of the iterates, averaged over the seeds, with 95 % intervals by Student's t."""

    gap: float  # NaN where the optimum is not known
    gap_band: float  # half the width of its interval; 0 for one seed
    violation: Array  # (K,) b − V_c, positive where violated
    violation_band: Array  # (K,)


@dataclass(frozen=True, eq=False)
class Row:
    """One setting, averaged over its seeds: reward, optimality gap and violations of the average iterate."""

    problem: str
    evaluator: str
    algorithm: str
    seeds: int
    reward_value: float
    optimality_gap: float  # NaN where the optimum is not known
    gap_error: float  # its standard error over the seeds
    violation: Array  # (K,) b − average V_c, positive where violated
    measures: Mapping[str, Measured] = field(default_factory=dict)  # average, tail and last
    strong_violation: Array = field(default_factory=lambda: np.empty(0))  # (K,) Σ_t [b − V_c]₊/T
    strong_band: Array = field(default_factory=lambda: np.empty(0))  # (K,)


def summarise(sweep: Sweep, store: Store) -> list[Row]:
    """Read the stored results of a sweep; return a row for each setting, in order."""
    return [_row(setting) for setting in read(sweep, store)]


def _row(setting: SettingResults) -> Row:
    return Row(
        problem=label(setting.problem),
        evaluator=label(setting.evaluator),
        algorithm=label(setting.algorithm),
        seeds=len(setting.reward),
        reward_value=setting.last_return,
        optimality_gap=setting.last_gap,
        gap_error=standard_error(setting.gap[:, -1]),
        violation=setting.last_violation,
        measures={name: measured(setting, name) for name in MEASURES},
        strong_violation=setting.strong_violation.mean(0),
        strong_band=band(setting.strong_violation),
    )


def measured(setting: SettingResults, measure: str) -> Measured:
    """Return a measure of the iterates after all iterations."""
    gap, violation = (values[:, -1] for values in setting.measured(measure))
    return Measured(float(gap.mean()), float(band(gap)), violation.mean(0), band(violation))


def label(settings: Mapping[str, Any]) -> str:
    """Return settings as short text.

    >>> label({"name": "cbp", "alpha": 8})
    'cbp alpha=8'
    """
    rest = {key: value for key, value in settings.items() if key not in ("name", "digest")}
    return " ".join([str(settings["name"]), *(f"{key}={json.dumps(value)}" for key, value in rest.items())])


def long_form(settings: Iterable[SettingResults]) -> dict[str, list[Any]]:
    """Return the values of all iterates as columns, a row for each problem, algorithm, setting, seed and iteration.

    Columns are problem, evaluator, algorithm, setting, seed, t, reward, constraint_0, …, multiplier_0, …; problems with fewer
    constraints have None there. Values are in the user's terms.
    """
    found = list(settings)
    most = max((one.constraint.shape[2] for one in found), default=0)
    names = [f"{what}_{i}" for what in ("constraint", "multiplier") for i in range(most)]
    columns: dict[str, list[Any]] = {
        name: [] for name in ("problem", "evaluator", "algorithm", "setting", "seed", "t", "reward", *names)
    }
    for one in found:
        for row in _long_rows(one, most):
            for name, value in zip(columns, row, strict=True):
                columns[name].append(value)
    return columns


def _long_rows(one: SettingResults, most: int) -> Iterator[list[Any]]:
    assert one.iterate is not None
    assert one.played is not None
    setting = {key: value for key, value in one.algorithm.items() if key not in ("name", "digest")}
    common = [label(one.problem), label(one.evaluator), one.name, json.dumps(setting, sort_keys=True)]
    missing = [None] * (most - one.constraint.shape[2])
    for seed, values, played in zip(one.seeds, one.iterate, one.played, strict=True):
        for t, (value, multiplier) in enumerate(zip(values.tolist(), played.tolist(), strict=True)):
            yield [*common, seed, t, value[0], *value[1:], *missing, *multiplier, *missing]


def to_frame(sweep: Sweep, store: Store, make: Callable[[Any], Any] | None = None) -> Any:
    """Return the stored results of a sweep in long form as a DataFrame; see `long_form`.

    `make`, such as `polars.DataFrame`, makes the frame of a dictionary of columns; by default pandas does, or else Polars.
    """
    return as_frame(long_form(read(sweep, store)), make)


def to_csv(columns: Mapping[str, list[Any]]) -> str:
    r"""Return columns as CSV.

    >>> to_csv({"t": [0, 1], "reward": [0.5, None]})
    't,reward\n0,0.5\n1,\n'
    """
    return csv_table([*columns], [*zip(*columns.values(), strict=True)])


HEADER = (
    "algorithm",
    "seeds",
    "reward",
    "optimality gap",
    "violation (signed)",
    "tail: gap, violation",
    "last: gap, violation",
    "strong violation",
)


def cells(row: Row) -> tuple[str, ...]:
    """Return a row as text: the average over all iterations, the second half, the last iterate, and what was missed in sum."""
    measures = [_both(row.measures[name]) for name in ("tail", "last")]
    average = row.measures["average"]
    strong = with_bands(row.strong_violation, row.strong_band)
    return (
        *(row.algorithm, str(row.seeds), number(row.reward_value), _gap(average)),
        *(with_bands(average.violation, average.violation_band, "+"), *measures, strong),
    )


def _gap(one: Measured) -> str:
    return with_bands([one.gap], [one.gap_band])


def _both(one: Measured) -> str:
    return f"{_gap(one)}; {with_bands(one.violation, one.violation_band, '+')}"


def with_bands(values: Iterable[float], bands: Iterable[float], sign: str = "") -> str:
    """Return numbers with half the widths of their intervals.

    >>> with_bands([0.5, 0.25], [0.01, 0.0], "+")
    '+0.5 ± 0.01, +0.25'
    """
    parts = zip(values, bands, strict=True)
    return ", ".join(f"{value:{sign}.4g}" + (f" ± {half:.2g}" if half > 0 else "") for value, half in parts)
