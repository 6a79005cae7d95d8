"""Sweeps: problems × algorithms × settings × seeds, run in parallel and resumable.

iterations = 1500
seeds = [0, 1, 2, 3, 4]
start = "dirichlet"

[[problem]]
name = "gridworld"
discount = [0.9, 0.8]          # a list multiplies out

[[problem]]
name = "model.npz"             # or another problem file; its parameters are those of `painless.load`
limit = [[1.5, 2.0]]           # a list in a list is one value

[[algorithm]]
name = "cbp"
alpha = [1, 8, 500]

[[algorithm]]
name = "prm"                   # or another of `painless.loop.algorithms.ALGORITHMS`

[[algorithm]]
name = "mymodule:factory"      # your own, searched in the current folder first; problems and evaluators, too
rate = [0.1, 1]                # other keys are arguments of the factory

[evaluator]                    # exact unless given
name = "td"                    # or another of `painless.evaluators.EVALUATORS`
samples = 1000
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from painless.backends import LIVES, Backend, Error, Local
from painless.common.errors import InputError, unknown
from painless.problems import is_file
from painless.storage import files
from painless.storage.files import read_toml
from painless.study.store import Store, source_digest
from painless.study.unit import Unit, require_own
from painless.study.unit_groups import UnitGroup, UnitGroups, run_group

KEYS = ("iterations", "seeds", "start", "problem", "algorithm", "evaluator")


def grid(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Multiply out the entries that are lists.

    >>> grid({"name": "cbp", "alpha": [1, 8]})
    [{'name': 'cbp', 'alpha': 1}, {'name': 'cbp', 'alpha': 8}]
    """
    names = list(settings)
    choices = [value if isinstance(value, list) else [value] for value in settings.values()]
    return [dict(zip(names, values, strict=True)) for values in product(*choices)]


def _with_digest(problem: dict[str, Any]) -> dict[str, Any]:
    """Return a problem; one from a file with the digest of what the file holds now."""
    name = str(problem.get("name"))
    return {**problem, "digest": files.digest(name)} if is_file(name) else problem


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
        problems = [_with_digest(one) for entry in problem for one in grid(entry)]
        algorithms = [one for entry in algorithm for one in grid(entry)]
        combined = product(problems, evaluators, algorithms, seeds)
        units = tuple(Unit(p, a, iterations, s, start, e) for p, e, a, s in combined)
        for unit in {repr((one.problem, one.algorithm)): one for one in units}.values():
            require_own(unit)
        return cls(units)

    def to_frame(self, store: Store, make: Callable[[Any], Any] | None = None) -> Any:
        """Return the stored results as a DataFrame in long form: problem, algorithm, setting, seed, t, reward, constraint_i, multiplier_i.

        `make`, such as `polars.DataFrame`, makes the frame of a dictionary of columns; by default pandas does, or else Polars.
        """
        from painless.study.summary import to_frame

        return to_frame(self, store, make)


def load_sweep(path: str | Path) -> Sweep:
    """Read a sweep from a TOML file."""
    content = read_toml(path)
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


@dataclass(frozen=True)
class Failure:
    """A unit that has no result: its settings, and why."""

    settings: Mapping[str, Any]
    error: str


def run_sweep(
    sweep: Sweep,
    store: Store,
    *,
    backend: Backend | None = None,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Failure]:
    """Run every unit that is not in the store yet; return those that failed.

    It waits for another run on the same store to end, so that no unit is run twice.

    Arguments:
        sweep: the units.
        store: where results go. Only this process writes to it.
        backend: where units run; processes on this machine by default.
        workers: the number of processes.
        progress: called with the number of units done and the total.
    """
    chosen = Local(workers) if backend is None else backend
    with store.alone():
        missing = {str(store.path(unit.settings)): unit for unit in sweep.units}
        units = [unit for unit in missing.values() if not store.holds(unit.settings)]
        run = _SweepRun(store, len(missing), len(missing) - len(units), progress)
        run.report()
        if units:
            with chosen:
                run.all(units, chosen)
        store.write_manifest({"units": len(missing), "failed": len(run.failures), "workers": chosen.workers})
    return run.failures


class _SweepRun:
    """One run of a sweep, with its finished and failed units."""

    def __init__(
        self, store: Store, total: int, done: int, progress: Callable[[int, int], None] | None
    ) -> None:
        self.store, self.total, self.done, self.progress = store, total, done, progress
        self.failures: list[Failure] = []

    def report(self) -> None:
        """Report the progress."""
        if self.progress is not None:
            self.progress(self.done, self.total)

    def all(self, units: list[Unit], backend: Backend) -> None:
        """Run all units; failed ones are retried after the others, each alone."""
        for life in range(1, LIVES + 1):
            groups = UnitGroups(units, backend.workers, alone=life > 1, carry=backend.remote)
            units = []
            for group, outcome in backend.map(run_group, groups):
                for unit, result in zip(group.units, self._results(group, outcome, groups), strict=True):
                    if not isinstance(result, Error):
                        self.store.write(unit.settings, result)
                        self.done += 1
                    elif result.final or life == LIVES:
                        self.failures.append(Failure(unit.settings, result.message))
                    else:
                        units.append(unit)
                self.report()
            if not units:
                return

    def _results(self, group: UnitGroup, outcome: Any, groups: UnitGroups) -> list[Any]:
        """Return the result of each unit of a group, or the error in its place."""
        if isinstance(outcome, Error):  # of the whole group: with several units, who knows whose it is
            final = outcome.final and len(group.units) == 1
            return [Error(outcome.message, outcome.details, final)] * len(group.units)
        if outcome.sources != source_digest():
            message = (
                f"the worker on {outcome.host} has other sources of painless than this machine, and so other "
                "results; install the same version on both"
            )
            return [Error(message, final=True)] * len(group.units)
        groups.learn(group, outcome.seconds)
        return outcome.results
