"""Groups of units: units put together so that sending one and getting its results back costs little beside it.

Units of a batch advance as one array program, so that a group of 8 costs hardly more than one of 2. Others are
put together by how long their like has taken: a group should last about a second, or longer with more than 33
workers. A group costs the process that hands it out less than 10 ms (`make bench`), 1 % of a second.
"""

from __future__ import annotations

import platform
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from painless.backends import Error
from painless.common import plugins
from painless.storage.files import read_bytes
from painless.study.store import source_digest
from painless.study.unit import Unit, run_units

SECONDS = 1.0  # what a group should last at least ...
EACH = 0.03  # ... and for each worker, since one process hands out and stores the groups of all
LEAST, MOST = 8, 64  # units of a batch in one group: fewer gain little from each other, more leave the cache


@dataclass(frozen=True)
class UnitGroup:
    """Some units, with the problem files and the code of users that they need and the worker may not see."""

    units: tuple[Unit, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    code: plugins.Files = field(default_factory=dict)


class GroupResult(NamedTuple):
    """The result of a worker."""

    results: list[Any]  # for each unit its results, or the error in their place
    seconds: float
    sources: str
    host: str


class UnitGroups:
    """An iterator over groups of work that learns from finished ones how long units take.

    Arguments:
        units: what is to be done.
        workers: among how many.
        alone: put every unit into its own group.
        carry: send problem files along.
    """

    def __init__(
        self, units: Sequence[Unit], workers: int = 1, *, alone: bool = False, carry: bool = False
    ) -> None:
        self.workers, self.alone, self.carry = workers, alone, carry
        self.seconds: dict[str, float] = {}  # of one unit of each kind
        batches: dict[tuple[str, ...], list[Unit]] = {}
        kinds: dict[str, list[Unit]] = {}
        for unit in units:
            if unit.batch is None or alone:
                kinds.setdefault(kind(unit), []).append(unit)
            else:
                batches.setdefault(unit.batch, []).append(unit)
        self.kinds = {name: units[::-1] for name, units in kinds.items()}  # the last is the next
        self.ready = [part for batch in batches.values() for part in _split(batch, workers)]

    def __iter__(self) -> Iterator[UnitGroup]:
        return self

    def __next__(self) -> UnitGroup:
        if self.ready:
            return self._group(self.ready.pop())
        for name, left in self.kinds.items():
            if left:
                count = self._count(name, len(left))
                return self._group([left.pop() for _ in range(count)])
        raise StopIteration

    def learn(self, group: UnitGroup, seconds: float) -> None:
        """Learn how long a group took."""
        self.seconds[kind(group.units[0])] = seconds / len(group.units)

    def _count(self, name: str, left: int) -> int:
        """Return how many units last long enough, but not so many that a worker would have to wait."""
        if self.alone or name not in self.seconds:
            return 1
        fitting = int(max(SECONDS, EACH * self.workers) / max(self.seconds[name], 1e-9))
        return max(1, min(fitting, left // (2 * self.workers)))

    def _group(self, units: Sequence[Unit]) -> UnitGroup:
        names = {str(unit.problem["name"]) for unit in units} if self.carry else set()
        problem_files = {name: read_bytes(name) for name in names if Path(name).is_file()}
        return UnitGroup(tuple(units), problem_files, own_code(units))


def kind(unit: Unit) -> str:
    """Return a key that is equal for units that take about the same time."""
    return repr((unit.problem, unit.evaluator, unit.algorithm["name"], unit.iterations))


def own_code(units: Sequence[Unit]) -> plugins.Files:
    """Return the sources of users that units need."""
    used = {
        (kind, str(getattr(unit, kind)["name"]))
        for unit in units
        for kind in plugins.GROUPS
        if "digest" in getattr(unit, kind)
    }
    return {path: text for kind, name in used for path, text in plugins.carriable(kind, name).items()}


def _split(batch: list[Unit], workers: int) -> list[list[Unit]]:
    """Split a batch among the workers, but not so finely that the units gain nothing from each other."""
    size = min(MOST, max(LEAST, -(-len(batch) // workers)))
    return [batch[i : i + size] for i in range(0, len(batch), size)]


def run_group(group: UnitGroup) -> GroupResult:
    """Run the units of a group; nothing is written where a worker runs."""
    begin = time.perf_counter()
    with plugins.carried(group.code), tempfile.TemporaryDirectory() as folder:
        units: Sequence[Unit] = _at_hand(group, Path(folder)) if group.files else group.units
        together = units[0].batch is not None and len({unit.batch for unit in units}) == 1
        results = _attempt(units) if together else [one for unit in units for one in _attempt([unit])]
    return GroupResult(results, time.perf_counter() - begin, source_digest(), platform.node())


def _attempt(units: Sequence[Unit]) -> list[Any]:
    """Run units together; where that fails, each alone, so that a bad one does not take the others with it."""
    try:
        return list(run_units(units))
    except Exception as error:  # whatever it is, it is reported with the unit's settings
        if len(units) == 1:
            return [Error.of(error)]
        return [one for unit in units for one in _attempt([unit])]


def _at_hand(group: UnitGroup, folder: Path) -> Sequence[Unit]:
    """Write the files of a group where this worker can read them; return the units that do."""
    places = {name: str(folder / f"{i}-{Path(name).name}") for i, name in enumerate(group.files)}
    for name, place in places.items():
        Path(place).write_bytes(group.files[name])
    return [
        replace(
            unit,
            problem={**unit.problem, "name": places.get(str(unit.problem["name"]), unit.problem["name"])},
        )
        for unit in group.units
    ]
