"""Sweeps: problems × algorithms × settings × seeds, run in parallel and resumed where they stopped.

iterations = 1500
seeds = [0, 1, 2, 3, 4]
start = "dirichlet"

[[problem]]
name = "gridworld"
discount = [0.9, 0.8]          # a list multiplies out

[[algorithm]]
name = "cbp"
alpha = [1, 8, 500]

[evaluator]                    # exact unless given
name = "td"
samples = 1000
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from painless.errors import InputError, unknown
from painless.experiments.store import Store
from painless.experiments.unit import Unit, run_units

KEYS = ("iterations", "seeds", "start", "problem", "algorithm", "evaluator")
TOGETHER = 64  # units of a batch in one piece of work, so that several workers have something to do


def grid(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Multiply out the entries that are lists.

    >>> grid({"name": "cbp", "alpha": [1, 8]})
    [{'name': 'cbp', 'alpha': 1}, {'name': 'cbp', 'alpha': 8}]
    """
    names = list(settings)
    choices = [value if isinstance(value, list) else [value] for value in settings.values()]
    return [dict(zip(names, values, strict=True)) for values in product(*choices)]


@dataclass(frozen=True)
class Sweep:
    """All units of an experiment."""

    units: tuple[Unit, ...]

    @classmethod
    def of(
        cls,
        problem: Iterable[Mapping[str, Any]],
        algorithm: Iterable[Mapping[str, Any]],
        *,
        iterations: int,
        seeds: Iterable[int] = (0,),
        start: str = "uniform",
        evaluator: Mapping[str, Any] | None = None,
    ) -> Sweep:
        """Multiply out problems × algorithms × evaluators × seeds."""
        evaluators = grid(evaluator or {"name": "exact"})
        problems = [one for entry in problem for one in grid(entry)]
        algorithms = [one for entry in algorithm for one in grid(entry)]
        combined = product(problems, evaluators, algorithms, seeds)
        return cls(tuple(Unit(p, a, iterations, s, start, e) for p, e, a, s in combined))


def load_sweep(path: str | Path) -> Sweep:
    """Read a sweep from a TOML file."""
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error
    for key in content:
        if key not in KEYS:
            raise InputError(f"{path}: {unknown('entry', key, KEYS)}")
    for key in ("iterations", "problem", "algorithm"):
        if key not in content:
            raise InputError(
                f"{path}: '{key}' is missing; a sweep needs iterations, [[problem]] and [[algorithm]]"
            )
    try:
        return Sweep.of(**content)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{path} is not a sweep: {error}; write [[problem]] and [[algorithm]] as tables"
        ) from error


def run_sweep(
    sweep: Sweep,
    store: Store,
    *,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Run every unit that the store does not hold yet; `progress` hears how many of them are done."""
    import joblib

    pieces = split([unit for unit in sweep.units if not store.holds(unit.settings)])
    total, done = len(sweep.units), len(sweep.units) - sum(map(len, pieces))
    if progress is not None:
        progress(done, total)
    work = (joblib.delayed(run_piece)(piece, str(store.folder)) for piece in pieces)
    for count in joblib.Parallel(n_jobs=workers, return_as="generator_unordered")(work):
        done += count
        if progress is not None:
            progress(done, total)
    store.write_manifest({"units": total, "workers": workers})


def split(units: Sequence[Unit]) -> list[list[Unit]]:
    """Put units that run faster together into pieces of work, and the others each into its own."""
    pieces: list[list[Unit]] = []
    batches: dict[tuple[str, ...], list[Unit]] = {}
    for unit in units:
        if unit.batch is None:
            pieces.append([unit])
        else:
            batches.setdefault(unit.batch, []).append(unit)
    for batch in batches.values():
        pieces += [batch[i : i + TOGETHER] for i in range(0, len(batch), TOGETHER)]
    return pieces


def run_piece(units: Sequence[Unit], folder: str) -> int:
    """Run a piece of work and store its results; return how many units it had."""
    from painless.arrays import one_thread

    store = Store(folder)
    with one_thread():
        for unit, results in zip(units, run_units(units), strict=True):
            store.write(unit.settings, results)
    return len(units)
