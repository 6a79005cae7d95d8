"""Runs experiments of the paper: the units of all of them together, each of them once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from painless.backends import Backend
from painless.common.errors import unknown
from painless.study.paper import EXPERIMENTS
from painless.study.paper.experiment import Analysis, Experiment
from painless.study.paper.scale import Scale
from painless.study.setting_results import read
from painless.study.store import Store, content_key
from painless.study.sweep import Failure, Sweep, run_sweep
from painless.study.unit import Unit


def find_experiments(ids: Sequence[str]) -> list[Experiment]:
    """Return experiments by their ids; all of them without any."""
    for name in ids:
        if name not in EXPERIMENTS:
            raise unknown("experiment", name, EXPERIMENTS)
    return [experiment for name, experiment in EXPERIMENTS.items() if not ids or name in ids]


def run_experiments(
    experiments: Sequence[Experiment],
    scale: Scale,
    store: Store,
    *,
    backend: Backend | None = None,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Failure]:
    """Run what the store does not hold yet of some experiments; return the units that failed."""
    units: dict[str, Unit] = {}
    for experiment in experiments:
        units |= {content_key(unit.settings): unit for unit in experiment.sweep(scale).units}
    return run_sweep(Sweep(tuple(units.values())), store, backend=backend, workers=workers, progress=progress)


def complete(experiment: Experiment, scale: Scale, store: Store) -> bool:
    """Whether the store holds all units of an experiment."""
    return all(store.holds(unit.settings) for unit in experiment.sweep(scale).units)


def analyse(experiment: Experiment, scale: Scale, store: Store) -> Analysis:
    """Read the stored results of an experiment; return what they show."""
    return experiment.analyse(read(experiment.sweep(scale), store))


def cost(experiments: Sequence[Experiment], scale: Scale, store: Store) -> tuple[int, float]:
    """Return the units of some experiments, each counted once, and the processor seconds that they took."""
    keys = {content_key(unit.settings) for one in experiments for unit in one.sweep(scale).units}
    known = store.costs()
    return len(keys), sum(known.get(key, 0.0) for key in keys)
